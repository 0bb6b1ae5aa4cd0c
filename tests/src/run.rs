//! The processes of a run.
//!
//! Threading: used by one test. Errors: what is left when a test fails is killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::waiting::end_of;

/// A run in several processes.
#[derive(Debug)]
pub struct Run {
    leader: Child,
    errors: PathBuf,
}

impl Run {
    /// Starts `numbers local --workers N` with a source; what it says goes to a file in `directory`.
    pub fn start(executable: &str, workers: usize, source: &Path, directory: &Path, more: &[&str]) -> Self {
        let mut command = Self::command(executable, Some(workers));
        command.arg("--source").arg(source).args(more);
        Self::spawn(command, directory)
    }

    /// The command `local`, for several worker processes or for none.
    pub fn command(executable: &str, workers: Option<usize>) -> Command {
        let mut command = Command::new(executable);
        command.args(["local", "--workers-cores", "1"]);
        if let Some(workers) = workers {
            command.args(["--workers", &workers.to_string()]);
        }
        command
    }

    /// Starts a command; what it says goes to a file in `directory`.
    pub fn spawn(mut command: Command, directory: &Path) -> Self {
        let errors = directory.join("errors");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&errors).unwrap());
        Self { leader: command.spawn().unwrap(), errors }
    }

    /// The worker processes, by number.
    pub fn workers(&self) -> Vec<(usize, Pid)> {
        let mut ids: Vec<i32> = Vec::new();
        // Workers are started by several threads of the leader.
        for task in std::fs::read_dir(format!("/proc/{}/task", self.leader.id())).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            ids.extend(text.split_whitespace().filter_map(|id| id.parse::<i32>().ok()));
        }
        let number = |id: i32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
            let arguments: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            let at = arguments.iter().position(|argument| *argument == b"--ringstorm-worker")?;
            std::str::from_utf8(arguments.get(at + 1)?).ok()?.parse().ok()
        };
        let mut workers: Vec<(usize, Pid)> =
            ids.into_iter().filter_map(|id| Some((number(id)?, Pid::from_raw(id)?))).collect();
        workers.sort_unstable_by_key(|(number, _)| *number);
        workers
    }

    /// Sends a signal to a worker, and returns whether it was there.
    pub fn signal(&self, worker: usize, signal: Signal) -> bool {
        let found = self.workers().into_iter().find(|(number, _)| *number == worker);
        found.is_some_and(|(_, pid)| kill_process(pid, signal).is_ok())
    }

    /// Sends a signal to the process that leads.
    pub fn signal_leader(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.leader), signal).unwrap();
    }

    /// The resident memory of all workers, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.workers().into_iter().map(|(_, pid)| resident_bytes(pid.as_raw_nonzero().get())).sum()
    }

    /// The resident memory of the process that leads, in bytes.
    pub fn resident_bytes_of_leader(&self) -> u64 {
        resident_bytes(Pid::from_child(&self.leader).as_raw_nonzero().get())
    }

    /// What the run has said so far.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    /// Waits for the end; `None` if it does not come in time.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        end_of(&mut self.leader, timeout)
    }
}

/// Of what a run has said: the errors are the deaths of these workers by SIGKILL, and the verdict.
#[track_caller]
pub fn assert_deaths(errors: &str, dead: &[usize]) {
    let mut said: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
    if !dead.is_empty() {
        let verdict = said.pop().unwrap_or_default();
        let plural = if dead.len() == 1 { "" } else { "s" };
        let expected = "is drained, after ";
        let counted = format!(", but with {} error{plural}: ", dead.len());
        assert!(verdict.contains(expected) && verdict.contains(&counted), "{errors}");
    }
    assert_eq!(said.len(), dead.len(), "{errors}");
    let mut dead = dead.to_vec();
    dead.sort_unstable();
    said.sort_unstable();
    for (line, worker) in said.iter().zip(dead) {
        let expected =
            format!("error: worker {worker}: has died (signal: 9 (SIGKILL)); another process takes its place. ");
        assert!(line.starts_with(&expected) && line.contains("Lost with it: what its tasks of "), "{line}");
    }
}

/// The resident memory of a process, in bytes; 0 if there is none.
pub fn resident_bytes(process: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// The CPU time that a process has had.
pub fn cpu_time(process: i32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, behind_name) = text.rsplit_once(") ").unwrap();
    let ticks: u64 = behind_name.split(' ').skip(11).take(2).map(|number| number.parse::<u64>().unwrap()).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

impl Drop for Run {
    fn drop(&mut self) {
        // The workers end with it.
        let _ = self.leader.kill();
        let _ = self.leader.wait();
    }
}
