//! The doorbell's protocol under the model checker. A lost wake-up shows as a deadlock.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p ringstorm-ring --release --test 'loom_*'`
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "model/ring.rs"]
mod ring;
#[path = "model/signal.rs"]
mod signal;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use ringstorm_ring::bell::Bell;
use signal::{ModelSignal, park_unless};

/// Checks `test` under every schedule with at most `preemptions` switches away from a thread that could go on.
fn check(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

fn bell() -> Arc<Bell<ModelSignal>> {
    Arc::new(Bell::new(ModelSignal::default()))
}

#[test]
fn one_ringer_is_never_missed() {
    check(4, || {
        let bell = bell();
        let (mut producer, mut consumer) = ring::ring();
        let ringer = thread::spawn({
            let bell = Arc::clone(&bell);
            move || {
                for item in 1..=2 {
                    assert!(producer.try_publish(item));
                    bell.ring();
                }
                // Keeps the drop out of this test.
                producer
            }
        });
        let mut expected = 1;
        while expected <= 2 {
            match consumer.poll() {
                Some(item) => {
                    assert_eq!(item, expected);
                    expected += 1;
                }
                None => park_unless(&bell, || consumer.has_available()),
            }
        }
        drop(ringer.join().unwrap());
    });
}

#[test]
fn two_ringers_are_never_missed() {
    check(3, || {
        let bell = bell();
        let mut consumers = vec![];
        let mut ringers = vec![];
        for item in 1..=2 {
            let (mut producer, consumer) = ring::ring();
            consumers.push(consumer);
            let bell = Arc::clone(&bell);
            ringers.push(thread::spawn(move || {
                assert!(producer.try_publish(item));
                bell.ring();
                producer
            }));
        }
        let mut sum = 0;
        while sum < 3 {
            let read: u32 = consumers.iter_mut().filter_map(ring::Consumer::poll).sum();
            sum += read;
            if read == 0 {
                park_unless(&bell, || consumers.iter().any(ring::Consumer::has_available));
            }
        }
        for ringer in ringers {
            drop(ringer.join().unwrap());
        }
    });
}

#[test]
fn a_time_out_between_ring_and_signal_loses_nothing() {
    check(3, || {
        let bell = bell();
        let (mut producer, mut consumer) = ring::ring();
        let ringer = thread::spawn({
            let bell = Arc::clone(&bell);
            move || {
                for item in 1..=2 {
                    assert!(producer.try_publish(item));
                    bell.ring();
                }
                producer
            }
        });
        let clock = thread::spawn({
            let bell = Arc::clone(&bell);
            move || bell.signal().time_out()
        });
        let mut read = 0;
        while read < 2 {
            match consumer.poll() {
                Some(_) => read += 1,
                None => park_unless(&bell, || consumer.has_available()),
            }
        }
        drop(ringer.join().unwrap());
        clock.join().unwrap();
    });
}

#[test]
fn a_dropped_producer_wakes_its_consumer_after_the_backlog() {
    check(4, || {
        let bell = bell();
        let (mut producer, mut consumer) = ring::ring();
        let ringer = thread::spawn({
            let bell = Arc::clone(&bell);
            move || {
                assert!(producer.try_publish(1));
                drop(producer);
                bell.ring();
            }
        });
        let mut read = 0;
        while !consumer.producer_is_gone() {
            match consumer.poll() {
                Some(_) => read += 1,
                None => park_unless(&bell, || consumer.has_available() || consumer.producer_is_gone()),
            }
        }
        assert_eq!(read, 1);
        ringer.join().unwrap();
    });
}

#[test]
fn a_parked_producer_learns_that_its_consumer_left() {
    check(3, || {
        let bell = bell();
        let (mut producer, mut consumer) = ring::ring();
        let reader = thread::spawn({
            let bell = Arc::clone(&bell);
            move || {
                let _ = consumer.poll();
                drop(consumer);
                bell.ring();
            }
        });
        // Two cells and at most one read: it fills the ring and parks until the consumer has left.
        while !producer.consumer_is_gone() {
            if !producer.try_publish(1) {
                park_unless(&bell, || producer.consumer_is_gone());
            }
        }
        reader.join().unwrap();
    });
}

#[test]
fn wakers_are_sticky_beside_a_ringer() {
    check(3, || {
        let bell = bell();
        let (mut producer, mut consumer) = ring::ring();
        let ready = Arc::new(AtomicBool::new(false));
        let waker = thread::spawn({
            let (bell, ready) = (Arc::clone(&bell), Arc::clone(&ready));
            move || {
                ready.store(true, Ordering::Release);
                bell.wake();
            }
        });
        let ringer = thread::spawn({
            let bell = Arc::clone(&bell);
            move || {
                assert!(producer.try_publish(1));
                bell.ring();
                producer
            }
        });
        let (mut polled, mut read) = (false, false);
        while !(polled && read) {
            // The job is polled once per turn; the last look before parking does not look at it.
            polled = polled || ready.load(Ordering::Acquire);
            read = read || consumer.poll().is_some();
            if !(polled && read) {
                park_unless(&bell, || consumer.has_available());
            }
        }
        waker.join().unwrap();
        drop(ringer.join().unwrap());
    });
}
