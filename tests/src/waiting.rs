//! Waiting for what is to come, and how long a test may take.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// For how many seconds a test that can be had in long was asked to go on, by `RINGSTORM_SOAK_SECS`.
pub fn soak_secs() -> Option<u64> {
    std::env::var("RINGSTORM_SOAK_SECS").ok()?.parse().ok()
}

/// Waits until something is so.
///
/// # Panics
/// If it does not become so in that time.
#[track_caller]
pub fn until(what: &str, time: Duration, is_so: impl FnMut() -> bool) {
    assert!(is_so_within(time, is_so), "waited in vain for {what}");
}

/// Waits until something is so; whether it became so in that time.
pub fn is_so_within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !is_so() {
        if started.elapsed() >= time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Waits for the end of a process; `None` if it does not come in time.
pub fn end_of(process: &mut Child, timeout: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + timeout;
    loop {
        match process.try_wait().unwrap() {
            None if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            ended => return ended,
        }
    }
}
