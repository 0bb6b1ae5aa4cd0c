//! Workers that a file leads: assignments that change under load, peers that stay away, and strangers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ringstorm_protocol::handshake::{Claims, CorePair, Handshake, HandshakeError, Progress, Secret, StreamLayout};
use ringstorm_protocol::unit::{Kind, begin};
use ringstorm_tests::addresses::free_addresses;
use ringstorm_tests::assigned::{AssignedProcess, AssignmentInFile, assignment_of_sequence, assignment_to_three};
use ringstorm_tests::journal::Notes;
use ringstorm_tests::outside::{Fates, Outside};
use ringstorm_tests::waiting::{soak_secs, until};
use ringstorm_types::assignment::Assignment;
use ringstorm_types::wire_format::PAYLOAD_FORMAT;
use rustix::process::Signal;

const NUMBERS: &str = env!("CARGO_BIN_EXE_numbers");
/// What fails at once fails long before the time-out of messages (30 s), and before this.
const AT_ONCE: Duration = Duration::from_secs(10);
const PER_SECOND: f64 = 10_000.0;

/// For how long messages come, in seconds: longer by `RINGSTORM_SOAK_SECS`.
fn load_secs() -> u64 {
    soak_secs().unwrap_or(6)
}

/// Three workers, a file and a source.
struct Cluster {
    directory: tempfile::TempDir,
    assignment: Assignment,
    file: AssignmentInFile,
    source: Outside,
    count: u64,
    settings: Vec<String>,
    processes: Vec<AssignedProcess>,
}

impl Cluster {
    fn start(seconds: u64, settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let assignment = assignment_to_three();
        let file = AssignmentInFile::new(directory.path(), &assignment);
        let count = (seconds as f64 * PER_SECOND) as u64;
        let source = Outside::start(&directory.path().join("source"), count, PER_SECOND);
        let settings = settings.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]).collect();
        let mut cluster = Self { directory, assignment, file, source, count, settings, processes: Vec::new() };
        for number in 0..3 {
            let process = cluster.process(number, &[], &number.to_string());
            cluster.processes.push(process);
        }
        until("the first acks", Duration::from_secs(30), || cluster.source.fates().acked > 1000);
        cluster
    }

    fn process(&self, number: u64, more: &[&str], label: &str) -> AssignedProcess {
        let more: Vec<&str> = self.settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let place = (self.directory.path(), label);
        AssignedProcess::start(NUMBERS, number, self.file.path(), self.source.path(), place, &more)
    }

    /// Changes the assignment, for whoever reads it.
    fn change(&mut self, change: impl FnOnce(&mut Assignment)) {
        change(&mut self.assignment);
        self.file.put(&self.assignment);
    }

    fn errors(&self) -> String {
        self.processes.iter().map(AssignedProcess::errors).collect::<Vec<_>>().join("--\n")
    }

    /// Every message is acked in the end, and none had to wait for the time-out of messages; then the assignment is withdrawn
    /// and every process ends by itself.
    fn finish_at_once(self) -> Fates {
        let fates = self.finish();
        assert!(fates.slowest < AT_ONCE, "failed by the time-out of messages: {fates:?}");
        fates
    }

    /// As [`Cluster::finish_at_once`], however long it took.
    fn finish(mut self) -> Fates {
        let left = Duration::from_secs_f64((self.count - self.source.fates().begun) as f64 / PER_SECOND);
        let until_then = Instant::now() + left + Duration::from_secs(60);
        while self.source.fates().acked < self.count {
            let (fates, under_way) = (self.source.fates(), self.source.under_way_by_spout());
            assert!(Instant::now() < until_then, "{under_way:?} under way, {fates:?}\n{}", self.errors());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.file.withdraw();
        for process in &mut self.processes {
            let status = process.wait(Duration::from_secs(20));
            assert!(status.is_some_and(|status| status.success()), "{status:?}\n{}", process.errors());
        }
        let fates = self.source.fates();
        eprintln!("{fates:?}");
        fates
    }
}

