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

use serde_json::json;

use crate::failure::{Failure, Status};
use crate::output;

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
