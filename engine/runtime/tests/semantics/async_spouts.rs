//! Spouts that await their next tuple.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringstorm_runtime::{
    AsyncEmitter, AsyncSpout, Bolt, BoltCollector, Declarer, FailReason, Input, Next, Outcome, Result, RunReport,
    TopologyBuilder,
};
use ringstorm_types::MessageId;

use crate::harness::*;

/// A spout that awaits a channel filled by another thread.
struct Awaiting {
    numbers: Arc<Mutex<Shared>>,
    journal: Arc<Journal>,
    again: Vec<u64>,
}

#[derive(Default)]
struct Shared {
    ready: Vec<u64>,
    closed: bool,
    waker: Option<std::task::Waker>,
}

impl AsyncSpout for Awaiting {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    #[expect(clippy::manual_async_fn, reason = "the trait asks for a static future")]
    fn next_tuple(mut self, emitter: AsyncEmitter) -> impl Future<Output = (Self, Result<Next>)> + 'static {
        async move {
            let values = match std::mem::take(&mut self.again) {
                again if !again.is_empty() => again,
                _ => {
                    std::future::poll_fn(|context| {
                        let mut shared = self.numbers.lock().unwrap();
                        if shared.ready.is_empty() && !shared.closed {
                            shared.waker = Some(context.waker().clone());
                            return std::task::Poll::Pending;
                        }
                        std::task::Poll::Ready(std::mem::take(&mut shared.ready))
                    })
                    .await
                }
            };
            if values.is_empty() {
                return (self, Ok(Next::Finished));
            }
            for value in values {
                self.journal.emitted(value);
                emitter.emit_with_id(MessageId(value), &Number { value });
            }
            (self, Ok(Next::Emitted))
        }
    }
    fn ack(&mut self, id: MessageId) {
        self.journal.acked(id.0);
    }
    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.journal.failed(id.0, reason);
        self.again.push(id.0);
    }
}

#[test]
fn a_spout_awaits_other_threads_and_hears_of_fates() {
    let (journal, shared) = (Arc::<Journal>::default(), Arc::<Mutex<Shared>>::default());
    let mut topology = TopologyBuilder::new();
    let (for_spout, its_journal) = (Arc::clone(&shared), Arc::clone(&journal));
    topology.async_spout("awaiting", move || Awaiting {
        numbers: Arc::clone(&for_spout),
        journal: Arc::clone(&its_journal),
        again: Vec::new(),
    });
    let moody = || {
        let mut failed = std::collections::HashSet::new();
        ends(move |input, collector| {
            let value = input.view::<Number>()?.value();
            if value % 10 == 0 && failed.insert(value) {
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        })
    };
    topology.bolt("moody", moody).shuffle_grouping("awaiting");
    let running = start(topology, &config(&[]));
    let started = Instant::now();
    for value in 0..500 {
        let waker = {
            let mut shared = shared.lock().unwrap();
            shared.ready.push(value);
            shared.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        if value % 50 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let waker = {
        let mut shared = shared.lock().unwrap();
        shared.closed = true;
        shared.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
    assert_clean(&finish(running));
    assert!(started.elapsed() < Duration::from_secs(10));
    journal.assert_all_acked_in_the_end(500);
    assert_eq!(journal.fails(), 50);
}

/// What an asynchronous spout cannot emit fails its message and nothing else: the spout is not rebuilt.
#[test]
fn a_bad_emit_of_an_awaiting_spout_fails_its_message() {
    struct Bad(u64, Arc<Journal>);
    impl AsyncSpout for Bad {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.fields(["value"]);
        }
        #[expect(clippy::manual_async_fn, reason = "the trait asks for a static future")]
        fn next_tuple(mut self, emitter: AsyncEmitter) -> impl Future<Output = (Self, Result<Next>)> + 'static {
            async move {
                let id = self.0;
                self.0 += 1;
                if id == 4 {
                    return (self, Ok(Next::Finished));
                }
                self.1.emitted(id);
                match id {
                    0 => emitter.emit_with_id(MessageId(id), &Number { value: 0 }),
                    1 => {
                        let mut deep = ringstorm_tuple::Value::Null;
                        for _ in 0..100 {
                            deep = ringstorm_tuple::Value::List(vec![deep]);
                        }
                        emitter.emit_with_id(MessageId(id), &ringstorm_tuple::Values(vec![deep]));
                    }
                    2 => emitter.emit_with_id(MessageId(id), &ringstorm_tuple::values![1, 2]),
                    _ => emitter.emit_with_id(MessageId(id), &ringstorm_tuple::values![1]),
                }
                (self, Ok(Next::Emitted))
            }
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
    topology.async_spout("bad", move || Bad(0, Arc::clone(&shared)));
    topology.bolt("sink", || slow(Duration::ZERO)).shuffle_grouping("bad");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails()), (1, 3));
    let errors = errors_of(&report, "bad");
    assert!(errors.len() == 3 && errors.iter().all(|text| !text.contains("rebuilt")), "{errors:?}");
    assert!(errors.iter().any(|text| text.contains("deep")), "{errors:?}");
}

/// Emits five messages, and then one more behind a gate.
struct Gated {
    next: u64,
    gate: Arc<AtomicBool>,
    journal: Arc<Journal>,
    closed: Arc<AtomicU64>,
}

impl AsyncSpout for Gated {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    async fn next_tuple(mut self, emitter: AsyncEmitter) -> (Self, Result<Next>) {
        if self.next == 5 {
            std::future::poll_fn(|_| match self.gate.load(Ordering::Relaxed) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            })
            .await;
        }
        self.journal.emitted(self.next);
        emitter.emit_with_id(MessageId(self.next), &Number { value: self.next });
        self.next += 1;
        (self, Ok(Next::Emitted))
    }
    fn ack(&mut self, id: MessageId) {
        self.journal.acked(id.0);
    }
    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.journal.failed(id.0, reason);
    }
    fn close(&mut self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Stops a run whose spout awaits behind its gate, which a bolt opens when it finishes, or nobody.
fn stop_gated(is_opened: bool) -> (RunReport, Arc<Journal>, u64) {
    let (journal, closed, done) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let gate = Arc::<AtomicBool>::default();
    let mut topology = TopologyBuilder::new();
    let (its_gate, its_journal, its_closed) = (Arc::clone(&gate), Arc::clone(&journal), Arc::clone(&closed));
    topology.async_spout("gated", move || Gated {
        next: 0,
        gate: Arc::clone(&its_gate),
        journal: Arc::clone(&its_journal),
        closed: Arc::clone(&its_closed),
    });
    struct Opens(Arc<AtomicBool>, bool, Arc<AtomicU64>);
    impl Bolt for Opens {
        fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
            self.2.fetch_add(1, Ordering::Relaxed);
            // The last but one fails.
            if input.view::<Number>()?.value() == 3 {
                collector.fail(input);
            } else {
                collector.ack(input);
            }
            Ok(())
        }
        fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
            self.0.store(self.1, Ordering::Relaxed);
            Ok(())
        }
    }
    let executed = Arc::clone(&done);
    topology
        .bolt("opens", move || Opens(Arc::clone(&gate), is_opened, Arc::clone(&executed)))
        .shuffle_grouping("gated");
    let running = start(topology, &config(&[]));
    wait_for("the tuples", || done.load(Ordering::Relaxed) == 5);
    running.request_stop();
    let report = finish(running);
    assert_eq!((report.outcome.clone(), report.drained), (Outcome::Stopped, true), "{report:#?}");
    (report, journal, closed.load(Ordering::Relaxed))
}

