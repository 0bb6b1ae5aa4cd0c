//! Cycles: harmless while they consume what they emit, named when they do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringstorm_runtime::{Bolt, Declarer, Outcome, RunReport, TopologyBuilder, Unanchored};

use crate::harness::*;

/// Whatever comes goes round once more, `copies` times, until the topology is stopped or the limit is met.
fn growing(anchored: bool, ackers: u64, cores: u64) -> (RunReport, Arc<Journal>, u64) {
    let (journal, seen) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(20, &journal);
    topology.spout("numbers", move || seq.clone());
    let shared = Arc::clone(&seen);
    let twice = move || {
        let seen = Arc::clone(&shared);
        let declare = |declarer: &mut Declarer| {
            declarer.emits::<Number>();
        };
        emits(declare, move |input, collector| {
            let value = input.view::<Number>()?.value();
            let count = seen.fetch_add(1, Ordering::Relaxed);
            // A hundred thousand times the tree grows, then it may die out.
            for _ in 0..if count < 100_000 { 2 } else { 0 } {
                if anchored {
                    collector.emit(input, &Number { value });
                } else {
                    collector.emit(Unanchored, &Number { value });
                }
            }
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("grow-a", twice).shuffle_grouping("numbers").shuffle_grouping("grow-b");
    topology.bolt("grow-b", relay).shuffle_grouping("grow-a");
    let settings = [
        ("ringstorm.cycle.limit.bytes", 20_000.into()),
        ("ringstorm.frame.bytes", 2048.into()),
        ("ringstorm.worker.cores", cores.into()),
        ("topology.acker.executors", ackers.into()),
    ];
    let report = run(topology, &config(&settings));
    (report, journal, seen.load(Ordering::Relaxed))
}

fn assert_named(report: &RunReport) {
    let errors = errors(report);
    let named = |text: &str| {
        text.contains("cycle grow-a, grow-b, grow-a emits more than it consumes")
            && text.contains("ringstorm.cycle.limit.bytes")
            && text.contains("20000")
    };
    assert!(!errors.is_empty() && errors.iter().all(|error| named(&error.text)), "{errors:#?}");
}

fn lost_unanchored(report: &RunReport) -> u64 {
    report.snapshots.iter().map(|core| core.lost_unanchored).sum()
}

#[test]
fn an_anchored_cycle_that_grows_is_named_and_fails_its_inputs() {
    for cores in [1, 2] {
        let (report, journal, _) = growing(true, 1, cores);
        assert_drained(&report);
        assert_named(&report);
        journal.assert_one_word_per_emit();
        assert!(journal.fails() > 0);
        assert_eq!(lost_unanchored(&report), 0);
    }
}

#[test]
fn an_unanchored_cycle_that_grows_is_named_and_its_losses_are_counted() {
    for (cores, ackers) in [(1, 1), (2, 1), (2, 0)] {
        let (report, journal, seen) = growing(false, ackers, cores);
        assert_drained(&report);
        assert_named(&report);
        journal.assert_all_acked_once(20);
        let lost = lost_unanchored(&report);
        assert!(lost > 0);
        // 20 come from the spout; each of the first hundred thousand gave two, some of which were lost.
        assert_eq!(seen + lost, 20 + 2 * 100_000.min(seen), "every loss is counted");
        assert_eq!(error_count(&report), lost, "each loss is an error");
    }
}

/// Anchors to tuples that nobody tracks are as good as none.
#[test]
fn an_untracked_input_is_no_anchor() {
    let (report, _, seen) = growing(true, 0, 2);
    assert_drained(&report);
    assert_named(&report);
    assert_eq!(seen + lost_unanchored(&report), 20 + 2 * 100_000.min(seen));
}

/// What enters a cycle waits while the cycle is full, and a cycle that does not grow never meets its limit.
#[test]
fn a_cycle_that_does_not_grow_stays_small() {
    for ackers in [0, 1] {
        let (journal, rounds) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
        let mut topology = TopologyBuilder::new();
        let seq = if ackers == 0 { Seq::untracked(20_000) } else { Seq::new(20_000, &journal) };
        topology.spout("numbers", move || seq.clone());
        let shared = Arc::clone(&rounds);
        let round = move || rounds_of(10, &shared);
        topology.bolt("round", round).parallelism(2).shuffle_grouping("numbers").shuffle_grouping("back");
        topology.bolt("back", relay).parallelism(2).shuffle_grouping("round");
        let settings = [
            ("topology.acker.executors", ackers.into()),
            ("ringstorm.inbox.mark.bytes", 4096.into()),
            ("ringstorm.frame.bytes", 1024.into()),
            // All tuples at once would be far more than this.
            ("ringstorm.cycle.limit.bytes", 120_000.into()),
        ];
        assert_clean(&run(topology, &config(&settings)));
        assert_eq!(rounds.load(Ordering::Relaxed), 20_000 * 10);
        if ackers > 0 {
            journal.assert_all_acked_once(20_000);
        }
    }
}

/// Sends each number round a number of times; the count is kept in the upper half of the value.
fn rounds_of(rounds: u64, counted: &Arc<AtomicU64>) -> impl Bolt + use<> {
    let counted = Arc::clone(counted);
    passes(move |input, collector| {
        let value = input.view::<Number>()?.value();
        counted.fetch_add(1, Ordering::Relaxed);
        if (value >> 32) + 1 < rounds {
            collector.emit(input, &Number { value: value + (1 << 32) });
        }
        collector.ack(input);
        Ok(())
    })
}

/// A cycle that goes on for ever is stopped all the same, and what is left is told.
#[test]
fn an_endless_cycle_can_be_stopped() {
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(5);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("first", relay).shuffle_grouping("numbers").shuffle_grouping("second");
    topology.bolt("second", relay).shuffle_grouping("first");
    let running = start(topology, &config(&[("ringstorm.drain.timeout.secs", 0.2.into())]));
    wait_for("a few rounds", || executed(&running.snapshots()) > 100);
    running.request_stop();
    let report = finish(running);
    assert_eq!((&report.outcome, report.drained, report.cores_left_behind), (&Outcome::Stopped, false, 0));
}
