//! Sinks that are slow at times: what feeds them waits, and goes on as soon as they do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringstorm_runtime::metrics::{CoreSnapshot, QueueSnapshot};
use ringstorm_runtime::{
    Declarer, Next, Outcome, Result, RunReport, RunningTopology, Spout, SpoutCollector, TopologyBuilder,
};
use ringstorm_types::MessageId;

use crate::harness::*;
use crate::memory::{Counts, Flood};
use crate::{alone, resident_bytes, soak_time};

/// No signal that gets lost heals later than this.
const HEALS_WITHIN: Duration = Duration::from_secs(5);

/// What is executed in a second, measured over a moment.
fn rate(executed: &AtomicU64) -> f64 {
    let (before, started) = (executed.load(Ordering::Relaxed), Instant::now());
    std::thread::sleep(Duration::from_millis(25));
    (executed.load(Ordering::Relaxed) - before) as f64 / started.elapsed().as_secs_f64()
}

/// A stopped run has lost nothing.
fn assert_all_acked(report: &RunReport, counts: &Counts, acked: bool) {
    assert_eq!(report.outcome, Outcome::Stopped);
    assert!(report.drained, "{report:#?}");
    assert_eq!(error_count(report), 0, "{:#?}", report.errors);
    let emitted = counts.emitted.load(Ordering::Relaxed);
    assert_eq!((transferred(&report.snapshots), executed(&report.snapshots)), (emitted, emitted));
    let heard = (counts.acked.load(Ordering::Relaxed), counts.failed.load(Ordering::Relaxed));
    assert_eq!(heard, (if acked { emitted } else { 0 }, 0));
}

/// A sink that takes `slow_call` for a tuple while it is slow.
struct Toggled {
    running: RunningTopology,
    counts: Arc<Counts>,
    executed: Arc<AtomicU64>,
    is_slow: Arc<AtomicBool>,
}

impl Toggled {
    fn start(acked: bool, slow_call: Duration) -> Self {
        let (counts, executed) = (Arc::<Counts>::default(), Arc::<AtomicU64>::default());
        let is_slow = Arc::<AtomicBool>::default();
        let mut topology = TopologyBuilder::new();
        let shared = Arc::clone(&counts);
        topology.spout("flood", move || Flood::new(acked, &shared));
        let (shared, slowness) = (Arc::clone(&executed), Arc::clone(&is_slow));
        let sink = move || {
            let (executed, is_slow) = (Arc::clone(&shared), Arc::clone(&slowness));
            ends(move |input, collector| {
                if is_slow.load(Ordering::Relaxed) {
                    std::thread::sleep(slow_call);
                }
                executed.fetch_add(1, Ordering::Relaxed);
                collector.ack(input);
                Ok(())
            })
        };
        topology.bolt("sink", sink).shuffle_grouping("flood");
        let running = start(topology, &config(&[("topology.acker.executors", u64::from(acked).into())]));
        wait_for("the first tuples", || executed.load(Ordering::Relaxed) > 10_000);
        Self { running, counts, executed, is_slow }
    }

    /// Stops, when nothing must have been lost.
    fn stop(self, acked: bool) {
        self.running.request_stop();
        let report = finish(self.running);
        assert_all_acked(&report, &self.counts, acked);
    }
}

/// What a sink that never was slow executes in a second now: the machine may be another than it was at the start.
fn fresh_rate(acked: bool) -> f64 {
    let fresh = Toggled::start(acked, Duration::ZERO);
    // The best of some windows, as a busy machine may let the whole run stand still for some of them.
    let best = (0..9).map(|_| rate(&fresh.executed)).fold(0.0, f64::max);
    fresh.stop(acked);
    best
}

fn toggles(acked: bool) {
    let _turn = alone();
    // What else the machine does may well take half of its time; an hour is for when there is nothing else.
    let (slow_call, phase, share) = match long_soak_time() {
        Some(_) => (Duration::from_millis(100), Duration::from_secs(10), 0.9),
        None => (Duration::from_millis(2), Duration::from_millis(150), 0.05),
    };
    let toggled = Toggled::start(acked, slow_call);
    let (executed, is_slow) = (&toggled.executed, &toggled.is_slow);
    let started = Instant::now();
    let (mut slowest, mut resident) = (Duration::ZERO, Vec::new());
    while resident.len() < 2 || started.elapsed() < soak_time() {
        is_slow.store(true, Ordering::Relaxed);
        // The call that is under way may be a fast one, and a slice of them.
        std::thread::sleep(Duration::from_millis(5));
        let (before, since) = (executed.load(Ordering::Relaxed), Instant::now());
        std::thread::sleep(phase);
        let done = executed.load(Ordering::Relaxed) - before;
        let at_most = since.elapsed().as_nanos() / slow_call.as_nanos() + 1;
        assert!(u128::from(done) <= at_most, "{done} executed by a slow sink, which has time for {at_most}");
        let fresh = fresh_rate(acked);
        is_slow.store(false, Ordering::Relaxed);
        let flipped = Instant::now();
        let mut best = rate(executed);
        while best <= share * fresh {
            assert!(flipped.elapsed() < HEALS_WITHIN, "{best:.0} a second at best where a fresh sink has {fresh:.0}");
            best = best.max(rate(executed));
        }
        slowest = slowest.max(flipped.elapsed());
        resident.push(resident_bytes());
        std::thread::sleep(phase.saturating_sub(flipped.elapsed()));
    }
    toggled.stop(acked);
    let third = resident.len() / 3;
    let most = |of: &[u64]| of.iter().max().map_or(0, |bytes| bytes >> 20);
    let (middle, last) = (most(&resident[third..resident.len() - third]), most(&resident[resident.len() - third..]));
    eprintln!("acked {acked}: {} times slow, back within {slowest:?}; RSS {middle}, {last} MiB", resident.len());
    assert!(last as f64 <= 1.1 * middle as f64 + 16.0, "RSS grows: {middle}, then {last} MiB");
}