#[test]
fn an_awaiting_spout_is_told_of_everything_and_closed_if_it_comes_back_at_the_end() {
    let (report, journal, closed) = stop_gated(true);
    assert_eq!((journal.acks(), journal.fails(), closed), (4, 2, 1));
    journal.assert_one_word_per_emit();
    let errors = errors_of(&report, "gated");
    assert!(errors.len() == 1 && errors[0].contains("1 of its emits came after the end"), "{errors:?}");
}

#[test]
fn what_a_spout_that_never_comes_back_was_not_told_is_in_the_report() {
    let (report, journal, closed) = stop_gated(false);
    assert_eq!(closed, 0);
    let errors = errors_of(&report, "gated");
    assert_eq!(errors.len(), 1, "{errors:?}");
    // Those that came before it awaited were told.
    let (acks, fails) = (4 - journal.acks(), 1 - journal.fails());
    let text = format!("close was not called, and {acks} acks and {fails} fails were not told");
    assert!(errors[0].contains(&text), "{errors:?}");
}

#[test]
fn messages_emitted_with_the_emitter_of_an_earlier_call_fail() {
    struct Keeps {
        first: Option<AsyncEmitter>,
        next: u64,
        journal: Arc<Journal>,
    }
    impl AsyncSpout for Keeps {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        async fn next_tuple(mut self, emitter: AsyncEmitter) -> (Self, Result<Next>) {
            if self.next == 3 {
                return (self, Ok(Next::Finished));
            }
            self.journal.emitted(self.next);
            let first = self.first.get_or_insert_with(|| emitter.clone());
            first.emit_with_id(MessageId(self.next), &Number { value: self.next });
            self.next += 1;
            (self, Ok(Next::Emitted))
        }
        fn ack(&mut self, id: MessageId) {
            self.journal.acked(id.0);
        }
        fn fail(&mut self, id: MessageId, reason: FailReason) {
            self.journal.failed(id.0, reason);
        }
    }
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&journal);
    topology.async_spout("keeps", move || Keeps { first: None, next: 0, journal: Arc::clone(&shared) });
    topology.bolt("sink", || slow(Duration::ZERO)).shuffle_grouping("keeps");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails()), (1, 2));
    assert_eq!(errors_of(&report, "keeps").len(), 2, "{:?}", report.errors);
}
