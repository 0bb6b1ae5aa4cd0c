//! `local --workers`: the processes that share a topology are this executable, started again with the same arguments.
//!
//! Threading: none of its own. Errors: for whoever typed the command.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;

use ringstorm_runtime::{AssignmentFile, BuiltTopology, WorkerCommand, run_assigned_worker, run_worker};

use super::command_line::{WorkerArguments, WorkerPlace};
use super::remarks::{Way, without_effect};
use super::screen::Screen;
use super::signals::{SignalWatch, StopReason};
use super::verdict::{Status, judge_worker};

/// Makes the commands that start workers: what was typed, with `worker` in the place of `local`, behind the words that
/// `ringstorm.worker.launch` has for it.
pub(super) fn command(topology: &BuiltTopology) -> Result<WorkerCommand, String> {
    let executable = std::env::current_exe()
        .map_err(|error| format!("the path of this executable is unknown ({error}), so it cannot be started again"))?;
    let launch = topology.config().worker_launch().map_err(|error| error.to_string())?;
    Ok(Box::new(move |worker, leader: &Path| {
        let own = same_file(&executable);
        let mut command = match launch.get(worker).and_then(|words| words.split_first()) {
            None => {
                let mut command = Command::new(own);
                command.arg0(&executable);
                command
            }
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words).arg(own);
                command
            }
        };
        command.arg("worker").arg("--ringstorm-leader").arg(leader);
        command.arg("--ringstorm-worker").arg(worker.to_string());
        // The first argument is the command's name, since only commands have options.
        command.args(std::env::args_os().skip(2));
        command
    }))
}

/// Where the file is of which this process was made: whoever builds anew while a run goes on puts another in its place, which
/// is not to join the run.
fn same_file(executable: &Path) -> PathBuf {
    let own = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let identity = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino())).ok();
    match identity(&own) {
        Some(identified) if identity(executable) != Some(identified) => own,
        _ => executable.to_owned(),
    }
}

/// Runs one worker until whoever leads it says that it is over. One that a file leads heeds signals itself.
pub(super) fn be_one(name: &str, topology: BuiltTopology, arguments: &WorkerArguments) -> Result<Status, String> {
    let WorkerPlace { leader, assignment } = &arguments.place;
    match (leader, assignment) {
        (Some(leader), _) => {
            // A signal to a group reaches every process of it; the leading one decides what becomes of it.
            super::signals::leave_to_leader();
            run_worker(name, topology, arguments.worker, leader).map_err(|error| error.to_string())?;
            Ok(Status::Done)
        }
        (None, Some(file)) => be_assigned(name, topology, arguments.worker as u64, file),
        (None, None) => Err("a worker needs a leader or an assignment".into()),
    }
}

fn be_assigned(name: &str, topology: BuiltTopology, worker: u64, file: &Path) -> Result<Status, String> {
    let (screen, reason) = (Arc::new(Screen::new(false)), StopReason::default());
    let (stop, stops) = channel();
    without_effect(topology.config(), Way::LedByFile(worker))
        .iter()
        .for_each(|text| screen.print(&format!("note: {text}")));
    let ask = move || {
        // One that is over needs no stop.
        let _ = stop.send(());
    };
    let signals = SignalWatch::start(Arc::clone(&screen), ask, reason.clone());
    if let Err(error) = &signals {
        screen.print(&format!("warning: signals cannot be watched ({error}): Ctrl-C ends the worker without a drain"));
    }
    let ended = run_assigned_worker(name, topology, worker, AssignmentFile::new(file), stops);
    let ended = ended.map_err(|error| error.to_string())?;
    let (status, verdict) = judge_worker(name, worker, ended, reason.get().as_deref());
    verdict.into_iter().for_each(|line| screen.print(&line));
    Ok(status)
}
