//! Stresses rings, doorbell and parker on the real kernel: `stress [SECONDS] [PRODUCERS]` (default 10 and 2).
//!
//! Rounds of random length follow one another. In each, producers publish numbered items with random pauses into rings
//! of random size, and one consumer reads them, with random pauses and random ways to wait, parking whenever it finds
//! nothing. In some rounds the consumer leaves in the middle. Every item must be read once and in order, and every park
//! that lasts over two seconds is reported as a lost wake-up.

use std::thread;
use std::time::{Duration, Instant};

use ringstorm_ring::{Consumer, Doorbell, Parker, Producer, PublishError, ring};

/// No producer pauses longer than a few milliseconds, so that a longer park is a lost wake-up.
const LOST_AFTER: Duration = Duration::from_secs(2);

/// A splitmix64 generator: small, and good enough to choose pauses.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Mostly nothing, often a few hundred nanoseconds (about the time of a prepare), sometimes a sleep.
    fn pause(&mut self) {
        match self.below(1000) {
            0..600 => {}
            600..990 => {
                for _ in 0..self.below(500) {
                    std::hint::spin_loop();
                }
            }
            990..998 => thread::yield_now(),
            _ => thread::sleep(Duration::from_micros(self.below(300))),
        }
    }
}

#[derive(Default)]
struct Counts {
    rounds: u64,
    items: u64,
    parks: u64,
    rung: u64,
    cancelled: u64,
    timed_out: u64,
    closed_early: u64,
}

/// Publishes `items` numbered items and leaves. Returns how many went in before the consumer left.
fn produce(mut producer: Producer<Vec<u64>>, bell: &Doorbell, items: u64, seed: u64) -> u64 {
    let mut random = Random(seed);
    let mut item = vec![];
    for number in 0..items {
        item.clear();
        item.resize(1 + number as usize % 5, number);
        loop {
            match producer.try_publish(&mut item) {
                Ok(()) => break,
                Err(PublishError::Full) => {
                    // What was not announced yet must be, before its producer waits for room.
                    bell.ring();
                    thread::yield_now();
                }
                Err(PublishError::Closed) => return number,
            }
        }
        // Sometimes several items to a ring, but never a pause in between.
        if random.below(4) > 0 || number + 1 == items {
            bell.ring();
            random.pause();
        }
    }
    drop(producer);
    bell.ring();
    items
}

/// Reads until all producers are gone, or until `leave_after` items.
fn consume(
    consumers: &mut [(Consumer<Vec<u64>>, u64)],
    parker: &mut Parker,
    leave_after: Option<u64>,
    random: &mut Random,
    counts: &mut Counts,
) {
    let mut read_in_round = 0;
    while consumers.iter().any(|(consumer, _)| !consumer.producer_is_gone()) {
        if leave_after.is_some_and(|items| read_in_round >= items) {
            counts.closed_early += 1;
            return;
        }
        let limit = 1 + random.below(32) as usize;
        let mut read = 0;
        for (consumer, expected) in consumers.iter_mut() {
            read += consumer.poll(limit, |item| {
                assert_eq!(item.len(), 1 + *expected as usize % 5, "item {expected} has the wrong length");
                assert!(item.iter().all(|number| number == expected), "expected item {expected}, got {item:?}");
                *expected += 1;
            }) as u64;
        }
        read_in_round += read;
        counts.items += read;
        random.pause();
        if read > 0 {
            continue;
        }
        if !parker.prepare_park() {
            continue;
        }
        // A producer that left matters only once: when it was the last.
        let all_gone = consumers.iter().all(|(consumer, _)| consumer.producer_is_gone());
        if all_gone || consumers.iter().any(|(consumer, _)| consumer.has_available()) {
            parker.cancel_park();
            counts.cancelled += 1;
            continue;
        }
        let short = random.below(8) == 0;
        let timeout = if short { Duration::from_micros(random.below(100)) } else { LOST_AFTER };
        let start = Instant::now();
        let rung = parker.park(Some(timeout));
        counts.parks += 1;
        counts.rung += u64::from(rung);
        if start.elapsed() >= LOST_AFTER {
            let waiting = consumers.iter().any(|(consumer, _)| consumer.has_available());
            assert!(!waiting, "lost wake-up: an item waited while the core was parked for {LOST_AFTER:?}");
        }
        counts.timed_out += u64::from(!rung && short);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(10, |text| text.parse().expect("SECONDS must be a whole number"));
    let producers = arguments.next().map_or(2, |text| text.parse().expect("PRODUCERS must be a whole number"));
    let mut random = Random(std::process::id().into());
    for make in [Parker::new, Parker::with_ppoll] {
        let mut counts = Counts::default();
        let end = Instant::now() + Duration::from_secs(seconds) / 2;
        let doorbell = Doorbell::new().expect("an eventfd");
        let mut parker = make(&doorbell).expect("the first parker of its doorbell");
        while Instant::now() < end {
            let cells = 1 << random.below(8);
            let items = 1 + random.below(20_000);
            let leave_after = (random.below(4) == 0).then(|| random.below(items));
            let mut consumers = vec![];
            let threads: Vec<_> = (0..producers)
                .map(|_| {
                    let (producer, consumer) = ring(cells).expect("a power of two");
                    consumers.push((consumer, 0));
                    let (bell, seed) = (doorbell.clone(), random.below(u64::MAX));
                    thread::spawn(move || produce(producer, &bell, items, seed))
                })
                .collect();
            consume(&mut consumers, &mut parker, leave_after, &mut random, &mut counts);
            let read: Vec<u64> = consumers.iter().map(|(_, read)| *read).collect();
            drop(consumers);
            for (thread, read) in threads.into_iter().zip(read) {
                let published = thread.join().expect("a producer panicked");
                assert!(read <= published, "read {read} items of {published}");
                assert!(leave_after.is_some() || read == items, "read {read} items of {items}");
            }
            counts.rounds += 1;
        }
        println!(
            "{}: {} rounds, {} items, each once and in order; {} parks ({} rung, {} timed out), {} cancelled by the \
             last look; the consumer left early in {} rounds",
            parker.kind(),
            counts.rounds,
            counts.items,
            counts.parks,
            counts.rung,
            counts.timed_out,
            counts.cancelled,
            counts.closed_early,
        );
    }
}
