//! The mark that a worker and everything it starts carry: its folder, as a variable of the environment.
//!
//! Processes that user code starts belong to the worker's group, unless they leave it. By the mark those are found, too,
//! and also a worker whose supervisor died before it could write down what it had started. A process that leaves the group
//! and replaces its environment (`env -i setsid`) escapes.
//!
//! Threading: any thread. Errors: processes that cannot be looked at are of other users, and no worker's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, pidfd_send_signal};

use super::record::hold;
use crate::procfs::{Now, Stat, processes, variable, variable_now};

/// The variable.
pub(super) const FOLDER_VARIABLE: &str = "RINGSTORM_WORKER_FOLDER";

/// How long processes that were killed may take to be gone. One that hangs in the kernel is not waited for any longer.
const GONE_LIMIT: Duration = Duration::from_secs(5);

/// How many looks in a row may find nothing while other processes come and go, until that is believed: on a host that always
/// starts something, nobody waits for a quiet moment.
const RESTLESS_LOOKS_MAX: u32 = 100;

/// Every process that carries a mark of a folder in this one, by that folder.
pub(super) fn marked_in(workers: &Path) -> BTreeMap<PathBuf, Vec<Pid>> {
    let mut found: BTreeMap<PathBuf, Vec<Pid>> = BTreeMap::new();
    for pid in processes() {
        let Some(folder) = folder_of(pid).filter(|folder| folder.parent() == Some(workers)) else { continue };
        found.entry(folder).or_default().push(pid);
    }
    found
}

/// Kills every process that carries this mark, again until there is none; how many there were.
///
/// One that starts another and ends at once may do so between two looks at it, so a look counts as one that finds nothing
/// only if no process went away under it.
///
/// # Errors
/// Some are still there after a while; how many.
pub(super) fn sweep(folder: &Path) -> Result<usize, usize> {
    let deadline = Instant::now() + GONE_LIMIT;
    let (mut killed, mut others, mut restless_looks) = (0, BTreeSet::new(), 0);
    loop {
        let Look { held, is_restless } = kill_marked(folder, &mut others);
        if held.is_empty() && (!is_restless || restless_looks >= RESTLESS_LOOKS_MAX) {
            return Ok(killed);
        }
        if Instant::now() >= deadline {
            return Err(held.len().max(1));
        }
        restless_looks = if held.is_empty() { restless_looks + 1 } else { 0 };
        killed += held.len();
        held.iter().for_each(|pidfd| wait_for_end(pidfd, deadline));
    }
}

/// What came of one look at all processes.
struct Look {
    /// Those with the mark, which were killed.
    held: Vec<OwnedFd>,
    /// Whether a process that had not been looked at before was gone when its turn came, or was about to become another one.
    is_restless: bool,
}

/// Kills what carries the mark, each as soon as it is seen. `others` are those without it: what is started with the mark has
/// it from its first moment on, so nobody is looked at twice, and all looks but the first cost little.
fn kill_marked(folder: &Path, others: &mut BTreeSet<i32>) -> Look {
    let mut look = Look { held: Vec::new(), is_restless: false };
    // The newest first: they are what may be gone soon.
    let listed: Vec<Pid> = processes().collect();
    for pid in listed.into_iter().rev() {
        let number = pid.as_raw_nonzero().get();
        if others.contains(&number) {
            continue;
        }
        let started = Stat::of(pid).map(|stat| stat.started);
        match variable_now(pid, FOLDER_VARIABLE) {
            Now::Is(Some(found)) if found == folder.as_os_str().as_bytes() => {
                match hold(pid, |stat| Some(stat.started) == started) {
                    Some((_, pidfd)) => {
                        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                        look.held.push(pidfd);
                    }
                    None => look.is_restless = true,
                }
            }
            Now::Is(_) => drop(others.insert(number)),
            Now::InExec => look.is_restless = true,
            Now::Gone => look.is_restless |= others.insert(number),
        }
    }
    look
}

fn folder_of(pid: Pid) -> Option<PathBuf> {
    variable(pid, FOLDER_VARIABLE).map(|bytes| PathBuf::from(OsString::from_vec(bytes)))
}

/// Whether a path can be a mark.
pub(super) fn can_mark(folder: &Path) -> bool {
    folder.is_absolute() && !folder.as_os_str().as_bytes().contains(&0)
}

fn wait_for_end(pidfd: &OwnedFd, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Timespec::try_from(left).ok().as_ref());
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn everything_with_a_mark_is_swept_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (workers, mark) = (folder.path().join("workers"), folder.path().join("workers/6700-7"));
        let spawn = |mark: &Path, script: &str| {
            Command::new("sh").args(["-c", script]).env(FOLDER_VARIABLE, mark).spawn().unwrap()
        };
        let mut other = spawn(&workers.join("6700-70"), "exec sleep 60");
        // Its child leaves its group and its session, and survives it.
        let mut parent = spawn(&mark, "setsid sleep 60 & exit 0");
        parent.wait().unwrap();
        let count = || marked_in(&workers).get(&mark).map_or(0, Vec::len);
        while count() == 0 || marked_in(&workers).len() < 2 {}
        assert!(sweep(&mark).unwrap() >= 1);
        assert_eq!(count(), 0);
        assert_eq!(sweep(&mark), Ok(0));
        assert_eq!(marked_in(&workers).len(), 1);
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(can_mark(&mark) && !can_mark(Path::new("workers")));
    }

    /// Eight of them, of which each starts the next one and ends: it lives for a millisecond.
    #[test]
    fn processes_that_are_always_new_ones_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let (workers, mark) = (folder.path().join("workers"), folder.path().join("workers/6700-7"));
        let script = folder.path().join("chain");
        std::fs::write(&script, "[ -e \"$1\" ] && exit; setsid sh \"$0\" \"$1\" & exit 0\n").unwrap();
        for round in 0..5 {
            let stop = folder.path().join(format!("stop {round}"));
            for _ in 0..8 {
                let mut first = Command::new("sh").arg(&script).arg(&stop).env(FOLDER_VARIABLE, &mark).spawn().unwrap();
                first.wait().unwrap();
            }
            // On a busy machine it may take several, each of which says so.
            let swept = std::iter::repeat_with(|| sweep(&mark)).find(Result::is_ok).unwrap();
            let is_left = (0..100).any(|_| !marked_in(&workers).is_empty());
            std::fs::write(&stop, "").unwrap();
            assert!(!is_left, "round {round}: {swept:?}");
        }
    }
}
