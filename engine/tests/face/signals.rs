//! Stopping from outside: the first signal drains, the second ends at once, the exit code says what came of it.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::processes::Process;

#[test]
fn ctrl_c_drains_and_says_so() {
    for (signal, name) in [(Signal::INT, "Ctrl-C"), (Signal::TERM, "SIGTERM")] {
        let mut process = Process::start("rolling_count", &["local", "--every", "0.1"]);
        process.wait_for_output();
        process.signal(signal);
        let asked = Instant::now();
        let ended = process.finish().expect_code(0);
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        assert!(ended.errors.contains(&format!("{name}: taking nothing new and draining")), "{}", ended.errors);
        assert!(ended.errors.contains(&format!("was stopped by {name} and is drained")), "{}", ended.errors);
        assert!(ended.errors.contains("0 failed"), "{}", ended.errors);
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let process = Process::start("blocking_bolt", &["local", "--calls", "100", "--wait-ms", "60000"]);
    process.wait_until_it_runs();
    process.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    process.signal(Signal::INT);
    let asked = Instant::now();
    process.finish().expect_code(130);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[test]
fn what_was_left_is_counted() {
    let arguments = ["local", "--calls", "100", "--wait-ms", "1500", "-c", "ringstorm.drain.timeout.secs=0.2"];
    let process = Process::start("blocking_bolt", &arguments);
    process.wait_until_it_runs();
    process.signal(Signal::INT);
    let ended = process.finish().expect_code(3);
    let verdict = ended.errors.lines().last().unwrap();
    assert!(verdict.starts_with("error: blocking_bolt was stopped by Ctrl-C"), "{verdict}");
    assert!(verdict.contains("messages neither acked nor failed"), "{verdict}");
    assert!(!verdict.contains(" 0 messages"), "{verdict}");
    assert!(verdict.contains("ringstorm.drain.timeout.secs"), "{verdict}");
}

/// A spout that waits for standard input holds nobody, and bolts finish: what was read is counted.
#[test]
fn a_run_that_waits_for_input_stops_too() {
    let mut process = Process::start("word_count", &["local", "--quiet"]);
    process.send(b"one two\ntwo\n");
    process.wait_until_it_runs();
    process.signal(Signal::INT);
    let asked = Instant::now();
    let ended = process.finish_open().expect_code(0);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    let mut lines: Vec<&str> = ended.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one\t1", "two\t2"]);
}
