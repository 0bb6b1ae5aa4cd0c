//! Peers that do harm: the service goes on, its memory stays flat, and the log stays short.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ringstorm_records::nimbus::{GetTopologySummaries, KillTopology, call as call_message};
use ringstorm_records::thrift::frame::{FrameReader, frame};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::client::{done, leads};
use crate::cluster::{Cluster, read};
use crate::process::Process;

/// A connection on which anything can be sent.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(stream)
    }

    /// Sends, as far as somebody listens.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    pub(crate) fn answer(&mut self) -> Vec<u8> {
        let mut frames = FrameReader::new(1 << 24);
        let mut bytes = [0; 4096];
        loop {
            if let Some(message) = frames.next_message().unwrap() {
                return message.to_vec();
            }
            let count = self.0.read(&mut bytes).unwrap();
            assert!(count > 0, "it was closed");
            frames.push(&bytes[..count]);
        }
    }
}

/// How many idle connections there are in the test.
const IDLE: usize = 4000;

#[test]
fn thousands_of_idle_connections_and_garbage_do_no_harm() {
    let Some(cluster) = Cluster::start_or_skip() else { return };
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let nimbus = Process::start(&cluster, "n1");
    leads(nimbus.port);
    let before = nimbus.memory_bytes();

    let mut idle: Vec<Raw> = (0..IDLE).map(|_| Raw::connect(nimbus.port)).collect();
    // Each has said something, and some are in the middle of something.
    let small = frame(&call_message(1, &KillTopology { name: None }));
    for raw in &mut idle {
        raw.send(&small);
    }
    for raw in &mut idle {
        raw.answer();
    }
    for raw in idle.iter_mut().step_by(4) {
        raw.send(&[0, 0x0f, 0xff, 0xff, 1, 2, 3]);
    }
    let with_idle = nimbus.memory_bytes();
    let each = with_idle.saturating_sub(before) / IDLE;
    assert!(each < 5 << 10, "an idle connection costs {each} bytes");

    // Garbage of every kind, reproducible.
    let mut seed = 1_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    for round in 0..2000 {
        let mut raw = Raw::connect(nimbus.port);
        let length = usize::from(random());
        let mut bytes: Vec<u8> = (0..length).map(|_| random()).collect();
        match round % 4 {
            0 => {}
            1 => bytes.splice(0..0, [0x7f, 0xff, 0xff, 0xff]).for_each(drop),
            2 => bytes = frame(&[&[0x80, 1, 0, 1][..], &bytes].concat()),
            _ => {
                bytes = small.clone();
                let at = usize::from(random()) % bytes.len();
                bytes[at] = random();
            }
        }
        raw.send(&bytes);
    }
    let begins = Instant::now();
    assert_eq!(done(nimbus.port, &GetTopologySummaries {}).len(), 0);
    assert!(begins.elapsed() < Duration::from_secs(5), "it took {:?}", begins.elapsed());
    let after = nimbus.memory_bytes();
    assert!(after < with_idle + (16 << 20), "{with_idle} bytes became {after}");
    let log = read(&nimbus.log);
    let lines = log.lines().count();
    assert!(lines < 500, "{lines} lines");
    assert!(!log.contains("panicked"), "{log}");
    // Whoever was idle is still there.
    let last = idle.last_mut().unwrap();
    last.send(&small);
    last.answer();
}
