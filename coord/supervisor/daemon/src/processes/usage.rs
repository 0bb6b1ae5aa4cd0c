//! How much memory a worker uses, with the processes that it started.
//!
//! Threading: any thread. Errors: a process that is gone uses nothing.

use std::fs;

use rustix::param::page_size;
use rustix::process::Pid;

use crate::cpus::control_groups;
use crate::procfs::{Stat, available_bytes, descendants, proportional_bytes};

/// What a worker uses, in bytes. What lies below `enough` may be more than the truth: pages that several processes share
/// count for each of them.
pub(super) fn used_bytes(pid: Pid, enough: u64) -> u64 {
    let children = descendants(pid);
    let all = || std::iter::once(pid).chain(children.iter().copied());
    let page_bytes = u64::try_from(page_size()).unwrap_or(4096);
    let resident = all().filter_map(Stat::of).map(|stat| stat.resident_pages.saturating_mul(page_bytes)).sum();
    if resident <= enough || children.is_empty() {
        return resident;
    }
    all().filter_map(proportional_bytes).sum()
}

/// What is left on the host, or to the control group of this process, in bytes.
pub(super) fn left_bytes() -> Option<u64> {
    let number = |text: String| text.trim().parse::<u64>().ok();
    let groups = control_groups();
    let in_groups = groups.iter().filter_map(|group| {
        let of = |file: &str| fs::read_to_string(group.join(file)).ok();
        // A group without a limit says `max`.
        let limit = number(of("memory.max")?)?;
        let stat = of("memory.stat")?;
        let inactive = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
        // What the kernel gives up first is no use of anybody's.
        let reclaimable = inactive.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        Some(limit.saturating_sub(number(of("memory.current")?)?.saturating_sub(reclaimable)))
    });
    in_groups.chain(available_bytes()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something_and_something_is_left() {
        let own = Pid::from_raw(std::process::id().try_into().unwrap()).unwrap();
        let used = used_bytes(own, u64::MAX);
        assert!(used > 1 << 20, "{used}");
        let more = vec![1_u8; 64 << 20];
        assert!(used_bytes(own, u64::MAX) > used + (32 << 20), "{}", more.len());
        assert!(left_bytes().unwrap() > 0);
    }
}
