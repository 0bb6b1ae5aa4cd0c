//! Topologies that nobody would think of: random shapes, groupings, components and settings, from a seed each.
//!
//! `RINGSTORM_SEEDS=1000..2000 cargo test --release -p ringstorm-runtime --test semantics random` tries others.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::side_runtime::sleep;
use ringstorm_runtime::{
    AckHandle, AsyncBolt, AsyncEmitter, Bolt, BoltCollector, BoltDeclarer, CustomGrouping, Declarer, Emitter, FlatMap,
    GroupedTuple, Input, Result, SimpleBolt, TopologyBuilder, TupleCopy, TupleRef,
};
use ringstorm_tuple::Tuple;
use ringstorm_types::TaskId;
use ringstorm_types::topology::Grouping;

use crate::harness::*;

/// A small generator of numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 32) % bound
    }
    fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize].clone()
    }
}

/// What all components of one topology share.
#[derive(Default)]
struct World {
    /// The next number to emit; 0 is not among them.
    numbers: AtomicU64,
    fails_left: AtomicU64,
    panics_left: AtomicU64,
}

impl World {
    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
    fn take(left: &AtomicU64) -> bool {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// Numbers come in order from each source task, but for spouts and asynchronous bolts, which do not count.
#[derive(Default)]
struct Order(BTreeMap<i32, u64>);

impl Order {
    fn check(&mut self, input: &TupleRef<'_>) -> Result {
        let value = input.view::<Number>()?.value();
        let source = input.source_component().as_str();
        if value != 0 && !source.starts_with("spout") {
            let before = self.0.insert(input.source_task().0, value);
            // Twice the same where a grouping has chosen one task twice.
            assert!(before.is_none_or(|before| before <= value), "{value} after {before:?} from {source}");
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Relay,
    Simple,
    Naps,
    Fails,
    Panics,
    Holds,
    Batches,
    Splits,
    Awaits,
    Loops,
    Ends,
}

const KINDS: [Kind; 12] = [
    Kind::Relay,
    Kind::Relay,
    Kind::Simple,
    Kind::Naps,
    Kind::Fails,
    Kind::Panics,
    Kind::Holds,
    Kind::Batches,
    Kind::Splits,
    Kind::Awaits,
    Kind::Loops,
    Kind::Ends,
];

struct Random {
    kind: Kind,
    world: Arc<World>,
    order: Order,
    count: u64,
    held: Vec<AckHandle>,
}

impl Random {
    fn new(kind: Kind, world: &Arc<World>) -> Self {
        Self { kind, world: Arc::clone(world), order: Order::default(), count: 0, held: Vec::new() }
    }
}

impl Bolt for Random {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>().emits_to::<Number>("again");
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        if input.is_tick() {
            self.held.drain(..).for_each(|handle| collector.ack_deferred(handle));
            return Ok(());
        }
        self.order.check(input)?;
        self.count += 1;
        match self.kind {
            Kind::Naps if self.count.is_multiple_of(100) => std::thread::sleep(Duration::from_micros(300)),
            Kind::Fails if self.count.is_multiple_of(37) && World::take(&self.world.fails_left) => {
                collector.fail(input);
                return Ok(());
            }
            Kind::Panics if self.count.is_multiple_of(91) && World::take(&self.world.panics_left) => {
                panic!("by chance")
            }
            _ => {}
        }
        match self.kind {
            Kind::Ends => {}
            Kind::Loops if self.count % 5 > 1 => {
                collector.emit_to("again", input, &Number { value: self.world.number() });
            }
            _ => collector.emit(input, &Number { value: self.world.number() }),
        }
        match self.kind {
            Kind::Holds | Kind::Batches => self.held.push(input.defer()),
            _ => collector.ack(input),
        }
        Ok(())
    }
    fn wants_flush(&self) -> bool {
        matches!(self.kind, Kind::Batches) && !self.held.is_empty()
    }
    fn flush(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        self.held.drain(..).for_each(|handle| collector.ack_deferred(handle));
        Ok(())
    }
}

struct RandomSimple(Arc<World>, Order);

impl SimpleBolt for RandomSimple {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        self.1.check(input)?;
        emitter.emit(&Number { value: self.0.number() });
        Ok(())
    }
}

struct RandomSplit(Arc<World>, Order);

impl FlatMap for RandomSplit {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn flat_map<'a>(&'a mut self, input: TupleRef<'a>) -> Result<impl Iterator<Item = impl Tuple + 'a> + 'a> {
        self.1.check(&input)?;
        let (count, world) = (input.view::<Number>()?.value() % 4, &self.0);
        Ok((0..count).map(|_| Number { value: world.number() }))
    }
}

struct RandomAwait(Rc<()>);

impl AsyncBolt for RandomAwait {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: TupleCopy, emitter: AsyncEmitter) -> impl Future<Output = Result> + 'static {
        let shared = Rc::clone(&self.0);
        async move {
            let value = input.tuple().view::<Number>()?.value();
            if value % 3 > 0 {
                sleep(Duration::from_micros(30 * (value % 7))).await;
            }
            emitter.emit(&Number { value: 0 });
            drop(shared);
            Ok(())
        }
    }
}

struct Scatter(usize);

