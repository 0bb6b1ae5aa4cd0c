//! However unequal the components are, memory stays flat, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringstorm_runtime::{
    CustomGrouping, Declarer, FailReason, FlatMap, GroupedTuple, Next, Outcome, Result, Spout, SpoutCollector,
    TopologyBuilder, TopologyContext, TupleRef,
};
use ringstorm_tuple::Tuple;
use ringstorm_types::{MessageId, TaskId};
use serde_json::Value;

use crate::harness::*;
use crate::{alone, resident_bytes, soak_time};

/// What a spout did, in numbers alone.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) emitted: AtomicU64,
    pub(crate) acked: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// Emits as fast as it may, for ever, to its default stream and to one task of a direct one.
pub(crate) struct Flood {
    tracked: bool,
    next: u64,
    pointed: Vec<TaskId>,
    counts: Arc<Counts>,
}

impl Flood {
    pub(crate) fn new(tracked: bool, counts: &Arc<Counts>) -> Self {
        Self { tracked, next: 0, pointed: Vec::new(), counts: Arc::clone(counts) }
    }
}

impl Spout for Flood {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>().emits_direct::<Number>("pointed");
    }
    fn open(&mut self, context: &TopologyContext) -> Result {
        self.pointed = context.tasks_of("direct").to_vec();
        Ok(())
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let value = self.next;
        self.next += 1;
        let mut count = 1;
        if self.tracked {
            collector.emit_with_id(MessageId(value), &Number { value });
        } else {
            collector.emit(&Number { value });
        }
        if let Some(target) = self.pointed.get(value as usize % self.pointed.len().max(1)) {
            count += 1;
            collector.emit_direct(*target, "pointed", self.tracked.then_some(MessageId(value)), &Number { value });
        }
        self.counts.emitted.fetch_add(count, Ordering::Relaxed);
        Ok(Next::Emitted)
    }
    fn ack(&mut self, _: MessageId) {
        self.counts.acked.fetch_add(1, Ordering::Relaxed);
    }
    fn fail(&mut self, _: MessageId, _: FailReason) {
        self.counts.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs a flooded topology for a while, stops it, and checks memory and losses.
fn soak(name: &str, acked: bool, settings: &[(&str, Value)], add_bolts: impl Fn(&mut TopologyBuilder)) {
    let _turn = alone();
    let time = soak_time();
    let counts = Arc::<Counts>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&counts);
    topology.spout("flood", move || Flood::new(acked, &shared));
    add_bolts(&mut topology);
    let mut settings = settings.to_vec();
    settings.push(("topology.acker.executors", u64::from(acked).into()));
    let running = start(topology, &config(&settings));
    let (started, mut thirds, mut next_line) = (Instant::now(), [0; 3], Duration::from_secs(5));
    while started.elapsed() < time {
        let third = (3.0 * started.elapsed().as_secs_f64() / time.as_secs_f64()) as usize;
        thirds[third.min(2)] = thirds[third.min(2)].max(resident_bytes());
        std::thread::sleep(Duration::from_millis(10));
        if started.elapsed() >= next_line {
            next_line += Duration::from_secs(5);
            let cores = running.snapshots();
            let kib = |part: fn(&ringstorm_runtime::metrics::CoreSnapshot) -> usize| {
                cores.iter().map(part).sum::<usize>() >> 10
            };
            eprintln!(
                "{:?}: RSS {} KiB; frames {}, ledgers {}, pending {} KiB",
                started.elapsed(),
                resident_bytes() >> 10,
                kib(|core| core.frame_bytes),
                kib(|core| core.ledger_bytes),
                kib(|core| core.pending_bytes)
            );
        }
    }
    running.request_stop();
    let stopped = Instant::now();
    let report = finish(running);
    let [first, middle, last] = thirds.map(|bytes| bytes >> 20);
    let emitted = counts.emitted.load(Ordering::Relaxed);
    eprintln!(
        "{name}, {}: {emitted} emitted; RSS {first}, {middle}, {last} MiB; drained in {:?}",
        if acked { "acked" } else { "un-acked" },
        stopped.elapsed()
    );
    assert_eq!(report.outcome, Outcome::Stopped);
    assert!(report.drained, "{report:#?}");
    assert_eq!(error_count(&report), 0, "{:#?}", report.errors);
    assert_eq!(transferred(&report.snapshots), executed(&report.snapshots));
    assert!(executed(&report.snapshots) >= emitted, "something was done");
    if acked {
        assert_eq!(counts.acked.load(Ordering::Relaxed), emitted);
        assert_eq!(counts.failed.load(Ordering::Relaxed), 0);
    }
    assert!(thirds[2] as f64 <= 1.1 * thirds[1] as f64 + f64::from(16 << 20), "RSS grows: {middle}, then {last} MiB");
}

/// Each to its own task, by turns.
struct ByTurns(usize);

impl CustomGrouping for ByTurns {
    fn prepare(&mut self, targets: &[TaskId]) {
        self.0 = targets.len();
    }
    fn choose(&mut self, tuple: &GroupedTuple<'_>, targets: &mut Vec<usize>) {
        targets.push(tuple.get(0).as_u64().unwrap_or(0) as usize % self.0);
    }
}

/// Bolts a thousand times slower than their spout, one for each grouping.
fn slow_bolts(topology: &mut TopologyBuilder) {
    let slow = || slow(Duration::from_micros(20));
    topology.bolt("shuffle", slow).parallelism(2).shuffle_grouping("flood");
    topology.bolt("local", slow).parallelism(2).local_or_shuffle_grouping("flood");
    topology.bolt("fields", slow).parallelism(2).fields_grouping("flood", ["value"]);
    topology.bolt("partial", slow).parallelism(2).partial_key_grouping("flood", ["value"]);
    topology.bolt("all", slow).parallelism(2).all_grouping("flood");
    topology.bolt("global", slow).parallelism(2).global_grouping("flood");
    topology.bolt("none", slow).parallelism(2).none_grouping("flood");
    topology.bolt("custom", slow).parallelism(2).custom_grouping("flood", "by turns", || ByTurns(0));
    topology.bolt("direct", slow).parallelism(2).direct_grouping(("flood", "pointed"));
}

