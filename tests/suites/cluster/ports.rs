//! Bad peers at the ports of a cluster, that of nimbus and those of workers: they get nothing done, cost a line at most and
//! no memory, and whoever is valid is served meanwhile.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringstorm_records::nimbus::{GetTopologySummaries, call};
use ringstorm_records::thrift::frame::{FrameReader, frame};
use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::Value;

use crate::harness::{Cluster, Shape};

const SOON: Duration = Duration::from_secs(60);
const PER_SECOND: f64 = 500.0;
/// Inputs that are made of recorded ones by chance, for each port.
const MUTATED: usize = 2000;
/// Offsets of each recorded input at which a huge length is put.
const OFFSETS: usize = 160;
const IDLE: usize = 2000;
const MEMORY_GROWTH_MAX: u64 = 50 << 20;
/// Lines about very many bad peers, besides one each second: far below their number, which is in the thousands.
const LINES_MAX: u64 = 60;
/// For how long connections say nothing, or little: longer than a handshake may take.
const HELD: Duration = Duration::from_secs(7);
/// The seed, so that what is found can be had again.
const SEED: u64 = 131;

/// A port, and what belongs to it.
struct Target {
    name: &'static str,
    address: SocketAddr,
    pid: i32,
    log: PathBuf,
    /// What real peers sent.
    recorded: Vec<Vec<u8>>,
}

/// B131: garbage, lengths that no memory has, halves of messages, connections that say nothing or little, and what belongs
/// to other protocols.
#[test]
fn bad_peers_cost_a_line_each_at_most_and_nobody_else_notices() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let Some(cluster) = Cluster::start_or_skip(&Shape { has_proxies: true, ..Shape::default() }) else { return };
    let source = Outside::start(&cluster.folder().join("source"), 10_000_000, PER_SECOND);
    cluster.submit("numbers", &source, 2, &["topology.workers=2"]);
    until("the first acks", SOON, || source.fates().acked > 500);
    let targets = targets(&cluster, &source);
    let workers = cluster.workers();
    let failed = source.fates().failed;
    let usual = median((0..50).map(|_| valid_call(targets[0].address)).collect());
    let lines: Vec<usize> = targets.iter().map(|target| lines_of(&target.log)).collect();
    let memory: Vec<u64> = targets.iter().map(|target| peak_begins(target.pid)).collect();
    let (acked, started) = (source.fates().acked, Instant::now());
    let times = while_valid_calls(targets[0].address, || {
        std::thread::scope(|scope| targets.iter().for_each(|target| drop(scope.spawn(|| attack(target)))));
    });
    let took = started.elapsed();
    let (meanwhile, slowest) = (median(times.clone()), *times.iter().max().unwrap());
    eprintln!("{took:?}: a valid call takes {usual:?}, meanwhile {meanwhile:?}, at most {slowest:?}");
    assert!(meanwhile < 20 * usual + Duration::from_millis(50) && slowest < Duration::from_secs(5), "{times:?}");
    let rate = (source.fates().acked - acked) as f64 / took.as_secs_f64();
    assert!(rate > 0.8 * PER_SECOND, "{rate} messages a second");
    for (index, target) in targets.iter().enumerate() {
        let grown = peak_bytes(target.pid).saturating_sub(memory[index]);
        let added = lines_of(&target.log) - lines[index];
        eprintln!("{}: {} KiB more memory at the peak, {added} lines", target.name, grown >> 10);
        assert!(grown < MEMORY_GROWTH_MAX, "{}: {grown} bytes", target.name);
        assert!(added as u64 <= LINES_MAX + took.as_secs(), "{}: {added} lines in {took:?}", target.name);
        let log = std::fs::read_to_string(&target.log).unwrap();
        assert!(!log.contains("panicked"), "{log}");
    }
    let after = median((0..50).map(|_| valid_call(targets[0].address)).collect());
    assert!(after < 5 * usual + Duration::from_millis(20), "{usual:?} became {after:?}");
    assert_eq!(cluster.workers(), workers);
    let fates = source.fates();
    assert_eq!(fates.failed, failed, "{fates:?}");
    source.end();
    until("all to be acked", SOON, || source.fates().acked == source.fates().begun);
}

