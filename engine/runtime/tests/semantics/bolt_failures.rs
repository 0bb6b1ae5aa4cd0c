//! Bolts whose code fails: the tuple fails at once, the task is rebuilt, everybody else goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::{
    Bolt, BoltCollector, Declarer, Emitter, Input, Outcome, Result, RunReport, SimpleBolt, TopologyBuilder,
    TopologyContext,
};

use crate::harness::*;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mishap {
    Nothing,
    PanicInExecute,
    ErrInExecute,
    PanicInPrepare,
    ErrInPrepare,
    PanicInFinish,
    ErrInFinish,
    PanicInCleanup,
    PanicInDrop,
}

struct Shaky {
    mishap: Mishap,
    mishaps: Arc<AtomicU64>,
    times: u64,
    on: fn(u64) -> bool,
    dropped: Arc<AtomicU64>,
}

impl Shaky {
    fn goes_wrong(&self, mishap: Mishap) -> bool {
        let less = |done: u64| (done < self.times).then_some(done + 1);
        self.mishap == mishap && self.mishaps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

impl Bolt for Shaky {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn prepare(&mut self, _: &TopologyContext) -> Result {
        assert!(!self.goes_wrong(Mishap::PanicInPrepare), "no such table");
        if self.goes_wrong(Mishap::ErrInPrepare) { Err("no such table".into()) } else { Ok(()) }
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        let value = input.view::<Number>()?.value();
        // What was emitted before the mishap leaves all the same; its tree has failed.
        collector.emit(input, &Number { value });
        if (self.on)(value) {
            assert!(!self.goes_wrong(Mishap::PanicInExecute), "division by zero");
            if self.goes_wrong(Mishap::ErrInExecute) {
                return Err("division by zero".into());
            }
        }
        collector.ack(input);
        Ok(())
    }
    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        collector.emit(ringstorm_runtime::Unanchored, &Number { value: 1_000_000 });
        assert!(!self.goes_wrong(Mishap::PanicInFinish), "cannot finish");
        if self.goes_wrong(Mishap::ErrInFinish) { Err("cannot finish".into()) } else { Ok(()) }
    }
    fn cleanup(&mut self) {
        assert!(!self.goes_wrong(Mishap::PanicInCleanup), "cannot clean up");
    }
}

impl Drop for Shaky {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        assert!(std::thread::panicking() || !self.goes_wrong(Mishap::PanicInDrop), "cannot be dropped");
    }
}

struct Ran {
    report: RunReport,
    journal: Arc<Journal>,
    rows: Arc<Rows>,
    mishaps: u64,
}

fn shaky(mishap: Mishap, times: u64, on: fn(u64) -> bool, count: u64) -> Ran {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mishaps = Arc::<AtomicU64>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(count, &journal).replays();
    topology.spout("numbers", move || seq.clone());
    let (shared, made) = (Arc::clone(&mishaps), AtomicU64::new(0));
    let factory = move || {
        // The instance that only declares is to live and die in peace.
        let mishap = if made.fetch_add(1, Ordering::Relaxed) == 0 { Mishap::Nothing } else { mishap };
        Shaky { mishap, mishaps: Arc::clone(&shared), times, on, dropped: Arc::default() }
    };
    topology.bolt("shaky", factory).parallelism(2).shuffle_grouping("numbers");
    topology.bolt("sink", sink(&rows)).shuffle_grouping("shaky");
    let report = run(topology, &config(&[]));
    Ran { report, journal, rows, mishaps: mishaps.load(Ordering::Relaxed) }
}

/// Storm's B146: a bolt panics once on value 5; all is acked after one replay. Storm's B046: no executor dies quietly.
#[test]
fn a_panic_or_error_fails_its_tuple_at_once_and_rebuilds_the_task() {
    for mishap in [Mishap::PanicInExecute, Mishap::ErrInExecute] {
        let ran = shaky(mishap, 1, |value| value == 5, 20);
        assert_drained(&ran.report);
        ran.journal.assert_all_acked_in_the_end(20);
        let fates = ran.journal.fates();
        assert_eq!((ran.journal.fails(), fates[&5].fails.len()), (1, 1));
        let errors = errors_of(&ran.report, "shaky");
        assert!(errors.len() == 1 && errors[0].contains("division by zero"), "{errors:?}");
        assert!(errors[0].contains("rebuilt") && errors[0].contains("lost"), "{errors:?}");
        assert!(ran.report.elapsed < Duration::from_secs(5), "a fail does not wait for the time-out");
    }
}

