//! `ringstorm dev` as a process: a whole cluster comes up, a daemon that dies is started again, and nothing is left.
//!
//! ZooKeeper is Debian's package; without it the tests say that they are skipped, and fail where
//! `RINGSTORM_REQUIRE_ZOOKEEPER` is set. Processes are found by the folder of the cluster, which all of them name.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(120);

/// Two clusters that look for ports at the same time find the same ones.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A cluster.
struct Dev {
    child: Child,
    ready: Value,
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Dev {
    fn start_or_skip(more: &[&str]) -> Option<Self> {
        if !Path::new("/usr/share/java/zookeeper.jar").is_file() {
            assert!(std::env::var_os("RINGSTORM_REQUIRE_ZOOKEEPER").is_none(), "ZooKeeper is required and missing");
            eprintln!("SKIPPED: no cluster was brought up: install the package zookeeper");
            return None;
        }
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringstorm"));
        command.args(["dev", "--json", "--dir"]).arg(folder.path()).args(more);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Some(Self { child, ready, folder, _alone: alone })
    }

    fn types(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringstorm"));
        command.arg("--config").arg(self.ready["config"].as_str().unwrap()).args(words);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let output = self.types(&words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The processes that name the folder, with the words that they were started with.
    fn processes(&self) -> Vec<(i32, String)> {
        let folder = self.folder.path().to_str().unwrap();
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let words = pids.filter_map(|pid| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            Some((pid, String::from_utf8_lossy(&words).replace('\0', " ")))
        });
        words.filter(|(_, words)| words.contains(folder)).collect()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_cluster_comes_up_mends_itself_and_leaves_nothing_behind() {
    let Some(mut dev) = Dev::start_or_skip(&["-c", "nimbus.monitor.freq.secs=1"]) else { return };
    let cluster = dev.json(&["cluster"]);
    assert_eq!(cluster["supervisors"].as_array().map(Vec::len), Some(2), "{cluster}");
    assert_eq!(cluster["slots"]["free"], 8);
    let nimbus = dev.ready["nimbus"].as_str().unwrap();
    assert_eq!(format!("127.0.0.1:{}", cluster["leader"]["port"]), nimbus);
    assert_eq!(dev.json(&["remoteconfvalue", "nimbus.monitor.freq.secs"])["value"], 1);
    let tree = dev.json(&["zk", "tree"]);
    assert!(tree["nodes"].as_array().unwrap().iter().any(|node| node == "/storm/supervisors"), "{tree}");

    // Another one in the same folder leaves it as it is.
    let settings = std::fs::read(dev.ready["config"].as_str().unwrap()).unwrap();
    let second = Command::new(env!("CARGO_BIN_EXE_ringstorm")).args(["dev", "--dir"]).arg(dev.folder.path()).output();
    let second = second.unwrap();
    assert_eq!(second.status.code(), Some(1), "{second:?}");
    assert!(String::from_utf8_lossy(&second.stderr).contains("runs in"), "{second:?}");
    assert_eq!(std::fs::read(dev.ready["config"].as_str().unwrap()).unwrap(), settings);

    let nimbus_of = |dev: &Dev| dev.processes().into_iter().find(|(_, words)| words.trim_end().ends_with("nimbus"));
    let (before, _) = nimbus_of(&dev).unwrap();
    kill_process(Pid::from_raw(before).unwrap(), Signal::KILL).unwrap();
    until("another nimbus", || nimbus_of(&dev).is_some_and(|(pid, _)| pid != before));
    until("a leader", || dev.types(&["list"]).status.success());

    dev.signal(Signal::INT);
    let status = dev.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(dev.processes(), []);
}

#[test]
fn a_killed_command_takes_its_cluster_with_it() {
    let Some(mut dev) = Dev::start_or_skip(&["--supervisors", "1"]) else { return };
    dev.signal(Signal::KILL);
    dev.child.wait().unwrap();
    until("the end of all", || dev.processes().is_empty());
}
