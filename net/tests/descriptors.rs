//! A keeper without descriptors. A process of its own, since the limit is the process's.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::fs::File;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ringstorm_net::{Admission, Keeper, KeeperEvent, Route};
use ringstorm_protocol::handshake::{Claims, HandshakeError, NONCE_BYTES, Secret};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Nobody gets as far as this.
struct Nobody;

impl Admission for Nobody {
    fn claims(&self, _: Route) -> Claims {
        unreachable!("nothing is dialed")
    }

    fn admit(&mut self, _: &Claims, _: Option<Route>) -> Result<Claims, HandshakeError> {
        unreachable!("strangers say nothing")
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn without_descriptors_it_says_so_once_waits_and_goes_on() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(60), maximum: Some(120) }).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, events) = channel();
    let secret = Secret::new(b"secret".to_vec());
    let tell = move |event| drop(sender.send(event));
    let _keeper = Keeper::start(listener, secret, Nobody, || [7; NONCE_BYTES], tell).unwrap();
    assert_eq!(getrlimit(Resource::Nofile).current, Some(120), "it takes what it may have");
    let mut files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(files.len() > 60);
    files.pop();
    let mut stranger = TcpStream::connect(address).unwrap();
    let refused = events.recv_timeout(Duration::from_secs(5)).unwrap();
    let KeeperEvent::Refused { from: None, why } = refused else { panic!("{refused:?}") };
    assert!(why.contains("raise the limit of open files"), "{why}");
    let (cpu, since) = (cpu_time(), Instant::now());
    std::thread::sleep(Duration::from_millis(800));
    assert!(cpu_time() - cpu < since.elapsed() / 4, "it spins");
    assert!(events.try_recv().is_err(), "it is told once");
    files.clear();
    // It is accepted now, and closed since it says nothing.
    stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(stranger.read_to_end(&mut Vec::new()).is_ok());
    let late = events.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(matches!(late, KeeperEvent::Refused { from: Some(_), .. }), "{late:?}");
}
