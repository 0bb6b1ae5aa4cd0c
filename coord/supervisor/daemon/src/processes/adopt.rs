//! What runs on the host when a supervisor starts, and what is left of what does not run any more.
//!
//! A worker is known by its folder. Its process is the one that the folder's file names, if it is still that one, or one
//! that carries the folder's mark and leads a group: the daemon before may have died between the two. Threading: the
//! daemon's, before anything else. Errors: a process that cannot be guarded keeps the supervisor from starting.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringstorm_launch::launch::LAUNCH_BYTES_MAX;
use ringstorm_launch::{LAUNCH_FILE, Launch};
use ringstorm_supervisor::LocalState;
use ringstorm_supervisor::supervisor::FoundWorker;
use rustix::fd::OwnedFd;
use rustix::process::Pid;

use super::guard::{Guarded, guard};
use super::mark::{marked_in, sweep};
use super::record::{ProcessRecord, hold};
use super::{Id, Known, Running, Shared};
use crate::disk;
use crate::history::What;
use crate::layout::worker_of_name;
use crate::memory::MemoryLimit;

pub(super) fn adopt(shared: &Arc<Shared>, state: &LocalState) -> io::Result<Vec<FoundWorker>> {
    let workers = shared.layout.workers();
    disk::make_folder(&workers)?;
    let mut marked = marked_in(&workers);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&workers)? {
        let entry = entry?;
        let folder = entry.path();
        let Some(id) = worker_of_name(&entry.file_name()) else {
            remove_if_of_no_use(shared, &folder);
            continue;
        };
        let processes = marked.remove(&folder).unwrap_or_default();
        match leader(&folder, &processes) {
            Some((pid, pidfd)) => found.push(adopted(shared, state, id, folder, pid, pidfd)?),
            None => clean(shared, id, &folder),
        }
    }
    leave_nothing(shared, marked);
    Ok(found)
}

fn leader(folder: &Path, marked: &[Pid]) -> Option<(Pid, OwnedFd)> {
    let by_record = ProcessRecord::read(folder).and_then(|record| record.hold());
    let leads = |pid: &Pid| hold(*pid, |stat| stat.group == pid.as_raw_nonzero().get());
    by_record.or_else(|| marked.iter().find_map(leads))
}

fn adopted(
    shared: &Arc<Shared>,
    state: &LocalState,
    id: Id,
    folder: PathBuf,
    pid: Pid,
    pidfd: OwnedFd,
) -> io::Result<FoundWorker> {
    let (port, incarnation) = id;
    let bytes = disk::read_bounded(&folder.join(LAUNCH_FILE), LAUNCH_BYTES_MAX);
    let launch = bytes.ok().and_then(|bytes| Launch::from_bytes(&bytes).ok());
    let running = state.slots.get(&port).and_then(|slot| slot.running.as_ref());
    let running = running.filter(|running| running.incarnation == incarnation);
    let conf = launch.as_ref().map(|launch| launch.conf.clone()).unwrap_or_default();
    let resources = running.map(|running| running.share.resources.clone()).unwrap_or_default();
    // One whose file is gone is none that the machine knows, and will be stopped.
    let topology = launch.map(|launch| launch.topology).unwrap_or_default();

    let pidfd = Arc::new(pidfd);
    let known = Known { running: Some(Running { pid, pidfd: Arc::clone(&pidfd) }), ..Known::new(&topology) };
    shared.table().insert(id, known);
    let number = pid.as_raw_nonzero().get().unsigned_abs();
    shared.remember((port, incarnation), &topology, What::Adopted { pid: number });
    shared.outlet.note(&format!(
        "slot {port}: the worker of {topology} (incarnation {incarnation}, process {pid}) runs, and goes on"
    ));
    let guarded = Guarded {
        id,
        topology: topology.clone(),
        executors: running.map(|running| running.share.executors.iter().copied().collect()).unwrap_or_default(),
        folder,
        pid,
        pidfd,
        limit: MemoryLimit::new(shared.how.memory, &resources, &conf),
        own: None,
    };
    let shared = Arc::clone(shared);
    let named = std::thread::Builder::new().name(format!("worker-{port}"));
    named.spawn(move || guard(&shared, guarded))?;
    Ok(FoundWorker { port, incarnation, pid: number, topology })
}

/// Pipes, sockets, devices and links that user code has left among the folders of workers. Files and folders under other names
/// are somebody's who may want them again.
fn remove_if_of_no_use(shared: &Shared, path: &Path) {
    let is_kept = |data: std::fs::Metadata| data.is_file() || data.is_dir();
    if std::fs::symlink_metadata(path).is_ok_and(is_kept) {
        return;
    }
    shared.outlet.note(&match disk::remove_file(path) {
        Ok(()) => format!("{} was no worker's folder and no file; it is removed", path.display()),
        Err(error) => format!("what is no worker's folder stays: {error}"),
    });
}

/// A worker that ended while no supervisor ran.
fn clean(shared: &Shared, (port, incarnation): Id, folder: &Path) {
    let bytes = disk::read_bounded(&folder.join(LAUNCH_FILE), LAUNCH_BYTES_MAX);
    let launch = bytes.ok().and_then(|bytes| Launch::from_bytes(&bytes).ok());
    let topology = launch.map(|launch| launch.topology).unwrap_or_default();
    let what = What::Ended {
        how: "is not there any more".to_owned(),
        why: "it ended while no supervisor ran".to_owned(),
        orphans: sweep(folder).unwrap_or_else(|count| count),
    };
    shared.remember((port, incarnation), &topology, what);
    if let Err(error) = disk::remove_folder(folder) {
        shared.outlet.note(&format!("slot {port}: what a worker has left stays: {error}"));
    }
}

/// Processes whose worker's folder is gone.
fn leave_nothing(shared: &Shared, marked: BTreeMap<PathBuf, Vec<Pid>>) {
    for folder in marked.into_keys() {
        let count = sweep(&folder).unwrap_or_else(|count| count);
        let line = format!("{count} processes of a worker that is gone ({}) were killed", folder.display());
        shared.outlet.note(&line);
    }
}
