//! What only whole processes show: signals, the lock of a process that dies, and a standard error that nobody reads.
//!
//! The test runs itself again, with the part that it should play in its environment.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use ringstorm_daemon::{DirectoryLock, FileNews, Log, RotatedFile, Rotation, Signals};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};

const PART: &str = "RINGSTORM_TEST_PART";
const FOLDER: &str = "RINGSTORM_TEST_FOLDER";

/// Not a test of its own: what a process does that a test started.
#[test]
fn a_part_that_a_test_gives() {
    let Ok(part) = std::env::var(PART) else { return };
    let folder = std::env::var(FOLDER).unwrap();
    match part.as_str() {
        "signals" => {
            let (sender, receiver) = mpsc::channel();
            let _signals = Signals::watch(move |signal| sender.send(signal).unwrap()).unwrap();
            println!("\nready");
            println!("\n{}", receiver.recv().unwrap());
            // It does not end, as if something hung.
            std::thread::sleep(Duration::from_secs(600));
        }
        "lock" => {
            let _lock = DirectoryLock::take(Path::new(&folder), "nimbus").unwrap();
            println!("\nready");
            std::thread::sleep(Duration::from_secs(600));
        }
        "log" => {
            let file = RotatedFile::new(Path::new(&folder).join("log"), Rotation::default());
            let log = Log::open("nimbus", file).unwrap();
            for number in 0..5_000 {
                log.note(format_args!("{number} {}", "x".repeat(100)));
            }
            assert!(log.flush(Duration::from_secs(30)));
            println!("\nready");
            std::thread::sleep(Duration::from_secs(600));
        }
        "full" => full(&Path::new(&folder).join("log")),
        "panic" => {
            let log =
                Log::open("nimbus", RotatedFile::new(Path::new(&folder).join("log"), Rotation::default())).unwrap();
            log.take_panics();
            println!("\nready");
            let fault = || panic!("the reason\nin two lines");
            std::thread::Builder::new().name("control".into()).spawn(fault).unwrap().join().unwrap_err();
            std::process::exit(3);
        }
        other => panic!("no part is called {other}"),
    }
}

/// Writes a file until the system takes no more in the middle of a line, and again when it does.
fn full(path: &Path) {
    const LIMIT: u64 = 950;
    // Whoever writes beyond the limit is told so by a signal, too, which would end the process.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).unwrap();
    let limit = |current| setrlimit(Resource::Fsize, Rlimit { current: Some(current), maximum: None }).unwrap();
    let line = format!("{}\n", "x".repeat(99));
    let mut file = RotatedFile::new(path, Rotation::default());
    limit(LIMIT);
    let news: Vec<_> = (0..20).filter_map(|_| file.append(line.as_bytes())).collect();
    assert!(matches!(&news[..], [FileNews::Discarding { .. }]), "{news:?}");
    assert_eq!(file.discarded_bytes(), 2_000 - LIMIT);
    limit(1 << 20);
    std::thread::sleep(Duration::from_millis(1_100));
    let news = file.append(b"end\n");
    assert!(matches!(news, Some(FileNews::Recovered { discarded_bytes: 1_050, .. })), "{news:?}");
    println!("\nready");
}

/// A process with a part. It is killed when the test is over.
struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(part: &str, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_part_that_a_test_gives", "--nocapture"])
            .env(PART, part)
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut process = Self { child, output };
        process.expect("ready");
        process
    }

    fn expect(&mut self, line: &str) {
        let found = self.output.by_ref().lines().map_while(Result::ok).any(|found| found == line);
        assert!(found, "the process ended without saying {line:?}");
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_first_signal_asks_and_the_second_ends_the_process_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (signal, words, status) in [(Signal::TERM, "SIGTERM", 143), (Signal::INT, "Ctrl-C", 130)] {
        let mut process = Process::start("signals", folder.path());
        process.send(signal);
        process.expect(words);
        assert!(process.child.try_wait().unwrap().is_none(), "it goes on");
        process.send(signal);
        assert_eq!(process.child.wait().unwrap().code(), Some(status));
    }
}

#[test]
fn the_lock_of_a_process_that_is_killed_is_free_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::start("lock", folder.path());
    let words = DirectoryLock::take(folder.path(), "nimbus").unwrap_err().to_string();
    assert!(words.contains(&format!("process {}", process.child.id())), "{words}");
    process.child.kill().unwrap();
    process.child.wait().unwrap();
    DirectoryLock::take(folder.path(), "nimbus").unwrap();
}

#[test]
fn a_standard_error_that_nobody_reads_does_not_keep_the_log_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    // Its standard error is a pipe, far too small for so many lines.
    let _process = Process::start("log", folder.path());
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(text.lines().count(), 5_000);
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn what_a_panic_says_stands_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::start("panic", folder.path());
    assert_eq!(process.child.wait().unwrap().code(), Some(3));
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(
        text.contains(r#"nimbus thread "control": panicked at"#) && text.contains(r"the reason\nin two lines"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_file_for_which_there_is_no_room_ends_in_the_middle_of_a_line_and_says_later_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let _process = Process::start("full", folder.path());
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let (before, after) = text.split_at(950);
    assert!(before.ends_with(&"x".repeat(50)));
    assert_eq!(after, "\n[1050 bytes are missing here: they could not be written]\nend\n");
}
