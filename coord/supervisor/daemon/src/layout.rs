//! Where things lie under `storm.local.dir`, and where workers' logs do.
//!
//! | path | what |
//! | --- | --- |
//! | `supervisor/local-state.json` | what outlives the daemon |
//! | `supervisor/control.sock` | the control socket |
//! | `supervisor/stormdist/<topology id>/` | a topology here: its configuration, its structure, and a link to its code |
//! | `supervisor/code/<sha256>` | executables by content, shared by topologies |
//! | `workers/<port>-<incarnation>/` | a worker that runs: its working folder, with `launch.json` and `pid` |
//! | `workers/history` | why workers started and ended, see [`crate::history`] |
//!
//! Threading: plain data.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The file of a worker's process in its folder.
pub(crate) const PID_FILE: &str = "pid";

/// Files of a topology, by Storm's names.
pub(crate) const CONF_FILE: &str = "stormconf.ser";
pub(crate) const TOPOLOGY_FILE: &str = "stormcode.ser";
pub(crate) const CODE_FILE: &str = "stormjar.jar";

/// The folders. Absolute, since workers have others.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    local: PathBuf,
    artifacts: PathBuf,
}

impl Layout {
    pub(crate) fn new(local: &Path, artifacts: &Path) -> Self {
        Self { local: local.to_owned(), artifacts: artifacts.to_owned() }
    }

    pub(crate) fn supervisor(&self) -> PathBuf {
        self.local.join("supervisor")
    }

    pub(crate) fn local_state(&self) -> PathBuf {
        self.supervisor().join("local-state.json")
    }

    pub(crate) fn control_socket(&self) -> PathBuf {
        self.local.join(ringstorm_launch::CONTROL_SOCKET)
    }

    pub(crate) fn code_folder(&self) -> PathBuf {
        self.supervisor().join("code")
    }

    pub(crate) fn topologies(&self) -> PathBuf {
        self.supervisor().join("stormdist")
    }

    pub(crate) fn topology(&self, topology: &str) -> PathBuf {
        self.topologies().join(topology)
    }

    pub(crate) fn workers(&self) -> PathBuf {
        self.local.join("workers")
    }

    pub(crate) fn worker(&self, port: u16, incarnation: u64) -> PathBuf {
        self.workers().join(format!("{port}-{incarnation}"))
    }

    pub(crate) fn history(&self) -> PathBuf {
        history_of(&self.local)
    }

    pub(crate) fn worker_log(&self, topology: &str, port: u16) -> PathBuf {
        self.artifacts.join(topology).join(port.to_string()).join("worker.log")
    }
}

/// Where the history of the workers of a host lies.
pub(crate) fn history_of(local_dir: &Path) -> PathBuf {
    local_dir.join("workers").join("history")
}

/// The port and the incarnation in the name of a worker's folder.
pub(crate) fn worker_of_name(name: &OsStr) -> Option<(u16, u64)> {
    let (port, incarnation) = name.to_str()?.split_once('-')?;
    let worker: (u16, u64) = (port.parse().ok()?, incarnation.parse().ok()?);
    (name == OsStr::new(&format!("{}-{}", worker.0, worker.1))).then_some(worker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workers_folder_names_its_worker() {
        let layout = Layout::new(Path::new("/a"), Path::new("/b"));
        let folder = layout.worker(6700, 7);
        assert_eq!(worker_of_name(folder.file_name().unwrap()), Some((6700, 7)));
        for other in ["6700", "6700-", "-7", "06700-7", "6700-7.new", "70000-7", "history"] {
            assert_eq!(worker_of_name(OsStr::new(other)), None, "{other}");
        }
    }
}
