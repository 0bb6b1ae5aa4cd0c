//! Tuples that belong to several trees.

use std::collections::HashMap;
use std::sync::Arc;

use ringstorm_runtime::{Anchor, Bolt, BoltCollector, Declarer, Input, OwnedTuple, Result, TopologyBuilder};

use crate::harness::*;

/// Joins the tuples of two sources by value: one result, anchored to both.
#[derive(Default)]
struct Join {
    waiting: HashMap<u64, OwnedTuple>,
}

impl Bolt for Join {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        let value = input.view::<Number>()?.value();
        match self.waiting.remove(&value) {
            None => drop(self.waiting.insert(value, input.keep())),
            Some(other) => {
                assert_eq!(other.tuple().view::<Number>()?.value(), value);
                collector.emit([input as &dyn Anchor, &other], &Number { value });
                collector.ack_deferred(other.into_handle());
                collector.ack(input);
            }
        }
        Ok(())
    }
}

/// Two spouts, a join, and a last bolt that fails some values the first time.
fn join(fail: fn(u64) -> bool, count: u64) -> [Arc<Journal>; 2] {
    let journals = [(); 2].map(|()| Arc::<Journal>::default());
    let mut topology = TopologyBuilder::new();
    for (name, journal) in ["left", "right"].iter().zip(&journals) {
        let seq = Seq::new(count, journal).replays();
        topology.spout(name, move || seq.clone());
    }
    topology
        .bolt("join", Join::default)
        .parallelism(2)
        .fields_grouping("left", ["value"])
        .fields_grouping("right", ["value"]);
    let last = move || {
        let mut failed = std::collections::HashSet::new();
        ends(move |input, collector| {
            let value = input.view::<Number>()?.value();
            if fail(value) && failed.insert(value) {
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("last", last).fields_grouping("join", ["value"]);
    assert_clean(&run(topology, &config(&[])));
    journals
}

#[test]
fn a_join_completes_both_trees() {
    join(|_| false, 5000).iter().for_each(|journal| journal.assert_all_acked_once(5000));
}

#[test]
fn a_failed_join_fails_both_trees_and_both_are_replayed() {
    for journal in join(|value| value.is_multiple_of(10), 1000) {
        journal.assert_all_acked_in_the_end(1000);
        assert_eq!(journal.fails(), 100);
    }
}

/// Gathers tuples and emits one sum for all of them, anchored to each.
struct Gather {
    size: usize,
    kept: Vec<OwnedTuple>,
    twice: bool,
}

impl Bolt for Gather {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        self.kept.push(input.keep());
        if self.kept.len() < self.size {
            return Ok(());
        }
        let mut value = 0;
        for kept in &self.kept {
            value += kept.tuple().view::<Number>()?.value();
        }
        let mut anchors: Vec<&dyn Anchor> = self.kept.iter().map(|kept| kept as &dyn Anchor).collect();
        if self.twice {
            anchors.extend_from_within(..);
        }
        collector.emit(&anchors[..], &Number { value });
        collector.emit(&anchors[..], &Number { value });
        for kept in self.kept.drain(..) {
            collector.ack_deferred(kept.into_handle());
        }
        Ok(())
    }
}

fn gather(count: u64, size: usize, twice: bool) -> Vec<u64> {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(count, &journal).per_call(50);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("gather", move || Gather { size, kept: Vec::new(), twice }).shuffle_grouping("numbers");
    // A second hop, so that joined anchors are passed on.
    topology.bolt("relay", relay).shuffle_grouping("gather");
    topology.bolt("sink", sink(&rows)).shuffle_grouping("relay");
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(count);
    rows.values()
}

#[test]
fn one_tuple_may_belong_to_many_trees() {
    let sums = gather(1000, 100, false);
    assert_eq!(sums.len(), 20);
    assert_eq!(sums.iter().sum::<u64>(), 2 * (0..1000).sum::<u64>());
}

#[test]
fn the_same_anchor_twice_is_still_one_tree() {
    assert_eq!(gather(200, 20, true).len(), 20);
}

/// A bolt that writes batches may well anchor one tuple to tens of thousands.
#[test]
fn very_many_anchors_take_no_quadratic_time() {
    assert_eq!(gather(60_000, 60_000, false).len(), 2);
}

/// The limit of one tuple is named, and the batch that goes beyond it fails as a whole.
#[test]
fn too_many_anchors_are_refused() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(66_000, &journal).per_call(100);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("gather", || Gather { size: 66_000, kept: Vec::new(), twice: false }).shuffle_grouping("numbers");
    topology.bolt("last", mute).shuffle_grouping("gather");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    let errors = errors_of(&report, "gather");
    assert!(errors.len() == 1 && errors[0].contains("66000") && errors[0].contains("65535"), "{errors:?}");
    journal.assert_one_word_per_emit();
    assert_eq!(journal.fails(), 66_000);
}

/// Anchors may be the larger part of a frame by far.
#[test]
fn many_tuples_with_many_anchors_make_frames_of_a_bearable_size() {
    struct Cross(Vec<OwnedTuple>);
    impl Bolt for Cross {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
            self.0.push(input.keep());
            if self.0.len() == 2000 {
                let anchors: Vec<&dyn Anchor> = self.0.iter().map(|kept| kept as &dyn Anchor).collect();
                (0..1000).for_each(|value| collector.emit(&anchors[..], &Number { value }));
                self.0.drain(..).for_each(|kept| collector.ack_deferred(kept.into_handle()));
            }
            Ok(())
        }
    }
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(2000, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("cross", || Cross(Vec::new())).shuffle_grouping("numbers");
    topology.bolt("sink", sink(&rows)).parallelism(2).fields_grouping("cross", ["value"]);
    let report = run(topology, &config(&[]));
    assert_clean(&report);
    journal.assert_all_acked_once(2000);
    assert_eq!(rows.len(), 1000);
    // 1000 times 2000 anchors are 32 MB; what a core keeps of its frames afterwards is little of it.
    let kept: usize = report.snapshots.iter().map(|core| core.frame_bytes).sum();
    assert!(kept < 16 << 20, "{kept} bytes of frames are kept");
}
