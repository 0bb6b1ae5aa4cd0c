//! Worker processes of the `numbers` topology that a file leads, as a supervisor would start them.
//!
//! Threading: used by one test. Errors: what is left when a test fails is killed.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use ringstorm_types::assignment::{AssignedWorker, Assignment, WorkerSecret};
use ringstorm_types::{ExecutorId, TaskId};
use rustix::process::{Pid, Signal, kill_process};

use crate::addresses::free_addresses;
use crate::run::{cpu_time, resident_bytes};
use crate::waiting::end_of;

/// Executors of each component of `numbers`, and of its acker.
const EXECUTORS: i32 = 3;
/// Its components, the acker first, as Storm numbers their tasks.
const COMPONENTS: i32 = 4;

/// An assignment of `numbers` to workers 0, 1 and 2, one executor of each component for each.
pub fn assignment_to_three() -> Assignment {
    let task = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
    let addresses: [String; EXECUTORS as usize] = free_addresses();
    let workers = (0..EXECUTORS).zip(addresses).map(|(worker, address)| AssignedWorker {
        number: worker as u64,
        incarnation: 1,
        address,
        cores: NonZeroUsize::MIN,
        executors: (0..COMPONENTS).map(|component| task(1 + worker + EXECUTORS * component)).collect(),
    });
    Assignment {
        topology_id: "numbers-1-1795972824".into(),
        version: 1,
        secret: WorkerSecret("b81f0c2d5a6e47938f10a2c4d6e8f00112233445566778899aabbccddeeff001".into()),
        acker_executors: EXECUTORS as u32,
        active: true,
        workers: workers.collect(),
    }
}

/// An assignment of `sequence` to workers 0, with the spout and its acker, and 1, with the bolt.
pub fn assignment_of_sequence() -> Assignment {
    let task = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
    let [here, there]: [String; 2] = free_addresses();
    let worker = |number, address, tasks: &[i32]| AssignedWorker {
        number,
        incarnation: 1,
        address,
        cores: NonZeroUsize::MIN,
        executors: tasks.iter().copied().map(task).collect(),
    };
    let workers = vec![worker(0, here, &[1, 2]), worker(1, there, &[3])];
    Assignment { topology_id: "sequence-1-1795972824".into(), acker_executors: 1, workers, ..assignment_to_three() }
}

/// A file that leads workers.
#[derive(Debug)]
pub struct AssignmentInFile {
    path: PathBuf,
}

impl AssignmentInFile {
    /// An assignment in a file of this directory.
    pub fn new(directory: &Path, assignment: &Assignment) -> Self {
        let file = Self { path: directory.join("assignment.json") };
        file.put(assignment);
        file
    }

    /// Puts another in its place.
    pub fn put(&self, assignment: &Assignment) {
        self.put_bytes(&serde_json::to_vec(assignment).unwrap());
    }

    /// Puts bytes in its place.
    pub fn put_bytes(&self, bytes: &[u8]) {
        let beside = self.path.with_extension("new");
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(beside, &self.path).unwrap();
    }

    /// The topology is not assigned any more.
    pub fn withdraw(&self) {
        std::fs::remove_file(&self.path).unwrap();
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A worker process.
#[derive(Debug)]
pub struct AssignedProcess {
    process: Child,
    errors: PathBuf,
}

impl AssignedProcess {
    /// Starts worker `number` of `numbers`; what it says goes to a file of the directory, named by `label`.
    pub fn start(
        executable: &str,
        number: u64,
        file: &Path,
        source: &Path,
        (directory, label): (&Path, &str),
        more: &[&str],
    ) -> Self {
        let source = ["--source", source.to_str().unwrap()];
        let arguments: Vec<&str> = source.into_iter().chain(more.iter().copied()).collect();
        Self::start_any(executable, number, file, (directory, label), &arguments)
    }

    /// The same of any topology.
    pub fn start_any(
        executable: &str,
        number: u64,
        file: &Path,
        (directory, label): (&Path, &str),
        arguments: &[&str],
    ) -> Self {
        let errors = directory.join(format!("errors-{label}"));
        let mut command = Command::new(executable);
        command.arg("worker").arg("--ringstorm-assignment").arg(file);
        command.args(["--ringstorm-worker", &number.to_string()]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&errors).unwrap());
        Self { process: command.spawn().unwrap(), errors }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// What it has said so far.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    /// The CPU time that it has had.
    pub fn cpu_time(&self) -> Duration {
        cpu_time(Pid::from_child(&self.process).as_raw_nonzero().get())
    }

    /// Its resident memory, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        resident_bytes(Pid::from_child(&self.process).as_raw_nonzero().get())
    }

    /// Waits for the end; `None` if it does not come in time.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        end_of(&mut self.process, timeout)
    }
}

impl Drop for AssignedProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
