//! Ways to receive and to send on a connection, beside the way of `Sockets` in the same run:
//! `receive_ways [PAIRS] [MILLISECONDS]` (default 7 and 300).
//!
//! Two threads on two CPUs have a loopback connection. *Bulk*: one sends units of about 8 KiB, sixteen by one call, the
//! other reads each, its checksum verified, from contiguous memory: where a way leaves a unit in two buffers, it is copied.
//! *Ping-pong*: a unit of 64 bytes and a header goes there and back, both ends spinning. Each figure is the median, over
//! pairs of interleaved legs, of the ratio to the first way, beside the quartiles of the pairs.

mod group;
mod receivers;
mod senders;

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use receivers::{ReceiveWay, Receiver, RingKind};
use ringstorm_protocol::unit::{HEADER_BYTES, Kind, Stamp, begin, seal};
use rustix::thread::{CpuSet, sched_setaffinity};
use senders::{SendWay, Sender};

/// Bodies of bulk units: about a frame of the runtime, of changing length, so that ends of buffers fall anywhere.
const BULK_BODIES: [usize; 16] =
    [8000, 8128, 7900, 8064, 8190, 7777, 8001, 8100, 7950, 8050, 8150, 7850, 8020, 8080, 7990, 8111];

fn unit(body_bytes: usize) -> Vec<u8> {
    let mut unit = Vec::new();
    begin(Kind::Frame, 0, &mut unit);
    unit.resize(HEADER_BYTES + body_bytes, 7);
    seal(&mut unit, &Stamp { sequence: 0, assignment_version: 1, confirms: 0 });
    unit
}

/// Pins the calling thread; where that is not allowed, the figures are only noisier.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let one = TcpStream::connect(listener.local_addr().expect("it listens")).expect("somebody listens");
    let (other, _) = listener.accept().expect("somebody dials");
    [&one, &other].iter().for_each(|stream| stream.set_nodelay(true).expect("a socket has this option"));
    (one, other)
}

/// Bytes per second.
fn bulk(receive: ReceiveWay, send: SendWay, time: Duration) -> f64 {
    let (near, far) = connected();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(0);
            let units: Vec<Vec<u8>> = BULK_BODIES.iter().map(|bytes| unit(*bytes)).collect();
            let mut sender = Sender::new(send, &near, &units);
            let mut is_taken = true;
            while is_taken && !is_over.load(Ordering::Relaxed) {
                is_taken = sender.send();
            }
        });
        let received = scope.spawn(|| {
            pin(1);
            let mut receiver = Receiver::new(receive, &far);
            let (mut bytes, warm) = (0, Instant::now() + time / 5);
            while Instant::now() < warm {
                receiver.poll(|_| {});
            }
            let started = Instant::now();
            while started.elapsed() < time {
                receiver.poll(|unit| bytes += unit.len());
            }
            let rate = bytes as f64 / started.elapsed().as_secs_f64();
            is_over.store(true, Ordering::Relaxed);
            // Ends a sender that waits for room.
            let _ = far.shutdown(std::net::Shutdown::Both);
            rate
        });
        received.join().expect("it does not panic")
    })
}

/// Nanoseconds there and back, p50.
fn ping_pong(receive: ReceiveWay, send: SendWay, time: Duration) -> f64 {
    let (near, far) = connected();
    let ball = [unit(64)];
    let is_over = AtomicBool::new(false);
    let throw = |stream: &TcpStream, cpu: usize, starts: bool| {
        pin(cpu);
        let (mut sender, mut receiver) = (Sender::new(send, stream, &ball), Receiver::new(receive, stream));
        let (mut times, started, mut thrown) = (Vec::new(), Instant::now(), Instant::now());
        let mut has_ball = starts;
        while !is_over.load(Ordering::Relaxed) {
            if has_ball {
                thrown = Instant::now();
                sender.send();
            }
            has_ball = false;
            receiver.poll(|_| has_ball = true);
            if starts && has_ball {
                times.push(thrown.elapsed().as_nanos() as f64);
                is_over.store(started.elapsed() > time, Ordering::Relaxed);
            }
        }
        times
    };
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| throw(&far, 1, false));
        let times = scope.spawn(|| throw(&near, 0, true));
        echo.join().expect("it does not panic");
        quantile(&mut times.join().expect("it does not panic"), 0.5)
    })
}

