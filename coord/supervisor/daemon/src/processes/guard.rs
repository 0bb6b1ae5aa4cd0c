//! The guard of one worker process: a thread that starts it, looks at its memory, its folder and its logs each second, and
//! sees its end.
//!
//! Invariant: the last word about the process comes from here, after everything of it is gone, but for what hangs in the
//! kernel. Threading: one thread each. Errors: told by the outlet.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ringstorm_supervisor::events::{Exit, ProcessEvent, StartWorker, StopHow};
use ringstorm_supervisor::share::ExecutorId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};

use super::kill;
use super::last_words::LogOfWorker;
use super::log_pipe::LogPipe;
use super::mark::sweep;
use super::record::hold;
use super::start::{Failure, start as start_process};
use super::usage::{left_bytes, used_bytes};
use super::{Ending, Id, Known, Running, Shared, failure_of};
use crate::disk;
use crate::folder_limit::FolderLimit;
use crate::history::What;
use crate::log_flood::LogFlood;
use crate::memory::MemoryLimit;
use crate::procfs::{Stat, processes};
use crate::report::Report;

/// Between two looks at a process.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// A process that runs.
pub(super) struct Guarded {
    pub(super) id: Id,
    pub(super) topology: String,
    pub(super) executors: Vec<ExecutorId>,
    pub(super) folder: PathBuf,
    pub(super) pid: Pid,
    pub(super) pidfd: Arc<OwnedFd>,
    pub(super) limit: MemoryLimit,
    /// Of a child; an adopted process has others.
    pub(super) own: Option<(Child, LogPipe)>,
}

/// Starts a worker and guards it.
pub(super) fn start(shared: &Shared, worker: &StartWorker) {
    let (port, incarnation) = (worker.port, worker.incarnation);
    let id = (port, incarnation);
    match start_process(shared, worker) {
        Err(Failure { kind, why }) => {
            let text = format!("its worker in slot {port} of {} did not start: {kind}: {why}", shared.how.host);
            shared.reports.add(report(shared, id, &worker.topology, worker.executors.iter().copied(), text));
            shared.not_started(id, kind, &why);
        }
        Ok(started) => {
            let pid = started.pid;
            shared.started(id, Running { pid, pidfd: Arc::clone(&started.pidfd) });
            let number = pid.as_raw_nonzero().get().unsigned_abs();
            let what = What::Started { pid: number, assignment_version: worker.version };
            shared.remember((port, incarnation), &worker.topology, what);
            shared.outlet.note(&format!(
                "slot {port}: started the worker of {} (incarnation {incarnation}, process {pid})",
                worker.topology
            ));
            shared.outlet.tell(ProcessEvent::Started { port, incarnation, pid: number });
            let guarded = Guarded {
                id,
                topology: worker.topology.clone(),
                executors: worker.executors.iter().copied().collect(),
                folder: shared.layout.worker(port, incarnation),
                pid,
                pidfd: started.pidfd,
                limit: started.limit,
                own: Some((started.child, started.log)),
            };
            guard(shared, guarded);
        }
    }
}

/// Guards a process until it is gone.
pub(super) fn guard(shared: &Shared, mut guarded: Guarded) {
    let mut is_too_large = false;
    let mut folder = FolderLimit::new(&guarded.folder, shared.how.folder_bytes_max);
    let mut logs = LogFlood::new(&shared.layout.worker_log(&guarded.topology, guarded.id.0), shared.how.log_rotation);
    while !has_ended(&guarded.pidfd, LOOK_PERIOD) {
        if let Some((_, log)) = &mut guarded.own {
            log.tend().into_iter().for_each(|line| shared.outlet.note(&line));
        }
        if let Some(said) = logs.look(SystemTime::now()) {
            let port = guarded.id.0;
            shared.outlet.note(&format!("slot {port}: the worker of {}: {said}", guarded.topology));
            let text = format!("its worker in slot {port} of {}: {said}", shared.how.host);
            shared.reports.add(report(shared, guarded.id, &guarded.topology, guarded.executors.iter().copied(), text));
        }
        if shared.does_not_go(guarded.id) {
            let (port, incarnation) = guarded.id;
            shared.outlet.note(&format!(
                "slot {port}: the worker of {} (incarnation {incarnation}) was killed seconds ago and is still there: the \
                 kernel holds it; look at the host's disks and at dmesg",
                guarded.topology
            ));
        }
        if !is_too_large && let Some(why) = too_large(shared, &mut guarded).or_else(|| folder.look()) {
            is_too_large = true;
            shared.stop(guarded.id, StopHow::Kill, Ending { why, is_wanted: false });
        }
    }
    finish(shared, guarded);
}

fn has_ended(pidfd: &OwnedFd, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).ok();
    poll(&mut [PollFd::new(pidfd, PollFlags::IN)], limit.as_ref()).is_ok_and(|ready| ready > 0)
}

