//! Which task gets which tuple.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ringstorm_runtime::{
    Bolt, CustomGrouping, Declarer, GroupedTuple, Next, Result, Spout, SpoutCollector, TopologyBuilder, TopologyContext,
};
use ringstorm_tuple::{FieldRef, Value, hash, values};
use ringstorm_types::topology::Grouping;
use ringstorm_types::{MessageId, TaskId};

use crate::harness::*;

/// Runs `count` numbers into a sink of `tasks` tasks and returns what it saw.
fn numbers_into(tasks: u32, count: u64, grouping: Grouping) -> Arc<Rows> {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(count, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("sink", sink(&rows)).parallelism(tasks).grouping("numbers", grouping);
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(count);
    rows
}

#[test]
fn fields_send_equal_keys_to_one_task_as_java_hashes_them() {
    let rows = numbers_into(3, 1000, Grouping::Fields(vec!["value".into()]));
    let tasks: Vec<i32> = rows.per_task().into_keys().collect();
    assert_eq!(tasks.len(), 3);
    for row in rows.all() {
        // Java: Arrays.hashCode of one small Long is 31 + value; floorMod by the number of tasks.
        assert_eq!(row.task, tasks[((31 + row.value) % 3) as usize], "{row:?}");
    }
}

#[test]
fn all_gives_every_task_a_copy_and_acks_once() {
    let rows = numbers_into(4, 500, Grouping::All);
    assert_eq!(rows.per_task().into_values().collect::<Vec<_>>(), [500; 4]);
}

#[test]
fn global_uses_the_lowest_task_alone() {
    let rows = numbers_into(4, 500, Grouping::Global);
    assert_eq!(rows.per_task().len(), 1);
    assert_eq!(rows.values(), (0..500).collect::<Vec<_>>());
}

#[test]
fn none_is_random_and_loses_nothing() {
    let rows = numbers_into(4, 4000, Grouping::None);
    assert_eq!(rows.values(), (0..4000).collect::<Vec<_>>());
    // Six standard deviations of a fair choice.
    assert!(rows.per_task().into_values().all(|count| count.abs_diff(1000) < 165), "{:?}", rows.per_task());
}

#[test]
fn local_or_shuffle_takes_turns() {
    let rows = numbers_into(4, 4000, Grouping::LocalOrShuffle);
    assert_eq!(rows.values(), (0..4000).collect::<Vec<_>>());
    assert_eq!(rows.per_task().len(), 4);
}

#[test]
fn partial_key_splits_each_key_over_at_most_two_tasks_evenly() {
    let rows = Arc::<Rows>::default();
    let mut topology = TopologyBuilder::new();
    topology.spout("keys", move || Keys { keys: (0..6).map(Value::from).collect(), rounds: 200 });
    topology.bolt("sink", key_sink(&rows)).parallelism(5).partial_key_grouping("keys", ["key"]);
    assert_clean(&run(topology, &config(&[])));
    let mut tasks: BTreeMap<u64, BTreeMap<i32, u32>> = BTreeMap::new();
    for row in rows.all() {
        *tasks.entry(row.value).or_default().entry(row.task).or_default() += 1;
    }
    assert_eq!(tasks.len(), 6);
    assert!(tasks.values().all(|tasks| tasks.len() <= 2), "{tasks:?}");
    assert_eq!(rows.len(), 1200);
}

/// Storm hashes the text of the first value then, and not its hash.
#[test]
fn partial_key_without_fields_goes_by_the_text_of_the_first_value() {
    const TASKS: u32 = 11;
    // The last of them have no text in Java, and nevertheless two tasks.
    let keys: Vec<Value> = vec![
        Value::from("key"),
        Value::from("\u{1F980} \u{E9}"),
        Value::Int(-7),
        Value::Float(1e10),
        Value::Bool(true),
        Value::List(vec![Value::Int(1), Value::from("a")]),
        Value::Null,
        Value::Bytes(vec![1, 2, 255]),
    ];
    let (rows, cloned) = (Arc::<Rows>::default(), keys.clone());
    let mut topology = TopologyBuilder::new();
    topology.spout("keys", move || Keys { keys: cloned.clone(), rounds: 50 });
    topology.bolt("sink", key_sink(&rows)).parallelism(TASKS).partial_key_grouping("keys", [""; 0]);
    assert_clean(&run(topology, &config(&[])));
    let came: BTreeMap<(usize, usize), u32> = rows.all().iter().fold(BTreeMap::new(), |mut came, row| {
        *came.entry((row.value as usize, row.task as usize)).or_default() += 1;
        came
    });
    let as_ruled = |choose: fn(FieldRef<'_>, usize) -> (usize, usize)| {
        let (mut sent, mut ruled) = ([0; TASKS as usize], BTreeMap::new());
        for (number, key) in std::iter::repeat_n(keys.iter().enumerate(), 50).flatten() {
            let (first, second) = choose(key.field_ref(), TASKS as usize);
            let task = if sent[second] < sent[first] { second } else { first };
            sent[task] += 1;
            *ruled.entry((number, task)).or_default() += 1;
        }
        ruled
    };
    assert_eq!(came, as_ruled(hash::partial_key_choices_of_first));
    assert_ne!(
        came,
        as_ruled(|key, tasks| hash::partial_key_choices([key], tasks)),
        "the keys can tell the rules apart"
    );
}

/// A spout of dynamic tuples: each of some keys, in rounds.
#[derive(Clone)]
struct Keys {
    keys: Vec<Value>,
    rounds: u64,
}

impl Spout for Keys {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.fields(["key", "number"]);
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.rounds == 0 {
            return Ok(Next::Finished);
        }
        self.rounds -= 1;
        for (number, key) in self.keys.iter().enumerate() {
            collector.emit_with_id(MessageId(self.rounds), &values![key.field_ref(), number as u64]);
        }
        Ok(Next::Emitted)
    }
}

