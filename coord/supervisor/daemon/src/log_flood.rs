//! Whether a worker writes so much that its logs are worth nothing.
//!
//! Logs are capped, so that output without end harms no neighbour; but what the worker said a moment ago is gone by the time
//! somebody looks for it, and the host's disk is busy with it. Whoever owns the topology should know.
//!
//! Invariant: it is said once for each process. Threading: belongs to the worker's guard. Errors: files that cannot be looked
//! at say nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ringstorm_daemon::{Rotation, old_file};

/// Logs that reach back for less than this are flooded.
const REACH_MIN: Duration = Duration::from_secs(60);

/// The logs of one worker.
#[derive(Debug)]
pub(crate) struct LogFlood {
    /// The oldest of them. Without old ones nothing is known.
    oldest: Option<PathBuf>,
    rotation: Rotation,
    since: SystemTime,
    is_said: bool,
}

impl LogFlood {
    /// Those of a worker that writes from now on.
    pub(crate) fn new(log: &Path, rotation: Rotation) -> Self {
        let oldest = (rotation.old_files_max > 0).then(|| old_file(log, rotation.old_files_max));
        Self { oldest, rotation, since: SystemTime::now(), is_said: false }
    }

    /// What is to be said of them, if anything.
    pub(crate) fn look(&mut self, now: SystemTime) -> Option<String> {
        let oldest = self.oldest.as_ref().filter(|_| !self.is_said)?;
        // Nothing was written to it since the next one was begun.
        let ended = std::fs::metadata(oldest).and_then(|it| it.modified()).ok()?;
        // What another process has written is no fault of this one.
        let reach = now.duration_since(ended).ok().filter(|reach| ended >= self.since && *reach < REACH_MIN)?;
        self.is_said = true;
        let Rotation { file_bytes_max, old_files_max } = self.rotation;
        Some(format!(
            "its output floods its logs: {} files of {} KiB reach back for {} s; print less, or raise \
             ringstorm.worker.log.bytes and ringstorm.worker.log.files",
            u64::from(old_files_max) + 1,
            file_bytes_max >> 10,
            reach.as_secs()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn logs_that_reach_back_for_moments_are_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("worker.log");
        let rotation = Rotation { file_bytes_max: 1 << 20, old_files_max: 2 };
        let mut flood = LogFlood::new(&log, rotation);
        let begun = flood.since;
        assert_eq!(flood.look(begun), None);
        let ended_at = |at| {
            let oldest = File::create(folder.path().join("worker.log.2")).unwrap();
            oldest.set_modified(at).unwrap();
        };
        ended_at(begun - Duration::from_secs(1));
        assert_eq!(flood.look(begun + Duration::from_secs(1)), None, "it is of the process before");
        ended_at(begun + Duration::from_secs(1));
        assert_eq!(flood.look(begun + Duration::from_secs(61)), None);
        let said = flood.look(begun + Duration::from_secs(6)).unwrap();
        assert!(said.contains("3 files of 1024 KiB reach back for 5 s"), "{said}");
        assert_eq!(flood.look(begun + Duration::from_secs(7)), None);
        let mut none = LogFlood::new(&log, Rotation { old_files_max: 0, ..rotation });
        assert_eq!(none.look(begun + Duration::from_secs(6)), None);
    }
}
