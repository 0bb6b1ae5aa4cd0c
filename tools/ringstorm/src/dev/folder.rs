//! The folder of the cluster: one that is given, or a temporary one that goes with the command.

use std::path::{Path, PathBuf};

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
