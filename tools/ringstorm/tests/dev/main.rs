//! `ringstorm dev` as a process: a whole cluster comes up, a daemon that dies is started again, and nothing is left.
//!
//! ZooKeeper is Debian's package; without it the tests say that they are skipped, and fail where
//! `RINGSTORM_REQUIRE_ZOOKEEPER` is set. Processes are found by the folder of the cluster, which all of them name.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(120);

/// A cluster.
struct Dev {
    child: Child,
    ready: Value,
    folder: tempfile::TempDir,
}

impl Dev {
    fn start_or_skip(more: &[&str]) -> Option<Self> {
        if !Path::new("/usr/share/java/zookeeper.jar").is_file() {
            assert!(std::env::var_os("RINGSTORM_REQUIRE_ZOOKEEPER").is_none(), "ZooKeeper is required and missing");
            eprintln!("SKIPPED: no cluster was brought up: install the package zookeeper");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringstorm"));
        command.args(["dev", "--json", "--dir"]).arg(folder.path()).args(more);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Some(Self { child, ready, folder })
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

    /// Every port that it has for itself.
    fn ports(&self) -> BTreeSet<u64> {
        let of_address = |key: &str| self.ready[key].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        let slots = self.ready["supervisors"].as_array().unwrap().iter().flat_map(|it| it["ports"].as_array().unwrap());
        slots.map(|port| port.as_u64().unwrap()).chain(["zookeeper", "nimbus"].map(of_address)).collect()
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
    // They share a host: `dev` says which is which.
    let ids = |supervisors: &Value, key: &str| -> BTreeSet<String> {
        supervisors.as_array().unwrap().iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&dev.ready["supervisors"], "id"), ids(&cluster["supervisors"], "supervisor_id"));
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
fn a_killed_command_takes_its_cluster_with_it_and_shares_no_port_with_another() {
    let start = || Dev::start_or_skip(&["--supervisors", "1"]);
    let (dev, other) = std::thread::scope(|scope| {
        let other = scope.spawn(start);
        (start(), other.join().unwrap())
    });
    let (Some(mut dev), Some(other)) = (dev, other) else { return };
    // No worker runs: nobody listens at any slot.
    assert!(dev.ports().is_disjoint(&other.ports()), "{:?} {:?}", dev.ports(), other.ports());
    // It is said to be up when work can be placed: a supervisor has been up for so long.
    let uptime = dev.json(&["cluster"])["supervisors"][0]["uptime_secs"].as_u64();
    assert!(uptime.is_some_and(|seconds| seconds >= 5), "{uptime:?}");
    let told = dev.types(&["supervisor", "out-of-service"]);
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    let command =
        said.lines().find_map(|line| line.trim().strip_prefix("ringstorm ")).unwrap_or_else(|| panic!("{said}"));
    let as_said = Command::new(env!("CARGO_BIN_EXE_ringstorm")).args(command.split(' ')).status().unwrap();
    assert!(as_said.success(), "{command}");
    until("no slot", || dev.json(&["cluster"])["slots"]["all"] == 0);
    dev.signal(Signal::KILL);
    dev.child.wait().unwrap();
    until("the end of all", || dev.processes().is_empty());
}

#[test]
fn a_zookeeper_that_is_none_costs_one_error() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let nonsense = format!("127.0.0.1:{}", other.local_addr().unwrap().port());
    let failed = |server: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringstorm"));
        command.args(["dev", "--json", "--zookeeper", server]).stdin(Stdio::null()).output().unwrap()
    };
    std::thread::scope(|scope| {
        for server in ["127.0.0.1:1", &nonsense, "no-such-host.invalid"] {
            scope.spawn(move || {
                let output = failed(server);
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(1), "{said}");
                let (before, error) = said.trim().rsplit_once('\n').unwrap_or(("", said.trim()));
                assert!(before.is_empty() || before.starts_with("note: no session yet"), "{said}");
                let error: Value = serde_json::from_str(error).unwrap_or_else(|error| panic!("{error}: {said}"));
                assert!(
                    error["error"].as_str().unwrap().contains(&format!("there is no ZooKeeper at {server}")),
                    "{said}"
                );
            });
        }
    });
}
