//! What the last bolt of a leg meters and leaves behind.
//!
//! Threading: one task on one core of the engine. Errors: none.

use std::sync::{Arc, PoisonError};

use crate::engine::Measure;
use crate::meter::{Meter, Metered};

/// What the last bolt saw.
#[derive(Debug)]
pub(super) struct SinkEnd {
    pub(super) received: u64,
    /// `None` in acked legs, where the spout meters acks.
    pub(super) metered: Option<Metered>,
    pub(super) checksum: Option<u64>,
    pub(super) intact: bool,
}

/// Meters the arrivals of un-acked legs.
#[derive(Debug)]
pub(super) struct Arrivals {
    measure: Measure,
    meter: Option<Meter>,
}

impl Arrivals {
    pub(super) fn new(measure: &Measure) -> Arrivals {
        let plan = &measure.plan;
        let meter = (!plan.acked).then(|| Meter::new(Arc::clone(&measure.window), plan.load));
        Arrivals { measure: measure.clone(), meter }
    }

    /// The tuple `sequence` was read.
    #[inline]
    pub(super) fn arrived(&mut self, sequence: u64) {
        if let Some(meter) = &mut self.meter {
            meter.arrived(sequence);
        }
    }

    /// Leaves what was seen for the end of the leg.
    pub(super) fn end(&mut self, received: u64, checksum: Option<u64>, intact: bool) {
        let metered = self.meter.take().map(Meter::finish);
        let end = SinkEnd { received, metered, checksum, intact };
        *self.measure.sink.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }
}
