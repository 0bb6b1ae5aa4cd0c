//! The measured window of one leg: what source, sink and sampler agree on.
//!
//! A leg opens when its source is first asked for a tuple. Then follow the warm-up, the measured window and a short
//! cool-down during which the source goes on, so that nothing that ends disturbs the window.
//!
//! Threading: shared by all threads of a leg; the opening time and the stamps are atomics that are written by the
//! source. They need no ordering of their own: a stamp is read after the tuple that carries its sequence number, and
//! whatever moved that tuple between threads ordered it. Errors: none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;

/// Without an open loop, one tuple in this many is stamped at its emit and timed at its arrival.
pub const STAMP_EVERY: u64 = 1024;

/// How long a source goes on after the measured window.
pub const COOL_DOWN: Duration = Duration::from_millis(50);

/// Stamps kept: enough for four million tuples under way, and the default bound on pending roots is one million.
const STAMPS: usize = 4096;

/// The points in time of an opened leg, in nanoseconds of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The source was first asked.
    pub start_ns: u64,
    /// The measured window begins.
    pub begin_ns: u64,
    /// The measured window ends.
    pub end_ns: u64,
    /// The source stops.
    pub stop_ns: u64,
}

impl Bounds {
    /// Whether a moment lies in the measured window.
    #[inline]
    pub fn contains(&self, moment_ns: u64) -> bool {
        (self.begin_ns..self.end_ns).contains(&moment_ns)
    }
}

/// Shared state of one leg. See the module.
#[derive(Debug)]
pub struct LegWindow {
    clock: Clock,
    warm_up_ns: u64,
    measured_ns: u64,
    /// Zero until the leg opens.
    start_ns: AtomicU64,
    stamps: Box<[AtomicU64]>,
}

impl LegWindow {
    /// A window that has not been opened.
    pub fn new(clock: Clock, warm_up: Duration, measured: Duration) -> Self {
        LegWindow {
            clock,
            warm_up_ns: warm_up.as_nanos() as u64,
            measured_ns: measured.as_nanos() as u64,
            start_ns: AtomicU64::new(0),
            stamps: (0..STAMPS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The clock of the leg.
    #[inline]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Opens the leg now; the first call counts, later ones return the same bounds.
    pub fn open(&self) -> Bounds {
        let now_ns = self.clock.now_ns().max(1);
        match self.start_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => self.bounds_from(now_ns),
            Err(start_ns) => self.bounds_from(start_ns),
        }
    }

    /// The bounds, once the leg is open.
    pub fn bounds(&self) -> Option<Bounds> {
        match self.start_ns.load(Ordering::Relaxed) {
            0 => None,
            start_ns => Some(self.bounds_from(start_ns)),
        }
    }

    fn bounds_from(&self, start_ns: u64) -> Bounds {
        let begin_ns = start_ns + self.warm_up_ns;
        let end_ns = begin_ns + self.measured_ns;
        Bounds { start_ns, begin_ns, end_ns, stop_ns: end_ns + COOL_DOWN.as_nanos() as u64 }
    }

    /// Notes that the tuple `sequence`, a multiple of [`STAMP_EVERY`], is emitted now.
    #[inline]
    pub(crate) fn stamp(&self, sequence: u64, now_ns: u64) {
        self.stamp_of(sequence).store(now_ns, Ordering::Relaxed);
    }

    /// When the tuple `sequence`, a multiple of [`STAMP_EVERY`], was emitted.
    #[inline]
    pub(crate) fn stamped_ns(&self, sequence: u64) -> u64 {
        self.stamp_of(sequence).load(Ordering::Relaxed)
    }

    #[inline]
    fn stamp_of(&self, sequence: u64) -> &AtomicU64 {
        &self.stamps[(sequence / STAMP_EVERY) as usize % STAMPS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_opening_counts() {
        let window = LegWindow::new(Clock::from_instant(), Duration::from_millis(2), Duration::from_millis(3));
        assert_eq!(window.bounds(), None);
        let bounds = window.open();
        std::thread::sleep(Duration::from_micros(10));
        assert_eq!((window.open(), window.bounds()), (bounds, Some(bounds)));
        assert_eq!(bounds.begin_ns - bounds.start_ns, 2_000_000);
        assert_eq!(bounds.end_ns - bounds.begin_ns, 3_000_000);
        assert!(bounds.stop_ns > bounds.end_ns);
    }

    #[test]
    fn the_window_is_half_open() {
        let bounds = Bounds { start_ns: 1, begin_ns: 10, end_ns: 20, stop_ns: 30 };
        assert_eq!([9, 10, 19, 20].map(|moment| bounds.contains(moment)), [false, true, true, false]);
    }

    #[test]
    fn stamps_are_found_by_their_sequence() {
        let window = LegWindow::new(Clock::from_instant(), Duration::ZERO, Duration::ZERO);
        for index in 0..STAMPS as u64 {
            window.stamp(index * STAMP_EVERY, 1000 + index);
        }
        assert_eq!(window.stamped_ns(0), 1000);
        assert_eq!(window.stamped_ns(4095 * STAMP_EVERY), 1000 + 4095);
    }
}