/// The port of nimbus, with what clients of Apache Storm sent to one, and those of two workers, with what these say to each
/// other when they meet.
fn targets(cluster: &Cluster, source: &Outside) -> Vec<Target> {
    // Their connections end, and others are made.
    for worker in cluster.workers() {
        worker.signal(Signal::KILL);
    }
    let beginnings = || cluster.proxies.iter().flat_map(|proxy| proxy.beginnings()).collect::<Vec<_>>();
    let acked = source.fates().acked;
    until("the workers to meet again", SOON, || source.fates().acked > acked + 1000 && !beginnings().is_empty());
    std::thread::sleep(Duration::from_secs(1));

    let nimbus = &cluster.nimbuses[0];
    let mut targets = vec![Target {
        name: "nimbus",
        address: cluster.leader(),
        pid: nimbus.pid(),
        log: nimbus.home.join("logs/nimbus.log"),
        recorded: recorded_calls(),
    }];
    for (index, host) in (1..).zip(&cluster.supervisors) {
        let worker = host.workers().pop().expect("each host has one");
        targets.push(Target {
            name: if index == 1 { "a worker" } else { "another worker" },
            address: SocketAddr::from(([127, 0, index, 2], worker.port())),
            pid: worker.pid,
            log: host.worker_log(&worker).expect("it has a log"),
            recorded: beginnings(),
        });
    }
    targets
}

/// Every call of the recordings, in a frame; each method once.
fn recorded_calls() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../coord/records/tests/golden");
    let mut calls = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(".thrift.jsonl")) {
            for line in std::fs::read_to_string(entry.path()).unwrap().lines() {
                let exchange: Value = serde_json::from_str(line).unwrap();
                let bytes = exchange["call_hex"].as_str().map(of_hex).unwrap();
                let is_small = bytes.len() < 64 << 10;
                if is_small {
                    calls.insert(exchange["method"].as_str().unwrap().to_owned(), frame(&bytes));
                }
            }
        }
    }
    assert!(calls.len() > 10, "{:?}", calls.keys());
    calls.into_values().collect()
}

fn of_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Everything that is sent, each on a connection of its own.
fn inputs(recorded: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut random = Random(SEED);
    // What a client of TLS 1.2 begins with: a record, a handshake, its versions, 32 bytes by chance, and ciphers.
    let mut tls = vec![0x16, 3, 1, 0, 0x2f, 1, 0, 0, 0x2b, 3, 3];
    tls.extend((0..32).map(|_| random.byte()));
    tls.extend([0, 0, 4, 0xc0, 0x2f, 0, 0xff, 1, 0]);
    let mut inputs = vec![
        b"Hello".to_vec(),
        vec![0xFF; 4],
        tls,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        (0..10_000_000).map(|_| random.byte()).collect(),
    ];
    for whole in recorded {
        inputs.push(whole[..whole.len() / 2].to_vec());
        for offset in 0..whole.len().saturating_sub(3).min(OFFSETS) {
            let mut huge = whole.clone();
            huge[offset..offset + 4].copy_from_slice(if offset % 2 == 0 {
                &[0x7F, 0xFF, 0xFF, 0xFF]
            } else {
                &[0xFF; 4]
            });
            inputs.push(huge);
        }
    }
    inputs.extend((0..MUTATED).map(|_| mutated(&mut random, recorded)));
    inputs
}

