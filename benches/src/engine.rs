//! The engine's leg: a topology of the public interface, run in this process with its settings untouched.
//!
//! A benchmark declares its components with a [`TopologyBuilder`] and gives each a [`Measure`]: the measured spout
//! opens the window, emits what its [generator](crate::load::Generator) says is due and, in acked legs, meters the
//! acks; the last bolt reads every byte and, in un-acked legs, meters the arrivals. When the input has ended the engine
//! drains and closes its tasks, and these leave here what they saw.
//!
//! Threading: components live on the engine's cores; what they leave passes through a mutex at the end of the leg.
//! Errors: whatever the engine reports ends the run as [`BenchError::Engine`].

mod bodies;
mod sink;
mod source;
mod words;

pub use bodies::{Bodies, IdBolt, NullBolt, Numbered};
pub use source::{MeasuredSpout, Stream};
pub use words::{CountBolt, Word, Words};

use std::sync::{Arc, Mutex, PoisonError};

use ringstorm::types::config::{Origin, keys};
use ringstorm::{Config, LocalCluster, Outcome, RunReport, TopologyBuilder};

use crate::engine::sink::SinkEnd;
use crate::engine::source::SourceEnd;
use crate::error::BenchError;
use crate::leg::{Leg, LegOutcome, LegPlan};
use crate::window::LegWindow;

/// What the components of a leg share.
#[derive(Debug, Clone)]
pub struct Measure {
    plan: LegPlan,
    window: Arc<LegWindow>,
    source: Arc<Mutex<Option<SourceEnd>>>,
    sink: Arc<Mutex<Option<SinkEnd>>>,
}

/// A topology as a leg.
#[derive(Debug, Clone, Copy)]
pub struct EngineLeg {
    name: &'static str,
    declare: fn(&mut TopologyBuilder, &Measure),
}

impl EngineLeg {
    /// A leg that runs the topology which `declare` declares: one [`MeasuredSpout`] and, at the end of its tuples' way,
    /// one task of a [`NullBolt`] or a [`CountBolt`].
    pub fn new(name: &'static str, declare: fn(&mut TopologyBuilder, &Measure)) -> EngineLeg {
        EngineLeg { name, declare }
    }
}

impl Leg for EngineLeg {
    fn name(&self) -> String {
        format!("engine, {}", self.name)
    }

    fn run(&mut self, plan: &LegPlan, window: Arc<LegWindow>) -> Result<LegOutcome, BenchError> {
        let measure = Measure { plan: *plan, window, source: Arc::default(), sink: Arc::default() };
        let mut topology = TopologyBuilder::new();
        (self.declare)(&mut topology, &measure);
        let mut config = Config::new();
        if plan.always_spin {
            config.set(keys::CORES_ALWAYS_SPIN, true, Origin::TOPOLOGY);
        }
        let topology = topology.build(&config).map_err(|error| BenchError::Engine(error.to_string()))?;
        let report =
            LocalCluster::new().run(self.name, topology).map_err(|error| BenchError::Engine(error.to_string()))?;
        check(&report)?;
        let (source, sink) = (taken(&measure.source, "the spout")?, taken(&measure.sink, "the last bolt")?);
        Ok(outcome(source, sink))
    }
}

/// A run that met any error measured something else than what was asked.
fn check(report: &RunReport) -> Result<(), BenchError> {
    let first_error = || report.errors.first().map_or_else(|| "no error was kept".to_owned(), ToString::to_string);
    match &report.outcome {
        Outcome::Failed(text) => Err(BenchError::Engine(text.clone())),
        Outcome::Stopped => Err(BenchError::Engine("it was stopped from outside".to_owned())),
        Outcome::Completed if report.error_count > 0 => {
            Err(BenchError::Engine(format!("{} errors, the first: {}", report.error_count, first_error())))
        }
        Outcome::Completed if !report.drained => Err(BenchError::Engine(format!(
            "it did not drain: {} tuples under way, {} messages pending after {:.1} s",
            report.in_flight,
            report.pending,
            report.elapsed.as_secs_f64()
        ))),
        Outcome::Completed => Ok(()),
    }
}

fn taken<End>(end: &Mutex<Option<End>>, what: &str) -> Result<End, BenchError> {
    let taken = end.lock().unwrap_or_else(PoisonError::into_inner).take();
    taken.ok_or_else(|| BenchError::Engine(format!("{what} was not closed at the end of the run")))
}

fn outcome(source: SourceEnd, sink: SinkEnd) -> LegOutcome {
    let SourceEnd { sent, acks, failed } = source;
    let not_received = sent.saturating_sub(sink.received);
    let not_settled = acks.as_ref().map_or(0, |acks| sent.saturating_sub(acks.arrived + failed));
    LegOutcome {
        sent,
        metered: acks.or(sink.metered).unwrap_or_else(crate::meter::Metered::nothing),
        lost: not_received.max(not_settled),
        failed,
        checksum: sink.checksum,
        intact: sink.intact && sink.received <= sent,
    }
}
