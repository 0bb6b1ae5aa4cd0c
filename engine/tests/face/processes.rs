//! Runs the examples as a user does.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// No run of these tests takes longer, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The executable of an example. Built here, since `cargo test --tests` builds none, and one of another day may lie there;
/// where they are up to date that costs a moment.
pub(crate) fn example(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let directory = test.ancestors().nth(2).unwrap().join("examples");
        build_examples(&directory);
        directory
    });
    directory.join(name)
}

fn build_examples(directory: &Path) {
    let profile_directory = directory.parent().unwrap();
    let profile = match profile_directory.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "ringstorm", "--examples", "--profile", profile, "--target-dir"])
        .arg(profile_directory.parent().unwrap())
        .status();
    assert!(built.unwrap().success(), "the examples cannot be built");
}

/// A process that is killed when it is dropped or takes too long.
pub(crate) struct Process {
    child: Child,
    started: Instant,
}

impl Process {
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        Self::spawn(Command::new(example(name)).args(arguments))
    }

    /// As [`Process::start`], with a directory of temporary files of its own.
    pub(crate) fn start_with_temporary(name: &str, arguments: &[&str], temporary: &Path) -> Self {
        Self::spawn(Command::new(example(name)).args(arguments).env("TMPDIR", temporary))
    }

    fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: command.spawn().unwrap(), started: Instant::now() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// Waits until it catches SIGINT, and then a moment more, so that tuples flow.
    pub(crate) fn wait_until_it_runs(&self) {
        let status = format!("/proc/{}/status", self.child.id());
        let catches = |text: &str| {
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
            u64::from_str_radix(mask, 16).unwrap() >> (rustix::process::Signal::INT.as_raw() - 1) & 1 == 1
        };
        while !catches(&std::fs::read_to_string(&status).unwrap()) {
            assert!(self.started.elapsed() < TIMEOUT, "the process does not watch signals");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Waits for the first byte on standard output, which says that tuples flow.
    pub(crate) fn wait_for_output(&mut self) {
        let mut byte = [0];
        self.child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    }

    /// Writes to its standard input, which stays open.
    pub(crate) fn send(&mut self, input: &[u8]) {
        self.child.stdin.as_mut().unwrap().write_all(input).unwrap();
    }

    pub(crate) fn close_error_output(&mut self) {
        drop(self.child.stderr.take());
    }

    /// Ends its input and waits for the end.
    pub(crate) fn finish(mut self) -> Ended {
        drop(self.child.stdin.take());
        self.finish_open()
    }

    /// Waits for the end, with its input open.
    pub(crate) fn finish_open(mut self) -> Ended {
        let read = |mut pipe: Box<dyn Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).unwrap();
                bytes
            })
        };
        let output = self.child.stdout.take().map(|pipe| read(Box::new(pipe)));
        let errors = self.child.stderr.take().map(|pipe| read(Box::new(pipe)));
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(self.started.elapsed() < TIMEOUT, "the process does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |thread: Option<std::thread::JoinHandle<Vec<u8>>>| {
            String::from_utf8_lossy(&thread.map(|thread| thread.join().unwrap()).unwrap_or_default()).into_owned()
        };
        Ended { status, output: text(output), errors: text(errors) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        self
    }
}

/// Runs an example to its end.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Ended {
    Process::start(name, arguments).finish()
}
