//! Replaying spouts and closures, through a running topology.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringstorm_runtime::library::{
    DeadLetter, Emission, Fetched, ReplayCounts, ReplayingSpout, Retry, RetryPolicy, Source,
};
use ringstorm_runtime::{
    Declarer, FailReason, Input, LocalCluster, LocalOptions, Next, Outcome, Result, RunReport, Spout, SpoutCollector,
    TopologyBuilder, TopologyContext,
};
use ringstorm_tuple::{Tuple, Values, values};
use ringstorm_types::MessageId;
use ringstorm_types::config::{Config, Origin};

#[derive(Tuple, Debug, Clone, Copy, PartialEq)]
#[tuple(crate = ringstorm_tuple)]
struct Number {
    value: u64,
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Word<'a> {
    word: &'a str,
}

fn config(cores: u64) -> Config {
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", cores, Origin::TOPOLOGY);
    config.set("topology.message.timeout.secs", 1, Origin::TOPOLOGY);
    config
}

fn run(topology: TopologyBuilder, config: &Config) -> RunReport {
    let report = LocalCluster::new().run("library", topology.build(config).unwrap()).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{report:?}");
    assert!(report.drained && report.pending == 0, "{report:?}");
    report
}

/// What became of the messages of [`Numbers`].
#[derive(Default)]
struct Log {
    acked: Vec<u64>,
    dead: BTreeMap<u64, DeadLetter>,
    counts: ReplayCounts,
}

struct Numbers {
    numbers: VecDeque<u64>,
    log: Arc<Mutex<Log>>,
}

impl Source for Numbers {
    type Message = u64;

    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn open(&mut self, _: &TopologyContext) -> Result {
        Ok(())
    }
    fn fetch(&mut self) -> Result<Fetched<u64>> {
        Ok(match self.numbers.pop_front() {
            Some(0) => Fetched::Until(Instant::now() + Duration::from_millis(2)),
            Some(value) => Fetched::Message(value),
            None => Fetched::Ended,
        })
    }
    fn emit(&mut self, value: &u64, emission: Emission<'_, '_>) {
        // Nothing comes of 9.
        match *value {
            9 => {}
            // Too large for the stream's limit.
            8 => emission.emit_to("words", &Word { word: &"x".repeat(2000) }),
            value => emission.emit(&Number { value }),
        }
    }
    fn acked(&mut self, value: u64) {
        self.log.lock().unwrap().acked.push(value);
    }
    fn retry(&mut self, value: &u64, _: FailReason, _: u32) -> Retry {
        if *value == 7 { Retry::No } else { Retry::Yes }
    }
    fn dead_letter(&mut self, value: u64, death: DeadLetter) -> Option<String> {
        self.log.lock().unwrap().dead.insert(value, death);
        (value == 6).then(|| format!("6 is dead: {death}"))
    }
    fn close(&mut self, counts: ReplayCounts) {
        self.log.lock().unwrap().counts = counts;
    }
}

struct NumbersWithWords(Numbers);

impl Source for NumbersWithWords {
    type Message = u64;

    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>().emits_to::<Word<'_>>("words");
    }
    fn fetch(&mut self) -> Result<Fetched<u64>> {
        self.0.fetch()
    }
    fn emit(&mut self, value: &u64, emission: Emission<'_, '_>) {
        self.0.emit(value, emission);
    }
    fn acked(&mut self, value: u64) {
        self.0.acked(value);
    }
    fn retry(&mut self, value: &u64, reason: FailReason, failures: u32) -> Retry {
        self.0.retry(value, reason, failures)
    }
    fn dead_letter(&mut self, value: u64, death: DeadLetter) -> Option<String> {
        self.0.dead_letter(value, death)
    }
    fn close(&mut self, counts: ReplayCounts) {
        self.0.close(counts);
    }
}

