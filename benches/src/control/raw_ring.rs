//! The raw ring: a disruptor with one producer and one polling consumer moves 64-byte events as fast as it can.
//!
//! Both ends spin on pinned threads. The producer refills every event and publishes batches of 64; the consumer reads
//! every byte. Nothing else happens: no routing, no user code, no counters beyond the measurement itself. Only the
//! `try_` calls are used, because the blocking ones spin for ever once the consumer is gone.
//!
//! Threading: two pinned threads for each run. Errors go to the harness.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use disruptor::{BusySpin, EventPoller, Polling, Producer, SingleProducerBarrier, build_single_producer};

use crate::checksum::Checksum;
use crate::error::BenchError;
use crate::leg::{Leg, LegOutcome, LegPlan};
use crate::load::{Due, Generator};
use crate::meter::{Meter, Metered};
use crate::pairs::median;
use crate::payload::Payload;
use crate::placement::run_on_pair;
use crate::window::LegWindow;

/// Events published together.
pub const BATCH_EVENTS: u64 = 64;

/// Ring sizes of which the best one is the control. Powers of two, in slots.
pub const RING_SLOTS: [usize; 3] = [1024, 4096, 16_384];

/// The raw ring under saturation.
#[derive(Debug, Clone, Copy)]
pub struct RawRing {
    slots: usize,
}

impl RawRing {
    /// A ring of `slots` (a power of two).
    pub fn new(slots: usize) -> RawRing {
        RawRing { slots }
    }

    /// The fastest ring of [`RING_SLOTS`] on this machine: medians of `rounds` interleaved runs of `plan`.
    ///
    /// # Errors
    /// Those of the legs.
    pub fn best(plan: &LegPlan, rounds: usize) -> Result<RawRing, BenchError> {
        let mut figures = [const { Vec::new() }; RING_SLOTS.len()];
        for _ in 0..rounds {
            for (slots, figures) in RING_SLOTS.into_iter().zip(&mut figures) {
                let window = Arc::new(LegWindow::new(plan.clock, plan.warm_up, plan.measured));
                let outcome = RawRing::new(slots).run(plan, window)?;
                figures.push(outcome.metered.tuples_per_second().unwrap_or_default());
            }
        }
        let (_, slots) = figures
            .iter()
            .map(|figures| median(figures).unwrap_or_default())
            .zip(RING_SLOTS)
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .expect("there are three sizes");
        Ok(RawRing::new(slots))
    }
}

impl Leg for RawRing {
    fn name(&self) -> String {
        format!("raw ring, batches of {BATCH_EVENTS}, {} slots", self.slots)
    }

    fn run(&mut self, plan: &LegPlan, window: Arc<LegWindow>) -> Result<LegOutcome, BenchError> {
        run_ring(self.slots, plan, window)
    }
}

/// Runs a ring of `slots` under the load of `plan`: batches of up to [`BATCH_EVENTS`] of what is due.
pub(super) fn run_ring(slots: usize, plan: &LegPlan, window: Arc<LegWindow>) -> Result<LegOutcome, BenchError> {
    let builder = build_single_producer(slots, || Payload::EMPTY, BusySpin);
    let (poller, builder) = builder.new_event_poller();
    let producer = builder.build();
    let sink_is_there = AtomicBool::new(true);
    let (meter, checksum) = (Meter::new(Arc::clone(&window), plan.load), plan.checksum());

    let source = || produce(producer, Generator::open(window, plan.load), &sink_is_there);
    let sink = || {
        let _leave = Leave(&sink_is_there);
        consume(poller, meter, checksum)
    };
    let (sent, (metered, checksum)) = run_on_pair(plan.cpus, source, sink)?;
    let sent = sent.ok_or(BenchError::SinkGone { what: "the raw ring" })?;
    let lost = sent.saturating_sub(metered.arrived);
    let intact = checksum.is_as_expected();
    Ok(LegOutcome { sent, metered, lost, failed: 0, checksum: checksum.prefix(), intact })
}

/// Tells the producer that nobody reads any more, also while unwinding.
struct Leave<'a>(&'a AtomicBool);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Publishes what is due until the leg is over; dropping the producer then ends the consumer. Returns how many events
/// were published, or `None` if the consumer left.
fn produce(mut producer: impl Producer<Payload>, mut generator: Generator, sink_is_there: &AtomicBool) -> Option<u64> {
    loop {
        let tuples = match generator.due(BATCH_EVENTS) {
            Due::Tuples(tuples) => tuples,
            Due::Nothing { .. } => continue,
            Due::Finished => return Some(generator.next_sequence()),
        };
        let first = generator.next_sequence();
        let publish = |producer: &mut _| {
            Producer::try_batch_publish(producer, tuples as usize, |events| {
                events.zip(first..).for_each(|(event, sequence): (&mut Payload, u64)| event.refill(sequence));
            })
        };
        while publish(&mut producer).is_err() {
            if !sink_is_there.load(Ordering::Relaxed) {
                return None;
            }
        }
        generator.emitted(tuples);
    }
}

/// Reads every byte of each event until the producer is gone and the ring is empty.
fn consume(
    mut poller: EventPoller<Payload, SingleProducerBarrier>,
    mut meter: Meter,
    mut checksum: Checksum,
) -> (Metered, Checksum) {
    loop {
        match poller.poll() {
            Ok(mut events) => {
                for event in &mut events {
                    checksum.read(event.sequence, &event.body);
                    meter.arrived(event.sequence);
                }
            }
            Err(Polling::NoEvents) => {}
            Err(Polling::Shutdown) => return (meter.finish(), checksum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum;
    use crate::clock::Clock;
    use crate::load::Load;
    use crate::placement::CpuPair;
    use std::time::Duration;

    #[test]
    fn every_event_arrives_once_and_unchanged() {
        let Ok(cpus) = CpuPair::choose() else { return };
        let (warm_up, measured) = (Duration::from_millis(50), Duration::from_millis(200));
        let (load, acked, always_spin) = (Load::Saturating, false, false);
        let plan = LegPlan { clock: Clock::from_instant(), cpus, warm_up, measured, load, acked, always_spin };
        let outcome = crate::leg::run(&mut RawRing::new(RING_SLOTS[2]), &plan).unwrap().outcome;
        assert!(outcome.sent > 0 && outcome.lost == 0 && outcome.intact);
        assert_eq!(outcome.sent, outcome.metered.arrived);
        // A machine that gives both threads one CPU in turn may not get that far.
        assert_eq!(outcome.checksum, (outcome.sent >= 65_536).then(|| checksum::expected(65_536)));
    }

    #[test]
    fn a_producer_whose_consumer_left_ends() {
        let builder = build_single_producer(64, || Payload::EMPTY, BusySpin);
        let (poller, builder) = builder.new_event_poller();
        let producer = builder.build();
        drop(poller);
        let window = Arc::new(LegWindow::new(Clock::from_instant(), Duration::ZERO, Duration::from_secs(60)));
        let sink_is_there = AtomicBool::new(true);
        drop(Leave(&sink_is_there));
        assert_eq!(produce(producer, Generator::open(window, Load::Saturating), &sink_is_there), None);
    }
}