/// Notes the number of each tuple of [`Keys`], and the index of the task that got it.
fn key_sink(rows: &Arc<Rows>) -> impl Fn() -> KeySink + Send + Sync + 'static {
    let rows = Arc::clone(rows);
    move || KeySink { rows: Arc::clone(&rows), task: 0 }
}

struct KeySink {
    rows: Arc<Rows>,
    task: i32,
}

impl Bolt for KeySink {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.task = context.task_index() as i32;
        Ok(())
    }
    fn execute(
        &mut self,
        input: &ringstorm_runtime::Input<'_>,
        collector: &mut ringstorm_runtime::BoltCollector<'_>,
    ) -> Result {
        let value = input.field("number")?.as_u64().ok_or("not a number")?;
        self.rows.push(Row { task: self.task, source: 0, stream: String::new(), value });
        collector.ack(input);
        Ok(())
    }
}

#[test]
fn every_kind_of_key_has_one_task_null_among_them() {
    let keys: Vec<Value> = vec![
        Value::Null,
        Value::Bool(true),
        Value::Int(-1),
        Value::UInt(u64::MAX),
        Value::Float(0.5),
        Value::from("key"),
        Value::from("\u{1F980} \u{E9}"),
        Value::Bytes(vec![1, 2, 255]),
        Value::List(vec![Value::Null, Value::List(vec![Value::Null])]),
        Value::Map(vec![("a".into(), Value::Null), ("b".into(), Value::Int(1))]),
    ];
    let (rows, count) = (Arc::<Rows>::default(), keys.len() as u64);
    let mut topology = TopologyBuilder::new();
    topology.spout("keys", move || Keys { keys: keys.clone(), rounds: 50 });
    topology.bolt("sink", key_sink(&rows)).parallelism(4).fields_grouping("keys", ["key"]);
    assert_clean(&run(topology, &config(&[])));
    let homes: BTreeSet<(u64, i32)> = rows.all().iter().map(|row| (row.value, row.task)).collect();
    assert_eq!(homes.len() as u64, count, "{homes:?}");
    assert_eq!(rows.len() as u64, 50 * count);
}

