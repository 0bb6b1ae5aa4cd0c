//! The measured spout: one emit for each call, of what is due.
//!
//! Threading: one task on one core of the engine. Errors: none; a failed message is counted.

use std::sync::{Arc, PoisonError};

use ringstorm::{Declarer, FailReason, MessageId, Next, Result, Spout, SpoutCollector, Tuple};

use crate::engine::Measure;
use crate::load::{Due, Generator};
use crate::meter::{Meter, Metered};

/// What a measured spout emits.
pub trait Stream: 'static {
    /// The tuples.
    type Tuple<'a>: Tuple;

    /// The tuple `sequence`, counted from zero, filled anew.
    fn tuple(&mut self, sequence: u64) -> Self::Tuple<'_>;
}

/// What a spout saw.
#[derive(Debug)]
pub(super) struct SourceEnd {
    pub(super) sent: u64,
    /// `None` in un-acked legs.
    pub(super) acks: Option<Metered>,
    pub(super) failed: u64,
}

/// Emits a [`Stream`] at the load of its leg. In acked legs the message id is the sequence number, and the acks are
/// metered here.
#[derive(Debug)]
pub struct MeasuredSpout<S> {
    measure: Measure,
    stream: S,
    /// Made at the first call, since that opens the leg.
    generator: Option<Generator>,
    /// `None` in un-acked legs.
    acks: Option<Meter>,
    failed: u64,
}

impl<S: Stream> MeasuredSpout<S> {
    /// A spout for one leg.
    pub fn new(measure: &Measure, stream: S) -> Self {
        let plan = &measure.plan;
        let acks = plan.acked.then(|| Meter::new(Arc::clone(&measure.window), plan.load));
        MeasuredSpout { measure: measure.clone(), stream, generator: None, acks, failed: 0 }
    }
}

impl<S: Stream> Spout for MeasuredSpout<S> {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<S::Tuple<'static>>();
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let Self { measure, stream, generator, .. } = self;
        let generator =
            generator.get_or_insert_with(|| Generator::open(Arc::clone(&measure.window), measure.plan.load));
        Ok(match generator.due(1) {
            Due::Tuples(_) => {
                let sequence = generator.next_sequence();
                let tuple = stream.tuple(sequence);
                if measure.plan.acked {
                    collector.emit_with_id(MessageId(sequence), &tuple);
                } else {
                    collector.emit(&tuple);
                }
                generator.emitted(1);
                Next::Emitted
            }
            Due::Nothing { until_ns } => Next::Until(measure.plan.clock.instant_at(until_ns)),
            Due::Finished => Next::Finished,
        })
    }

    fn ack(&mut self, id: MessageId) {
        if let Some(acks) = &mut self.acks {
            acks.arrived(id.0);
        }
    }

    fn fail(&mut self, _: MessageId, _: FailReason) {
        self.failed += 1;
    }

    fn close(&mut self) {
        let sent = self.generator.as_ref().map_or(0, Generator::next_sequence);
        let end = SourceEnd { sent, acks: self.acks.take().map(Meter::finish), failed: self.failed };
        *self.measure.source.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }
}
