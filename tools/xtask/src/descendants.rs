//! The processes that a process started, directly or not: what is to be ended when it takes too long.
//!
//! They stay in the process group of the terminal, so that Ctrl-C ends all of them; hence no group of their own by
//! which they could be ended here, and this look into `/proc`. Processes that were started meanwhile are missed.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Ends a process and everything that it started, at once.
pub(crate) fn kill_tree(root: u32) {
    for process in tree(i64::from(root), &parents()) {
        if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
            // A process that has ended meanwhile is what is wanted.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Every process with its parent.
fn parents() -> BTreeMap<i64, i64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let parent = parent_in(&fs::read_to_string(entry.path().join("stat")).ok()?)?;
            Some((process, parent))
        })
        .collect()
}

/// The parent in a line of `/proc/PID/stat`: the second field behind the name, which may hold anything but ends at the
/// last parenthesis.
fn parent_in(stat: &str) -> Option<i64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// A process and all below it.
fn tree(root: i64, parents: &BTreeMap<i64, i64>) -> Vec<i64> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(
            parents.iter().filter(|(process, of)| **of == parent && **process != root).map(|(process, _)| *process),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_hides_no_parent() {
        assert_eq!(parent_in("42 (a) b (c)) S 7 42 42"), Some(7));
        assert_eq!(parent_in("nothing"), None);
    }

    #[test]
    fn a_tree_is_everything_below() {
        let parents = BTreeMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 3)]);
        assert_eq!(tree(2, &parents), [2, 3, 4, 6]);
    }
}
