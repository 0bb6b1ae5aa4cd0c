//! User code that panics where one does not think of it as code: each costs one clear error, and none is taken for a fault
//! of the engine.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringstorm_runtime::{
    Bolt, BoltCollector, CustomGrouping, Declarer, Emitter, GroupedTuple, Input, Next, Outcome, Result, RunReport,
    SimpleBolt, Spout, SpoutCollector, TopologyBuilder, TopologyContext,
};

use crate::harness::*;

/// What a panic may carry: its drop panics, carrying another that does.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any(Self);
        }
    }
}

/// An error that panics when it is shown or when it is dropped.
#[derive(Debug)]
enum BadError {
    Shown,
    Dropped,
}

impl fmt::Display for BadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown => std::panic::panic_any(Bomb),
            Self::Dropped => formatter.write_str("no such table"),
        }
    }
}

impl std::error::Error for BadError {}

impl Drop for BadError {
    fn drop(&mut self) {
        if matches!(self, Self::Dropped) && !std::thread::panicking() {
            std::panic::panic_any(Bomb);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Execute,
    WantsFlush,
    Flush,
    Finish,
    Prepare,
    Open,
    NextTuple,
    Drop,
    Nowhere,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Panic,
    Shown,
    Dropped,
}

/// Goes wrong once, in one place.
#[derive(Clone)]
struct Mishap {
    place: Place,
    kind: Kind,
    left: Arc<AtomicU64>,
}

impl Mishap {
    fn new(place: Place, kind: Kind) -> Self {
        Self { place, kind, left: Arc::new(AtomicU64::new(1)) }
    }

    fn happen(&self, place: Place) -> Result {
        if place != self.place || self.left.swap(0, Ordering::Relaxed) == 0 {
            return Ok(());
        }
        match self.kind {
            Kind::Panic => std::panic::panic_any(Bomb),
            Kind::Shown => Err(Box::new(BadError::Shown)),
            Kind::Dropped => Err(Box::new(BadError::Dropped)),
        }
    }
}

struct HostileBolt(Mishap);

impl Bolt for HostileBolt {
    fn prepare(&mut self, _: &TopologyContext) -> Result {
        self.0.happen(Place::Prepare)
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        self.0.happen(Place::Execute)?;
        collector.ack(input);
        Ok(())
    }
    fn wants_flush(&self) -> bool {
        self.0.happen(Place::WantsFlush).expect("it panics before");
        self.0.place == Place::Flush
    }
    fn flush(&mut self, _: &mut BoltCollector<'_>) -> Result {
        self.0.happen(Place::Flush)?;
        self.0.place = Place::Nowhere;
        Ok(())
    }
    fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
        self.0.happen(Place::Finish)
    }
}

impl Drop for HostileBolt {
    fn drop(&mut self) {
        self.0.happen(Place::Drop).expect("it panics before");
    }
}

struct HostileSpout {
    seq: Seq,
    mishap: Mishap,
}

impl Spout for HostileSpout {
    fn declare(&self, declarer: &mut Declarer) {
        self.seq.declare(declarer);
    }
    fn open(&mut self, context: &TopologyContext) -> Result {
        self.mishap.happen(Place::Open)?;
        self.seq.open(context)
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        self.mishap.happen(Place::NextTuple)?;
        self.seq.next_tuple(collector)
    }
    fn ack(&mut self, id: ringstorm_types::MessageId) {
        self.seq.ack(id);
    }
    fn fail(&mut self, id: ringstorm_types::MessageId, reason: ringstorm_runtime::FailReason) {
        self.seq.fail(id, reason);
    }
}

/// A spout and a bolt that share the mishap; the instances that only declare are left in peace.
fn run_hostile(mishap: &Mishap) -> (RunReport, Arc<Journal>) {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let (seq, shared) = (Seq::new(10, &journal), mishap.clone());
    topology.spout("spout", move || HostileSpout { seq: seq.clone(), mishap: shared.clone() });
    let (shared, made) = (mishap.clone(), AtomicU64::new(0));
    let bolt = move || {
        let place = if made.fetch_add(1, Ordering::Relaxed) == 0 { Place::Nowhere } else { shared.place };
        HostileBolt(Mishap { place, ..shared.clone() })
    };
    topology.bolt("bolt", bolt).shuffle_grouping("spout");
    let report = run(topology, &config(&[]));
    assert_eq!(mishap.left.load(Ordering::Relaxed), 0, "nothing went wrong: {:?} {:?}", mishap.place, mishap.kind);
    (report, journal)
}

fn assert_one_error(report: &RunReport, component: &str, parts: &[&str]) {
    let errors = errors_of(report, component);
    assert!(errors.len() == 1 && parts.iter().all(|part| errors[0].contains(part)), "{parts:?}: {errors:?}");
    assert_eq!((error_count(report), report.cores_left_behind), (1, 0), "{:?}", report.errors);
}

const KINDS: [(Kind, &[&str]); 3] = [
    (Kind::Panic, &["panicked: without a message"]),
    (Kind::Shown, &["an error that cannot be shown"]),
    (Kind::Dropped, &["no such table", "dropping this error panicked"]),
];

#[test]
fn whatever_is_thrown_costs_one_error_and_a_rebuild() {
    for (kind, parts) in KINDS {
        for place in [Place::Execute, Place::Flush, Place::NextTuple] {
            let (report, journal) = run_hostile(&Mishap::new(place, kind));
            assert_drained(&report);
            journal.assert_one_word_per_emit();
            assert_eq!(journal.fails(), u64::from(place == Place::Execute));
            let component = if place == Place::NextTuple { "spout" } else { "bolt" };
            assert_one_error(&report, component, &[parts, &["rebuilt"]].concat());
        }
    }
}

#[test]
fn whatever_is_thrown_at_the_end_costs_one_error() {
    for (kind, parts) in KINDS {
        let (report, journal) = run_hostile(&Mishap::new(Place::Finish, kind));
        assert_drained(&report);
        journal.assert_all_acked_once(10);
        assert_one_error(&report, "bolt", &[parts, &["finish"]].concat());
    }
    let (report, journal) = run_hostile(&Mishap::new(Place::Drop, Kind::Panic));
    assert_drained(&report);
    journal.assert_all_acked_once(10);
    assert_one_error(&report, "bolt", &["its drop panicked"]);
}

#[test]
fn whatever_is_thrown_at_the_start_ends_the_run_with_its_name() {
    for (kind, parts) in KINDS {
        for (place, component) in [(Place::Prepare, "bolt"), (Place::Open, "spout")] {
            let (report, _) = run_hostile(&Mishap::new(place, kind));
            let Outcome::Failed(text) = &report.outcome else { panic!("{report:#?}") };
            assert!(text.contains(component) && parts.iter().all(|part| text.contains(part)), "{text}");
            assert_one_error(&report, component, parts);
        }
    }
}

#[test]
fn a_panic_of_wants_flush_costs_one_error_and_a_rebuild() {
    let (report, journal) = run_hostile(&Mishap::new(Place::WantsFlush, Kind::Panic));
    assert_drained(&report);
    journal.assert_all_acked_once(10);
    assert_one_error(&report, "bolt", &["wants_flush panicked", "rebuilt"]);
}

/// The task of a simple bolt goes on as it is, whatever its errors do.
#[test]
fn an_error_that_panics_does_not_cost_a_simple_bolt_its_memory() {
    struct Picky(u64);
    impl SimpleBolt for Picky {
        fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
            self.0 += 1;
            assert_eq!(self.0, input.view::<Number>()?.value() + 1, "the task was rebuilt");
            match self.0 {
                3 => Err(Box::new(BadError::Shown)),
                5 => Err(Box::new(BadError::Dropped)),
                _ => Ok(()),
            }
        }
    }
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(10, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.simple_bolt("picky", || Picky(0)).shuffle_grouping("numbers");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.fails(), error_count(&report)), (2, 2), "{:?}", report.errors);
}

