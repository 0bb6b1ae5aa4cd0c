//! Tick tuples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::metrics::ExecutorSnapshot;
use ringstorm_runtime::metrics::InputSnapshot;
use ringstorm_runtime::{Bolt, BoltCollector, Input, Result, TopologyBuilder};
use ringstorm_tuple::Values;
use ringstorm_types::TaskId;

use crate::harness::*;

/// Storm's B014: acking, failing or ignoring a tick is harmless and leaves the counts of other streams alone.
#[test]
fn a_tick_may_be_acked_failed_or_ignored() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(100, &journal).stays(Duration::from_millis(500));
    topology.spout("numbers", move || seq.clone());
    for (name, treat) in [("ack", 0), ("fail", 1), ("ignore", 2)] {
        let bolt = move || {
            ends(move |input, collector| {
                match (input.is_tick(), treat) {
                    (false, _) | (true, 0) => collector.ack(input),
                    (true, 1) => collector.fail(input),
                    (true, _) => {}
                }
                if input.is_tick() {
                    assert_eq!(input.source_task(), TaskId::SYSTEM);
                    assert_eq!((&**input.source_component(), &**input.source_stream()), ("__system", "__tick"));
                    assert_eq!(input.field("rate_secs")?.as_f64(), Some(0.01));
                    assert_eq!(input.view::<Values>()?.len(), 1);
                    // A tick is not data, even for a type with as many fields.
                    let error = input.view::<Number>().expect_err("a tick has no number");
                    assert!(
                        error.to_string().contains("is a tick") && error.to_string().contains("is_tick"),
                        "{error}"
                    );
                }
                Ok(())
            })
        };
        topology.bolt(name, bolt).parallelism(2).all_grouping("numbers").tick_every(Duration::from_millis(10));
    }
    let report = run(topology, &config(&[]));
    assert_clean(&report);
    journal.assert_all_acked_once(100);
    for name in ["ack", "fail", "ignore"] {
        let executors = report.snapshots.iter().flat_map(|core| &core.executors);
        let inputs: Vec<&InputSnapshot> =
            executors.filter(|executor| executor.component == name).flat_map(|executor| &executor.inputs).collect();
        let (ticks, numbers): (Vec<&InputSnapshot>, Vec<&InputSnapshot>) =
            inputs.into_iter().partition(|input| input.component == "__system");
        assert!(ticks.iter().all(|input| input.executed > 10), "{ticks:?}");
        assert!(
            numbers.iter().all(|input| (input.executed, input.acked, input.failed) == (100, 100, 0)),
            "{numbers:?}"
        );
    }
}

/// Ticks are a clock and not work: they do not pile up before a bolt that is held by what it emits to.
#[test]
fn ticks_do_not_pile_up_before_a_bolt_that_is_held() {
    let ticks = Arc::<AtomicU64>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(600);
    topology.spout("numbers", move || seq.clone());
    let shared = Arc::clone(&ticks);
    let held = move || {
        let ticks = Arc::clone(&shared);
        passes(move |input, collector| {
            match input.is_tick() {
                true => drop(ticks.fetch_add(1, Ordering::Relaxed)),
                false => collector.forward(input),
            }
            Ok(())
        })
    };
    topology.bolt("held", held).shuffle_grouping("numbers").tick_every(Duration::from_millis(1));
    topology.bolt("slow", || slow(Duration::from_millis(2))).shuffle_grouping("held");
    let settings = [("ringstorm.inbox.mark.bytes", 1024.into()), ("ringstorm.frame.bytes", 1024.into())];
    let running = start(topology, &config(&settings));
    std::thread::sleep(Duration::from_millis(300));
    let snapshots = running.snapshots();
    let held = snapshots.iter().flat_map(|core| &core.executors).find(|executor| executor.component == "held").unwrap();
    let taken = held.inputs.iter().map(|input| input.executed).sum::<u64>();
    let numbers =
        held.inputs.iter().filter(|input| input.component == "numbers").map(|input| input.executed).sum::<u64>();
    // Cores answer one after the other: what has come in is read before what was sent.
    let sent_by_spout = |executor: &&ExecutorSnapshot| executor.component == "numbers";
    let later = running.snapshots();
    let spout = later.iter().flat_map(|core| &core.executors).find(sent_by_spout).unwrap();
    let from_spout = spout.outputs.iter().map(|output| output.transferred).sum::<u64>();
    let waiting = held.receive_queue.population as u64;
    assert!(
        waiting <= from_spout - numbers + 1,
        "{waiting} wait, {from_spout} came from the spout, {taken} were taken"
    );
    running.request_stop();
    assert!(finish(running).drained);
    assert!(ticks.load(Ordering::Relaxed) > 3);
}

/// Ticks end before `finish` is called, so that a bolt may close its books.
#[test]
fn no_tick_comes_after_finish() {
    struct Books {
        ticks: u64,
        finished: bool,
        late: Arc<AtomicU64>,
        all: Arc<AtomicU64>,
    }
    impl Bolt for Books {
        fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
            if input.is_tick() {
                self.ticks += 1;
                self.late.fetch_add(u64::from(self.finished), Ordering::Relaxed);
                self.all.fetch_add(1, Ordering::Relaxed);
            }
            collector.ack(input);
            Ok(())
        }
        fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
            self.finished = true;
            Ok(())
        }
    }
    let (late, all) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(10).stays(Duration::from_millis(200));
    topology.spout("numbers", move || seq.clone());
    for name in ["a", "b", "c"] {
        let (late, all) = (Arc::clone(&late), Arc::clone(&all));
        let books = move || Books { ticks: 0, finished: false, late: Arc::clone(&late), all: Arc::clone(&all) };
        topology.bolt(name, books).parallelism(3).shuffle_grouping("numbers").tick_every(Duration::from_millis(1));
    }
    assert_clean(&run(topology, &config(&[])));
    assert_eq!(late.load(Ordering::Relaxed), 0);
    assert!(all.load(Ordering::Relaxed) > 100);
}