#[test]
fn slow_bolts_by_every_grouping_unacked() {
    soak("slow bolts", false, &[], slow_bolts);
}

#[test]
fn slow_bolts_by_every_grouping_acked() {
    soak("slow bolts", true, &[], slow_bolts);
}

#[test]
fn one_very_slow_bolt() {
    for acked in [false, true] {
        // Short rings: what fits into them before the bolt's slowness is known is drained at its pace.
        let settings = [
            ("ringstorm.ring.cells", 2.into()),
            ("ringstorm.frame.bytes", 1024.into()),
            ("ringstorm.inbox.mark.bytes", 1024.into()),
        ];
        soak("a bolt of 2 ms", acked, &settings, |topology| {
            topology.bolt("slow", || slow(Duration::from_millis(2))).shuffle_grouping("flood");
        });
    }
}

fn diamond(topology: &mut TopologyBuilder) {
    topology.bolt("left", relay).parallelism(2).shuffle_grouping("flood");
    topology.bolt("right", relay).parallelism(3).fields_grouping("flood", ["value"]);
    topology
        .bolt("sink", || slow(Duration::ZERO))
        .parallelism(2)
        .fields_grouping("left", ["value"])
        .shuffle_grouping("right")
        .all_grouping("right");
}

#[test]
fn a_diamond() {
    soak("a diamond", false, &[], diamond);
    soak("a diamond", true, &[], diamond);
}

/// Every number goes round ten times; what enters waits for what is inside.
fn cycle(topology: &mut TopologyBuilder) {
    let round = || {
        passes(|input, collector| {
            let value = input.view::<Number>()?.value();
            if value >> 60 < 9 {
                collector.emit(input, &Number { value: value + (1 << 60) });
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("round", round).parallelism(2).shuffle_grouping("flood").fields_grouping("back", ["value"]);
    topology.bolt("back", relay).parallelism(2).shuffle_grouping("round");
}

#[test]
fn a_cycle_that_does_not_grow() {
    soak("a cycle", false, &[], cycle);
    soak("a cycle", true, &[], cycle);
}

/// One tuple in ten thousand is never acked: what is open in between does not keep what was done before.
#[test]
fn a_few_tuples_that_stay_open() {
    let time = soak_time();
    let _turn = alone();
    let counts = Arc::<Counts>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&counts);
    topology.spout("flood", move || Flood::new(true, &shared));
    let forgets = || {
        ends(|input, collector| {
            if !input.view::<Number>()?.value().is_multiple_of(10_000) {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("forgets", forgets).parallelism(2).shuffle_grouping("flood");
    let settings = [("topology.enable.message.timeouts", false.into()), ("ringstorm.drain.timeout.secs", 1.into())];
    let running = start(topology, &config(&settings));
    std::thread::sleep(time);
    running.request_stop();
    let report = finish(running);
    let (emitted, acked) = (counts.emitted.load(Ordering::Relaxed), counts.acked.load(Ordering::Relaxed));
    let held: usize = report.snapshots.iter().map(|core| core.ledger_bytes + core.pending_bytes).sum();
    eprintln!("one in ten thousand stays open: {emitted} emitted, {} open, {held} bytes for them", report.pending);
    assert_eq!(report.in_flight, 0);
    assert_eq!(report.pending, emitted.div_ceil(10_000));
    assert_eq!(acked + report.pending, emitted);
    // As much as may be in flight at once (2^20 messages, in windows that double), and an entry for each that stays open;
    // for all that was emitted it would be ten times that.
    let bound = (48 << 20) + 256 * report.pending as usize;
    assert!(held < bound, "{held} bytes are held for {} open messages", report.pending);
}

/// Millions of tuples of one call: by an iterator they need no memory, by emits only as much as they are.
#[test]
fn an_iterator_of_millions_needs_no_memory() {
    struct Millions;
    impl FlatMap for Millions {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn flat_map<'a>(&'a mut self, _: TupleRef<'a>) -> Result<impl Iterator<Item = impl Tuple + 'a> + 'a> {
            Ok((0..COUNT).map(|value| Number { value }))
        }
    }
    const COUNT: u64 = if cfg!(debug_assertions) { 1_000_000 } else { 8_000_000 };
    let _turn = alone();
    for (cores, ackers) in [(1, 0), (2, 0), (2, 1)] {
        let (journal, seen) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
        let mut topology = TopologyBuilder::new();
        let seq = Seq::new(1, &journal);
        topology.spout("once", move || seq.clone());
        topology.flat_map("millions", || Millions).shuffle_grouping("once");
        let shared = Arc::clone(&seen);
        topology.bolt("count", move || counts_in_order(Arc::clone(&shared))).shuffle_grouping("millions");
        let before = resident_bytes();
        let settings = [("ringstorm.worker.cores", cores.into()), ("topology.acker.executors", ackers.into())];
        let running = start(topology, &config(&settings));
        let mut most = before;
        while !running.is_over() {
            most = most.max(resident_bytes());
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_clean(&finish(running));
        assert_eq!(seen.load(Ordering::Relaxed), COUNT);
        journal.assert_all_acked_once(1);
        eprintln!("{COUNT} tuples of one iterator, {cores} cores, {ackers} ackers: {} MiB more", (most - before) >> 20);
        assert!(most - before < 16 << 20, "{} MiB more", (most - before) >> 20);
    }
}