#[test]
fn each_message_is_acked_or_given_up_once() {
    let log = Arc::new(Mutex::new(Log::default()));
    let shared = Arc::clone(&log);
    let mut topology = TopologyBuilder::new();
    let policy = RetryPolicy::at_most(3).with_delays(Duration::from_millis(5), Duration::from_millis(10));
    topology.spout("numbers", move || {
        let numbers = [1, 2, 0, 3, 4, 0, 5, 6, 7, 8, 9].into();
        ReplayingSpout::with_policy(NumbersWithWords(Numbers { numbers, log: Arc::clone(&shared) }), policy)
    });
    let mut tries = BTreeMap::new();
    // Each number fails as often as it says; 6 and 7 always.
    let check = move |input: &Input<'_>| {
        let value = input.view::<Number>()?.value();
        let tries = tries.entry(value).or_insert(0);
        *tries += 1;
        if value >= 6 || *tries < value.min(4) { Err("no".into()) } else { Ok(()) }
    };
    topology.for_each_fn("check", check).shuffle_grouping("numbers");
    topology.for_each_fn("words", |_| Ok(())).shuffle_grouping(("numbers", "words"));
    let mut config = config(1);
    config.set("topology.tuple.max.bytes", 1024, Origin::TOPOLOGY);
    let report = run(topology, &config);
    let log = log.lock().unwrap();
    let mut acked = log.acked.clone();
    acked.sort_unstable();
    assert_eq!(acked, [1, 2, 3, 4, 5, 9]);
    let failures: Vec<(u64, u32)> = log.dead.iter().map(|(value, death)| (*value, death.failures)).collect();
    assert_eq!(failures, [(6, 4), (7, 1), (8, 1)]);
    assert!(log.dead.values().all(|death| matches!(death.reason, FailReason::FailedBy { .. })));
    assert_eq!(log.counts, ReplayCounts { messages: 9, acked: 6, replays: 1 + 2 + 3 + 3 + 3, dead: 3 });
    let told: Vec<&str> =
        report.errors.iter().filter(|error| error.component == "numbers").map(|error| error.text.as_str()).collect();
    assert!(told.iter().any(|text| text.starts_with("6 is dead: a message was given up after 4 failures")), "{told:?}");
    assert!(!told.iter().any(|text| text.starts_with("7")), "{told:?}");
}

#[test]
fn a_message_that_is_lost_times_out_and_comes_again() {
    let log = Arc::new(Mutex::new(Log::default()));
    let shared = Arc::clone(&log);
    let mut topology = TopologyBuilder::new();
    topology
        .spout("numbers", move || ReplayingSpout::new(Numbers { numbers: [1, 2, 3].into(), log: Arc::clone(&shared) }));
    struct Forget(bool);
    impl ringstorm_runtime::Bolt for Forget {
        fn execute(&mut self, input: &Input<'_>, collector: &mut ringstorm_runtime::BoltCollector<'_>) -> Result {
            if std::mem::replace(&mut self.0, false) {
                return Ok(());
            }
            collector.ack(input);
            Ok(())
        }
    }
    topology.bolt("forget", || Forget(true)).shuffle_grouping("numbers");
    run(topology, &config(1));
    let log = log.lock().unwrap();
    assert_eq!(log.acked, [2, 3, 1]);
    assert_eq!((log.counts.replays, log.counts.dead), (1, 0));
}

#[test]
fn nothing_is_replayed_without_ackers() {
    let log = Arc::new(Mutex::new(Log::default()));
    let shared = Arc::clone(&log);
    let mut topology = TopologyBuilder::new();
    topology
        .spout("numbers", move || ReplayingSpout::new(Numbers { numbers: [1, 2, 3].into(), log: Arc::clone(&shared) }));
    topology.for_each_fn("fail", |_| Err("no".into())).shuffle_grouping("numbers");
    let mut config = config(1);
    config.set("topology.acker.executors", 0, Origin::TOPOLOGY);
    run(topology, &config);
    assert_eq!(log.lock().unwrap().acked, [1, 2, 3]);
}

#[test]
fn closures_of_every_kind_and_several_tasks() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&seen);
    let mut topology = TopologyBuilder::new();
    topology.spout_fn("numbers", || (0..1000).map(|value| Number { value })).parallelism(3);
    topology
        .filter_fn::<Number, _>("even", |number| Ok(number.value() % 2 == 0))
        .parallelism(2)
        .shuffle_grouping("numbers");
    topology
        .map_fn("below_500", |input| {
            let value = input.view::<Number>()?.value();
            Ok((value < 500).then_some(Number { value }))
        })
        .shuffle_grouping("even");
    topology
        .bolt_fn::<Word<'_>, _>("words", |input, emitter| {
            let value = input.view::<Number>()?.value();
            emitter.emit(&Word { word: &value.to_string() });
            emitter.emit(&Word { word: "." });
            Ok(())
        })
        .shuffle_grouping("below_500");
    topology
        .for_each_fn("collect", move |input| {
            shared.lock().unwrap().push(input.view::<Word<'_>>()?.word().to_owned());
            Ok(())
        })
        .shuffle_grouping("words");
    let report = run(topology, &config(2));
    assert_eq!(report.error_count, 0, "{:?}", report.errors);
    let mut words = std::mem::take(&mut *seen.lock().unwrap());
    words.sort();
    let mut expected: Vec<String> = (0..250).flat_map(|half| [(2 * half).to_string(), ".".into()]).collect();
    expected.sort();
    assert_eq!(words, expected);
}

