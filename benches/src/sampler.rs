//! Reads allocations and CPU time at both ends of a leg's window, from outside, so that a leg needs no code for it.
//!
//! The readings are taken a little before the window begins and a little after it ends, because taking them takes a
//! CPU for some tens of microseconds, which must not show in the tail of the latencies. So the allocation count is an
//! upper bound for the window.
//!
//! Threading: one unpinned thread for each leg, which sleeps between its readings. Errors surface in
//! [`Sampler::finish`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::allocations;
use crate::cpu::{CpuReading, CpuUse};
use crate::error::BenchError;
use crate::window::LegWindow;

/// Distance of the readings from the window; shorter than the cool-down, so that the source still runs.
const MARGIN: Duration = Duration::from_millis(20);

/// How often to look whether the leg has been opened.
const POLL: Duration = Duration::from_millis(1);

/// What a leg used from just before its window to just after it.
#[derive(Debug, Clone, Default)]
pub struct Sampled {
    /// Heap allocations of the process.
    pub allocations: u64,
    /// CPU time.
    pub cpu: CpuUse,
    /// The distance of the two readings in nanoseconds; zero if the leg ended before the second was due.
    pub elapsed_ns: u64,
}

impl Sampled {
    /// Shares of one CPU (1.0 is all of it) used by threads pinned to one CPU, in order of CPU number.
    pub fn share_per_core(&self) -> Vec<f64> {
        self.cpu.pinned_ns.values().map(|used_ns| self.share(*used_ns)).collect()
    }

    /// Share of one CPU used by the unpinned threads of this process.
    pub fn share_unpinned(&self) -> f64 {
        self.share(self.cpu.unpinned_ns)
    }

    /// Share of one CPU used by other processes.
    pub fn share_elsewhere(&self) -> f64 {
        self.share(self.cpu.elsewhere_ns)
    }

    fn share(&self, used_ns: u64) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { used_ns as f64 / self.elapsed_ns as f64 }
    }
}

/// A sampler under way.
#[derive(Debug)]
pub struct Sampler {
    cancelled: Arc<AtomicBool>,
    thread: JoinHandle<Result<Sampled, BenchError>>,
}

impl Sampler {
    /// Starts a sampler for a leg that opens some time later.
    ///
    /// # Errors
    /// [`BenchError::CannotStartThread`].
    pub fn start(window: Arc<LegWindow>) -> Result<Sampler, BenchError> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&cancelled);
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(&window, &seen))
            .map_err(|source| BenchError::CannotStartThread { what: "the sampler", source })?;
        Ok(Sampler { cancelled, thread })
    }

    /// Ends the sampler; call it when the leg has ended. If the leg ended early, the result is zero.
    ///
    /// # Errors
    /// [`BenchError::Accounting`].
    pub fn finish(self) -> Result<Sampled, BenchError> {
        self.cancelled.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn sample(window: &LegWindow, cancelled: &AtomicBool) -> Result<Sampled, BenchError> {
    let bounds = loop {
        match window.bounds() {
            Some(bounds) => break bounds,
            None if cancelled.load(Ordering::Relaxed) => return Ok(Sampled::default()),
            None => thread::park_timeout(POLL),
        }
    };
    let at = |moment_ns| window.clock().instant_at(moment_ns);
    if !sleep_until(at(bounds.begin_ns) - MARGIN, cancelled) {
        return Ok(Sampled::default());
    }
    let cpu_before = CpuReading::now()?;
    let began = Instant::now();
    let allocations_before = allocations::total();
    if !sleep_until(at(bounds.end_ns) + MARGIN, cancelled) {
        return Ok(Sampled::default());
    }
    let allocations = allocations::total() - allocations_before;
    let elapsed_ns = began.elapsed().as_nanos() as u64;
    let cpu = CpuReading::now()?.since(&cpu_before);
    Ok(Sampled { allocations, cpu, elapsed_ns })
}

/// Whether the moment came before the leg ended.
fn sleep_until(moment: Instant, cancelled: &AtomicBool) -> bool {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if cancelled.load(Ordering::Relaxed) {
            return false;
        }
        thread::park_timeout(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use std::hint::black_box;

    fn window() -> Arc<LegWindow> {
        let (warm_up, measured) = (Duration::from_millis(40), Duration::from_millis(60));
        Arc::new(LegWindow::new(Clock::from_instant(), warm_up, measured))
    }

    #[test]
    fn what_happens_in_the_window_is_counted() {
        let window = window();
        let sampler = Sampler::start(Arc::clone(&window)).unwrap();
        let bounds = window.open();
        // All the time, because a busy machine may let the sampler take its first reading late.
        while window.clock().now_ns() < bounds.stop_ns {
            drop(black_box(Box::new(1_u8)));
        }
        let sampled = sampler.finish().unwrap();
        assert!(sampled.allocations > 0);
        assert!(sampled.elapsed_ns > 0, "{sampled:?}");
        assert!(sampled.cpu.unpinned_ns + sampled.cpu.pinned_ns.values().sum::<u64>() > 0);
    }

    #[test]
    fn a_leg_that_never_opens_or_ends_early_yields_zero_at_once() {
        let began = Instant::now();
        assert_eq!(Sampler::start(window()).unwrap().finish().unwrap().elapsed_ns, 0);
        let window = Arc::new(LegWindow::new(Clock::from_instant(), Duration::ZERO, Duration::from_secs(60)));
        window.open();
        assert_eq!(Sampler::start(window).unwrap().finish().unwrap().elapsed_ns, 0);
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