#[test]
fn typed_and_dynamic_keys_meet_at_one_task() {
    let rows = Arc::<Rows>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(40);
    topology.spout("typed", move || seq.clone());
    let keys: Vec<Value> = (0..40_u64).map(Value::from).collect();
    topology.spout("dynamic", move || Keys { keys: keys.clone(), rounds: 1 });
    let shared = Arc::clone(&rows);
    topology
        .bolt("sink", move || ByPosition { rows: Arc::clone(&shared), task: 0 })
        .parallelism(7)
        .fields_grouping("typed", ["value"])
        .fields_grouping("dynamic", ["key"]);
    assert_clean(&run(topology, &config(&[])));
    let homes: BTreeSet<(u64, i32)> = rows.all().iter().map(|row| (row.value, row.task)).collect();
    assert_eq!((homes.len(), rows.len()), (40, 80), "{homes:?}");
}

/// Notes the first field of whatever comes.
struct ByPosition {
    rows: Arc<Rows>,
    task: i32,
}

impl Bolt for ByPosition {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.task = context.task().0;
        Ok(())
    }
    fn execute(
        &mut self,
        input: &ringstorm_runtime::Input<'_>,
        collector: &mut ringstorm_runtime::BoltCollector<'_>,
    ) -> Result {
        let value = input.get(0)?.as_u64().ok_or("not a number")?;
        self.rows.push(Row { task: self.task, source: 0, stream: String::new(), value });
        collector.ack(input);
        Ok(())
    }
}

/// Storm's B017: four producers in one worker, and every target gets its share within 1 %.
#[test]
fn shuffle_is_even_however_many_producers_there_are() {
    let counts: Arc<std::sync::Mutex<BTreeMap<i32, u64>>> = Arc::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(200_000).per_call(10);
    topology.spout("numbers", move || seq.clone()).parallelism(4);
    let shared = Arc::clone(&counts);
    topology
        .bolt("count", move || Count { counts: Arc::clone(&shared), task: 0, count: 0, first_takes: Duration::ZERO })
        .parallelism(8)
        .shuffle_grouping("numbers");
    assert_clean(&run(topology, &config(&[("topology.disable.loadaware.messaging", true.into())])));
    let counts = counts.lock().unwrap().clone();
    assert_eq!(counts.values().sum::<u64>(), 800_000);
    assert!(counts.values().all(|count| (99_000..=101_000).contains(count)), "{counts:?}");
}

/// How many of some tuples reach a task that takes a millisecond for each, beside three that take no time.
fn share_of_a_slow_task(count: u64, load_aware: bool) -> u64 {
    let counts: Arc<std::sync::Mutex<BTreeMap<i32, u64>>> = Arc::default();
    let (journal, shared) = (Arc::<Journal>::default(), Arc::clone(&counts));
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(count, &journal);
    topology.spout("numbers", move || seq.clone());
    // Each on a thread of its own, so that the slow one holds nobody but itself.
    topology
        .bolt("count", move || Count { counts: Arc::clone(&shared), task: 0, count: 0, first_takes: SLOW })
        .parallelism(4)
        .blocking()
        .shuffle_grouping("numbers");
    let settings =
        [("topology.max.spout.pending", 500.into()), ("topology.disable.loadaware.messaging", (!load_aware).into())];
    assert_clean(&run(topology, &config(&settings)));
    journal.assert_all_acked_once(count);
    let counts = counts.lock().unwrap().clone();
    assert_eq!(counts.values().sum::<u64>(), count);
    *counts.values().next().unwrap()
}

const SLOW: Duration = Duration::from_millis(1);

