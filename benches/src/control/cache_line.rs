//! The cache-line round trip: two pinned threads pass a number to and fro through two cache lines.
//!
//! It is the calibration line of every run, because the distance of two virtual CPUs changes from one minute to the
//! next, and the control for acked complete latency, which crosses between cores twice. Readings are medians over
//! blocks of round trips, so that a preempted block does not count.
//!
//! Threading: two pinned spinning threads; the lines are atomics, release on the way out, acquire on the way in.
//! Errors: those of pinning, to the caller.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;
use crate::error::BenchError;
use crate::histogram;
use crate::leg::{Leg, LegOutcome, LegPlan};
use crate::meter::Metered;
use crate::pairs::median;
use crate::placement::{CpuPair, run_on_pair};
use crate::window::LegWindow;

/// Round trips timed together: long enough that reading the clock does not count, short beside a time slice.
const ROUND_TRIPS_PER_BLOCK: u64 = 200;

/// Blocks of one reading: 3 to 15 ms in all.
const BLOCKS_PER_READING: usize = 100;

/// Longest leg: the figure settles at once.
const LONGEST_LEG: Duration = Duration::from_millis(500);

/// A number on a pair of cache lines of its own (CPUs prefetch lines in pairs).
#[repr(align(128))]
struct Line(AtomicU64);

/// The sink's signal to end.
const END: u64 = u64::MAX;

/// The median round trip between the two CPUs at this moment, in nanoseconds. Takes 3 to 15 ms on a quiet machine.
///
/// # Errors
/// [`BenchError::CannotPin`].
pub fn round_trip_ns(pair: CpuPair, clock: Clock) -> Result<f64, BenchError> {
    let mut blocks = Vec::with_capacity(BLOCKS_PER_READING);
    ping_pong(pair, clock, |block_ns| {
        blocks.push(block_ns);
        blocks.len() < BLOCKS_PER_READING
    })?;
    Ok(median(&blocks).expect("a reading has a hundred blocks"))
}

/// Plays until `block` (given the mean round trip of each block in nanoseconds) returns false.
fn ping_pong(pair: CpuPair, clock: Clock, mut block: impl FnMut(f64) -> bool + Send) -> Result<(), BenchError> {
    let (out, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    let source = || {
        let mut number = 0;
        // The first block warms the lines and waits for the other thread to be up.
        let mut warm = false;
        loop {
            let began_ns = clock.now_ns();
            for _ in 0..ROUND_TRIPS_PER_BLOCK {
                number += 1;
                out.0.store(number, Ordering::Release);
                while back.0.load(Ordering::Acquire) != number {
                    spin_loop();
                }
            }
            let block_ns = (clock.now_ns() - began_ns) as f64 / ROUND_TRIPS_PER_BLOCK as f64;
            if warm && !block(block_ns) {
                break;
            }
            warm = true;
        }
        out.0.store(END, Ordering::Release);
    };
    let sink = || {
        let mut seen = 0;
        loop {
            let number = out.0.load(Ordering::Acquire);
            if number == END {
                break;
            }
            if number == seen {
                spin_loop();
                continue;
            }
            seen = number;
            back.0.store(number, Ordering::Release);
        }
    };
    run_on_pair(pair, source, sink).map(|((), ())| ())
}

/// The round trip as a control leg: its latencies are the mean round trips of short blocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct CacheLineLeg;

impl Leg for CacheLineLeg {
    fn name(&self) -> String {
        "cache-line round trip".to_owned()
    }

    fn run(&mut self, plan: &LegPlan, window: Arc<LegWindow>) -> Result<LegOutcome, BenchError> {
        let mut latency = histogram::empty();
        let began_ns = window.open().start_ns;
        let length_ns = plan.measured.min(LONGEST_LEG).as_nanos() as u64;
        ping_pong(plan.cpus, plan.clock, |block_ns| {
            latency.saturating_record(block_ns.round() as u64);
            plan.clock.now_ns() - began_ns < length_ns
        })?;
        let metered = Metered { latency, ..Metered::nothing() };
        Ok(LegOutcome { sent: 0, metered, lost: 0, failed: 0, checksum: None, intact: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;

    #[test]
    fn a_round_trip_takes_longer_than_a_cached_read_and_less_than_a_time_slice() {
        let Ok(pair) = CpuPair::choose() else { return };
        let round_trip_ns = round_trip_ns(pair, Clock::from_instant()).unwrap();
        assert!((5.0..1_000_000.0).contains(&round_trip_ns), "{round_trip_ns}");
    }

    #[test]
    fn as_a_leg_it_reports_latencies_only() {
        let Ok(cpus) = CpuPair::choose() else { return };
        let (warm_up, measured) = (Duration::ZERO, Duration::from_millis(10));
        let (load, acked, always_spin) = (Load::Saturating, true, false);
        let plan = LegPlan { clock: Clock::from_instant(), cpus, warm_up, measured, load, acked, always_spin };
        let result = crate::leg::run(&mut CacheLineLeg, &plan).unwrap();
        assert!(!result.outcome.metered.latency.is_empty());
        assert_eq!(result.outcome.metered.tuples_per_second(), None);
    }
}
