//! The close flags of a ring under the model checker.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "model/ring.rs"]
mod ring;

use loom::thread;

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(test);
}

#[test]
fn who_sees_the_producer_gone_has_read_everything() {
    check(|| {
        let (mut producer, mut consumer) = ring::ring();
        let writer = thread::spawn(move || {
            let mut item = 1;
            while item <= 3 {
                if producer.try_publish(item) {
                    item += 1;
                } else {
                    thread::yield_now();
                }
            }
        });
        let mut read = vec![];
        while !consumer.producer_is_gone() {
            match consumer.poll() {
                Some(item) => read.push(item),
                None => thread::yield_now(),
            }
        }
        assert_eq!(read, [1, 2, 3]);
        writer.join().unwrap();
    });
}

#[test]
fn a_producer_with_a_full_ring_learns_that_its_consumer_left() {
    check(|| {
        let (mut producer, mut consumer) = ring::ring();
        let reader = thread::spawn(move || {
            let _ = consumer.poll();
        });
        while !producer.consumer_is_gone() {
            if !producer.try_publish(1) {
                thread::yield_now();
            }
        }
        reader.join().unwrap();
    });
}
