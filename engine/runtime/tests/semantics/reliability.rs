//! Every message id hears exactly one ack or one fail, at once where something failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::{FailReason, Next, Outcome, RunReport, Spout, SpoutCollector, TopologyBuilder, Unanchored};
use ringstorm_types::MessageId;

use crate::harness::*;

/// Storm's B011, in Rust: without an id nobody hears anything; with one, exactly one word.
#[test]
fn no_id_no_callback_and_with_an_id_exactly_one() {
    struct Half(u64, Arc<Journal>);
    impl Spout for Half {
        fn declare(&self, declarer: &mut ringstorm_runtime::Declarer) {
            declarer.emits::<Number>();
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> ringstorm_runtime::Result<Next> {
            if self.0 == 100 {
                return Ok(Next::Finished);
            }
            if self.0 < 50 {
                collector.emit(&Number { value: self.0 });
            } else {
                self.1.emitted(self.0);
                collector.emit_with_id(MessageId(self.0), &Number { value: self.0 });
            }
            self.0 += 1;
            Ok(Next::Emitted)
        }
        fn ack(&mut self, id: MessageId) {
            self.1.acked(id.0);
        }
        fn fail(&mut self, id: MessageId, reason: FailReason) {
            self.1.failed(id.0, reason);
        }
    }
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("half", move || Half(0, Arc::clone(&shared)));
    let odd = || {
        ends(|input, collector| {
            match input.view::<Number>()?.value() % 2 {
                0 => collector.ack(input),
                _ => collector.fail(input),
            }
            Ok(())
        })
    };
    topology.bolt("odd", odd).shuffle_grouping("half");
    assert_clean(&run(topology, &config(&[])));
    let fates = journal.fates();
    assert_eq!(fates.keys().copied().collect::<Vec<_>>(), (50..100).collect::<Vec<_>>());
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails()), (25, 25));
}