#[test]
fn a_file_starts_pauses_and_ends_workers() {
    let mut cluster = Cluster::start(load_secs(), &[]);
    cluster.change(|assignment| assignment.active = false);
    let mut before = 0;
    until("spouts to rest", Duration::from_secs(10), || {
        std::thread::sleep(Duration::from_millis(300));
        std::mem::replace(&mut before, cluster.source.fates().acked) == cluster.source.fates().acked
    });
    cluster.file.put_bytes(b"{ \"half of");
    std::thread::sleep(Duration::from_millis(300));
    assert!(cluster.errors().matches("cannot be read").count() == 3, "each says it once\n{}", cluster.errors());
    let mut older = cluster.assignment.clone();
    older.version -= 1;
    older.workers.truncate(1);
    cluster.file.put(&older);
    until("all to leave an older assignment", Duration::from_secs(5), || {
        cluster.errors().matches("assignment 0 is left: there is an assignment 1").count() == 3
    });
    let mut other = cluster.assignment.clone();
    other.workers.truncate(1);
    cluster.file.put(&other);
    until("all to leave another plan of the same version", Duration::from_secs(5), || {
        cluster.errors().matches("an assignment 1 is left: it gives other work than").count() == 3
    });
    // One that breaks a rule ends nobody, also not whose work it changes.
    let mut broken = cluster.assignment.clone();
    broken.version += 1;
    broken.workers[0].executors.pop();
    cluster.file.put(&broken);
    until("all to leave a broken assignment", Duration::from_secs(5), || {
        cluster.errors().matches("assignment 2 is left: ").count() == 3
    });
    cluster.change(|assignment| (assignment.version, assignment.active) = (2, true));
    until("spouts to go on", Duration::from_secs(10), || cluster.source.fates().acked > before);
    let fates = cluster.finish_at_once();
    assert_eq!((fates.failed, fates.orphaned), (0, 0), "{fates:?}");
}

/// What one worker ran is run by two others from then on, at other places: the rest find them and go on, and what was with
/// the old one fails at once. It is told by the file, like everybody, or dies before, or stands still and learns it late.
#[test]
fn tasks_that_move_are_found_and_what_they_had_fails_at_once() {
    for (ending, moment_ms) in [("by the file", 0), ("dead", 300), ("late", 600)] {
        let mut cluster = Cluster::start(load_secs(), &[]);
        // Spouts turn to another acker three times a second.
        std::thread::sleep(Duration::from_millis(moment_ms));
        let mut old = cluster.processes.pop().unwrap();
        match ending {
            "dead" => old.kill(),
            "late" => old.signal(Signal::STOP),
            _ => {}
        }
        cluster.change(|assignment| {
            assignment.version += 1;
            let mut halves = assignment.workers.pop().unwrap();
            let mut other = halves.clone();
            other.executors = halves.executors.split_off(2);
            [halves.address, other.address] = free_addresses();
            (halves.number, other.number) = (7, 8);
            assignment.workers.extend([halves, other]);
        });
        for number in [7, 8] {
            let process = cluster.process(number, &[], &number.to_string());
            cluster.processes.push(process);
        }
        let acked = cluster.source.fates().acked;
        until("the new workers to be found", Duration::from_secs(20), || {
            cluster.source.fates().acked > acked + PER_SECOND as u64
        });
        if ending == "late" {
            old.signal(Signal::CONT);
        }
        if ending != "dead" {
            let status = old.wait(Duration::from_secs(20));
            assert!(status.is_some_and(|status| status.success()), "{status:?}\n{}", old.errors());
            assert!(old.errors().contains("nothing for this worker"), "{}", old.errors());
        }
        assert!(cluster.processes.iter_mut().all(AssignedProcess::is_running), "{}", cluster.errors());
        let fates = cluster.finish_at_once();
        assert!(fates.failed + fates.orphaned > 0, "{ending}: something was under way: {fates:?}");
    }
}

/// A second process of a worker takes over from the first, which does not know of it and whose connections are open: they
/// are closed, and it is refused from then on.
#[test]
fn a_stale_incarnation_is_refused_also_on_connections_that_were_open() {
    let mut cluster = Cluster::start(load_secs(), &[]);
    let [address] = free_addresses();
    let listen = format!("ringstorm.worker.listen=[\"{address}\"]");
    let newer = cluster.process(0, &["-c", &listen], "newer");
    until("the first process to be refused", Duration::from_secs(20), || {
        cluster.processes[0].errors().contains("is stale")
    });
    until("the others to say so", Duration::from_secs(10), || {
        cluster.processes[1..].iter().all(|process| process.errors().contains("of worker 0 is stale"))
    });
    let mut first = std::mem::replace(&mut cluster.processes[0], newer);
    first.kill();
    // It went on with what others sent it while only some of them knew: such a tree is left to the time-out.
    cluster.finish();
}

