//! Counts and times the tuples (or acks) that arrive at one place of a leg.
//!
//! Under an open loop the clock is read for every arrival and the latency counts from the moment the tuple was due;
//! tuples that were due inside the window are recorded, also if they arrive after it. Otherwise the clock is read once
//! in [`STAMP_EVERY`] tuples, which costs about 0.01 ns per tuple, and latency counts from the emit of that tuple.
//!
//! Threading: each sink owns its meter. Errors: none; a meter that saw nothing says so in its result.

use std::sync::Arc;

use crate::histogram::{self, LatencyHistogram};
use crate::load::Load;
use crate::window::{Bounds, LegWindow, STAMP_EVERY};

/// What a meter saw.
#[derive(Debug, Clone)]
pub struct Metered {
    /// Arrivals in the whole leg.
    pub arrived: u64,
    /// Arrivals between the first and the last reading of the clock inside the window.
    pub window_tuples: u64,
    /// Nanoseconds between those two readings; zero if there were not two.
    pub window_ns: u64,
    /// Latencies inside the window, see the module.
    pub latency: LatencyHistogram,
}

impl Metered {
    /// What a meter reports at which nothing arrived.
    pub fn nothing() -> Metered {
        Metered { arrived: 0, window_tuples: 0, window_ns: 0, latency: histogram::empty() }
    }

    /// Arrivals per second inside the window, if the clock was read there twice.
    pub fn tuples_per_second(&self) -> Option<f64> {
        (self.window_ns > 0).then(|| self.window_tuples as f64 * 1e9 / self.window_ns as f64)
    }
}

/// The number of arrivals at a moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    now_ns: u64,
    arrived: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Meter {
    window: Arc<LegWindow>,
    load: Load,
    bounds: Option<Bounds>,
    /// The clock is read when the sequence number has none of these bits.
    unread_bits: u64,
    arrived: u64,
    first: Option<Reading>,
    last: Option<Reading>,
    latency: LatencyHistogram,
}

impl Meter {
    /// A meter for one sink of a leg.
    pub fn new(window: Arc<LegWindow>, load: Load) -> Meter {
        let unread_bits = if matches!(load, Load::Open(_)) { 0 } else { STAMP_EVERY - 1 };
        let latency = histogram::empty();
        Meter { window, load, bounds: None, unread_bits, arrived: 0, first: None, last: None, latency }
    }

    /// The tuple `sequence` has arrived and was read.
    #[inline]
    pub fn arrived(&mut self, sequence: u64) {
        self.arrived += 1;
        if sequence & self.unread_bits == 0 {
            self.read_clock(sequence);
        }
    }

    /// Not inlined, so that the path between two readings stays short.
    #[inline(never)]
    fn read_clock(&mut self, sequence: u64) {
        let now_ns = self.window.clock().now_ns();
        // The source opened the leg before it emitted this tuple.
        let Some(bounds) = self.bounds.or_else(|| self.window.bounds()) else { return };
        self.bounds = Some(bounds);
        let (since_ns, counts) = match self.load {
            Load::Open(rate) => {
                let due_ns = rate.due_ns(bounds.start_ns, sequence);
                (due_ns, bounds.contains(due_ns))
            }
            Load::Saturating | Load::Idle => (self.window.stamped_ns(sequence), bounds.contains(now_ns)),
        };
        if counts {
            self.latency.saturating_record(now_ns.saturating_sub(since_ns));
        }
        if bounds.contains(now_ns) {
            let reading = Reading { now_ns, arrived: self.arrived };
            self.first.get_or_insert(reading);
            self.last = Some(reading);
        }
    }

    /// What was seen.
    pub fn finish(self) -> Metered {
        let (window_tuples, window_ns) = match (self.first, self.last) {
            (Some(first), Some(last)) => (last.arrived - first.arrived, last.now_ns - first.now_ns),
            _ => (0, 0),
        };
        Metered { arrived: self.arrived, window_tuples, window_ns, latency: self.latency }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::load::{Due, Generator, Rate};
    use std::num::NonZeroU64;
    use std::time::Duration;

    fn window(warm_up_ms: u64, measured_ms: u64) -> Arc<LegWindow> {
        let duration = Duration::from_millis;
        Arc::new(LegWindow::new(Clock::from_instant(), duration(warm_up_ms), duration(measured_ms)))
    }

    fn run(window: &Arc<LegWindow>, load: Load, mut before_arrival: impl FnMut(u64)) -> Metered {
        let mut generator = Generator::open(Arc::clone(window), load);
        let mut meter = Meter::new(Arc::clone(window), load);
        loop {
            match generator.due(1) {
                Due::Tuples(_) => {
                    before_arrival(generator.next_sequence());
                    meter.arrived(generator.next_sequence());
                    generator.emitted(1);
                }
                Due::Nothing { .. } => {}
                Due::Finished => return meter.finish(),
            }
        }
    }

    #[test]
    fn an_open_loop_records_exactly_the_tuples_due_in_the_window_from_their_due_time() {
        let load = Load::Open(Rate::new(NonZeroU64::new(10_000).unwrap()));
        // One stall of 20 ms inside the window: about 200 tuples are held up, 10 ms on average.
        let metered = run(&window(10, 100), load, |sequence| {
            if sequence == 200 {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        assert_eq!(metered.latency.len(), 1000, "100 ms at 10,000 a second, none left out");
        assert_eq!(metered.arrived, 1600, "with warm-up and cool-down");
        let late = metered.latency.count_between(1_000_000, u64::MAX);
        assert!(late >= 185, "a closed loop would have seen one late tuple; {late} were late");
        assert!(metered.window_tuples <= 1600 && metered.window_ns < 100_000_000);
    }

    #[test]
    fn saturation_counts_in_the_window_and_times_one_in_1024() {
        let metered = run(&window(5, 200), Load::Saturating, |_| {});
        assert!(metered.window_tuples > 0 && metered.window_tuples.is_multiple_of(STAMP_EVERY));
        assert!(metered.arrived > metered.window_tuples);
        assert!((1..=200_000_000).contains(&metered.window_ns));
        assert_eq!(metered.latency.len(), metered.window_tuples / STAMP_EVERY + 1);
        assert!(metered.latency.value_at_quantile(0.5) < 1_000_000, "from the stamp of the same tuple");
        let per_second = metered.window_tuples as f64 / (metered.window_ns as f64 / 1e9);
        assert_eq!(metered.tuples_per_second().map(f64::round), Some(per_second.round()));
    }

    #[test]
    fn a_meter_without_arrivals_measured_nothing() {
        let window = window(0, 1);
        let metered = Meter::new(window, Load::Saturating).finish();
        assert_eq!((metered.arrived, metered.tuples_per_second()), (0, None));
    }
}