impl CustomGrouping for Scatter {
    fn prepare(&mut self, targets: &[TaskId]) {
        self.0 = targets.len();
    }
    fn choose(&mut self, tuple: &GroupedTuple<'_>, targets: &mut Vec<usize>) {
        let value = tuple.get(0).as_u64().unwrap_or(0) as usize;
        targets.push(value % self.0);
        if value.is_multiple_of(16) {
            targets.push((value / 16) % self.0);
        }
    }
}

fn subscribe<'a>(bolt: BoltDeclarer<'a>, source: &str, tasks: u64, dice: &mut Dice) -> BoltDeclarer<'a> {
    let field = || vec!["value".to_owned()];
    match dice.below(9) {
        0 => bolt.grouping(source, Grouping::Fields(field())),
        1 => bolt.grouping(source, Grouping::PartialKey(field())),
        2 => bolt.custom_grouping(source, "scatter", || Scatter(0)),
        3 => bolt.grouping(source, Grouping::None),
        4 => bolt.grouping(source, Grouping::LocalOrShuffle),
        5 => bolt.grouping(source, Grouping::Global),
        // Copies for all multiply: only where there are few.
        6 if tasks < 3 => bolt.grouping(source, Grouping::All),
        _ => bolt.grouping(source, Grouping::Shuffle),
    }
}

fn run_seed(seed: u64) {
    let dice = &mut Dice(seed);
    let world = Arc::new(World {
        fails_left: AtomicU64::new(dice.below(40)),
        panics_left: AtomicU64::new(dice.below(4)),
        ..World::default()
    });
    let mut topology = TopologyBuilder::new();
    let (mut journals, mut sources) = (Vec::new(), Vec::new());
    for number in 0..1 + dice.below(2) {
        let journal = Arc::<Journal>::default();
        let (name, count) = (format!("spout-{number}"), 50 + dice.below(400));
        let seq = Seq::new(count, &journal).per_call(1 + dice.below(20)).replays();
        let executors = 1 + dice.below(3) as u32;
        let tasks = executors * (1 + dice.below(2) as u32);
        let spout = topology.spout(&name, move || seq.clone()).parallelism(executors).tasks(tasks);
        if dice.below(6) == 0 {
            spout.blocking();
        }
        journals.push((journal, count * u64::from(tasks)));
        sources.push(name);
    }
    for number in 0..2 + dice.below(5) {
        let (name, kind) = (format!("bolt-{number}"), dice.one_of(&KINDS));
        let for_bolt = Arc::clone(&world);
        let mut bolt = match kind {
            Kind::Simple => topology.simple_bolt(&name, move || RandomSimple(Arc::clone(&for_bolt), Order::default())),
            Kind::Splits => topology.flat_map(&name, move || RandomSplit(Arc::clone(&for_bolt), Order::default())),
            Kind::Awaits => topology.async_bolt(&name, 1 + dice.below(8) as u32, || RandomAwait(Rc::default())),
            kind => topology.bolt(&name, move || Random::new(kind, &for_bolt)),
        };
        let executors = 1 + dice.below(3);
        let tasks = executors * (1 + dice.below(2));
        bolt = bolt.parallelism(executors as u32).tasks(tasks as u32);
        if matches!(kind, Kind::Loops) {
            bolt = match dice.below(2) {
                0 => bolt.shuffle_grouping((name.as_str(), "again")),
                _ => bolt.fields_grouping((name.as_str(), "again"), ["value"]),
            };
        }
        if matches!(kind, Kind::Holds) {
            bolt = bolt.tick_every(Duration::from_millis(3));
        }
        if dice.below(6) == 0 {
            bolt = bolt.blocking();
        }
        // Near the end of what there is, so that trees are deep and not only wide.
        for _ in 0..1 + dice.below(2) {
            let last = sources.len() as u64;
            let source = &sources[(last - 1 - dice.below(last.min(3))) as usize];
            bolt = subscribe(bolt, source, tasks, dice);
        }
        drop(bolt);
        sources.push(name);
    }
    let ackers = dice.below(4);
    let mut settings = vec![
        ("ringstorm.worker.cores", (1 + dice.below(4)).into()),
        ("ringstorm.ring.cells", dice.one_of(&[2, 4, 8, 64]).into()),
        ("ringstorm.frame.bytes", dice.one_of(&[1024, 4096, 16_384]).into()),
        ("ringstorm.inbox.mark.bytes", dice.one_of(&[1024, 8192, 262_144]).into()),
        ("topology.acker.executors", ackers.into()),
        ("topology.disable.loadaware.messaging", (dice.below(2) == 0).into()),
    ];
    if dice.below(2) == 0 {
        settings.push(("topology.max.spout.pending", (1 + dice.below(200)).into()));
    }
    let settings: Vec<(&str, serde_json::Value)> = settings;
    let report = run(topology, &config(&settings));
    assert_drained(&report);
    let panics = report.errors.iter().filter(|error| error.text.contains("by chance")).count() as u64;
    assert_eq!(error_count(&report), panics, "{:#?}", report.errors);
    for (journal, count) in journals {
        journal.assert_all_acked_in_the_end(count);
    }
}

#[test]
fn random_topologies_lose_nothing() {
    let range = std::env::var("RINGSTORM_SEEDS").unwrap_or_else(|_| "0..40".to_owned());
    let (from, to) = range.split_once("..").expect("RINGSTORM_SEEDS is a range such as 0..40");
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        if let Err(panic) = std::panic::catch_unwind(|| run_seed(seed)) {
            eprintln!("the topology of seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}
