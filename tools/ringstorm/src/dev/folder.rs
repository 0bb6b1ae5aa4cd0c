//! The folder of the cluster: one that is given, or a temporary one that goes with the command.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use tempfile::TempDir;

use super::plan::make_folder;
use crate::failure::Failure;

/// A folder.
pub(super) enum Folder {
    Given(PathBuf),
    Temporary(TempDir),
}

impl Folder {
    /// Makes it.
    pub(super) fn make(given: Option<&Path>) -> Result<Self, Failure> {
        match given {
            Some(path) => {
                make_folder(path)?;
                let path = path.canonicalize();
                path.map(Self::Given).map_err(|error| Failure::new(format!("--dir cannot be used: {error}")))
            }
            None => {
                let folder = tempfile::Builder::new().prefix("ringstorm-dev-").tempdir();
                folder.map(Self::Temporary).map_err(|error| {
                    Failure::new(format!("no temporary folder can be made: {error}; give one with --dir"))
                })
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    pub(super) fn is_temporary(&self) -> bool {
        matches!(self, Self::Temporary(_))
    }
}

/// How long another cluster may take to come up before it is not waited for any more.
const TURN_LIMIT: Duration = Duration::from_secs(200);
/// Between two looks whether it is up.
const TURN_LOOK_PERIOD: Duration = Duration::from_millis(100);

/// Waits until no other cluster of this machine is coming up. What is given is this one's turn, until it is dropped; nothing
/// where there can be no such file, or another one takes too long: ports are then found without it.
pub(super) fn take_turn() -> Option<File> {
    let path = std::env::temp_dir().join("ringstorm-dev.lock");
    let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
    let deadline = Instant::now() + TURN_LIMIT;
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(TURN_LOOK_PERIOD);
    }
    Some(file)
}
