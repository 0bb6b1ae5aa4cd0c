//! What rings, doorbells and parking cost on this machine: `wake [WAKE_UPS]` (default 3000 for each row).
//!
//! Figures depend on where the host places the CPUs; compare rows of one run, and runs only by their first row.

use std::hint::{black_box, spin_loop};
use std::thread;
use std::time::{Duration, Instant};

use disruptor::{BusySpin, Producer as _, build_single_producer};
use ringstorm_ring::{Doorbell, Idle, IdlePolicy, IdleSettings, Parker, ParkerError, ring};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Pins the calling thread; where that is not allowed, the figures are only noisier.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Nanoseconds per call, the median of nine runs.
fn time(name: &str, calls: u32, mut run: impl FnMut()) {
    let mut runs: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                run();
            }
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    println!("  {name:<52} {:>7.1} ns", runs[4]);
}

fn one_thread() {
    println!("one thread, per call:");
    for batch in [1_usize, 16] {
        let (mut poller, builder) = build_single_producer(64, u64::default, BusySpin).new_event_poller();
        let mut producer = builder.build();
        let mut item = 1;
        time(&format!("disruptor bare: publish {batch}, read {batch}"), 1_000_000 / batch as u32, || {
            for _ in 0..batch {
                let _ = black_box(producer.try_publish(|cell| std::mem::swap(cell, &mut item)));
            }
            if let Ok(mut guard) = poller.take(64) {
                for item in &mut guard {
                    black_box(item);
                }
            }
        });
        let (mut producer, mut consumer) = ring::<u64>(64).expect("a power of two");
        time(&format!("ring: publish {batch}, read {batch}"), 1_000_000 / batch as u32, || {
            for _ in 0..batch {
                let _ = black_box(producer.try_publish(&mut item));
            }
            consumer.poll(64, |item| {
                black_box(item);
            });
        });
    }
    let (mut producer, mut consumer) = ring::<u64>(64).expect("a power of two");
    time("poll of an empty ring", 1_000_000, || assert_eq!(consumer.poll(64, |_| {}), 0));
    time("has_available", 1_000_000, || assert!(!black_box(&consumer).has_available()));
    for count in [16, 32, 128, 512] {
        let rings: Vec<_> = (0..count).map(|_| ring::<u64>(64).expect("a power of two")).collect();
        time(&format!("has_available of {count} empty rings, together"), 100_000, || {
            assert!(!black_box(&rings).iter().any(|(_, consumer)| consumer.has_available()));
        });
    }
    time("consumer_has_read_all, yes (known)", 1_000_000, || assert!(black_box(&producer).consumer_has_read_all()));
    producer.try_publish(&mut 1).expect("there is room");
    time("consumer_has_read_all, no", 1_000_000, || assert!(!black_box(&producer).consumer_has_read_all()));
    let doorbell = Doorbell::new().expect("an eventfd");
    let mut parker = Parker::new(&doorbell).expect("the first parker");
    time("ring an awake core", 1_000_000, || doorbell.ring());
    time("prepare_park and cancel_park", 1_000_000, || {
        black_box(parker.prepare_park());
        parker.cancel_park();
    });
    let mut policy = IdlePolicy::new(IdleSettings::default());
    let mut now = 0;
    time("idle policy: one idle time (decide, work_arrived)", 1_000_000, || {
        let since = now;
        now += 500 + now % 20_000;
        assert_ne!(black_box(policy.decide(since, None, since)), Idle::Park { for_ns: Some(1) });
        policy.work_arrived(now);
    });
}

/// Items through a ring whose ends spin on a CPU each.
const ITEMS: u64 = 4_000_000;

