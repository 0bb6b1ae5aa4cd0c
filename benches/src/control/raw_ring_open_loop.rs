//! The raw ring under an open loop: what a hop costs when tuples come at a fixed rate and nothing queues.
//!
//! The same ring, threads and events as [`raw_ring`](super::raw_ring), but the producer publishes tuple `i` when it is
//! due at `start + i / rate` (all that are due together, up to 64, if it was held up), and the consumer records the
//! latency of every tuple from that moment. From about p99.9 upwards this shows what the machine does to any spinning
//! thread, so the engine's tail is read against it. Threading and errors as there.

use std::sync::Arc;

use crate::control::raw_ring::run_ring;
use crate::error::BenchError;
use crate::leg::{Leg, LegOutcome, LegPlan};
use crate::window::LegWindow;

/// Slots of the ring; at rates below saturation the size makes no difference.
const SLOTS: usize = 4096;

/// The raw ring under the open loop of its plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct RawRingOpenLoop;

impl Leg for RawRingOpenLoop {
    fn name(&self) -> String {
        format!("raw ring, open loop, {SLOTS} slots")
    }

    fn run(&mut self, plan: &LegPlan, window: Arc<LegWindow>) -> Result<LegOutcome, BenchError> {
        run_ring(SLOTS, plan, window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::load::{Load, Rate};
    use crate::placement::CpuPair;
    use std::num::NonZeroU64;
    use std::time::Duration;

    #[test]
    fn each_tuple_due_in_the_window_is_recorded() {
        let Ok(cpus) = CpuPair::choose() else { return };
        let load = Load::Open(Rate::new(NonZeroU64::new(10_000).unwrap()));
        let (warm_up, measured) = (Duration::from_millis(50), Duration::from_millis(200));
        let (clock, acked, always_spin) = (Clock::from_instant(), false, false);
        let plan = LegPlan { clock, cpus, warm_up, measured, load, acked, always_spin };
        let outcome = crate::leg::run(&mut RawRingOpenLoop, &plan).unwrap().outcome;
        assert_eq!(outcome.metered.latency.len(), 2000);
        assert_eq!((outcome.sent, outcome.lost, outcome.intact), (3000, 0, true));
        assert_eq!(outcome.checksum, Some(crate::checksum::expected(2500)));
    }
}