/// A worker that is gone and that nobody replaces holds the others only so long: what is for it fails from then on, and all
/// else goes on. When it is back, all is as before.
#[test]
fn a_worker_that_stays_away_holds_nobody_and_is_welcome_back() {
    let mut cluster = Cluster::start(load_secs() + 10, &["ringstorm.worker.absence.secs=2"]);
    cluster.processes[2].kill();
    until("the others to give it up", Duration::from_secs(20), || {
        cluster.processes[..2].iter().all(|process| process.errors().contains("has been away for 2 s"))
    });
    let acked = cluster.source.fates().acked;
    until("messages without it to be acked", Duration::from_secs(10), || cluster.source.fates().acked > acked + 500);
    let before = cluster.processes[0].resident_bytes();
    std::thread::sleep(Duration::from_secs(3));
    let after = cluster.processes[0].resident_bytes();
    assert!(after < before + (32 << 20), "memory is bounded: {before}, {after}");
    cluster.processes[2] = cluster.process(2, &[], "2-again");
    let fates = cluster.finish_at_once();
    assert!(fates.failed > 0, "{fates:?}");
}

/// Every kind of stranger knocks while workers are busy: each costs a line and nothing else, and many of them cost the
/// lines of a few and their number.
#[test]
fn strangers_cost_running_workers_a_few_lines_and_nothing_else() {
    let cluster = Cluster::start(load_secs() + 6, &[]);
    let address = cluster.assignment.workers[1].address.clone();
    let seen = |text: &str| cluster.processes[1].errors().matches(text).count();
    let expect = |text: &str| until(text, Duration::from_secs(10), || seen(text) == 1);
    let silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(&address).unwrap()).collect();
    for (bytes, named) in raw_strangers() {
        let mut stranger = TcpStream::connect(&address).unwrap();
        stranger.write_all(&bytes).unwrap();
        expect(named);
        let mut answer = Vec::new();
        // It is closed, after a refusal or at once.
        let _ = stranger.read_to_end(&mut answer);
    }
    let secret = cluster.assignment.secret.0.as_str();
    let own = claims(&cluster.assignment.topology_id);
    type Change = fn(&mut Claims);
    let different: [(&str, &str, Change); 5] = [
        ("another secret, as long as the first one is", "does not know", |_| {}),
        (secret, "archives tuples as", |claims| claims.payload_format = "rkyv 0.7".into()),
        (secret, "runs topology", |claims| claims.topology = "others-1-1".into()),
        (secret, "has another layout", |_| {}),
        (secret, "do not have the same streams", |claims| claims.streams[0].component = "a".into()),
    ];
    for (secret, named, change) in different {
        let mut claims = own.clone();
        change(&mut claims);
        let refusal = shake_hands(&address, secret, claims).expect_err(named);
        assert!(refusal.to_string().contains("refused") || refusal.to_string().contains("secret"), "{refusal}");
        expect(named);
    }
    let refused = silent.len() + raw_strangers().len() + different.len();
    let counted = || -> usize {
        let errors = cluster.processes[1].errors();
        let lines = errors.lines().filter_map(|line| line.split_once(" more about connections that were refused"));
        lines.map(|(before, _)| before.trim_start_matches("note: ").parse::<usize>().unwrap()).sum()
    };
    let shown = || seen("note: a connection from ");
    until("all to be shown or counted", Duration::from_secs(30), || shown() + counted() == refused);
    assert!(shown() <= 20, "{}", cluster.processes[1].errors());
    drop(silent);
    let fates = cluster.finish_at_once();
    assert_eq!((fates.failed, fates.orphaned, fates.acked_again), (0, 0, 0), "{fates:?}");
}

