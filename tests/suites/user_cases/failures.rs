//! User code that panics or exits while tuples flow.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::Case;

/// In one process and in several: one replay, every message acked, and an exit code that says that there was an error.
#[test]
fn a_panic_costs_one_replay_however_many_workers_there_are() {
    for workers in [None, Some(1), Some(2), Some(3)] {
        let end = Case::sequence(workers, &["--replay", "--panic-once-on", "5", "--executors", "2"]).finish();
        let end = end.expect_code(4);
        assert_eq!(end.spout_counts(), (21, 20, 1), "{workers:?}: {end:?}");
        assert_eq!(end.all("fail of 5 ").len(), 1, "{end:?}");
        assert!(end.errors.contains("on 5, as was asked for"), "{}", end.errors);
        assert!(end.verdict().contains("1 error"), "{}", end.verdict());
    }
}

/// A tuple that ends whatever process it comes to: the run does not go on like that for ever, and says which worker it was.
#[test]
fn a_worker_that_dies_again_and_again_ends_the_run() {
    let started = Instant::now();
    let end = Case::sequence(Some(2), &["--replay", "--exit-on", "5"]).finish().expect_code(1);
    eprintln!("after {:?}: {}", started.elapsed(), end.verdict());
    let text = "worker 1 has died 21 times within a minute, the last time: exit status: 7";
    assert!(end.verdict().contains(text), "{}", end.errors);
}

/// A spout emits what is refused, over and over, while the leading process waits for a worker that stands still: errors are
/// counted, but neither they nor their texts pile up, and a stop is heeded.
#[test]
fn a_flood_of_refused_emits_fills_no_memory_and_holds_up_no_stop() {
    let case = Case::sequence(Some(2), &["--replay", "--refuse", "--mute", "-c", "ringstorm.drain.timeout.secs=1"]);
    case.wait_for_note("opened");
    crate::until("the first error", crate::AMPLE, || case.run.errors().contains("does not declare"));
    let before = case.run.resident_bytes_of_leader();
    assert!(case.run.signal(1, Signal::STOP));
    std::thread::sleep(Duration::from_secs(6));
    let after = case.run.resident_bytes_of_leader();
    assert!(after < before + (16 << 20), "from {before} to {after} bytes");
    let told = Instant::now();
    case.run.signal_leader(Signal::TERM);
    let end = case.finish().expect_code(3);
    eprintln!("{} KiB more; ended after {:?}: {}", after.saturating_sub(before) >> 10, told.elapsed(), end.errors);
    assert!(told.elapsed() < Duration::from_secs(20), "{:?}", told.elapsed());
    assert!(end.errors.matches("does not declare").count() <= 20, "{}", end.errors);
    let counted = end.errors.lines().find(|line| line.ends_with("more errors came too fast to be shown"));
    assert!(counted.is_some(), "{}", end.errors);
}

/// A worker stands still for longer than anybody is silent: it is named, and again when it goes on, and nothing else comes
/// of it.
#[test]
fn a_worker_that_stands_still_is_named_once_and_once_more_when_it_goes_on() {
    let case = Case::sequence(Some(2), &["--count", "8000", "--pace-ms", "2"]);
    case.wait_for_note("opened");
    assert!(case.run.signal(1, Signal::STOP));
    let stopped = Instant::now();
    let says = |text: &str| case.run.errors().matches(text).count();
    crate::until("it to be named", crate::AMPLE, || says("note: worker 1 has not answered for 10 s") == 1);
    assert!(stopped.elapsed() < Duration::from_secs(14), "{:?}", stopped.elapsed());
    assert!(case.run.signal(1, Signal::CONT));
    crate::until("it to answer", crate::AMPLE, || says("note: worker 1 answers again") == 1);
    let end = case.finish().expect_code(0);
    assert_eq!(end.errors.matches("worker 1").count(), 2, "{}", end.errors);
    assert_eq!(end.spout_counts(), (8000, 8000, 0), "{end:?}");
}
