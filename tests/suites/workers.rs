//! Workers that die, stand still, or are cut off, under load and with a source outside of them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use ringstorm_tests::addresses::free_addresses;
use ringstorm_tests::namespaces::Namespaces;
use ringstorm_tests::outside::{Fates, Outside};
use ringstorm_tests::proxy::Proxy;
use ringstorm_tests::run::{Run, assert_deaths};
use ringstorm_tests::waiting::{soak_secs, until};
use rustix::process::Signal;

const NUMBERS: &str = env!("CARGO_BIN_EXE_numbers");
const WORKERS: usize = 3;
/// What fails at once fails long before the time-out of messages (30 s), and before this.
const AT_ONCE: Duration = Duration::from_secs(10);

/// For how long a run goes on, in seconds: longer by `RINGSTORM_SOAK_SECS`.
fn run_secs() -> u64 {
    soak_secs().unwrap_or(6)
}

/// Runs in which a worker is killed: more by `RINGSTORM_KILL_RUNS`.
fn kill_runs() -> usize {
    std::env::var("RINGSTORM_KILL_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(5)
}

/// Messages a second, over a moment.
fn rate(source: &Outside, time: Duration) -> f64 {
    let (before, since) = (source.fates().acked, Instant::now());
    std::thread::sleep(time);
    (source.fates().acked - before) as f64 / since.elapsed().as_secs_f64()
}

/// A random number.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// A setting whose value is a list of texts.
fn list(key: &str, texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    format!("{key}=[{}]", texts.join(","))
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
        Self::with(seconds, per_second, &[])
    }

    fn with(seconds: u64, per_second: f64, settings: &[String]) -> Self {
        Self::of(WORKERS, seconds, per_second, settings)
    }

    fn of(workers: usize, seconds: u64, per_second: f64, settings: &[String]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let count = (seconds as f64 * per_second) as u64;
        let source = Outside::start(&directory.path().join("source"), count, per_second);
        let settings = settings.iter().flat_map(|setting| ["-c", setting.as_str()]);
        let more: Vec<&str> = ["--quiet"].into_iter().chain(settings).collect();
        let run = Run::start(NUMBERS, workers, source.path(), directory.path(), &more);
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

    /// The run ends by itself, every message was acked, and there was no error.
    fn finish(self) -> Fates {
        self.finish_with(&[])
    }

    /// As [`Load::finish`], with the death of each of these workers as an error, and no other.
    fn finish_with(mut self, dead: &[usize]) -> Fates {
        let left = Duration::from_secs_f64((self.count - self.source.fates().begun) as f64 / self.per_second);
        let status = self.run.wait(left + Duration::from_secs(120));
        let (fates, errors, under_way) = (self.source.fates(), self.run.errors(), self.source.under_way());
        let code = status.and_then(|status| status.code());
        assert_eq!(code, Some(if dead.is_empty() { 0 } else { 4 }), "{under_way} under way\n{fates:?}\n{errors}");
        assert_deaths(&errors, dead);
        assert_eq!((fates.begun, fates.acked), (self.count, self.count), "{fates:?}\n{errors}");
        drop(self.directory);
        fates
    }
}

/// One worker is killed at a random moment of each run; each of them in turn.
#[test]
fn a_killed_worker_costs_nothing_but_replays() {
    for run in 0..kill_runs() {
        let worker = run % WORKERS;
        let load = Load::start(run_secs(), 20_000.0);
        let moment = Duration::from_millis(random() % (1000 * (run_secs() - 4)));
        std::thread::sleep(moment);
        assert!(load.run.signal(worker, Signal::KILL));
        let recovered = load.assert_recovers(Duration::from_secs(3));
        let fates = load.finish_with(&[worker]);
        eprintln!("run {run}: worker {worker} killed after {moment:?}: back after {recovered:?}; {fates:?}");
        assert!(fates.failed + fates.orphaned > 0, "something was under way: {fates:?}");
        assert!(fates.slowest < AT_ONCE, "failed by the time-out of messages: {fates:?}");
    }
}

/// A worker that stands still for a while is not taken for dead.
#[test]
fn a_stopped_worker_goes_on_where_it_was() {
    let stopped = Duration::from_secs(if run_secs() < 60 { 3 } else { 10 });
    let load = Load::start(run_secs() + stopped.as_secs(), 20_000.0);
    assert!(load.run.signal(1, Signal::STOP));
    std::thread::sleep(stopped);
    assert!(load.run.signal(1, Signal::CONT));
    let recovered = load.assert_recovers(Duration::from_secs(3));
    let errors = load.run.errors();
    let fates = load.finish();
    eprintln!("stopped for {stopped:?}: back after {recovered:?}; {fates:?}");
    assert_eq!((fates.failed, fates.orphaned, fates.acked_again), (0, 0, 0), "{fates:?}\n{errors}");
}

/// Every connection goes through a proxy that cuts, delays, stalls, truncates and flips. Nothing fails by it, nothing is
/// lost or delivered twice, and afterwards all is as before.
#[test]
fn connections_that_misbehave_cost_nothing_but_time() {
    let own: [String; WORKERS] = free_addresses();
    let proxies: Vec<Proxy> = own.iter().zip(7..).map(|(address, seed)| Proxy::start(address, seed)).collect();
    let dialed: Vec<String> = proxies.iter().map(|proxy| proxy.address().to_string()).collect();
    let settings = [list("ringstorm.worker.listen", &own), list("ringstorm.worker.dial", &dialed)];
    let seconds = 2 * run_secs();
    let load = Load::with(seconds, 20_000.0, &settings);
    proxies.iter().for_each(|proxy| proxy.set_faulty(true));
    let thirds = [(); 3].map(|()| {
        std::thread::sleep(Duration::from_secs(seconds * 2 / 9));
        load.run.resident_bytes() >> 20
    });
    proxies.iter().for_each(|proxy| proxy.set_faulty(false));
    let faults: u64 = proxies.iter().map(Proxy::faults).sum();
    let recovered = load.assert_recovers(Duration::from_secs(2));
    let errors = load.run.errors();
    let fates = load.finish();
    eprintln!("{faults} faults; back after {recovered:?}; resident MiB after each third: {thirds:?}; {fates:?}");
    assert!(thirds[2] < thirds[0] + 64, "memory grows: {thirds:?} MiB");
    assert!(faults > 20, "{faults} faults");
    assert_eq!((fates.failed, fates.orphaned, fates.acked_again), (0, 0, 0), "{fates:?}\n{errors}");
}

/// The link between two workers goes down for five seconds: nothing fails by it.
#[test]
fn a_link_that_goes_down_and_up_costs_nothing_but_time() {
    let Some(namespaces) = Namespaces::new() else {
        eprintln!("SKIPPED: network namespaces need root and `ip`");
        return;
    };
    let load = Load::of(2, run_secs() + 6, 20_000.0, &namespaces.settings());
    namespaces.set_link("down");
    std::thread::sleep(Duration::from_secs(5));
    namespaces.set_link("up");
    let recovered = load.assert_recovers(Duration::from_secs(3));
    let errors = load.run.errors();
    let fates = load.finish();
    eprintln!("back after {recovered:?}; {fates:?}");
    assert_eq!((fates.failed, fates.orphaned, fates.acked_again), (0, 0, 0), "{fates:?}\n{errors}");
    assert!(errors.contains("is silent"), "a link that is down is noticed: {errors}");
}
