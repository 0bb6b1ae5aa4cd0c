//! Workers that die, stand still, or are cut off, under load and with a source outside of them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use ringstorm_tests::outside::{Fates, Outside};
use ringstorm_tests::run::Run;
use rustix::process::Signal;

const NUMBERS: &str = env!("CARGO_BIN_EXE_numbers");
const WORKERS: usize = 3;
/// What fails at once fails long before the time-out of messages (30 s), and before this.
const AT_ONCE: Duration = Duration::from_secs(10);

/// For how long a run goes on, in seconds: longer by `RINGSTORM_SOAK_SECS`.
fn run_secs() -> u64 {
    std::env::var("RINGSTORM_SOAK_SECS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// Messages a second, over a moment.
fn rate(source: &Outside, time: Duration) -> f64 {
    let (before, since) = (source.fates().acked, Instant::now());
    std::thread::sleep(time);
    (source.fates().acked - before) as f64 / since.elapsed().as_secs_f64()
}

fn until(what: &str, time: Duration, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < time, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct Load {
    source: Outside,
    run: Run,
    count: u64,
    per_second: f64,
    directory: tempfile::TempDir,
}

impl Load {
    fn start(seconds: u64, per_second: f64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let count = (seconds as f64 * per_second) as u64;
        let source = Outside::start(count, per_second);
        let run = Run::start(NUMBERS, WORKERS, source.address(), directory.path(), &["--quiet"]);
        until("the first acks", Duration::from_secs(30), || source.fates().acked > 1000);
        Self { source, run, count, per_second, directory }
    }

    /// The rate is back soon.
    fn assert_recovers(&self, within: Duration) -> Duration {
        let started = Instant::now();
        until("the rate to come back", within, || {
            rate(&self.source, Duration::from_millis(250)) >= 0.9 * self.per_second
        });
        started.elapsed()
    }

    /// The run ends by itself and every message was acked.
    fn finish(mut self) -> Fates {
        let status = self.run.wait(Duration::from_secs(120));
        let (fates, errors) = (self.source.fates(), self.run.errors());
        assert!(status.success(), "{status}\n{fates:?}\n{errors}");
        assert_eq!((fates.begun, fates.acked), (self.count, self.count), "{fates:?}\n{errors}");
        drop(self.directory);
        fates
    }
}

/// One worker is killed at some moment of each run; each of them in turn.
#[test]
fn a_killed_worker_costs_nothing_but_replays() {
    for worker in 0..WORKERS {
        let load = Load::start(run_secs(), 20_000.0);
        let moment = Duration::from_millis(300 + 937 * worker as u64 % 1000);
        std::thread::sleep(moment);
        assert!(load.run.signal(worker, Signal::KILL));
        let recovered = load.assert_recovers(Duration::from_secs(10));
        let fates = load.finish();
        eprintln!("worker {worker} killed after {moment:?}: back after {recovered:?}; {fates:?}");
        assert!(fates.failed + fates.orphaned > 0, "something was under way: {fates:?}");
        assert!(fates.slowest < AT_ONCE, "failed by the time-out of messages: {fates:?}");
    }
}

/// A worker that stands still for a while is not taken for dead.
#[test]
fn a_stopped_worker_goes_on_where_it_was() {
    let load = Load::start(run_secs() + 3, 20_000.0);
    assert!(load.run.signal(1, Signal::STOP));
    std::thread::sleep(Duration::from_secs(3));
    assert!(load.run.signal(1, Signal::CONT));
    load.assert_recovers(Duration::from_secs(10));
    let errors = load.run.errors();
    let fates = load.finish();
    assert_eq!((fates.failed, fates.orphaned, fates.acked_again), (0, 0, 0), "{fates:?}\n{errors}");
}