/// Where nothing is said of the load, the slow task gets its turn and the run is as slow as it is.
#[test]
fn a_load_aware_shuffle_spares_a_slow_task() {
    assert_eq!(share_of_a_slow_task(1000, false), 250);
    let share = share_of_a_slow_task(20_000, true);
    assert!(share < 2_500, "the slow task got {share} of 20000");
}

/// Counts its tuples and tells at the end.
struct Count {
    counts: Arc<std::sync::Mutex<BTreeMap<i32, u64>>>,
    task: i32,
    count: u64,
    /// The time that the first task takes for a tuple.
    first_takes: Duration,
}

impl Bolt for Count {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.task = context.task_index() as i32;
        Ok(())
    }
    fn execute(
        &mut self,
        input: &ringstorm_runtime::Input<'_>,
        collector: &mut ringstorm_runtime::BoltCollector<'_>,
    ) -> Result {
        self.count += 1;
        if self.task == 0 && !self.first_takes.is_zero() {
            std::thread::sleep(self.first_takes);
        }
        collector.ack(input);
        Ok(())
    }
    fn finish(&mut self, _: &mut ringstorm_runtime::BoltCollector<'_>) -> Result {
        self.counts.lock().unwrap().insert(self.task, self.count);
        Ok(())
    }
}

/// Sends even numbers nowhere, multiples of three twice to the last task, and names a task that does not exist.
struct Whimsical {
    last: usize,
}

impl CustomGrouping for Whimsical {
    fn prepare(&mut self, targets: &[TaskId]) {
        assert!(targets.is_sorted());
        self.last = targets.len() - 1;
    }
    fn choose(&mut self, tuple: &GroupedTuple<'_>, targets: &mut Vec<usize>) {
        let value = tuple.get(0).as_u64().unwrap();
        assert!(tuple.get(1).is_null(), "behind the last field there is nothing");
        match value {
            value if value.is_multiple_of(2) => {}
            value if value.is_multiple_of(3) => targets.extend([self.last, self.last, usize::MAX]),
            _ => targets.push(0),
        }
    }
}

#[test]
fn custom_chooses_any_number_of_targets() {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(600, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("sink", sink(&rows)).parallelism(3).custom_grouping("numbers", "whimsical", || Whimsical { last: 0 });
    assert_clean(&run(topology, &config(&[])));
    // What nobody receives is acked at once.
    journal.assert_all_acked_once(600);
    assert_eq!(rows.per_task().into_values().collect::<Vec<_>>(), [200, 200]);
}

#[test]
fn direct_reaches_the_named_task_alone() {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("numbers", move || Pointing { next: 0, targets: Vec::new(), journal: Arc::clone(&shared) });
    topology.bolt("sink", sink(&rows)).parallelism(3).direct_grouping(("numbers", "pointed"));
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(300);
    let lowest = rows.all().iter().map(|row| row.task).min().unwrap();
    assert!(rows.all().iter().all(|row| row.task == lowest + (row.value % 3) as i32));
    assert_eq!(rows.len(), 300);
}

struct Pointing {
    next: u64,
    targets: Vec<TaskId>,
    journal: Arc<Journal>,
}

impl Spout for Pointing {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits_direct::<Number>("pointed");
    }
    fn open(&mut self, context: &TopologyContext) -> Result {
        self.targets = context.tasks_of("sink").to_vec();
        Ok(())
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.next == 300 {
            return Ok(Next::Finished);
        }
        let (value, target) = (self.next, self.targets[(self.next % 3) as usize]);
        self.next += 1;
        self.journal.emitted(value);
        collector.emit_direct(target, "pointed", Some(MessageId(value)), &Number { value });
        Ok(Next::Emitted)
    }
    fn ack(&mut self, id: MessageId) {
        self.journal.acked(id.0);
    }
}

#[test]
fn two_subscriptions_of_one_bolt_route_independently() {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(300, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("sink", sink(&rows)).parallelism(3).all_grouping("numbers").global_grouping("numbers");
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(300);
    assert_eq!(rows.per_task().into_values().collect::<Vec<_>>(), [600, 300, 300]);
}