#[test]
fn a_closure_that_fails_once_gets_the_tuple_again() {
    let mut topology = TopologyBuilder::new();
    topology.spout_fn("numbers", || [Number { value: 1 }]);
    let mut first = true;
    let fail_once = move |_: &Input<'_>| if std::mem::take(&mut first) { Err("once".into()) } else { Ok(()) };
    topology.for_each_fn("check", fail_once).shuffle_grouping("numbers");
    let report = run(topology, &config(1));
    assert_eq!(report.errors.iter().map(|error| error.text.as_str()).collect::<Vec<_>>(), ["once"]);
}

#[test]
fn a_filter_of_another_type_is_refused_when_the_topology_is_built() {
    let mut topology = TopologyBuilder::new();
    topology.spout_fn("numbers", || [Number { value: 1 }]);
    topology.filter_fn::<Word<'_>, _>("words", |_| Ok(true)).shuffle_grouping("numbers");
    let error = topology.build(&config(1)).unwrap_err().to_string();
    assert!(error.contains("words") && error.contains("numbers"), "{error}");
}

#[test]
fn a_waiting_source_is_woken_while_a_replay_is_due_much_later() {
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", 1, Origin::TOPOLOGY);
    let policy = RetryPolicy::at_most(1).with_delays(Duration::from_secs(60), Duration::from_secs(60));
    let (sender, spout) = ringstorm_runtime::library::channel_with(4, policy);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", spout);
    let check = |input: &Input<'_>| if input.view::<Number>()?.value() == 1 { Err("no".into()) } else { Ok(()) };
    topology.for_each_fn("check", check).shuffle_grouping("numbers");
    let topology = topology.build(&config).unwrap();
    let run = LocalCluster::new().submit("library", topology, LocalOptions::default()).unwrap();
    let failing = sender.send_tracked(Number { value: 1 }).unwrap();
    assert_eq!(failing.wait_timeout(Duration::from_millis(50)), None);
    let fine = sender.send_tracked(Number { value: 2 }).unwrap();
    assert_eq!(fine.wait_timeout(Duration::from_secs(5)), Some(Ok(())));
    assert_eq!(run.stop().outcome, Outcome::Stopped);
}

#[test]
fn dynamic_tuples_come_from_sources_too() {
    struct Once(bool);
    impl Source for Once {
        type Message = Values;
        fn declare(&self, declarer: &mut Declarer) {
            declarer.fields(["name", "count"]);
        }
        fn fetch(&mut self) -> Result<Fetched<Values>> {
            let first = std::mem::take(&mut self.0);
            Ok(if first { Fetched::Message(values!["a", 1]) } else { Fetched::Ended })
        }
        fn emit(&mut self, values: &Values, emission: Emission<'_, '_>) {
            emission.emit(values);
        }
    }
    let mut topology = TopologyBuilder::new();
    topology.spout("values", || ReplayingSpout::new(Once(true)));
    topology
        .for_each_fn("check", |input| {
            assert_eq!(input.field("count")?.as_i64(), Some(1));
            Ok(())
        })
        .shuffle_grouping("values");
    assert_eq!(run(topology, &config(1)).error_count, 0);
}

/// Emits a message and waits for a wake-up that comes before the message is acked.
struct WokenWhileFull {
    left: u64,
    waker: Option<std::task::Waker>,
}

impl Spout for WokenWhileFull {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn open(&mut self, context: &TopologyContext) -> Result {
        self.waker = Some(context.waker());
        Ok(())
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.left == 0 {
            return Ok(Next::Finished);
        }
        self.left -= 1;
        collector.emit_with_id(MessageId(self.left), &Number { value: self.left });
        let waker = self.waker.clone().unwrap();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            waker.wake();
        });
        Ok(Next::Waiting)
    }
}

#[test]
fn a_wake_up_while_nothing_may_be_emitted_is_not_lost() {
    let mut config = config(1);
    config.set("topology.max.spout.pending", 1, Origin::TOPOLOGY);
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", || WokenWhileFull { left: 3, waker: None });
    let sleep = |_: &Input<'_>| {
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    };
    topology.for_each_fn("sleep", sleep).shuffle_grouping("numbers").blocking();
    let run = LocalCluster::new().submit("library", topology.build(&config).unwrap(), LocalOptions::default()).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    while !run.is_over() {
        assert!(Instant::now() < until, "the spout was never asked again");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(run.wait().outcome, Outcome::Completed);
}

#[test]
fn what_a_spout_cannot_emit_is_reported_once() {
    let mut topology = TopologyBuilder::new();
    let long: &'static str = "x".repeat(2048).leak();
    topology.spout_fn("words", move || [Word { word: "short" }, Word { word: long }]);
    topology.for_each_fn("take", |_| Ok(())).shuffle_grouping("words");
    let mut config = config(1);
    config.set("topology.tuple.max.bytes", 1024, Origin::TOPOLOGY);
    let report = run(topology, &config);
    assert_eq!(report.error_count, 1, "{:?}", report.errors);
    assert!(report.errors[0].text.contains("1024"), "{:?}", report.errors);
}
