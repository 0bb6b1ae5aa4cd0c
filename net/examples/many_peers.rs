//! What idle connections cost a core: `many_peers [ROUNDS] [MILLISECONDS]` (default 7 and 300).
//!
//! Two threads, each with `Sockets` on an io_uring of its own, send a unit of 64 bytes and a header there and back; one of
//! them has other connections besides, on which nothing comes. Printed are the median over interleaved rounds of p50, its
//! ratio to that without others, and the resident memory that a connection takes.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use io_uring::IoUring;
use ringstorm_net::{OnUring, Sockets, SocketsSettings, Uring};
use ringstorm_protocol::unit::{HEADER_BYTES, Kind, begin};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Connections besides the one that is used.
const OTHERS: [usize; 4] = [0, 255, 1023, 4095];

struct Plain(IoUring);

impl Uring for Plain {
    unsafe fn push(&mut self, entry: &io_uring::squeue::Entry) {
        // SAFETY: the caller's.
        while unsafe { self.0.submission().push(entry) }.is_err() {
            self.0.submit().expect("an io_uring takes what it has room for");
        }
    }

    fn submit(&mut self) {
        self.0.submitter().submit_and_wait(0).expect("an io_uring takes what it has room for");
        // SAFETY: no arguments are passed.
        let posted = unsafe { self.0.submitter().enter::<libc::sigset_t>(0, 0, 1, None) };
        posted.expect("an io_uring posts what is done");
    }

    fn completion(&mut self) -> Option<(u64, i32)> {
        let entry = self.0.completion().next()?;
        Some((entry.user_data(), entry.result()))
    }
}

fn operations() -> OnUring<Plain> {
    let uring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(256);
    OnUring(Plain(uring.expect("this kernel has io_uring")))
}

fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let one = TcpStream::connect(listener.local_addr().expect("it listens")).expect("somebody listens");
    let (other, _) = listener.accept().expect("somebody dials");
    [&one, &other].iter().for_each(|stream| stream.set_nodelay(true).expect("a socket has this option"));
    (one, other)
}

fn ball() -> Vec<u8> {
    let mut unit = Vec::new();
    begin(Kind::Frame, 0, &mut unit);
    unit.resize(HEADER_BYTES + 64, 7);
    unit
}

/// Nanoseconds there and back, p50, and bytes of memory for each other connection.
fn ping_pong(others: usize, time: Duration) -> (f64, f64) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let (near, far) = connected(&listener);
    let idle: Vec<(TcpStream, TcpStream)> = (0..others).map(|_| connected(&listener)).collect();
    let is_over = AtomicBool::new(false);
    let throw = |streams: Vec<TcpStream>, starts: bool| {
        let mut operations = operations();
        let before = resident_bytes();
        let mut sockets = Sockets::new(streams.len(), 1, SocketsSettings::default());
        let count = streams.len();
        for (peer, stream) in streams.into_iter().enumerate() {
            sockets.attach(peer, stream.into(), &[]);
        }
        let (mut times, started, mut thrown) = (Vec::new(), Instant::now(), Instant::now());
        let mut has_ball = starts;
        while !is_over.load(Ordering::Relaxed) {
            if has_ball && sockets.is_connected(0) {
                has_ball = false;
                thrown = Instant::now();
                sockets.push(0, ball());
            }
            sockets.flush(&mut operations, false, drop);
            let took = |_: usize, _: &_, _: &[u8]| {
                has_ball = true;
                Ok(())
            };
            sockets.receive(&mut operations, took, drop);
            if starts && has_ball && sockets.is_connected(0) {
                times.push(thrown.elapsed().as_nanos() as f64);
                is_over.store(started.elapsed() > time, Ordering::Relaxed);
            }
        }
        let each = resident_bytes().saturating_sub(before) as f64 / count as f64;
        sockets.close(&mut operations);
        (times, each)
    };
    std::thread::scope(|scope| {
        let (near_idle, far_idle): (Vec<_>, Vec<_>) = idle.into_iter().unzip();
        let echo = scope.spawn(|| throw(vec![far], false));
        let times = scope.spawn(|| throw([near].into_iter().chain(near_idle).collect(), true));
        echo.join().expect("it does not panic");
        let (mut times, each) = times.join().expect("it does not panic");
        drop(far_idle);
        (median(&mut times), each)
    })
}

fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|text| text.parse().expect("usage: many_peers [ROUNDS] [MILLISECONDS]"));
    let rounds = arguments.next().unwrap_or(7);
    let time = Duration::from_millis(arguments.next().unwrap_or(300));
    let limit = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).expect("as many as may be are allowed");
    let mut figures = [const { Vec::new() }; OTHERS.len()];
    let mut memory = [0.0_f64; OTHERS.len()];
    for _ in 0..rounds {
        for (index, others) in OTHERS.into_iter().enumerate() {
            let (p50, each) = ping_pong(others, time);
            figures[index].push(p50);
            memory[index] = memory[index].max(each);
        }
    }
    println!(
        "{rounds} rounds of {time:?}: other connections, p50 there and back in ns, ratio, KiB for each connection"
    );
    let mut alone = f64::NAN;
    for (index, others) in OTHERS.into_iter().enumerate() {
        let p50 = median(&mut figures[index]);
        if others == 0 {
            alone = p50;
        }
        println!("  {others:>5}  {p50:>8.0}  {:>5.2}  {:>6.1}", p50 / alone, memory[index] / 1024.0);
    }
}
