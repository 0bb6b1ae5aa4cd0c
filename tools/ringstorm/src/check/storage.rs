//! Folders: whether they can be written, whether there is room, whether their paths are short enough.
//!
//! Threading: one thread. Errors: findings.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ringstorm_conf::Conf;
use ringstorm_launch::CONTROL_SOCKET;

use super::{Finding, Supervisors, Wanted};

/// Less room than this is soon used up.
const ROOM_WANTED: u64 = 1 << 30;
const ROOM_LEAST: u64 = 64 << 20;
/// The longest path of a socket, in bytes, without its end: `sun_path` of Linux.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// What is found.
pub(super) fn findings(conf: &Conf, wanted: Wanted, supervisors: &Supervisors) -> Vec<Finding> {
    let mut findings = Vec::new();
    if wanted.nimbus || wanted.supervisor {
        findings.extend(folder("storm.local.dir", &conf.local_dir()));
        findings.extend(folder("storm.log.dir", &conf.log_dir()));
    }
    if wanted.supervisor {
        findings.extend(folder("storm.workers.artifacts.dir", &conf.workers_artifacts_dir()));
    }
    findings.extend(supervisors.confs.iter().map(|it| socket_path(&it.local_dir().join(CONTROL_SOCKET))));
    findings
}

/// Whether a daemon can write in a folder, or make it.
pub(super) fn folder(key: &str, path: &Path) -> Vec<Finding> {
    let there = existing(path);
    let shown = path.display();
    let tried = tempfile::Builder::new().prefix(".ringstorm-check-").tempfile_in(&there);
    if let Err(error) = tried {
        let mend = format!("make {shown} a folder of the user that runs the daemon, or set {key} to another one");
        return vec![Finding::bad(key, format!("{shown} cannot be written: {error}"), mend)];
    }
    let will_be_made = if there == path { "" } else { ", and is made at the start" };
    let mut findings = vec![Finding::good(key, format!("{shown} can be written{will_be_made}"))];
    if let Ok(data) = rustix::fs::statvfs(&there) {
        findings.extend(room(key, path, data.f_bavail.saturating_mul(data.f_frsize)));
    }
    findings
}

/// The folder itself, or the nearest above it that is there.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/")).to_owned()
}

/// What to say of so many free bytes; nothing if there are enough.
pub(super) fn room(key: &str, path: &Path, free_bytes: u64) -> Option<Finding> {
    let said = format!("{} MiB are free at {}", free_bytes >> 20, path.display());
    let mend = format!("make room, or set {key} to a folder on a larger disk");
    match free_bytes {
        ROOM_WANTED.. => None,
        ROOM_LEAST.. => Some(Finding::warning(key, said, mend)),
        _ => Some(Finding::bad(key, said, mend)),
    }
}

pub(super) fn socket_path(path: &Path) -> Finding {
    let bytes = path.as_os_str().as_bytes().len();
    if bytes <= SOCKET_PATH_BYTES_MAX {
        return Finding::good("control socket", format!("{} is short enough", path.display()));
    }
    Finding::bad(
        "control socket",
        format!("{} has {bytes} bytes, and a socket's path has {SOCKET_PATH_BYTES_MAX} at most", path.display()),
        "set storm.local.dir to a shorter path",
    )
}