/// Groupings and factories are dropped when all is done; a run in which all went well ends well.
#[test]
fn drops_of_groupings_and_of_what_factories_hold_are_reported() {
    struct BadGrouping(Bomb);
    impl CustomGrouping for BadGrouping {
        fn choose(&mut self, _: &GroupedTuple<'_>, targets: &mut Vec<usize>) {
            targets.push(0);
        }
    }
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(10, &journal);
    let (of_spout, of_bolt, of_grouping) = (Bomb, Bomb, Bomb);
    topology.spout("numbers", move || {
        let _ = &of_spout;
        seq.clone()
    });
    let sink = move || {
        let _ = &of_bolt;
        slow(std::time::Duration::ZERO)
    };
    let grouping = move || {
        let _ = &of_grouping;
        BadGrouping(Bomb)
    };
    topology.bolt("sink", sink).parallelism(2).custom_grouping("numbers", "bad", grouping);
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_all_acked_once(10);
    let of_spout = errors_of(&report, "numbers");
    assert!(of_spout.len() == 2 && of_spout[0].contains("grouping of its stream default panicked"), "{of_spout:?}");
    assert!(of_spout[1].contains("its factory panicked"), "{of_spout:?}");
    let of_sink = errors_of(&report, "sink");
    assert!(of_sink.len() == 2 && of_sink.iter().all(|text| text.contains("its factory panicked")), "{of_sink:?}");
    assert_eq!(error_count(&report), 4, "{:?}", report.errors);
}