fn quantile(numbers: &mut [f64], share: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let index = (share * numbers.len() as f64) as usize;
    numbers.get(index).copied().unwrap_or(f64::NAN)
}

type Leg = fn(ReceiveWay, SendWay, Duration) -> f64;

fn compare(name: &str, (receive, send): (ReceiveWay, SendWay), leg: Leg, pairs: usize, time: Duration) {
    let control = (ReceiveWay::usual(), SendWay::Call);
    let (mut figures, mut ratios) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        // Whoever is second finds a warmer machine.
        let (own, other) = if pair % 2 == 0 {
            let own = leg(receive, send, time);
            (own, leg(control.0, control.1, time))
        } else {
            let other = leg(control.0, control.1, time);
            (leg(receive, send, time), other)
        };
        figures.push(own);
        ratios.push(own / other);
    }
    let [least, middle, most] = [0.25, 0.5, 0.75].map(|share| quantile(&mut ratios, share));
    let figure = quantile(&mut figures, 0.5);
    println!("  {name:<66} {figure:>10.3e}  {middle:>6.3}  [{least:.3}, {most:.3}]");
}

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|text| text.parse().expect("usage: receive_ways [PAIRS] [MILLISECONDS]"));
    let pairs = arguments.next().unwrap_or(7) as usize;
    let time = Duration::from_millis(arguments.next().unwrap_or(300));
    use ReceiveWay::{Multishot, Single};
    use RingKind::{Cooperative, Deferred, Interrupting, SingleIssuer};
    let usual = ReceiveWay::usual();
    let plain = |count, bytes, bundles| Multishot { count, bytes, incremental: false, bundles };
    let incremental = |count, bytes| Multishot { count, bytes, incremental: true, bundles: false };
    let ways: [(&str, ReceiveWay, SendWay); 12] = [
        ("one receive, polled while hot (the way of `Sockets`; control)", usual, SendWay::Call),
        ("one receive, always armed", Single { ring: Deferred, is_polled: false }, SendWay::Call),
        (
            "the same without deferred task work: single issuer",
            Single { ring: SingleIssuer, is_polled: false },
            SendWay::Call,
        ),
        ("the same: cooperative task work", Single { ring: Cooperative, is_polled: false }, SendWay::Call),
        ("the same: no flags", Single { ring: Interrupting, is_polled: false }, SendWay::Call),
        ("multishot, 32 buffers of 8 KiB", plain(32, 8 << 10, false), SendWay::Call),
        ("multishot, 16 buffers of 64 KiB", plain(16, 64 << 10, false), SendWay::Call),
        ("multishot in bundles, 32 buffers of 8 KiB", plain(32, 8 << 10, true), SendWay::Call),
        ("multishot, 2 incremental buffers of 256 KiB", incremental(2, 256 << 10), SendWay::Call),
        ("multishot, 4 incremental buffers of 1 MiB", incremental(4, 1 << 20), SendWay::Call),
        ("sent by the io_uring, one gathered message", usual, SendWay::UringMessage),
        ("sent by the io_uring, as a bundle", usual, SendWay::Bundle),
    ];
    for (title, leg) in
        [("bulk, bytes per second (more is better)", bulk as Leg), ("ping-pong, ns p50 (less is better)", ping_pong)]
    {
        println!("{title}; {pairs} pairs of {time:?}: figure, ratio to control, its quartiles");
        for (name, receive, send) in ways {
            compare(name, (receive, send), leg, pairs, time);
        }
    }
}