/// Millions of items per second through a ring of 64 cells, read at most `limit` at a time.
fn throughput(batch: u64, limit: usize, ring_the_bell: bool) -> f64 {
    let (mut producer, mut consumer) = ring::<u64>(64).expect("a power of two");
    let doorbell = Doorbell::new().expect("an eventfd");
    let reader = thread::spawn(move || {
        pin(1);
        let mut read = 0;
        while read < ITEMS {
            read += consumer.poll(limit, |item| {
                black_box(item);
            }) as u64;
        }
    });
    let start = Instant::now();
    for number in 0..ITEMS / batch {
        for _ in 0..batch {
            let mut item = number;
            while producer.try_publish(&mut item).is_err() {
                spin_loop();
            }
        }
        if ring_the_bell {
            doorbell.ring();
        }
    }
    reader.join().expect("the reader does not panic");
    ITEMS as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// The same with the disruptor crate as it is, without a bell.
fn bare_throughput(limit: u64) -> f64 {
    let (mut poller, builder) = build_single_producer(64, u64::default, BusySpin).new_event_poller();
    let mut producer = builder.build();
    let reader = thread::spawn(move || {
        pin(1);
        let mut read = 0;
        while read < ITEMS {
            if let Ok(mut guard) = poller.take(limit) {
                for item in &mut guard {
                    black_box(item);
                    read += 1;
                }
            }
        }
    });
    let start = Instant::now();
    for number in 0..ITEMS {
        while producer.try_publish(|cell| *cell = number).is_err() {
            spin_loop();
        }
    }
    reader.join().expect("the reader does not panic");
    ITEMS as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn two_threads() {
    println!("two spinning threads, 64 cells of 8 bytes, million items per second (median of 5):");
    let median = |run: &dyn Fn() -> f64| {
        let mut runs: Vec<f64> = (0..5).map(|_| run()).collect();
        runs.sort_by(f64::total_cmp);
        runs[2]
    };
    for limit in [64, 16, 4] {
        println!("  read at most {limit:>2}: disruptor bare      {:>7.1}", median(&|| bare_throughput(limit as u64)));
        println!("  read at most {limit:>2}: never ringing       {:>7.1}", median(&|| throughput(1, limit, false)));
        for batch in [64, 16, 1] {
            println!(
                "  read at most {limit:>2}: ringing after {batch:>2}    {:>7.1}",
                median(&|| throughput(batch, limit, true))
            );
        }
    }
}

type MakeParker = fn(&Doorbell) -> Result<Parker, ParkerError>;

/// One wake-up every 300 us of a core that is parked each time.
fn wake_ups(count: usize, make: MakeParker, same_cpu: bool) {
    let start = Instant::now();
    let doorbell = Doorbell::new().expect("an eventfd");
    let bell = doorbell.clone();
    let (mut producer, mut consumer) = ring::<u64>(64).expect("a power of two");
    let sleeper = thread::spawn(move || {
        pin(usize::from(!same_cpu));
        let mut parker = make(&bell).expect("the first parker");
        let (mut latencies, mut parks) = (vec![], 0_u32);
        let cpu = cpu_time();
        while !consumer.producer_is_gone() {
            let read = consumer.poll(64, |sent| latencies.push(start.elapsed().as_nanos() as u64 - sent));
            if read == 0 && parker.prepare_park() {
                if consumer.has_available() || consumer.producer_is_gone() {
                    parker.cancel_park();
                } else {
                    parks += 1;
                    parker.park(Some(Duration::from_secs(1)));
                }
            }
        }
        (latencies, parks, cpu_time() - cpu, parker.kind())
    });
    let mut paid = vec![];
    for _ in 0..count {
        thread::sleep(Duration::from_micros(300));
        let before = start.elapsed();
        producer.try_publish(&mut { before.as_nanos() as u64 }).expect("the consumer keeps up");
        doorbell.ring();
        paid.push((start.elapsed() - before).as_nanos() as u64);
    }
    drop(producer);
    doorbell.ring();
    let (mut latencies, parks, cpu, kind) = sleeper.join().expect("the sleeper does not panic");
    latencies.sort_unstable();
    paid.sort_unstable();
    let micros = |sorted: &[u64], percent: usize| sorted[(sorted.len() - 1) * percent / 100] as f64 / 1e3;
    println!(
        "  {:<33} {:<9} {:>6.1} {:>6.1} {:>6.1} {:>11.1} {:>11.1} {:>7}",
        kind.to_string(),
        if same_cpu { "same CPU" } else { "two CPUs" },
        micros(&latencies, 50),
        micros(&latencies, 90),
        micros(&latencies, 99),
        micros(&paid, 50),
        cpu.as_nanos() as f64 / f64::from(parks) / 1e3,
        parks,
    );
}

fn main() {
    let count = std::env::args().nth(1).map_or(3000, |text| text.parse().expect("WAKE_UPS must be a whole number"));
    pin(0);
    one_thread();
    two_threads();
    println!("wake-ups, us:                                   p50    p90    p99  ringer pays sleeper CPU   parks");
    for _ in 0..3 {
        for make in [Parker::new as MakeParker, Parker::with_ppoll] {
            wake_ups(count, make, false);
        }
    }
    for make in [Parker::new as MakeParker, Parker::with_ppoll] {
        wake_ups(count, make, true);
    }
}