/// Within a batch of queued tuples some fail and the others are not touched.
#[test]
fn only_the_tuples_that_fail_are_failed() {
    for mishap in [Mishap::PanicInExecute, Mishap::ErrInExecute] {
        let ran = shaky(mishap, 8, |value| value % 97 == 13, 5000);
        assert_drained(&ran.report);
        ran.journal.assert_all_acked_in_the_end(5000);
        assert_eq!(ran.journal.fails(), 8);
        assert_eq!(ran.mishaps, 8);
        assert!(ran.journal.fates().iter().all(|(id, fate)| fate.fails.is_empty() || id % 97 == 13));
    }
}

fn assert_ends(ran: &Ran, parts: &[&str]) {
    let Outcome::Failed(text) = &ran.report.outcome else { panic!("{:#?}", ran.report) };
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    assert_eq!(ran.report.cores_left_behind, 0);
    assert!(ran.report.elapsed < Duration::from_secs(5), "{:?}", ran.report.elapsed);
}

#[test]
fn a_bolt_that_panics_on_every_tuple_ends_the_run_with_a_report() {
    for mishap in [Mishap::PanicInExecute, Mishap::ErrInExecute] {
        let ran = shaky(mishap, u64::MAX, |_| true, 1000);
        assert_ends(&ran, &["shaky", "division by zero"]);
        // Two tasks may fail up to ten times each.
        assert!((10..=20).contains(&ran.mishaps), "{} mishaps", ran.mishaps);
    }
}

#[test]
fn a_bolt_that_cannot_be_prepared_ends_the_run() {
    for mishap in [Mishap::PanicInPrepare, Mishap::ErrInPrepare] {
        assert_ends(&shaky(mishap, 1, |_| true, 10), &["shaky", "prepare", "no such table"]);
    }
}

#[test]
fn failing_to_finish_or_to_clean_up_is_reported_and_ends_nothing() {
    for (mishap, text) in [
        (Mishap::PanicInFinish, "finish panicked: cannot finish"),
        (Mishap::ErrInFinish, "finish failed: cannot finish"),
        (Mishap::PanicInCleanup, "cleanup panicked: cannot clean up"),
    ] {
        let ran = shaky(mishap, 1, |_| true, 100);
        assert_drained(&ran.report);
        ran.journal.assert_all_acked_once(100);
        let errors = errors_of(&ran.report, "shaky");
        assert!(errors.len() == 1 && errors[0].contains(text), "{errors:?}");
        // Both tasks emitted one last tuple, that which failed afterwards too.
        assert_eq!(ran.rows.values().iter().filter(|value| **value == 1_000_000).count(), 2);
    }
}

/// A component whose `Drop` panics spoils neither its rebuild nor the end of a run in which everything was done.
#[test]
fn a_panic_in_drop_is_reported() {
    let ran = shaky(Mishap::PanicInDrop, 1, |_| true, 100);
    assert_drained(&ran.report);
    ran.journal.assert_all_acked_once(100);
    let errors = errors_of(&ran.report, "shaky");
    assert!(errors.len() == 1 && errors[0].contains("cannot be dropped"), "{errors:?}");
}

/// An error of a simple bolt fails its tuple and nothing else: the task keeps its memory.
#[test]
fn an_error_of_a_simple_bolt_fails_its_tuple_alone() {
    struct Picky {
        executed: u64,
        most: Arc<AtomicU64>,
    }
    impl SimpleBolt for Picky {
        fn execute(&mut self, input: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
            self.executed += 1;
            self.most.fetch_max(self.executed, Ordering::Relaxed);
            let value = input.view::<Number>()?.value();
            if value.is_multiple_of(10) { Err(format!("{value} is too round").into()) } else { Ok(()) }
        }
    }
    let (journal, most) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(1000, &journal);
    topology.spout("numbers", move || seq.clone());
    let shared = Arc::clone(&most);
    topology.simple_bolt("picky", move || Picky { executed: 0, most: Arc::clone(&shared) }).shuffle_grouping("numbers");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails()), (900, 100));
    assert_eq!(most.load(Ordering::Relaxed), 1000, "the task was not rebuilt");
    // All are counted; the texts are throttled as in Storm.
    assert_eq!((error_count(&report), errors(&report).len()), (100, 5));
    let errors = errors(&report);
    assert!(errors[0].text.contains("0 is too round"), "{}", errors[0]);
}

/// A million reports cost a count each and no memory worth speaking of.
#[test]
fn a_flood_of_errors_is_counted_and_not_kept() {
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(1000);
    topology.spout("numbers", move || seq.clone());
    let loud = || {
        ends(|_, collector| {
            (0..1000).for_each(|number| collector.report_error(number));
            Ok(())
        })
    };
    topology.bolt("loud", loud).shuffle_grouping("numbers");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    assert_eq!(error_count(&report), 1_000_000);
    assert_eq!(errors(&report).len(), 5);
}
