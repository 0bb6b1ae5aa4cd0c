//! Order, loss, recycling, closing and panics of the ring.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use ringstorm_ring::{MAX_CELLS, PublishError, RingError, ring};

#[test]
fn only_powers_of_two_make_a_ring() {
    for cells in [0, 3, 63, MAX_CELLS * 2, usize::MAX] {
        assert_eq!(ring::<u64>(cells).unwrap_err(), RingError::Cells { cells });
    }
    for cells in [1, 2, 64, MAX_CELLS] {
        assert!(ring::<u8>(cells).is_ok());
    }
}

#[test]
fn items_come_back_a_lap_later() {
    let (mut producer, mut consumer) = ring::<Vec<u8>>(2).unwrap();
    for round in 0..6_u8 {
        let mut item = vec![round];
        producer.try_publish(&mut item).unwrap();
        assert_eq!(item, if round < 2 { vec![] } else { vec![round - 2] });
        assert_eq!(consumer.poll(1, |item| assert_eq!(*item, [round])), 1);
    }
}

#[test]
fn a_full_ring_leaves_the_item_alone() {
    let (mut producer, mut consumer) = ring::<u64>(2).unwrap();
    for mut item in 1..=2 {
        producer.try_publish(&mut item).unwrap();
    }
    let mut third = 3;
    assert_eq!(producer.try_publish(&mut third), Err(PublishError::Full));
    assert_eq!((third, producer.free_cells(), producer.published()), (3, 0, 2));
    assert_eq!(consumer.poll(1, |_| {}), 1);
    assert_eq!(producer.free_cells(), 1);
    producer.try_publish(&mut third).unwrap();
}

#[test]
fn position_probe_is_exact() {
    for cells in [1, 2, 8] {
        let (mut producer, mut consumer) = ring::<u64>(cells).unwrap();
        assert!(producer.consumer_has_read_all());
        for round in 0..5 * cells {
            assert_eq!(producer.free_cells(), cells);
            for published in 1..=1 + round % cells {
                producer.try_publish(&mut 7).unwrap();
                assert!(!producer.consumer_has_read_all());
                assert_eq!(producer.free_cells(), cells - published);
            }
            while consumer.has_available() {
                assert!(!producer.consumer_has_read_all());
                assert_eq!(consumer.poll(1, |_| {}), 1);
            }
            assert!(producer.consumer_has_read_all());
        }
    }
}

#[test]
fn a_dropped_consumer_closes_the_ring() {
    let (mut producer, consumer) = ring::<u64>(2).unwrap();
    producer.try_publish(&mut 1).unwrap();
    drop(consumer);
    let mut item = 2;
    assert_eq!(producer.try_publish(&mut item), Err(PublishError::Closed));
    assert!(producer.consumer_is_gone());
    assert_eq!(item, 2);
}

#[test]
fn a_dropped_producer_ends_the_stream_after_the_backlog() {
    let (mut producer, mut consumer) = ring::<u64>(4).unwrap();
    for mut item in 0..3 {
        producer.try_publish(&mut item).unwrap();
    }
    drop(producer);
    let mut read = vec![];
    while !consumer.producer_is_gone() {
        assert!(consumer.has_available());
        consumer.poll(2, |item| read.push(*item));
    }
    assert_eq!(read, [0, 1, 2]);
    assert_eq!(consumer.poll(2, |_| unreachable!()), 0);
}

#[test]
fn a_panic_while_reading_frees_what_was_read_and_keeps_the_rest() {
    let (mut producer, mut consumer) = ring::<u64>(8).unwrap();
    for mut item in 0..8 {
        producer.try_publish(&mut item).unwrap();
    }
    let mut read = vec![];
    for _ in 0..3 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            consumer.poll(8, |item| {
                read.push(*item);
                assert!(item % 3 != 1, "an item that cannot be read");
            })
        }));
        assert!(panicked.is_err() || read.len() == 8);
        assert_eq!(producer.free_cells(), read.len());
    }
    assert_eq!(consumer.poll(8, |item| read.push(*item)), 0);
    assert_eq!(read, [0, 1, 2, 3, 4, 5, 6, 7]);
    producer.try_publish(&mut 8).unwrap();
    assert_eq!(consumer.poll(8, |item| read.push(*item)), 1);
}