#[test]
fn a_fail_is_told_at_once_and_says_by_whom() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(100, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("relay", relay).shuffle_grouping("numbers");
    let fail = || {
        ends(|input, collector| {
            collector.fail(input);
            // Once is enough: nothing of this may do anything.
            collector.fail(input);
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("z-fail", fail).shuffle_grouping("relay");
    let report = run(topology, &config(&[]));
    assert_clean(&report);
    let executors = report.snapshots.iter().flat_map(|core| &core.executors);
    let task = executors.into_iter().find(|executor| executor.component == "z-fail").unwrap().id.first.0 as u32;
    for (id, fate) in journal.fates() {
        assert_eq!(fate.fails, [FailReason::FailedBy { task }], "message {id}");
        assert!(fate.told_after.unwrap() < Duration::from_secs(10), "a fail does not wait for the time-out");
    }
}

#[test]
fn acking_twice_or_after_failing_changes_nothing() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(2000, &journal);
    topology.spout("numbers", move || seq.clone());
    let eager = || {
        passes(|input, collector| {
            let value = input.view::<Number>()?.value();
            collector.emit(input, &Number { value });
            match value % 4 {
                0 => collector.ack(input),
                1 => {
                    collector.ack(input);
                    collector.ack(input);
                }
                2 => {
                    collector.fail(input);
                    collector.ack(input);
                }
                _ => {
                    // The duty was handed on: acking here as well would count twice.
                    let handle = input.defer();
                    collector.ack(input);
                    collector.ack_deferred(handle);
                }
            }
            Ok(())
        })
    };
    topology.bolt("eager", eager).shuffle_grouping("numbers");
    let rows = Arc::<Rows>::default();
    topology.bolt("sink", sink(&rows)).shuffle_grouping("eager");
    assert_clean(&run(topology, &config(&[])));
    journal.assert_one_word_per_emit();
    for (id, fate) in journal.fates() {
        assert_eq!(fate.acks, u32::from(id % 4 != 2), "message {id}: {fate:?}");
    }
}

#[test]
fn a_duty_that_was_given_away_cannot_be_given_twice() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(500, &journal);
    topology.spout("numbers", move || seq.clone());
    let twice = || {
        ends(|input, collector| {
            let (first, second) = (input.keep(), input.keep());
            collector.ack_deferred(second.into_handle());
            collector.ack_deferred(first.into_handle());
            let third = input.defer();
            collector.fail_deferred(third);
            Ok(())
        })
    };
    // Behind a relay, so that acking an edge twice would undo it.
    topology.bolt("relay", relay).shuffle_grouping("numbers");
    topology.bolt("twice", twice).shuffle_grouping("relay");
    assert_clean(&run(topology, &config(&[("topology.message.timeout.secs", 1.into())])));
    journal.assert_all_acked_once(500);
}

#[test]
fn unanchored_children_do_not_matter_to_the_tree() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(1000, &journal);
    topology.spout("numbers", move || seq.clone());
    let loose = || {
        passes(|input, collector| {
            collector.emit(Unanchored, &Number { value: input.view::<Number>()?.value() });
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("loose", loose).shuffle_grouping("numbers");
    topology.bolt("mute", mute).shuffle_grouping("loose");
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(1000);
}

#[test]
fn without_ackers_an_id_is_acked_at_once_and_failing_does_nothing() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(1000, &journal);
    topology.spout("numbers", move || seq.clone());
    let fail = || {
        ends(|input, collector| {
            collector.fail(input);
            Ok(())
        })
    };
    topology.bolt("fail", fail).shuffle_grouping("numbers");
    assert_clean(&run(topology, &config(&[("topology.acker.executors", 0.into())])));
    journal.assert_all_acked_once(1000);
}

#[test]
fn what_nobody_reads_is_acked() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(1000, &journal);
    topology.spout("numbers", move || seq.clone());
    let other = Seq::untracked(1);
    topology.spout("other", move || other.clone());
    topology.bolt("sink", mute).shuffle_grouping("other");
    assert_clean(&run(topology, &config(&[])));
    journal.assert_all_acked_once(1000);
}

/// A spout may emit and say in the same breath that it waits, or that it is done.
#[test]
fn what_is_emitted_with_any_answer_goes_at_once() {
    struct Answers {
        next: u64,
        answer: fn() -> Next,
        waker: Option<std::task::Waker>,
        journal: Arc<Journal>,
    }
    impl Spout for Answers {
        fn declare(&self, declarer: &mut ringstorm_runtime::Declarer) {
            declarer.emits::<Number>().emits_to::<Number>("unread");
        }
        fn open(&mut self, context: &ringstorm_runtime::TopologyContext) -> ringstorm_runtime::Result {
            self.waker = Some(context.waker());
            Ok(())
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> ringstorm_runtime::Result<Next> {
            if self.next == 20 || collector.pending_count() > 0 {
                return Ok(if self.next == 20 { Next::Finished } else { (self.answer)() });
            }
            self.journal.emitted(self.next);
            let stream = if self.next % 4 == 3 { "unread" } else { "default" };
            collector.emit_to(stream, Some(MessageId(self.next)), &Number { value: self.next });
            self.next += 1;
            Ok((self.answer)())
        }
        fn ack(&mut self, id: MessageId) {
            self.journal.acked(id.0);
            self.waker.as_ref().expect("it was opened").wake_by_ref();
        }
    }
    let far = || Next::Until(std::time::Instant::now() + Duration::from_secs(3600));
    for answer in [far, || Next::Waiting, || Next::Idle, || Next::Emitted] {
        for cores in [1, 2] {
            let journal = Arc::<Journal>::default();
            let mut topology = TopologyBuilder::new();
            let shared = Arc::clone(&journal);
            let answers = move || Answers { next: 0, answer, waker: None, journal: Arc::clone(&shared) };
            topology.spout("answers", answers);
            topology.bolt("relay", relay).shuffle_grouping("answers");
            topology.bolt("last", || slow(Duration::ZERO)).shuffle_grouping("relay");
            let report = run(topology, &config(&[("ringstorm.worker.cores", cores.into())]));
            assert_clean(&report);
            journal.assert_all_acked_once(20);
            assert!(report.elapsed < Duration::from_secs(10), "nothing waits: {:?}", report.elapsed);
        }
    }
}

/// The tree is as deep and wide as a user likes: 4 copies at each of 4 levels for every number.
#[test]
fn wide_and_deep_trees_complete_exactly_once() {
    for cores in [1, 3] {
        let (journal, leaves) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
        let mut topology = TopologyBuilder::new();
        let seq = Seq::new(300, &journal);
        topology.spout("level-0", move || seq.clone()).parallelism(2);
        for level in 1..=4 {
            topology
                .bolt(&format!("level-{level}"), relay)
                .parallelism(4)
                .all_grouping(format!("level-{}", level - 1).as_str());
        }
        let shared = Arc::clone(&leaves);
        let leaf = move || {
            let leaves = Arc::clone(&shared);
            ends(move |input, collector| {
                leaves.fetch_add(1, Ordering::Relaxed);
                collector.ack(input);
                Ok(())
            })
        };
        topology.bolt("leaf", leaf).shuffle_grouping("level-4");
        let settings = [("ringstorm.worker.cores", cores.into()), ("topology.acker.executors", 2.into())];
        assert_clean(&run(topology, &config(&settings)));
        journal.assert_all_acked_once(600);
        assert_eq!(leaves.load(Ordering::Relaxed), 600 * 256);
    }
}

/// Fails in the middle of wide trees, replayed until all are acked.
#[test]
fn random_fails_are_replayed_until_everything_is_acked() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(3000, &journal).replays();
    topology.spout("numbers", move || seq.clone()).parallelism(2);
    topology.bolt("fan", relay).parallelism(3).all_grouping("numbers");
    let moody = || {
        let mut state = 88_172_645_463_325_252_u64;
        ends(move |input, collector| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state.is_multiple_of(20) {
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("moody", moody).parallelism(2).shuffle_grouping("fan");
    assert_clean(&run(topology, &config(&[("topology.acker.executors", 2.into())])));
    journal.assert_all_acked_in_the_end(6000);
    assert!(journal.fails() > 500, "{} fails", journal.fails());
}

/// More copies than an entry of the acker's ledger has bits for.
#[test]
fn hundreds_of_copies_of_one_tuple_complete_it() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(200, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("many", relay).parallelism(20).tasks(300).all_grouping("numbers");
    topology.bolt("last", || slow(Duration::ZERO)).parallelism(2).shuffle_grouping("many");
    let report = run(topology, &config(&[]));
    assert_clean(&report);
    journal.assert_all_acked_once(200);
    assert_eq!(executed(&report.snapshots), 200 * 600);
}

/// A spout without an acker near it uses several in turn; fails and replays find their way to each.
#[test]
fn far_spouts_share_several_ackers() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(6000, &journal).per_call(50).replays();
    topology.spout("numbers", move || seq.clone()).parallelism(2).blocking();
    topology.bolt("relay", relay).parallelism(2).shuffle_grouping("numbers");
    let sometimes = || {
        let mut count = 0_u64;
        ends(move |input, collector| {
            count += 1;
            if count.is_multiple_of(100) {
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("sometimes", sometimes).parallelism(2).shuffle_grouping("relay");
    let report = run(topology, &config(&[("topology.acker.executors", 3.into())]));
    assert_clean(&report);
    journal.assert_all_acked_in_the_end(12_000);
    let ackers = report.snapshots.iter().flat_map(|core| &core.executors).filter(|e| e.component == "__acker");
    let messages: Vec<u64> = ackers.map(|acker| acker.inputs[0].executed).collect();
    assert!(messages.len() == 3 && messages.iter().all(|count| *count > 10), "{messages:?}");
}

/// Message ids are the user's own: any number, as often as they like.
#[test]
fn an_id_may_be_any_number_and_used_again() {
    struct Same(u64, Arc<Journal>);
    impl Spout for Same {
        fn declare(&self, declarer: &mut ringstorm_runtime::Declarer) {
            declarer.emits::<Number>();
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> ringstorm_runtime::Result<Next> {
            let Some(left) = self.0.checked_sub(1) else { return Ok(Next::Finished) };
            self.0 = left;
            for id in [0, 1, u64::MAX, 1 << 63] {
                self.1.emitted(id);
                collector.emit_with_id(id, &Number { value: left });
            }
            Ok(Next::Emitted)
        }
        fn ack(&mut self, id: MessageId) {
            self.1.acked(id.0);
        }
        fn fail(&mut self, id: MessageId, reason: FailReason) {
            self.1.failed(id.0, reason);
        }
    }
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.spout("same", move || Same(100, Arc::clone(&shared)));
    topology.bolt("relay", relay).shuffle_grouping("same");
    topology.bolt("last", || slow(Duration::ZERO)).shuffle_grouping("relay");
    assert_clean(&run(topology, &config(&[])));
    journal.assert_one_word_per_emit();
    assert_eq!((journal.fates().len(), journal.acks()), (4, 400));
}

/// What [`RunReport::is_clean`] says of runs that end in every way.
#[test]
fn only_a_run_in_which_all_went_well_is_clean() {
    let run_failing = |fails: u64, ids: bool| {
        let journal = Arc::<Journal>::default();
        let mut topology = TopologyBuilder::new();
        let seq = if ids { Seq::new(10, &journal) } else { Seq::untracked(10) };
        topology.spout("numbers", move || seq.clone());
        let check = move || {
            ends(move |input, collector| {
                if input.view::<Number>()?.value() < fails {
                    collector.fail(input);
                } else {
                    collector.ack(input);
                }
                Ok(())
            })
        };
        topology.bolt("check", check).shuffle_grouping("numbers");
        run(topology, &config(&[]))
    };
    let clean = run_failing(0, true);
    assert!(clean.is_clean(), "{clean:#?}");
    for ids in [true, false] {
        let failed = run_failing(1, ids);
        assert_drained(&failed);
        assert!(!failed.is_clean(), "{failed:#?}");
    }
    for other in [
        RunReport { outcome: Outcome::Stopped, ..clean.clone() },
        RunReport { outcome: Outcome::Failed("by chance".into()), ..clean.clone() },
        RunReport { drained: false, ..clean.clone() },
        RunReport { pending: 1, ..clean.clone() },
        RunReport { in_flight: 1, ..clean.clone() },
        RunReport { cores_left_behind: 1, ..clean.clone() },
        RunReport { worker_deaths: 1, ..clean.clone() },
    ] {
        assert!(!other.is_clean(), "{other:#?}");
    }
    assert!(RunReport { error_count: 1, ..clean }.is_clean(), "what was reported failed nothing");
}
