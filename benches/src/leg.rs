//! One leg of a run: what it is asked to do and what it reports. Raw controls and engine topologies plug in here.
//!
//! A [`Leg`] moves tuples from a source to a sink for the length of its plan. Its source asks a
//! [`Generator`](crate::load::Generator) what is due, its sink feeds a [`Meter`](crate::meter::Meter) and a
//! [`Checksum`], and [`run`] adds what the sampler saw. Threading: `run` blocks its caller until the leg has ended and
//! everything under way has arrived. Errors go to the harness, which ends the run.

use std::sync::Arc;
use std::time::Duration;

use crate::checksum::Checksum;
use crate::clock::Clock;
use crate::error::BenchError;
use crate::load::Load;
use crate::meter::Metered;
use crate::placement::CpuPair;
use crate::sampler::{Sampled, Sampler};
use crate::window::LegWindow;

/// Tuples over which control and engine both print their checksum, unless a leg is too slow to reach them.
const CHECKSUM_PREFIX_TUPLES: u64 = 65_536;

/// What every leg of a run is asked to do.
#[derive(Debug, Clone, Copy)]
pub struct LegPlan {
    /// The clock of the run.
    pub clock: Clock,
    /// The CPUs of source and sink.
    pub cpus: CpuPair,
    /// Before the measured window.
    pub warm_up: Duration,
    /// The measured window.
    pub measured: Duration,
    /// What the source emits.
    pub load: Load,
    /// Whether each tuple is tracked until it is acked. Controls take no notice.
    pub acked: bool,
    /// Whether the engine is told never to park. Controls always spin.
    pub always_spin: bool,
}

impl LegPlan {
    /// A checksum over the prefix that each leg of this plan reaches.
    pub fn checksum(&self) -> Checksum {
        let prefix_tuples = match self.load {
            Load::Saturating => CHECKSUM_PREFIX_TUPLES,
            Load::Open(rate) => {
                let seconds = (self.warm_up + self.measured).as_secs_f64();
                CHECKSUM_PREFIX_TUPLES.min((rate.tuples_per_second() as f64 * seconds) as u64)
            }
            Load::Idle => 0,
        };
        Checksum::new(prefix_tuples)
    }
}

/// What a leg itself saw.
#[derive(Debug, Clone)]
pub struct LegOutcome {
    /// Tuples that the source emitted.
    pub sent: u64,
    /// Tuples (acked legs: acks) as they arrived at the end of their way.
    pub metered: Metered,
    /// Tuples that were sent and neither arrived nor, in acked legs, failed visibly.
    pub lost: u64,
    /// Acked legs: roots that failed or timed out.
    pub failed: u64,
    /// The checksum over the common prefix of this plan; `None` if fewer tuples arrived, or if they carry none.
    pub checksum: Option<u64>,
    /// Whether each tuple that arrived did so once and unchanged.
    pub intact: bool,
}

/// A leg's outcome with what the sampler saw.
#[derive(Debug, Clone)]
pub struct LegResult {
    /// What the leg saw.
    pub outcome: LegOutcome,
    /// Allocations and CPU time around its window.
    pub sampled: Sampled,
}

/// Something that moves tuples: a raw control or an engine topology.
pub trait Leg {
    /// How a report names it, with what matters about it ("raw ring, batches of 64, 4096 slots").
    fn name(&self) -> String;

    /// Runs once. The source opens `window` when it is first asked for a tuple.
    ///
    /// # Errors
    /// Whatever keeps the leg from running; it ends the run.
    fn run(&mut self, plan: &LegPlan, window: Arc<LegWindow>) -> Result<LegOutcome, BenchError>;
}

/// Runs a leg once beside a sampler.
///
/// # Errors
/// Those of the leg and of the sampler.
pub fn run(leg: &mut dyn Leg, plan: &LegPlan) -> Result<LegResult, BenchError> {
    let window = Arc::new(LegWindow::new(plan.clock, plan.warm_up, plan.measured));
    let sampler = Sampler::start(Arc::clone(&window))?;
    let outcome = leg.run(plan, window);
    let sampled = sampler.finish()?;
    Ok(LegResult { outcome: outcome?, sampled })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Rate;
    use std::num::NonZeroU64;

    fn plan(load: Load) -> LegPlan {
        LegPlan {
            clock: Clock::from_instant(),
            cpus: CpuPair { source: 0, sink: 1 },
            warm_up: Duration::from_millis(100),
            measured: Duration::from_millis(900),
            load,
            acked: false,
            always_spin: false,
        }
    }

    #[test]
    fn the_checksum_prefix_is_what_every_leg_reaches() {
        let open = |rate| Load::Open(Rate::new(NonZeroU64::new(rate).unwrap()));
        for (load, tuples) in
            [(Load::Saturating, 65_536), (open(1_000), 1_000), (open(10_000_000), 65_536), (Load::Idle, 0)]
        {
            let mut checksum = plan(load).checksum();
            let body = [0; crate::payload::BODY_BYTES];
            for sequence in 0..tuples {
                assert_eq!(checksum.prefix(), None);
                checksum.read(sequence, &body);
            }
            assert!(checksum.prefix().is_some());
        }
    }

    #[test]
    fn an_error_of_the_leg_does_not_wait_for_the_sampler() {
        struct Refused;
        impl Leg for Refused {
            fn name(&self) -> String {
                "refused".to_owned()
            }
            fn run(&mut self, _: &LegPlan, _: Arc<LegWindow>) -> Result<LegOutcome, BenchError> {
                Err(BenchError::Engine("no such topology".to_owned()))
            }
        }
        let error = run(&mut Refused, &plan(Load::Saturating)).unwrap_err();
        assert_eq!(error.to_string(), "the engine leg failed: no such topology");
    }
}
