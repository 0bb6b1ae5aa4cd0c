//! What can only be measured while nothing else runs in the process: memory and CPU time. The tests take turns.
//!
//! `RINGSTORM_SOAK_SECS=60 cargo test --release -p ringstorm-runtime --test quiet` runs those that know no end for longer.

#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

#[path = "../harness/lib.rs"]
mod harness;

mod idle;
mod leftovers;
mod live_bytes;
mod memory;
mod pressure;
mod readers;
mod ticking;
mod unanchored;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Waits until no other test runs.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For how long a test that knows no end runs.
fn soak_time() -> Duration {
    harness::long_soak_time().unwrap_or(Duration::from_millis(600))
}

/// How much of one CPU this process uses while `time` passes.
fn cpu_share(time: Duration) -> f64 {
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let (before, started) = (used(), Instant::now());
    std::thread::sleep(time);
    (used() - before).as_secs_f64() / started.elapsed().as_secs_f64()
}

/// The memory of this process that is in RAM, in bytes.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}