/// Storm's B071: a sink that turns slow and fast again holds its spout only while it is slow.
#[test]
fn a_sink_that_turns_slow_and_fast_gets_its_rate_back() {
    toggles(false);
    toggles(true);
}

/// Emits what is due by a rate, whether or not it was asked in time.
struct OpenLoop {
    per_second: f64,
    started: Option<Instant>,
    counts: Arc<Counts>,
}

impl Spout for OpenLoop {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let started = *self.started.get_or_insert_with(Instant::now);
        let emitted = self.counts.emitted.load(Ordering::Relaxed);
        let due = started + Duration::from_secs_f64(emitted as f64 / self.per_second);
        if Instant::now() < due {
            return Ok(Next::Until(due));
        }
        self.counts.emitted.store(emitted + 1, Ordering::Relaxed);
        collector.emit_with_id(MessageId(emitted), &Number { value: emitted });
        Ok(Next::Emitted)
    }
    fn ack(&mut self, _: MessageId) {
        self.counts.acked.fetch_add(1, Ordering::Relaxed);
    }
    fn fail(&mut self, _: MessageId, _: ringstorm_runtime::FailReason) {
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// The queue of the sink.
fn queue(snapshots: &[CoreSnapshot]) -> Option<QueueSnapshot> {
    let mut executors = snapshots.iter().flat_map(|core| &core.executors);
    executors.find(|executor| executor.component == "sink").map(|executor| executor.receive_queue)
}

/// Storm's B072: a sink that gets a tenth more than it has time for, and that pauses at random, never has more waiting
/// than its mark and twice what the ring before it and a slice hold; and every pause ends.
#[test]
fn at_more_than_its_capacity_a_sink_that_pauses_has_a_bounded_queue() {
    const MARK_BYTES: usize = 4096;
    const FRAME_BYTES: usize = 1024;
    const CELLS: usize = 4;
    const TUPLE_BYTES: usize = size_of::<u64>();
    // The ring may be filled again while it is emptied and the sink's wish to pause is on its way. A slice of the spout
    // is 256 tuples.
    const BOUND_BYTES: usize = MARK_BYTES + 2 * (CELLS * FRAME_BYTES + 256 * TUPLE_BYTES);
    let _turn = alone();
    // Each tuple takes ten microseconds on the average, and the pauses one more: 91,000 a second, had sleep no price.
    let pause_max_ms: u64 = if long_soak_time().is_some() { 200 } else { 20 };
    let (naps, pauses) = ((16, 320), (500 * pause_max_ms, 1000 * pause_max_ms));
    let counts = Arc::<Counts>::default();
    let executed = Arc::<AtomicU64>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&counts);
    topology.spout("numbers", move || OpenLoop { per_second: 100_000.0, started: None, counts: Arc::clone(&shared) });
    let shared = Arc::clone(&executed);
    let sink = move || {
        let (executed, mut random) = (Arc::clone(&shared), 72_u64);
        ends(move |input, collector| {
            for (one_in, at_most_us) in [naps, pauses] {
                // The high bits of a linear congruential generator.
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if (random >> 44).is_multiple_of(one_in) {
                    std::thread::sleep(Duration::from_micros((random >> 20) % at_most_us));
                }
            }
            executed.fetch_add(1, Ordering::Relaxed);
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("sink", sink).shuffle_grouping("numbers");
    let settings = [
        ("ringstorm.inbox.mark.bytes", MARK_BYTES.into()),
        ("ringstorm.frame.bytes", FRAME_BYTES.into()),
        ("ringstorm.ring.cells", CELLS.into()),
    ];
    let running = start(topology, &config(&settings));
    let (started, time) = (Instant::now(), 2 * soak_time());
    let (mut last, mut grown, mut most_bytes, mut thirds) = (0, Instant::now(), 0, [0; 3]);
    while started.elapsed() < time {
        let third = (3.0 * started.elapsed().as_secs_f64() / time.as_secs_f64()) as usize;
        thirds[third.min(2)] = thirds[third.min(2)].max(resident_bytes());
        let now = executed.load(Ordering::Relaxed);
        if now > last {
            (last, grown) = (now, Instant::now());
        }
        assert!(grown.elapsed() < HEALS_WITHIN, "{now} were executed, and no more");
        most_bytes = most_bytes.max(queue(&running.snapshots()).map_or(0, |queue| queue.bytes));
        std::thread::sleep(Duration::from_millis(10));
    }
    running.request_stop();
    let report = finish(running);
    let queue = queue(&report.snapshots).unwrap();
    eprintln!("{last} executed in {time:?}; at most {most_bytes} of {BOUND_BYTES} bytes waited; {queue:?}");
    assert_all_acked(&report, &counts, true);
    assert!(queue.pauses > 2, "the sink was not behind again and again: {queue:?}");
    assert!(most_bytes <= BOUND_BYTES, "{most_bytes} bytes waited");
    assert!(queue.population_max * TUPLE_BYTES <= BOUND_BYTES, "{queue:?}");
    let [_, middle, end] = thirds.map(|bytes| bytes >> 20);
    assert!(end as f64 <= 1.1 * middle as f64 + 16.0, "RSS grows: {middle}, then {end} MiB");
}
