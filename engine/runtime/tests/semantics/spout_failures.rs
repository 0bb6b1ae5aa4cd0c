//! Spouts whose code fails: the task is rebuilt, and one that fails over and over ends the run with a report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_runtime::{
    Declarer, FailReason, Next, Outcome, Result, RunReport, Spout, SpoutCollector, TopologyBuilder, TopologyContext,
};
use ringstorm_types::MessageId;

use crate::harness::*;

/// A source that survives its spout: what was not acked is given out again to a new instance.
#[derive(Default)]
struct Source {
    next: AtomicU64,
    acked: Mutex<std::collections::BTreeSet<u64>>,
    open: Mutex<std::collections::BTreeSet<u64>>,
    instances: AtomicU64,
    mishaps: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mishap {
    PanicInNext,
    ErrInNext,
    PanicInAck,
    PanicInFail,
    PanicInOpen,
    ErrInOpen,
    PanicInActivate,
    PanicInClose,
}

struct Shaky {
    source: Arc<Source>,
    mishap: Mishap,
    /// How often it goes wrong, over all instances.
    times: u64,
    again: Vec<u64>,
}

impl Shaky {
    fn goes_wrong(&self, mishap: Mishap) -> bool {
        self.mishap == mishap
            && self
                .source
                .mishaps
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |done| (done < self.times).then_some(done + 1))
                .is_ok()
    }
}

impl Spout for Shaky {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn open(&mut self, _: &TopologyContext) -> Result {
        self.source.instances.fetch_add(1, Ordering::Relaxed);
        self.again = self.source.open.lock().unwrap().iter().copied().collect();
        assert!(!self.goes_wrong(Mishap::PanicInOpen), "no such queue");
        if self.goes_wrong(Mishap::ErrInOpen) { Err("no such queue".into()) } else { Ok(()) }
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let value = match self.again.pop() {
            Some(value) => value,
            None if self.source.next.load(Ordering::Relaxed) < 1000 => self.source.next.fetch_add(1, Ordering::Relaxed),
            None => return Ok(Next::Finished),
        };
        self.source.open.lock().unwrap().insert(value);
        if value >= 500 {
            assert!(!self.goes_wrong(Mishap::PanicInNext), "broken pipe");
            if self.goes_wrong(Mishap::ErrInNext) {
                return Err("broken pipe".into());
            }
        }
        collector.emit_with_id(MessageId(value), &Number { value });
        Ok(Next::Emitted)
    }
    fn ack(&mut self, id: MessageId) {
        assert!(id.0 < 300 || !self.goes_wrong(Mishap::PanicInAck), "cannot ack");
        self.source.open.lock().unwrap().remove(&id.0);
        self.source.acked.lock().unwrap().insert(id.0);
    }
    fn fail(&mut self, id: MessageId, _: FailReason) {
        self.again.push(id.0);
        assert!(!self.goes_wrong(Mishap::PanicInFail), "cannot fail");
    }
    fn activate(&mut self) {
        assert!(!self.goes_wrong(Mishap::PanicInActivate), "cannot activate");
    }
    fn close(&mut self) {
        assert!(!self.goes_wrong(Mishap::PanicInClose), "cannot close");
    }
}

