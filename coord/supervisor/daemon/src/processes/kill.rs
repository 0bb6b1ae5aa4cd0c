//! All workers of a host killed at once, by whoever has its folder: Storm's `kill_workers`, and the end of a cluster on one
//! machine. A supervisor that runs starts them again.
//!
//! Threading: whoever calls waits. Errors: processes that cannot be killed are counted.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, pidfd_send_signal};

use super::mark::{marked_in, sweep};
use super::record::ProcessRecord;
use crate::disk;
use crate::layout::Layout;

/// Between two looks whether workers that were asked to end have ended.
const LOOK_PERIOD: Duration = Duration::from_millis(50);

/// In the folder of a worker that is killed here.
const NOTE_FILE: &str = "killed";

/// What became of the workers of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Killed {
    /// How many there were.
    pub workers: usize,
    /// How many of them have a process that is still there.
    pub left: usize,
}

/// Why a worker was ended, if it was here.
pub(super) fn note_in(folder: &Path) -> Option<String> {
    folder
        .join(NOTE_FILE)
        .exists()
        .then(|| "all workers of this host were killed, as `ringstorm kill_workers` asks for".to_owned())
}

/// Asks all workers below this `storm.local.dir` to end, and kills what is left of them after a while, with everything that
/// they have started.
pub fn kill_workers(local_dir: &Path, grace: Duration) -> Killed {
    let workers = Layout::new(local_dir, local_dir).workers();
    let folders: Vec<_> = marked_in(&workers).into_keys().collect();
    for folder in &folders {
        // A supervisor that runs will be asked why.
        let _ = disk::write_plain(&folder.join(NOTE_FILE), b"", 0o600);
        if let Some((_, pidfd)) = ProcessRecord::read(folder).and_then(|record| record.hold()) {
            let _ = pidfd_send_signal(&pidfd, Signal::TERM);
        }
    }
    let deadline = Instant::now() + grace;
    while Instant::now() < deadline && !marked_in(&workers).is_empty() {
        std::thread::sleep(LOOK_PERIOD);
    }
    let left = folders.iter().filter(|folder| sweep(folder).is_err()).count();
    Killed { workers: folders.len(), left }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::mark::FOLDER_VARIABLE;
    use super::*;

    #[test]
    fn every_worker_below_the_folder_is_killed_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let spawn = |mark: &Path| Command::new("sleep").arg("60").env(FOLDER_VARIABLE, mark).spawn().unwrap();
        let mut own = ["a/workers/6700-1", "a/workers/6701-1"].map(|mark| spawn(&folder.path().join(mark)));
        let mut other = spawn(&folder.path().join("b/workers/6700-1"));
        let killed = kill_workers(&folder.path().join("a"), Duration::from_millis(100));
        assert_eq!(killed, Killed { workers: 2, left: 0 });
        for child in &mut own {
            child.wait().unwrap();
        }
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(kill_workers(&folder.path().join("a"), Duration::ZERO), Killed::default());
    }
}
