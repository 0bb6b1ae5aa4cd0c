//! `topology.max.spout.pending`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::{Declarer, Next, Outcome, Result, Spout, SpoutCollector, TopologyBuilder};

use crate::harness::*;

/// Storm's B012: the limit is looked at before each call, so a batch overshoots by at most one call's emits.
#[test]
fn a_batch_overshoots_by_one_call_at_most() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(4000, &journal).per_call(1000);
    let most = seq.most_pending();
    topology.spout("numbers", move || seq.clone());
    topology.bolt("slow", || slow(Duration::from_micros(100))).shuffle_grouping("numbers");
    assert_clean(&run(topology, &config(&[("topology.max.spout.pending", 100.into())])));
    journal.assert_all_acked_once(4000);
    assert!(most.load(Ordering::Relaxed) < 100, "called with {} pending", most.load(Ordering::Relaxed));
}

/// The limit is that of each task, and a component's own setting goes before the topology's.
#[test]
fn the_limit_counts_for_each_task() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(60, &journal);
    let most = seq.most_pending();
    topology.spout("numbers", move || seq.clone()).parallelism(1).tasks(3).set("topology.max.spout.pending", 10);
    topology
        .bolt("hold", || Hold::new(Duration::from_millis(50)))
        .shuffle_grouping("numbers")
        .tick_every(Duration::from_millis(10));
    let running = start(topology, &config(&[("topology.max.spout.pending", 1.into())]));
    wait_for("the limit", || {
        running.snapshots().iter().flat_map(|core| &core.executors).any(|executor| executor.pending == 30)
    });
    assert_clean(&finish(running));
    journal.assert_all_acked_once(180);
    assert_eq!(most.load(Ordering::Relaxed), 9, "a task is not called with its limit pending");
}

/// One message at a time is the strictest limit and must not stall.
#[test]
fn a_limit_of_one_goes_on() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(2000, &journal);
    topology.spout("numbers", move || seq.clone()).parallelism(2);
    topology.bolt("relay", relay).parallelism(2).shuffle_grouping("numbers");
    topology.bolt("last", || slow(Duration::ZERO)).shuffle_grouping("relay");
    assert_clean(&run(topology, &config(&[("topology.max.spout.pending", 1.into())])));
    journal.assert_all_acked_once(4000);
}

/// Emits as long as it is asked, and counts.
#[derive(Clone)]
struct Endless(Arc<AtomicU64>);

impl Spout for Endless {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let value = self.0.fetch_add(1, Ordering::Relaxed);
        collector.emit_with_id(value, &Number { value });
        Ok(Next::Emitted)
    }
}

/// Storm has no limit then, and a bolt that acks nothing fills the memory.
#[test]
fn without_a_setting_a_task_may_have_a_million_pending() {
    const LIMIT: u64 = 1 << 20;
    let emitted = Arc::<AtomicU64>::default();
    let mut topology = TopologyBuilder::new();
    let spout = Endless(Arc::clone(&emitted));
    topology.spout("numbers", move || spout.clone());
    topology.bolt("mute", mute).shuffle_grouping("numbers");
    let settings = [("ringstorm.drain.timeout.secs", 0.1.into()), ("topology.message.timeout.secs", 600.into())];
    let running = start(topology, &config(&settings));
    wait_for("the limit", || emitted.load(Ordering::Relaxed) >= LIMIT);
    let is_held = |snapshots: &[ringstorm_runtime::metrics::CoreSnapshot]| {
        snapshots.iter().flat_map(|core| &core.executors).any(|executor| executor.why_idle.contains("pending"))
    };
    wait_for("the spout to be held", || is_held(&running.snapshots()));
    // It would emit thousands within this time.
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(emitted.load(Ordering::Relaxed), LIMIT);
    let report = running.stop();
    assert_eq!((&report.outcome, report.pending), (&Outcome::Stopped, LIMIT));
}