#[test]
fn items_are_dropped_with_the_ring() {
    use std::sync::Arc;
    let counted = Arc::new(());
    let (mut producer, mut consumer) = ring::<Option<Arc<()>>>(4).unwrap();
    for _ in 0..4 {
        producer.try_publish(&mut Some(Arc::clone(&counted))).unwrap();
    }
    consumer.poll(2, |_| {});
    drop(consumer);
    assert_eq!(Arc::strong_count(&counted), 5);
    drop(producer);
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Publish(usize),
    Poll(usize),
    PollAndPanicAt(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..20_usize).prop_map(Step::Publish),
        (0..20_usize).prop_map(Step::Poll),
        (1..20_usize).prop_map(Step::PollAndPanicAt),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Against a queue: the same items in the same order, the same counts, whatever the interleaving.
    #[test]
    fn the_ring_is_a_bounded_queue(exponent in 0..5_u32, steps in prop::collection::vec(step(), 1..60)) {
        let cells = 1 << exponent;
        let (mut producer, mut consumer) = ring::<u64>(cells).unwrap();
        let mut queue = VecDeque::new();
        let mut next = 0_u64;
        for step in steps {
            match step {
                Step::Publish(count) => for _ in 0..count {
                    let mut item = next;
                    let published = producer.try_publish(&mut item);
                    if queue.len() == cells {
                        prop_assert_eq!((published, item), (Err(PublishError::Full), next));
                    } else {
                        prop_assert_eq!(published, Ok(()));
                        queue.push_back(next);
                        next += 1;
                    }
                },
                Step::Poll(limit) => {
                    let expected: Vec<u64> = queue.drain(..limit.min(queue.len())).collect();
                    let mut read = vec![];
                    prop_assert_eq!(consumer.poll(limit, |item| read.push(*item)), expected.len());
                    prop_assert_eq!(read, expected);
                }
                Step::PollAndPanicAt(count) => {
                    let mut read = vec![];
                    // Without the message that `panic!` prints.
                    let _ = catch_unwind(AssertUnwindSafe(|| consumer.poll(usize::MAX, |item| {
                        read.push(*item);
                        if read.len() == count { std::panic::resume_unwind(Box::new("reading failed")) }
                    })));
                    let expected: Vec<u64> = queue.drain(..count.min(queue.len())).collect();
                    prop_assert_eq!(read, expected);
                }
            }
            prop_assert_eq!(producer.free_cells(), cells - queue.len());
            prop_assert_eq!(producer.consumer_has_read_all(), queue.is_empty());
            prop_assert_eq!(consumer.has_available(), !queue.is_empty());
            prop_assert_eq!(producer.published(), next);
        }
    }
}

/// Publishes from one thread and reads on another for `duration`; each item once and in order.
fn two_threads(cells: usize, duration: Duration) {
    let (mut producer, mut consumer) = ring::<Vec<u64>>(cells).unwrap();
    let reader = thread::spawn(move || {
        let mut expected = 0;
        while !consumer.producer_is_gone() {
            let limit = 1 + (expected % 7) as usize;
            let read = consumer.poll(limit, |item| {
                assert_eq!(**item, [expected; 3]);
                expected += 1;
            });
            if read == 0 {
                thread::yield_now();
            }
        }
        expected
    });
    let end = Instant::now() + duration;
    let mut item = vec![];
    let mut next = 0;
    while Instant::now() < end {
        item.clear();
        item.extend([next; 3]);
        while producer.try_publish(&mut item) == Err(PublishError::Full) {
            thread::yield_now();
        }
        next += 1;
    }
    drop(producer);
    assert_eq!(reader.join().unwrap(), next);
}

#[test]
fn two_threads_lose_nothing() {
    for cells in [1, 4, 64] {
        two_threads(cells, Duration::from_millis(300));
    }
}
