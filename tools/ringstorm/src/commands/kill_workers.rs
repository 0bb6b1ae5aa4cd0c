//! `kill_workers`: Storm's command for a host. A supervisor that runs starts what it killed again.

use ringstorm_conf::Conf;
use ringstorm_supervisor_daemon::Killed;
use serde_json::json;

use super::supervisor_folders;
use crate::failure::{Failure, Status};
use crate::output;

/// Kills all workers of this host.
pub(crate) fn kill_workers(conf: &Conf, json: bool) -> Result<Status, Failure> {
    let local_dir = conf.local_dir();
    let grace = conf.supervisor_settings().worker_shutdown_sleep;
    let all = supervisor_folders(&local_dir);
    let killed = all.iter().map(|folder| ringstorm_supervisor_daemon::kill_workers(folder, grace));
    let killed = killed
        .fold(Killed::default(), |sum, it| Killed { workers: sum.workers + it.workers, left: sum.left + it.left });
    if json {
        output::print_json(&json!({ "killed": killed.workers, "left": killed.left }))?;
    } else if killed.workers == 0 {
        output::print(&format!("no worker runs below {}\n", local_dir.display()))?;
    } else {
        output::print(&format!("{} workers below {} are killed\n", killed.workers, local_dir.display()))?;
    }
    match killed.left {
        0 => Ok(Status::Done),
        left => Err(Failure::new(format!(
            "{left} workers have processes that cannot be killed: they hang in the kernel, or belong to another user; look \
             with ps"
        ))),
    }
}
