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

use ringstorm_launch::CONTROL_SOCKET;
use serde_json::json;

use crate::command_line::VERSION;
use crate::failure::{Failure, Status};
use crate::output;

/// The folders of the supervisors of this host: the one of its configuration, and those that `dev` has below its folder.
pub(crate) fn supervisor_folders(local_dir: &Path) -> Vec<PathBuf> {
    let below = below(local_dir);
    std::iter::once(local_dir.to_owned()).chain(below).collect()
}

/// The configurations of the supervisors of `dev`, if this is its folder and not that of one supervisor.
pub(crate) fn supervisors_of_dev(local_dir: &Path) -> Vec<PathBuf> {
    if local_dir.join(CONTROL_SOCKET).exists() {
        return Vec::new();
    }
    let confs = below(local_dir).into_iter().map(|folder| {
        let mut conf = folder.into_os_string();
        conf.push(".yaml");
        PathBuf::from(conf)
    });
    confs.filter(|conf| conf.is_file()).collect()
}

fn below(local_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(local_dir).into_iter().flatten().flatten();
    let of_dev = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SUPERVISOR_OF_DEV));
    let mut folders: Vec<PathBuf> = of_dev.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// How the names of the folders begin that `dev` makes for its supervisors.
const SUPERVISOR_OF_DEV: &str = "supervisor-";

/// `version`.
pub(crate) fn version(json: bool) -> Result<Status, Failure> {
    if json {
        output::print_json(&json!({ "version": VERSION }))?;
    } else {
        output::print(&format!("Ringstorm {VERSION} (speaks the protocol of Apache Storm 2.8.2)\n"))?;
    }
    Ok(Status::Done)
}