/// Bytes that no worker sends, and what is said of them.
fn raw_strangers() -> [(Vec<u8>, &'static str); 3] {
    let mut hello = Vec::new();
    begin(Kind::Hello, 0, &mut hello);
    let (mut other_version, mut huge) = (hello.clone(), hello);
    other_version[4] = 2;
    huge[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    [(b"GET / HTTP/1.1\r\n\r\n".to_vec(), "do not begin a unit"), (other_version, "version 2"), (huge, "4294967295")]
}

/// What a worker of `numbers` would say, but for the layouts.
fn claims(topology_id: &str) -> Claims {
    let stream = |component: &str| StreamLayout { component: component.into(), stream: "default".into(), layout: 0 };
    Claims {
        payload_format: PAYLOAD_FORMAT.into(),
        topology: topology_id.into(),
        worker: 0,
        incarnation: u64::MAX,
        to_worker: 1,
        assignment_version: 1,
        cores: CorePair { dialer: 0, acceptor: 0 },
        streams: vec![stream("fetch"), stream("relay")],
    }
}

fn shake_hands(address: &str, secret: &str, claims: Claims) -> Result<(), HandshakeError> {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut handshake = Handshake::dial(Secret::new(secret), [7; 32], claims.clone());
    let mut judge = |_: &Claims| Ok(claims.clone());
    loop {
        stream.write_all(&handshake.output()).unwrap();
        let count = stream.read(handshake.space()).unwrap();
        assert!(count > 0, "closed without a word");
        match handshake.received(count, &mut judge) {
            Ok(Progress::Agreed(_)) => return Ok(()),
            Ok(Progress::Waiting) => {}
            Err(why) => {
                // The other side is told why.
                let _ = stream.write_all(&handshake.output());
                return Err(why);
            }
        }
    }
}

/// Whoever ends such workers by signals, as a supervisor of processes does, loses nothing that is under way.
#[test]
fn a_signal_drains_and_ends_workers_that_a_file_leads() {
    let mut cluster = Cluster::start(load_secs() + 30, &[]);
    cluster.processes.iter().for_each(|process| process.signal(Signal::TERM));
    for (number, process) in cluster.processes.iter_mut().enumerate() {
        let status = process.wait(Duration::from_secs(20));
        let errors = process.errors();
        assert_eq!(status.and_then(|status| status.code()), Some(0), "{errors}");
        assert!(errors.contains("SIGTERM: taking nothing new and draining; once more ends at once"), "{errors}");
        assert!(
            errors.contains(&format!("worker {number} of numbers was stopped by SIGTERM and is drained")),
            "{errors}"
        );
    }
    let fates = cluster.source.fates();
    assert_eq!(fates.failed, 0, "{fates:?}");
}

/// A worker cannot drain while another that has its tuples stands still: it waits for that one, and is ended by the second
/// signal at once.
#[test]
fn a_second_signal_ends_a_worker_that_a_file_leads_at_once() {
    let mut cluster = Cluster::start(load_secs() + 30, &[]);
    cluster.processes[2].signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(300));
    cluster.processes[0].signal(Signal::INT);
    assert_eq!(cluster.processes[0].wait(Duration::from_secs(4)), None, "{}", cluster.processes[0].errors());
    cluster.processes[0].signal(Signal::INT);
    let status = cluster.processes[0].wait(Duration::from_secs(1));
    assert_eq!(status.and_then(|status| status.code()), Some(130), "{}", cluster.processes[0].errors());
}

/// The worker of the bolt is away, and the spout emits again at once what fails at once: that is a loop, but not one that
/// takes a whole CPU, however many messages are in it. When the worker is back, all of them are acked.
#[test]
fn what_fails_at_once_and_is_emitted_again_at_once_leaves_the_cpu_to_others() {
    for count in [1, 100, 20_000] {
        let directory = tempfile::tempdir().unwrap();
        let notes = Notes::of(&directory.path().join("notes"));
        let mut assignment = Assignment { active: false, ..assignment_of_sequence() };
        let file = AssignmentInFile::new(directory.path(), &assignment);
        let numbers = count.to_string();
        let absence = "ringstorm.worker.absence.secs=1";
        let arguments = ["--notes", notes.path(), "--count", &numbers, "--replay", "--mute", "-c", absence];
        let start = |number: u64, label: &str| {
            let place = (directory.path(), label);
            AssignedProcess::start_any(env!("CARGO_BIN_EXE_sequence"), number, file.path(), place, &arguments)
        };
        let (mut spout, mut bolt) = (start(0, "spout"), start(1, "bolt"));
        until("all to be ready", Duration::from_secs(20), || spout.errors().contains("is ready"));
        bolt.kill();
        until("it to be given up", Duration::from_secs(20), || spout.errors().contains("has been away for 1 s"));
        assignment.active = true;
        file.put(&assignment);
        std::thread::sleep(Duration::from_secs(1));
        let (before, since) = (spout.cpu_time(), Instant::now());
        std::thread::sleep(Duration::from_secs(2));
        let share = (spout.cpu_time() - before).as_secs_f64() / since.elapsed().as_secs_f64();
        let mut bolt = start(1, "bolt-again");
        until("it to be back", Duration::from_secs(20), || spout.errors().contains("is reached"));
        std::thread::sleep(Duration::from_secs(2));
        file.withdraw();
        for process in [&mut spout, &mut bolt] {
            assert!(
                process.wait(Duration::from_secs(20)).is_some_and(|status| status.success()),
                "{}",
                process.errors()
            );
        }
        let closed = notes.starting("closed").remove(0);
        eprintln!("{count} messages: {:.1} % of a CPU; {}", 100.0 * share, closed.line);
        assert_eq!(closed.number("acked"), count, "{}", closed.line);
        assert!(closed.number("failed") >= count, "{}", closed.line);
        let failed =
            format!("messages of the spouts here that failed: {}, 0 of them by time-out", closed.number("failed"));
        assert_eq!(spout.errors().matches(&failed).count(), 1, "{failed}\n{}", spout.errors());
        assert!(!bolt.errors().contains("messages of the spouts here"), "{}", bolt.errors());
        assert!(share < 0.3, "{:.1} % of a CPU", 100.0 * share);
    }
}
