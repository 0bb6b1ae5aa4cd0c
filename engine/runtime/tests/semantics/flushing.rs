//! Bolts that work in batches which come from what is queued.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ringstorm_runtime::{Bolt, BoltCollector, Declarer, Input, OwnedTuple, Result, RunReport, TopologyBuilder};

use crate::harness::*;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flush {
    Well,
    EmitsBadly,
    ErrsOnce,
    PanicsOnce,
}

/// Keeps what comes, and passes it on and acks it when it is flushed.
struct Batches {
    flush: Flush,
    kept: Vec<OwnedTuple>,
    flushes: Arc<AtomicU64>,
}

impl Bolt for Batches {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, _: &mut BoltCollector<'_>) -> Result {
        self.kept.push(input.keep());
        Ok(())
    }
    fn wants_flush(&self) -> bool {
        !self.kept.is_empty()
    }
    fn flush(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        let first = self.flushes.fetch_add(1, Ordering::Relaxed) == 0;
        match self.flush {
            Flush::EmitsBadly if first => {
                collector.emit_to("ghost", &self.kept[0], &Number { value: 0 });
            }
            Flush::ErrsOnce if first => return Err("the disk is full".into()),
            Flush::PanicsOnce if first => panic!("the disk is full"),
            _ => {}
        }
        for kept in self.kept.drain(..) {
            collector.emit(&kept, &Number { value: kept.tuple().view::<Number>()?.value() });
            collector.ack_deferred(kept.into_handle());
        }
        Ok(())
    }
}

struct Ran {
    report: RunReport,
    journal: Arc<Journal>,
    rows: Arc<Rows>,
    flushes: u64,
}

fn batches(flush: Flush, settings: &[(&str, serde_json::Value)]) -> Ran {
    let (journal, rows, flushes) = (Arc::<Journal>::default(), Arc::<Rows>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(5000, &journal).replays();
    topology.spout("numbers", move || seq.clone());
    let shared = Arc::clone(&flushes);
    let batches = move || Batches { flush, kept: Vec::new(), flushes: Arc::clone(&shared) };
    topology.bolt("batches", batches).parallelism(2).shuffle_grouping("numbers");
    topology.bolt("sink", sink(&rows)).shuffle_grouping("batches");
    let report = run(topology, &config(settings));
    Ran { report, journal, rows, flushes: flushes.load(Ordering::Relaxed) }
}

#[test]
fn what_is_kept_is_flushed_without_any_tick() {
    let tiny = [("ringstorm.inbox.mark.bytes", 1024.into()), ("ringstorm.frame.bytes", 1024.into())];
    for settings in [&[][..], &tiny[..]] {
        let ran = batches(Flush::Well, settings);
        assert_clean(&ran.report);
        ran.journal.assert_all_acked_once(5000);
        assert_eq!(ran.rows.values(), (0..5000).collect::<Vec<_>>());
        assert!(ran.flushes < 5000, "{} flushes are no batches", ran.flushes);
    }
}

/// A refused emit fails what the same flush acks, and no tuple of a later call.
#[test]
fn a_bad_emit_in_a_flush_fails_its_batch_alone() {
    let ran = batches(Flush::EmitsBadly, &[]);
    assert_drained(&ran.report);
    ran.journal.assert_all_acked_in_the_end(5000);
    assert!((1..2000).contains(&ran.journal.fails()), "{} fails", ran.journal.fails());
    assert_eq!(error_count(&ran.report), 1, "{:?}", ran.report.errors);
    assert!(errors_of(&ran.report, "batches")[0].contains("ghost"), "{:?}", ran.report.errors);
}

/// What a failed flush held is lost with the task's memory: its tuples time out and are replayed.
fn a_flush_fails(flush: Flush) {
    let ran = batches(flush, &[("topology.message.timeout.secs", 1.into())]);
    assert_drained(&ran.report);
    ran.journal.assert_all_acked_in_the_end(5000);
    assert!(ran.journal.fails() > 0);
    let errors = errors_of(&ran.report, "batches");
    assert!(errors.len() == 1 && errors[0].contains("the disk is full") && errors[0].contains("rebuilt"), "{errors:?}");
}

#[test]
fn a_flush_that_fails_rebuilds_the_task() {
    fn by_an_error() {
        a_flush_fails(Flush::ErrsOnce);
    }
    fn by_a_panic() {
        a_flush_fails(Flush::PanicsOnce);
    }
    at_once![by_an_error, by_a_panic];
}
