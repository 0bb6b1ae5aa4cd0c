//! Messages of which very many copies are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringstorm_runtime::{CustomGrouping, GroupedTuple, RunReport, TopologyBuilder};

use crate::harness::*;

/// Names the first task many times.
struct Many(usize);

impl CustomGrouping for Many {
    fn choose(&mut self, _: &GroupedTuple<'_>, targets: &mut Vec<usize>) {
        targets.resize(self.0, 0);
    }
}

/// Emits one message in so many copies; the last copy fails if it is to.
fn copies(count: usize, last_fails: bool) -> (RunReport, Arc<Journal>, u64) {
    let (journal, seen) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(1, &journal);
    topology.spout("numbers", move || seq.clone());
    let shared = Arc::clone(&seen);
    let counts = move || {
        let seen = Arc::clone(&shared);
        ends(move |input, collector| {
            if seen.fetch_add(1, Ordering::Relaxed) + 1 == count as u64 && last_fails {
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("counts", counts).custom_grouping("numbers", "many", move || Many(count));
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    (report, journal, seen.load(Ordering::Relaxed))
}

#[test]
fn as_many_copies_as_can_be_told_apart_make_a_tree() {
    let (report, journal, seen) = copies(65_535, false);
    assert_clean(&report);
    assert_eq!((journal.acks(), seen), (1, 65_535));
    assert_eq!(copies(65_535, true).1.acks(), 0);
}

#[test]
fn more_copies_are_refused_and_never_acked() {
    for count in [65_536, 65_537, 2 * 65_536] {
        let (report, journal, _) = copies(count, true);
        assert_eq!((journal.acks(), journal.fails()), (0, 1), "{count} copies");
        let errors = errors_of(&report, "numbers");
        let all = ["numbers", "default", &count.to_string(), "65535"];
        assert!(errors.len() == 1 && all.iter().all(|word| errors[0].contains(word)), "{errors:?}");
    }
}
