//! Tuples of one (source task, target task, stream) arrive in the order in which they were emitted, all of them, on
//! whatever cores and through whatever rings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::{Bolt, BoltCollector, Declarer, Input, Result, TopologyBuilder};

use crate::harness::*;

/// Checks that the numbers from each source task come in order, passes on numbers of its own, acks, and now and then
/// takes its time.
struct Ordered {
    last: BTreeMap<(i32, String), u64>,
    seen: Arc<AtomicU64>,
    pause_every: u64,
    count: u64,
}

impl Bolt for Ordered {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        let value = input.view::<Number>()?.value();
        let before = self.last.insert((input.source_task().0, input.source_stream().to_string()), value);
        assert!(before.is_none_or(|before| before < value), "{value} after {before:?}");
        self.count += 1;
        if self.pause_every > 0 && self.count.is_multiple_of(self.pause_every) {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.seen.fetch_add(1, Ordering::Relaxed);
        collector.emit(input, &Number { value: self.count });
        collector.ack(input);
        Ok(())
    }
}

fn ordered(seen: &Arc<AtomicU64>, pause_every: u64) -> impl Fn() -> Ordered + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move || Ordered { last: BTreeMap::new(), seen: Arc::clone(&seen), pause_every, count: 0 }
}

struct Load {
    count: u64,
    ackers: u64,
    cores: u64,
    pause_every: u64,
    settings: Vec<(&'static str, serde_json::Value)>,
}

/// Two spout tasks, three layers of bolts, single and mixed targets, ways that are executed in place and through
/// inboxes.
fn under_load(load: Load) {
    let seen = [(); 4].map(|()| Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(load.count).per_call(7);
    let journal = Arc::<Journal>::default();
    let tracked = Seq::new(load.count, &journal).per_call(3);
    if load.ackers == 0 {
        topology.spout("numbers", move || seq.clone()).parallelism(2);
    } else {
        topology.spout("numbers", move || tracked.clone()).parallelism(2);
    }
    topology.bolt("fast", ordered(&seen[0], 0)).parallelism(2).shuffle_grouping("numbers");
    topology.bolt("uneven", ordered(&seen[1], load.pause_every)).parallelism(3).fields_grouping("numbers", ["value"]);
    topology
        .bolt("last", ordered(&seen[2], 0))
        .parallelism(2)
        .fields_grouping("fast", ["value"])
        .shuffle_grouping("uneven")
        .shuffle_grouping("numbers");
    topology.bolt("one", ordered(&seen[3], 0)).global_grouping("last");
    let mut settings = load.settings;
    settings.push(("topology.acker.executors", load.ackers.into()));
    settings.push(("ringstorm.worker.cores", load.cores.into()));
    assert_clean(&run(topology, &config(&settings)));
    let seen: Vec<u64> = seen.iter().map(|seen| seen.load(Ordering::Relaxed)).collect();
    assert_eq!(seen, [2 * load.count, 2 * load.count, 6 * load.count, 6 * load.count]);
    if load.ackers > 0 {
        journal.assert_all_acked_once(2 * load.count);
    }
}

#[test]
fn unacked_on_two_cores() {
    under_load(Load { count: 30_000, ackers: 0, cores: 2, pause_every: 1000, settings: vec![] });
}

#[test]
fn acked_on_two_cores() {
    under_load(Load { count: 10_000, ackers: 2, cores: 2, pause_every: 1000, settings: vec![] });
}

#[test]
fn on_one_core() {
    under_load(Load { count: 10_000, ackers: 1, cores: 1, pause_every: 1000, settings: vec![] });
}

#[test]
fn on_more_cores_than_cpus() {
    under_load(Load { count: 5_000, ackers: 1, cores: 5, pause_every: 500, settings: vec![] });
}

#[test]
fn through_tiny_rings_frames_and_inboxes() {
    for ackers in [0, 2] {
        let settings = vec![
            ("ringstorm.ring.cells", 4.into()),
            ("ringstorm.frame.bytes", 1024.into()),
            ("ringstorm.inbox.mark.bytes", 2048.into()),
        ];
        under_load(Load { count: 10_000, ackers, cores: 3, pause_every: 200, settings });
    }
}

/// Frames that wait in a ring for one full inbox would deadlock even this chain: spout@0, b1@1, b2@0, b3@1.
fn chain(ackers: u64, count: u64) {
    let (journal, seen) = (Arc::<Journal>::default(), [(); 3].map(|()| Arc::<AtomicU64>::default()));
    let mut topology = TopologyBuilder::new();
    let seq = if ackers == 0 { Seq::untracked(count) } else { Seq::new(count, &journal) };
    topology.spout("a-spout", move || seq.clone());
    topology.bolt("b1", ordered(&seen[0], 0)).shuffle_grouping("a-spout");
    topology.bolt("b2", ordered(&seen[1], 700)).shuffle_grouping("b1");
    topology.bolt("b3", ordered(&seen[2], 500)).shuffle_grouping("b2");
    let settings = [
        ("ringstorm.ring.cells", 4.into()),
        ("ringstorm.inbox.mark.bytes", 16_384.into()),
        ("topology.acker.executors", ackers.into()),
    ];
    let report = run(topology, &config(&settings));
    assert_clean(&report);
    let cores = ["a-spout", "b1", "b2", "b3"].map(|component| core_of(&report.snapshots, component));
    assert_eq!(cores, [0, 1, 0, 1], "the chain goes back and forth between two cores");
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == count));
    if ackers > 0 {
        journal.assert_all_acked_once(count);
    }
}

#[test]
fn a_chain_back_and_forth_through_four_cells_unacked() {
    chain(0, 60_000);
}

#[test]
fn a_chain_back_and_forth_through_four_cells_acked() {
    chain(1, 30_000);
}

/// A spout that is held by a full ring and nothing else: the only thing that can wake its core is the room that its reader
/// makes. Rings of two cells are full and empty again thousands of times, with readers that are slow now and then.
#[test]
fn a_flood_through_two_cells_never_stalls() {
    for pause_every in [0, 500] {
        let seen = Arc::<AtomicU64>::default();
        let mut topology = TopologyBuilder::new();
        let count = if pause_every == 0 { 2_000_000 } else { 300_000 };
        topology.spout("flood", move || Seq::untracked(count));
        topology.bolt("reader", ordered(&seen, pause_every)).shuffle_grouping("flood");
        let settings = [
            ("topology.acker.executors", 0.into()),
            ("ringstorm.worker.cores", 2.into()),
            ("ringstorm.ring.cells", 2.into()),
            ("ringstorm.frame.bytes", 1024.into()),
        ];
        assert_clean(&run(topology, &config(&settings)));
        assert_eq!(seen.load(Ordering::Relaxed), count);
    }
}
