//! What each command does.
//!
//! Threading: one thread, which waits. Errors: [`Failure`]s, for whoever typed the command.

pub(crate) mod changes;
pub(crate) mod cluster;
pub(crate) mod config;
pub(crate) mod daemons;
pub(crate) mod errors;
pub(crate) mod executable;
pub(crate) mod kill_workers;
pub(crate) mod list;
pub(crate) mod log_levels;
pub(crate) mod logs;
pub(crate) mod status;
pub(crate) mod zk;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::failure::{Failure, Status};
use crate::output;

/// The folders of the supervisors of this host: the one of its configuration, and those that `dev` has below its folder.
pub(crate) fn supervisor_folders(local_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(local_dir).into_iter().flatten().flatten();
    let of_dev = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SUPERVISOR_OF_DEV));
    let mut folders: Vec<PathBuf> = of_dev.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.insert(0, local_dir.to_owned());
    folders
}

/// How the names of the folders begin that `dev` makes for its supervisors.
const SUPERVISOR_OF_DEV: &str = "supervisor-";

/// The version, as nodes in ZooKeeper and nimbus say it.
pub(crate) const VERSION: &str = concat!("2.8.2-ringstorm.", env!("CARGO_PKG_VERSION"));

/// `version`.
pub(crate) fn version(json: bool) -> Result<Status, Failure> {
    if json {
        output::print_json(&json!({ "version": VERSION }))?;
    } else {
        output::print(&format!(
            "Ringstorm {} (speaks the protocol of Apache Storm 2.8.2)\n",
            env!("CARGO_PKG_VERSION")
        ))?;
    }
    Ok(Status::Done)
}