fn mutated(random: &mut Random, recorded: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = recorded[random.below(recorded.len())].clone();
    let at = random.below(bytes.len());
    match random.below(6) {
        0 => (0..=random.below(8)).for_each(|_| {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }),
        1 => bytes.truncate(at),
        2 => {
            let other = &recorded[random.below(recorded.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.below(other.len())..]);
        }
        3 => {
            let end = bytes.len().min(at + 8);
            bytes[at..end].fill(0xFF);
        }
        4 => {
            let more: Vec<u8> = (0..random.below(64)).map(|_| random.byte()).collect();
            bytes.splice(at..at, more).for_each(drop);
        }
        _ => {
            let length = [u32::MAX, i32::MAX as u32, 1 << 31, 1 << 24, 0][random.below(5)];
            let length = if random.below(2) == 0 { length.to_be_bytes() } else { length.to_le_bytes() };
            let end = bytes.len().min(at + 4);
            bytes[at..end].copy_from_slice(&length[..end - at]);
        }
    }
    bytes
}

/// Sends all inputs, while connections say nothing, little, or half of something.
fn attack(target: &Target) {
    let started = Instant::now();
    let inputs = inputs(&target.recorded);
    let connect = || TcpStream::connect(target.address).unwrap();
    let idle: Vec<TcpStream> = (0..IDLE).map(|_| connect()).collect();
    let mut halves: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    for (index, half) in halves.iter_mut().enumerate() {
        let whole = &target.recorded[index % target.recorded.len()];
        // It may have been closed for one that came later.
        let _ = half.write_all(&whole[..whole.len() / 2]);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for slow in 0..20 {
            let (is_over, whole) = (&is_over, &target.recorded[slow % target.recorded.len()]);
            scope.spawn(move || {
                let mut stream = connect();
                for byte in whole {
                    if is_over.load(Ordering::Relaxed) || stream.write_all(&[*byte]).is_err() {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
        }
        let senders: Vec<_> = inputs
            .chunks(inputs.len().div_ceil(8))
            .map(|part| scope.spawn(move || part.iter().for_each(|input| send(target, input))))
            .collect();
        let failed = senders.into_iter().filter_map(|sender| sender.join().err()).count();
        eprintln!("{}: {} inputs in {:?}", target.name, inputs.len(), started.elapsed());
        std::thread::sleep(HELD.saturating_sub(started.elapsed()));
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(failed, 0, "senders");
    });
    drop((idle, halves));
}

/// Sends an input, and waits until the connection is closed: whoever is asked has read all of it then.
fn send(target: &Target, input: &[u8]) {
    let mut stream = TcpStream::connect(target.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may be closed before all is written.
    if stream.write_all(input).is_ok() {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("{} holds a connection whose peer said all: {input:02x?}", target.name)
            }
            Err(_) => return,
        }
    }
}

/// How long valid calls took while something else was done.
fn while_valid_calls(address: SocketAddr, what: impl FnOnce()) -> Vec<Duration> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                times.push(valid_call(address));
                std::thread::sleep(Duration::from_millis(50));
            }
            times
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
        is_over.store(true, Ordering::Relaxed);
        let times = calls.join().unwrap();
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
        times
    })
}

/// How long a call takes from connecting to its answer.
fn valid_call(address: SocketAddr) -> Duration {
    let started = Instant::now();
    answer_to(address, &call(1, &GetTopologySummaries {}));
    started.elapsed()
}

/// What a nimbus answers to a message, whatever that is.
pub(crate) fn answer_to(address: SocketAddr, message: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&frame(message)).unwrap();
    let mut frames = FrameReader::new(1 << 24);
    let mut bytes = [0; 4096];
    loop {
        if let Some(answer) = frames.next_message().unwrap() {
            return answer.to_vec();
        }
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "it was closed");
        frames.push(&bytes[..count]);
    }
}

/// From now on the peak of a process's memory is counted anew. What it has now, in bytes.
fn peak_begins(pid: i32) -> u64 {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
    peak_bytes(pid)
}

/// The most resident memory that a process had, in bytes.
fn peak_bytes(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn lines_of(log: &Path) -> usize {
    std::fs::read_to_string(log).unwrap().lines().count()
}

/// Numbers that look like chance, the same in each run.
struct Random(u64);

impl Random {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 56) as u8
    }

    fn below(&mut self, bound: usize) -> usize {
        let bytes = [self.byte(), self.byte(), self.byte(), self.byte()];
        u32::from_le_bytes(bytes) as usize % bound.max(1)
    }
}
