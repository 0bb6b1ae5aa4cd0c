//! The shortest way through everything: numbers from a spout through a bolt to a sum, acked and un-acked, on one core,
//! two cores and own threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringstorm_runtime::{
    Bolt, BoltCollector, Declarer, FailReason, Input, LocalCluster, Next, Result, Spout, SpoutCollector,
    TopologyBuilder,
};
use ringstorm_tuple::Tuple;
use ringstorm_types::MessageId;
use ringstorm_types::config::{Config, Origin};

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Number {
    value: u64,
}

#[derive(Default)]
struct Counters {
    acked: AtomicU64,
    failed: AtomicU64,
    sum: AtomicU64,
    executed: AtomicU64,
}

struct Numbers {
    next: u64,
    end: u64,
    counters: Arc<Counters>,
}

impl Spout for Numbers {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.next == self.end {
            return Ok(Next::Finished);
        }
        collector.emit_with_id(MessageId(self.next), &Number { value: self.next });
        self.next += 1;
        Ok(Next::Emitted)
    }
    fn ack(&mut self, _: MessageId) {
        self.counters.acked.fetch_add(1, Ordering::Relaxed);
    }
    fn fail(&mut self, _: MessageId, _: FailReason) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
    }
}

struct Pass;

impl Bolt for Pass {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>().reads::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        let value = input.view::<Number>()?.value();
        collector.emit(input, &Number { value: value + 1 });
        collector.ack(input);
        Ok(())
    }
}

struct Sum(Arc<Counters>);

impl Bolt for Sum {
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        self.0.sum.fetch_add(input.view::<Number>()?.value(), Ordering::Relaxed);
        self.0.executed.fetch_add(1, Ordering::Relaxed);
        collector.ack(input);
        Ok(())
    }
}

fn run(cores: u64, ackers: Option<u64>, blocking: bool, count: u64) {
    let counters = Arc::new(Counters::default());
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", cores, Origin::TOPOLOGY);
    if let Some(ackers) = ackers {
        config.set("topology.acker.executors", ackers, Origin::TOPOLOGY);
    }
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&counters);
    let spout = topology.spout("numbers", move || Numbers { next: 0, end: count, counters: Arc::clone(&shared) });
    if blocking {
        spout.blocking();
    }
    topology.bolt("pass", || Pass).parallelism(2).shuffle_grouping("numbers");
    let shared = Arc::clone(&counters);
    let sum = topology.bolt("sum", move || Sum(Arc::clone(&shared))).fields_grouping("pass", ["value"]);
    if blocking {
        sum.blocking();
    }
    let report = LocalCluster::new()
        .run("smoke", topology.build(&config).expect("the topology is valid"))
        .expect("the system gives what cores need");
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.error_count, 0, "{:?}", report.errors);
    assert_eq!(counters.executed.load(Ordering::Relaxed), count);
    assert_eq!(counters.sum.load(Ordering::Relaxed), count * (count - 1) / 2 + count);
    assert_eq!(counters.acked.load(Ordering::Relaxed), count);
    assert_eq!(counters.failed.load(Ordering::Relaxed), 0);
}

#[test]
fn acked_on_one_core() {
    run(1, None, false, 100_000);
}

#[test]
fn acked_on_two_cores() {
    run(2, None, false, 1_000_000);
}

#[test]
fn acked_on_more_cores_than_there_are() {
    run(5, Some(3), false, 100_000);
}

#[test]
fn unacked() {
    run(2, Some(0), false, 1_000_000);
}

#[test]
fn on_own_threads() {
    run(2, None, true, 100_000);
}

#[test]
fn nothing_at_all() {
    run(2, None, false, 1);
}
