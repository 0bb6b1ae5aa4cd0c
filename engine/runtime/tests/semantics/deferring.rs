//! A tuple, its handles and its copies are one member of its trees, whichever of them is anchored to or acked.

use std::sync::Arc;

use ringstorm_runtime::{AckHandle, Anchor, BoltCollector, FailReason, Input, TopologyBuilder};

use crate::harness::*;

type Work = fn(&Input<'_>, &mut BoltCollector<'_>);

/// Runs ten numbers through a bolt that does `work` with each; what comes of it is acked or failed by the next bolt.
fn run_deferring(work: Work, child_fails: bool) -> Arc<Journal> {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(10, &journal);
    topology.spout("numbers", move || seq.clone());
    let bolt = move || {
        passes(move |input, collector| {
            work(input, collector);
            Ok(())
        })
    };
    topology.bolt("defers", bolt).shuffle_grouping("numbers");
    let last = move || {
        ends(move |input, collector| {
            if child_fails {
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("last", last).shuffle_grouping("defers");
    assert_clean(&run(topology, &config(&[("topology.message.timeout.secs", 2.into())])));
    journal
}

/// What becomes of the children becomes of the messages, and without a time-out.
fn assert_children_count(works: &[Work]) {
    for (number, work) in works.iter().enumerate() {
        run_deferring(*work, false).assert_all_acked_once(10);
        for (id, fate) in run_deferring(*work, true).fates() {
            let failed = matches!(fate.fails[..], [FailReason::FailedBy { .. }]);
            assert!(failed && fate.acks == 0, "work {number}, message {id}: {fate:?}");
        }
    }
}

fn child(anchor: &impl Anchor, collector: &mut BoltCollector<'_>) {
    collector.emit(anchor, &Number { value: 0 });
}

#[test]
fn a_child_counts_whether_it_is_anchored_before_or_after_the_handle_was_taken() {
    assert_children_count(&[
        |input, collector| {
            child(input, collector);
            let handle = input.defer();
            collector.ack_deferred(handle);
        },
        |input, collector| {
            let handle = input.defer();
            child(input, collector);
            collector.ack_deferred(handle);
        },
        |input, collector| {
            let handle = input.defer();
            child(&handle, collector);
            collector.ack(input);
        },
        |input, collector| {
            let handle = input.defer();
            child(input, collector);
            child(&handle, collector);
            child(input, collector);
            collector.ack_deferred(handle);
        },
    ]);
}

#[test]
fn two_handles_of_a_tuple_are_one() {
    assert_children_count(&[
        |input, collector| {
            let (first, second) = (input.defer(), input.defer());
            child(&second, collector);
            collector.ack_deferred(first);
        },
        |input, collector| {
            let (first, second) = (input.defer(), input.defer());
            child(&first, collector);
            collector.ack_deferred(second);
        },
        |input, collector| {
            let kept = input.keep();
            let handle = input.defer();
            child(&kept, collector);
            drop(kept);
            collector.ack_deferred(handle);
        },
    ]);
}

#[test]
fn a_forward_after_a_copy_was_kept_counts() {
    assert_children_count(&[
        |input, collector| {
            let kept = input.keep();
            collector.forward(input);
            collector.ack_deferred(kept.into_handle());
        },
        |input, collector| {
            let kept = input.keep();
            collector.forward(input);
            drop(kept);
            collector.ack(input);
        },
    ]);
}

#[test]
fn joined_anchors_may_be_the_same_tuple_by_any_of_its_names() {
    assert_children_count(&[
        |input, collector| {
            let (first, second) = (input.defer(), input.keep());
            collector.emit([input as &dyn Anchor, &first, &second], &Number { value: 0 });
            collector.ack(input);
        },
        |input, collector| {
            let (first, second) = (input.defer(), input.keep());
            collector.emit([&first as &dyn Anchor, &second], &Number { value: 0 });
            collector.emit([&second as &dyn Anchor, input], &Number { value: 0 });
            collector.ack_deferred(first);
        },
    ]);
}

/// Whichever comes first counts, and nothing is counted twice.
#[test]
fn a_tuple_is_settled_once_by_whichever_comes_first() {
    let acks: [Work; 3] = [
        |input, collector| {
            let handle = input.defer();
            collector.ack_deferred(handle);
            collector.ack(input);
            collector.fail(input);
        },
        |input, collector| {
            let (first, second) = (input.defer(), input.defer());
            collector.ack(input);
            collector.fail_deferred(first);
            collector.ack_deferred(second);
        },
        |input, collector| {
            collector.ack(input);
            let handle = input.defer();
            collector.fail_deferred(handle);
        },
    ];
    for work in acks {
        run_deferring(work, false).assert_all_acked_once(10);
    }
    let fails: [Work; 2] = [
        |input, collector| {
            let handle = input.defer();
            collector.fail(input);
            collector.ack_deferred(handle);
        },
        |input, collector| {
            let (first, second) = (input.defer(), input.defer());
            collector.fail_deferred(first);
            collector.ack_deferred(second);
            collector.ack(input);
        },
    ];
    for work in fails {
        let journal = run_deferring(work, false);
        journal.assert_one_word_per_emit();
        assert_eq!(journal.fails(), 10);
    }
}

/// A handle that outlives its call gathers the children of all calls, and of all of its kin.
#[test]
fn children_of_later_calls_count() {
    for child_fails in [false, true] {
        let journal = Arc::<Journal>::default();
        let mut topology = TopologyBuilder::new();
        let seq = Seq::new(10, &journal);
        topology.spout("numbers", move || seq.clone());
        let pairs = || {
            let mut held: Option<(AckHandle, AckHandle)> = None;
            passes(move |input, collector| {
                match held.take() {
                    None => {
                        held = Some((input.defer(), input.defer()));
                        child(input, collector);
                    }
                    Some((first, second)) => {
                        collector.emit([input as &dyn Anchor, &second], &Number { value: 1 });
                        collector.ack_deferred(first);
                        collector.ack(input);
                    }
                }
                Ok(())
            })
        };
        topology.bolt("pairs", pairs).shuffle_grouping("numbers");
        let last = move || {
            ends(move |input, collector| {
                if child_fails && input.view::<Number>()?.value() == 1 {
                    collector.fail(input);
                } else {
                    collector.ack(input);
                }
                Ok(())
            })
        };
        topology.bolt("last", last).shuffle_grouping("pairs");
        assert_clean(&run(topology, &config(&[("topology.message.timeout.secs", 2.into())])));
        if child_fails {
            journal.assert_one_word_per_emit();
            assert!(journal.fates().values().all(|fate| matches!(fate.fails[..], [FailReason::FailedBy { .. }])));
        } else {
            journal.assert_all_acked_once(10);
        }
    }
}
