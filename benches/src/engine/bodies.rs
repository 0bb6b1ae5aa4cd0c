//! The tuples of the const spout and the bolts they go to, after storm-perf's `ConstSpout`, `IdBolt` and
//! `DevNullBolt`.
//!
//! Storm's const spout emits one constant string over and over; this one fills 64 bytes anew for each tuple, the same
//! as the raw ring does, and the null bolt reads them all, so that neither side can leave the work out.
//!
//! Threading: each value belongs to one task. Errors: a tuple of another layout, which the engine reports.

use ringstorm::{Bolt, BoltCollector, Declarer, Emitter, Input, Result, SimpleBolt, Tuple};

use crate::checksum::Checksum;
use crate::engine::Measure;
use crate::engine::sink::Arrivals;
use crate::engine::source::Stream;
use crate::payload::{BODY_BYTES, fill_body};

/// 64 bytes: what one event of the raw ring holds.
#[derive(Debug, Tuple)]
pub struct Numbered {
    /// Position in the stream, from zero.
    pub sequence: u64,
    /// Follows from the sequence number, see [`fill_body`].
    pub body: [u8; 56],
}

/// The stream of [`Numbered`] tuples.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bodies;

impl Stream for Bodies {
    type Tuple<'a> = Numbered;

    #[inline]
    fn tuple(&mut self, sequence: u64) -> Numbered {
        let mut body = [0; BODY_BYTES];
        fill_body(&mut body, sequence);
        Numbered { sequence, body }
    }
}

/// Reads every byte of each tuple, and emits nothing.
#[derive(Debug)]
pub struct NullBolt {
    arrivals: Arrivals,
    checksum: Checksum,
}

impl NullBolt {
    /// A bolt for one leg.
    pub fn new(measure: &Measure) -> NullBolt {
        NullBolt { arrivals: Arrivals::new(measure), checksum: measure.plan.checksum() }
    }
}

impl SimpleBolt for NullBolt {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Numbered>();
    }

    fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        let tuple = input.view::<Numbered>()?;
        self.checksum.read(tuple.sequence(), tuple.body());
        self.arrivals.arrived(tuple.sequence());
        Ok(())
    }

    fn cleanup(&mut self) {
        let Self { arrivals, checksum } = self;
        arrivals.end(checksum.tuples(), checksum.prefix(), checksum.is_as_expected());
    }
}

/// Emits what it receives, field by field, anchored to it, then acks it.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdBolt;

impl Bolt for IdBolt {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Numbered>().reads::<Numbered>();
    }

    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        let tuple = input.view::<Numbered>()?;
        collector.emit(input, &Numbered { sequence: tuple.sequence(), body: *tuple.body() });
        collector.ack(input);
        Ok(())
    }
}
