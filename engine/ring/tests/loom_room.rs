//! Waiting for room in a full ring, under the model checker. A producer that nobody wakes shows as a deadlock.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p ringstorm-ring --release --test 'loom_*'`
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "model/ring.rs"]
mod ring;
#[path = "model/signal.rs"]
mod signal;

use loom::sync::Arc;
use loom::sync::atomic::{Ordering, fence};
use loom::thread;
use ringstorm_ring::bell::Bell;
use ringstorm_ring::room::RoomWanted;
use signal::{ModelSignal, park_unless};

#[test]
fn a_producer_that_waits_for_room_is_never_missed() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(|| {
        let bell = Arc::new(Bell::new(ModelSignal::default()));
        let room = Arc::new(RoomWanted::default());
        let (mut producer, mut consumer) = ring::ring();
        // Both cells are full when the consumer begins; it frees them one by one and never parks.
        assert!(producer.try_publish(1) && producer.try_publish(2));
        let reader = thread::spawn({
            let (bell, room) = (Arc::clone(&bell), Arc::clone(&room));
            move || {
                for expected in 1..=2 {
                    assert_eq!(consumer.poll(), Some(expected));
                    fence(Ordering::SeqCst);
                    if room.is_asked_after_fence() {
                        bell.ring_after_fence();
                    }
                }
                consumer
            }
        });
        let mut next = 3;
        while next <= 4 {
            if producer.try_publish(next) {
                next += 1;
                continue;
            }
            room.ask();
            park_unless(&bell, || producer.has_room());
            room.withdraw();
        }
        let mut consumer = reader.join().unwrap();
        assert_eq!([consumer.poll(), consumer.poll()], [Some(3), Some(4)]);
    });
}
