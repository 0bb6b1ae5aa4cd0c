//! `local --workers`: what becomes of the others when one process stops or dies.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{Process, run};

/// The processes that a process has started.
fn children(process: &Process) -> Vec<Pid> {
    let path = format!("/proc/{0}/task/{0}/children", process.id());
    let text = std::fs::read_to_string(path).unwrap();
    text.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().unwrap())).collect()
}

fn start() -> (Process, Vec<Pid>) {
    let mut process = Process::start("rolling_count", &["local", "--every", "0.1", "--workers", "3"]);
    process.wait_for_output();
    let workers = children(&process);
    assert_eq!(workers.len(), 3);
    (process, workers)
}

#[track_caller]
fn assert_all_gone(workers: &[Pid]) {
    let started = Instant::now();
    // A zombie counts as there until its parent, or whoever inherits it, has asked for it.
    let is_there = |pid: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while workers.iter().any(is_there) {
        assert!(started.elapsed() < Duration::from_secs(10), "a worker outlives its run");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn ctrl_c_drains_all_of_them() {
    let (process, workers) = start();
    // As a terminal does it: to all.
    process.signal(Signal::INT);
    workers.iter().for_each(|worker| kill_process(*worker, Signal::INT).unwrap());
    let ended = process.finish().expect_code(0);
    assert!(ended.errors.contains("was stopped by Ctrl-C and is drained"), "{}", ended.errors);
    assert!(ended.errors.contains("0 failed"), "{}", ended.errors);
    assert_all_gone(&workers);
}

#[test]
fn workers_end_when_their_leader_is_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let arguments = ["local", "--every", "0.1", "--workers", "3"];
    let mut process = Process::start_with_temporary("rolling_count", &arguments, temporary.path());
    process.wait_for_output();
    let workers = children(&process);
    process.signal(Signal::KILL);
    assert_all_gone(&workers);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "its socket goes with the workers");
}

/// Whether any process has this directory for its temporary files.
fn is_used(temporary: &Path) -> bool {
    let variable = format!("TMPDIR={}", temporary.display());
    let uses = |process: std::fs::DirEntry| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().flatten().any(uses)
}

/// Of topologies that never end, that wait for input, and that end before.
#[test]
fn a_run_with_a_duration_leaves_no_process_and_no_socket() {
    let duration = if std::env::var("RINGSTORM_SOAK_SECS").is_ok() { "5" } else { "1" };
    let stopped = format!("was stopped by --duration {duration} and is drained");
    let samples = [
        ("rolling_count", &["--every", "0.1"][..], &*stopped),
        ("word_count", &[], &stopped),
        ("exclamation", &["--count", "7"], "has read all its input and is drained"),
    ];
    for (name, more, verdict) in samples {
        let temporary = tempfile::tempdir().unwrap();
        let arguments = [&["local", "--workers", "3", "--duration", duration], more].concat();
        let started = Instant::now();
        let process = Process::start_with_temporary(name, &arguments, temporary.path());
        assert!(is_used(temporary.path()), "the test can see a process");
        let ended = process.finish_open().expect_code(0);
        let bound = Duration::from_secs(10) + Duration::from_secs(duration.parse().unwrap());
        assert!(started.elapsed() < bound, "{name}: {:?}", started.elapsed());
        assert!(ended.errors.contains(verdict), "{}", ended.errors);
        assert!(!is_used(temporary.path()), "a worker of {name} outlives its run");
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{name}");
    }
}

/// What each worker says that it sent to another is what that one says that came.
#[test]
fn connections_are_counted_alike_on_both_sides() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output, metrics) =
        (directory.path().join("input"), directory.path().join("output"), directory.path().join("metrics"));
    std::fs::write(&input, "one two three two three three\n".repeat(2000)).unwrap();
    let paths = [&input, &output, &metrics].map(|path| path.to_str().unwrap());
    let [input, output, metrics_path] = paths;
    let arguments = ["local", "--workers", "3", "--input", input, "--output", output, "--metrics-json", metrics_path];
    run("word_count", &arguments).expect_code(0);
    let metrics: serde_json::Value = serde_json::from_slice(&std::fs::read(metrics).unwrap()).unwrap();
    let connections = metrics["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 6, "{connections:?}");
    let number = |one: &serde_json::Value, name: &str| one[name].as_u64().unwrap();
    for one in connections {
        let is_other_side = |other: &&serde_json::Value| other["from"] == one["to"] && other["to"] == one["from"];
        let other = connections.iter().find(is_other_side).unwrap();
        assert_eq!(number(one, "sent_tuples"), number(other, "received_tuples"));
        assert_eq!(number(one, "sent_frames"), number(other, "received_frames"));
        assert_eq!((number(one, "unconfirmed_bytes"), number(one, "reconnects")), (0, 0));
        assert!(number(one, "sent_bytes") > 0);
    }
    assert!(connections.iter().map(|one| number(one, "sent_tuples")).sum::<u64>() > 1000);
}

/// As `timeout` and service managers end a group of processes.
#[test]
fn a_sigterm_to_all_of_them_drains_too() {
    let (process, workers) = start();
    workers.iter().for_each(|worker| kill_process(*worker, Signal::TERM).unwrap());
    process.signal(Signal::TERM);
    let ended = process.finish().expect_code(0);
    assert!(ended.errors.contains("was stopped by SIGTERM and is drained"), "{}", ended.errors);
    assert_all_gone(&workers);
}

/// Cores that never rest tell each other what came all the same.
#[test]
fn workers_that_always_spin_end_by_themselves() {
    let arguments =
        ["local", "--count", "7", "--workers", "2", "--workers-cores", "1", "-c", "ringstorm.cores.always.spin=true"];
    let ended = run("exclamation", &arguments).expect_code(0);
    assert!(ended.errors.contains("is drained"), "{}", ended.errors);
}

#[test]
fn a_number_of_workers_that_cannot_be() {
    for number in ["0", "-1", "257", "x"] {
        let ended = run("rolling_count", &["local", &format!("--workers={number}")]).expect_code(2);
        assert!(ended.errors.contains("--workers"), "{}", ended.errors);
    }
}
