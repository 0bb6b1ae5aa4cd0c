//! Benchmarks across two processes, beside raw sockets between two processes.
//!
//! A leg of the engine is the benchmark's own executable, run as a topology in two workers; what source and sink saw comes
//! back in files. A leg of the control is the executable as the far end of a socket, with its near end in the benchmark.
//! Both ends are pinned as the engine's cores are. Times are of the kernel's monotonic clock, which all processes share.
//!
//! Threading: legs run one after another. Errors end the run.

pub mod bulk;
pub mod echo;
pub mod harness;
pub mod hop;
pub mod ping_pong;
pub mod result;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the kernel's monotonic clock.
#[inline]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Pins the calling thread, or says why it cannot.
///
/// # Errors
/// [`BenchError::CannotPin`](crate::error::BenchError::CannotPin).
pub fn pin(cpu: usize) -> Result<(), crate::error::BenchError> {
    let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: cpu });
    if pinned { Ok(()) } else { Err(crate::error::BenchError::CannotPin { cpu }) }
}
