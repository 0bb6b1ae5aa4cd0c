//! The mark that a worker and everything it starts carry: its folder, as a variable of the environment.
//!
//! Processes that user code starts belong to the worker's group, unless they leave it. By the mark those are found, too,
//! and also a worker whose supervisor died before it could write down what it had started. A process that replaces its
//! environment escapes; it has to go to some length for that.
//!
//! Threading: any thread. Errors: processes that cannot be looked at are of other users, and no worker's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, pidfd_send_signal};

use super::record::hold;
use crate::procfs::{processes, variable};

/// The variable.
pub(super) const FOLDER_VARIABLE: &str = "RINGSTORM_WORKER_FOLDER";

/// How long processes that were killed may take to be gone. One that hangs in the kernel is not waited for any longer.
const GONE_LIMIT: Duration = Duration::from_secs(5);

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
/// # Errors
/// Some are still there after a while; how many.
pub(super) fn sweep(folder: &Path) -> Result<usize, usize> {
    let deadline = Instant::now() + GONE_LIMIT;
    let mut killed = 0;
    loop {
        let found: Vec<OwnedFd> = processes().filter_map(|pid| held(pid, folder)).collect();
        if found.is_empty() {
            return Ok(killed);
        }
        if Instant::now() >= deadline {
            return Err(found.len());
        }
        killed = found.len().max(killed);
        for pidfd in &found {
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
        }
        found.iter().for_each(|pidfd| wait_for_end(pidfd, deadline));
    }
}

/// The process, if it carries the mark.
fn held(pid: Pid, folder: &Path) -> Option<OwnedFd> {
    // Most processes do not, and are not held.
    folder_of(pid).filter(|found| found == folder)?;
    let (_, pidfd) = hold(pid, |_| folder_of(pid).is_some_and(|found| found == folder))?;
    Some(pidfd)
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
}