fn shaky(mishap: Mishap, times: u64) -> (RunReport, Arc<Source>) {
    let source = Arc::<Source>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&source);
    topology.spout("shaky", move || Shaky { source: Arc::clone(&shared), mishap, times, again: Vec::new() });
    let sometimes = || {
        let mut failed = false;
        ends(move |input, collector| {
            if !failed && input.view::<Number>()?.value() == 600 {
                failed = true;
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("sometimes", sometimes).shuffle_grouping("shaky");
    (run(topology, &config(&[("topology.max.spout.pending", 64.into())])), source)
}

/// The spout went wrong a few times, was rebuilt each time, and lost nothing that its source still had.
fn assert_recovered(mishap: Mishap, text: &str) {
    let (report, source) = shaky(mishap, 3);
    assert_drained(&report);
    let errors = errors_of(&report, "shaky");
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors.iter().all(|error| error.contains(text) && error.contains("rebuilt")), "{errors:?}");
    assert_eq!(source.instances.load(Ordering::Relaxed), 4);
    assert_eq!(source.acked.lock().unwrap().len(), 1000);
    assert!(source.open.lock().unwrap().is_empty());
}

#[test]
fn a_panic_in_next_tuple_rebuilds_the_task() {
    assert_recovered(Mishap::PanicInNext, "broken pipe");
}

#[test]
fn an_error_from_next_tuple_rebuilds_the_task() {
    assert_recovered(Mishap::ErrInNext, "broken pipe");
}

/// Acks come in ranges: one that panics in the middle must not leave the count of pending messages wrong.
#[test]
fn a_panic_in_ack_rebuilds_the_task() {
    assert_recovered(Mishap::PanicInAck, "cannot ack");
}

#[test]
fn a_panic_in_fail_rebuilds_the_task() {
    let (report, source) = shaky(Mishap::PanicInFail, 1);
    assert_drained(&report);
    let errors = errors_of(&report, "shaky");
    assert!(errors.len() == 1 && errors[0].contains("cannot fail"), "{errors:?}");
    assert_eq!(source.acked.lock().unwrap().len(), 1000);
}

fn assert_ends(mishap: Mishap, what: &[&str]) {
    let (report, _) = shaky(mishap, u64::MAX);
    let Outcome::Failed(text) = &report.outcome else { panic!("{report:#?}") };
    assert!(text.starts_with("shaky, task ") && what.iter().all(|part| text.contains(part)), "{text}");
    assert_eq!(report.cores_left_behind, 0);
    assert!(report.elapsed < Duration::from_secs(5), "{:?}", report.elapsed);
}

#[test]
fn a_spout_that_cannot_be_opened_ends_the_run() {
    assert_ends(Mishap::PanicInOpen, &["shaky", "open panicked", "no such queue"]);
    assert_ends(Mishap::ErrInOpen, &["shaky", "no such queue"]);
}

#[test]
fn a_spout_that_fails_for_ever_ends_the_run_after_the_limit() {
    assert_ends(Mishap::PanicInNext, &["shaky", "broken pipe"]);
    assert_ends(Mishap::ErrInNext, &["shaky", "broken pipe"]);
}

#[test]
fn the_failure_limit_can_be_set() {
    for limit in [1, 4] {
        let source = Arc::<Source>::default();
        let mut topology = TopologyBuilder::new();
        let shared = Arc::clone(&source);
        topology.spout("shaky", move || Shaky {
            source: Arc::clone(&shared),
            mishap: Mishap::ErrInNext,
            times: u64::MAX,
            again: Vec::new(),
        });
        topology.bolt("sink", || slow(Duration::ZERO)).shuffle_grouping("shaky");
        let report = run(topology, &config(&[("ringstorm.task.failure.limit", limit.into())]));
        assert!(matches!(report.outcome, Outcome::Failed(_)), "{report:#?}");
        assert_eq!(source.mishaps.load(Ordering::Relaxed), limit);
    }
}

#[test]
fn panics_at_the_edges_of_life_are_reported_and_end_nothing() {
    for (mishap, text) in [(Mishap::PanicInActivate, "activate panicked"), (Mishap::PanicInClose, "close panicked")] {
        let (report, source) = shaky(mishap, 1);
        assert_drained(&report);
        let errors = errors_of(&report, "shaky");
        assert!(errors.len() == 1 && errors[0].contains(text), "{errors:?}");
        assert_eq!(source.acked.lock().unwrap().len(), 1000);
    }
}

/// The factory runs on the task's core: its panic is told with the component's name.
#[test]
fn a_factory_that_panics_on_its_core_is_named() {
    for bolt in [false, true] {
        let made = Arc::<AtomicU64>::default();
        let mut topology = TopologyBuilder::new();
        let seq = Seq::untracked(10);
        let shared = Arc::clone(&made);
        // The first instance is the one that is asked for its streams.
        let check = move |here: bool| {
            assert!(!here || shared.fetch_add(1, Ordering::Relaxed) == 0, "the factory is out of parts");
        };
        let check_spout = check.clone();
        topology.spout("numbers", move || {
            check_spout(!bolt);
            seq.clone()
        });
        topology
            .bolt("broken", move || {
                check(bolt);
                mute()
            })
            .shuffle_grouping("numbers");
        let report = run(topology, &config(&[]));
        let Outcome::Failed(text) = &report.outcome else { panic!("{report:#?}") };
        let name = if bolt { "broken" } else { "numbers" };
        assert!(text.contains(name) && text.contains("out of parts"), "{text}");
        assert_eq!(report.cores_left_behind, 0);
    }
}

/// A refused emit is a fail like any other: the spout is called again to replay, although it said that it was done.
#[test]
fn the_last_message_may_be_refused_and_replayed() {
    struct TooLarge {
        done: bool,
        large: bool,
        journal: Arc<Journal>,
        undeclared: bool,
    }
    impl Spout for TooLarge {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.fields(["text"]);
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            if !self.done {
                self.done = true;
                self.journal.emitted(7);
                let text = "x".repeat(if self.large { 4096 } else { 1 });
                let stream = if self.large && self.undeclared { "ghost" } else { "default" };
                collector.emit_to(stream, Some(MessageId(7)), &ringstorm_tuple::values![text]);
            }
            Ok(Next::Finished)
        }
        fn ack(&mut self, id: MessageId) {
            self.journal.acked(id.0);
        }
        fn fail(&mut self, id: MessageId, reason: FailReason) {
            self.journal.failed(id.0, reason);
            (self.done, self.large) = (false, false);
        }
    }
    for (ackers, undeclared) in [(1, false), (0, false), (1, true), (0, true)] {
        let journal = Arc::<Journal>::default();
        let mut topology = TopologyBuilder::new();
        let shared = Arc::clone(&journal);
        topology.spout("large", move || TooLarge {
            done: false,
            large: true,
            journal: Arc::clone(&shared),
            undeclared,
        });
        topology.bolt("sink", || slow(Duration::ZERO)).shuffle_grouping("large");
        let settings = [("topology.tuple.max.bytes", 1024.into()), ("topology.acker.executors", ackers.into())];
        let report = run(topology, &config(&settings));
        assert_drained(&report);
        let errors = errors_of(&report, "large");
        let part = if undeclared { "ghost" } else { "1024" };
        assert!(errors.len() == 1 && errors[0].contains(part), "{errors:?}");
        journal.assert_all_acked_in_the_end(1);
    }
}

/// What a task had pending when it was rebuilt is its source's: the one in its place does not hear of it.
#[test]
fn a_rebuilt_spout_hears_nothing_of_what_its_predecessor_emitted() {
    struct Once {
        is_first: bool,
        next: u64,
        fails: Arc<Mutex<Vec<(bool, u64)>>>,
    }
    impl Spout for Once {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            if !self.is_first || self.next == 100 {
                return Ok(Next::Finished);
            }
            collector.emit_with_id(MessageId(self.next), &Number { value: self.next });
            self.next += 1;
            Ok(Next::Emitted)
        }
        fn fail(&mut self, id: MessageId, _: FailReason) {
            self.fails.lock().unwrap().push((self.is_first, id.0));
            assert!(self.fails.lock().unwrap().len() < 3, "cannot fail");
        }
    }
    let (fails, made) = (Arc::<Mutex<Vec<(bool, u64)>>>::default(), AtomicU64::new(0));
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&fails);
    topology.spout("once", move || {
        // The first instance only declares.
        let is_first = made.fetch_add(1, Ordering::Relaxed) == 1;
        Once { is_first, next: 0, fails: Arc::clone(&shared) }
    });
    topology.bolt("mute", mute).shuffle_grouping("once");
    let report = run(topology, &config(&[("topology.message.timeout.secs", 1.into())]));
    assert_drained(&report);
    let fails = fails.lock().unwrap();
    assert!(fails.len() == 3 && fails.iter().all(|(is_first, _)| *is_first), "{fails:?}");
    let errors = errors_of(&report, "once");
    assert!(errors.len() == 1 && errors[0].contains("97 messages that were pending are left"), "{errors:?}");
    let failed: u64 = report.snapshots.iter().flat_map(|core| &core.executors).map(|executor| executor.failed).sum();
    assert_eq!(failed, 100);
}