fn too_large(shared: &Shared, guarded: &mut Guarded) -> Option<String> {
    let soft = guarded.limit.soft_bytes();
    let used = used_bytes(guarded.pid, soft);
    let left = if used > soft { left_bytes() } else { None };
    guarded.limit.judge(shared.outlet.now(), used, left)
}

/// Ends what the process has left, tells how it ended, and removes its folder.
fn finish(shared: &Shared, guarded: Guarded) {
    let Guarded { id, topology, executors, folder, pid, own, .. } = guarded;
    let (port, incarnation) = id;
    let (exit, log) = match own {
        Some((mut child, log)) => {
            // It is not reaped yet: its number is its own, and its group's.
            let _ = kill_process_group(pid, Signal::KILL);
            shared.is_over(id);
            let status = child.wait();
            (status.map_or(Exit::Unknown, exit_of), log.close())
        }
        None => {
            shared.is_over(id);
            kill_leftover_group(pid);
            (Exit::Unknown, LogOfWorker::of_running(&shared.layout.worker_log(&topology, port)))
        }
    };
    let orphans = sweep(&folder);
    let who = format!("slot {port}: the worker of {topology} (incarnation {incarnation})");
    match orphans {
        Ok(0) => {}
        Ok(count) => shared.outlet.note(&format!("{who} left {count} processes behind, which were killed")),
        Err(count) => shared.outlet.note(&format!(
            "{who} left {count} processes behind that do not die although they were killed; something is wrong with \
             this host"
        )),
    }
    let mut known = shared.forget(id).unwrap_or_else(|| Known::new(&topology));
    if known.ending.is_none() {
        known.ending = kill::note_in(&folder).map(|why| Ending { why, is_wanted: true });
    }
    // One that was not this one's child has no exit code here.
    let is_in_order = matches!(exit, Exit::Code(0) | Exit::Unknown);
    let mut how = exit;
    if known.ending.is_none()
        && let Some(why) = known.leaves.take().filter(|_| is_in_order)
    {
        how = Exit::Done;
        known.ending = Some(Ending { why, is_wanted: true });
    }
    let why = match (&known.ending, &known.trouble) {
        (Some(ending), _) => ending.why.clone(),
        (None, Some((kind, why))) => format!("{kind}: {why}"),
        (None, None) => by_itself(exit).to_owned(),
    };
    let is_wanted = known.ending.as_ref().is_some_and(|ending| ending.is_wanted);
    let what = What::Ended { how: exit.to_string(), why: why.clone(), orphans: orphans.unwrap_or_else(|count| count) };
    shared.remember((port, incarnation), &topology, what);
    shared.outlet.note(&format!("{who} {exit}: {why}"));
    if !is_wanted {
        let text = log.told(&format!("its worker in slot {port} of {} {exit}: {why}", shared.how.host));
        shared.reports.add(report(shared, id, &topology, executors.into_iter(), text));
    }
    shared.outlet.tell(match known.trouble.filter(|_| known.ending.is_none()) {
        Some((kind, why)) => ProcessEvent::StartFailed { port, incarnation, kind: failure_of(kind), why },
        None => ProcessEvent::Exited { port, incarnation, how },
    });
    if let Err(error) = disk::remove_folder(&folder) {
        shared.outlet.note(&format!("{who}: its folder stays: {error}"));
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// How it came to an end that nobody here wanted.
fn by_itself(exit: Exit) -> &'static str {
    match exit {
        Exit::Code(_) | Exit::Done => "it ended by itself",
        Exit::Signal(9) => {
            "neither this supervisor nor `ringstorm kill_workers` sent it; the kernel does when memory runs out"
        }
        Exit::Signal(_) => "neither this supervisor nor `ringstorm kill_workers` sent it",
        Exit::Unknown => "nobody here asked for it",
    }
}

/// What is left of the group of a process that was not this one's child, and whose number may be another's by now. As long
/// as anything is left of a group, its number is given to no process.
fn kill_leftover_group(leader: Pid) {
    let group = leader.as_raw_nonzero().get();
    if Stat::of(leader).is_some_and(|stat| !stat.is_over()) {
        return;
    }
    for pid in processes() {
        let is_of_it = Stat::of(pid).is_some_and(|stat| stat.group == group);
        if is_of_it && let Some((_, pidfd)) = hold(pid, |stat| stat.group == group && pid != leader) {
            let _ = pidfd_send_signal(&pidfd, Signal::KILL);
        }
    }
}

fn report(
    shared: &Shared,
    (port, _): Id,
    topology: &str,
    executors: impl Iterator<Item = ExecutorId>,
    text: String,
) -> Report {
    Report { topology: topology.to_owned(), host: shared.how.host.clone(), port, executors: executors.collect(), text }
}
