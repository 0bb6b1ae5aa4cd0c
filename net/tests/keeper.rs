//! Keepers over the loopback address: who is agreed with, and how everybody else is refused.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ringstorm_net::{Admission, Keeper, KeeperEvent, Route};
use ringstorm_protocol::handshake::{Claims, CorePair, HandshakeError, NONCE_BYTES, Secret, StreamLayout};
use ringstorm_protocol::unit::{Kind, begin};

/// Worker 0 dials worker 1: core 0 there, core 5 here.
const ROUTE: Route = Route { worker: 1, own_core: 0, their_core: 5 };

struct Plain {
    own: Claims,
    newest: u64,
}

impl Admission for Plain {
    fn claims(&self, route: Route) -> Claims {
        let cores = CorePair { dialer: route.own_core, acceptor: route.their_core };
        Claims { to_worker: route.worker, cores, ..self.own.clone() }
    }

    fn admit(&mut self, theirs: &Claims, _: Option<Route>) -> Result<Claims, HandshakeError> {
        self.own.check_same_program(theirs)?;
        if theirs.incarnation < self.newest {
            let (worker, found, newest) = (theirs.worker, theirs.incarnation, self.newest);
            return Err(HandshakeError::StaleIncarnation { worker, found, newest });
        }
        Ok(Claims { to_worker: theirs.worker, cores: theirs.cores, ..self.own.clone() })
    }
}

fn claims(worker: u64) -> Claims {
    let stream = StreamLayout { component: "words".into(), stream: "default".into(), layout: 7 };
    Claims {
        payload_format: "format".into(),
        topology: "topology".into(),
        worker,
        incarnation: 10,
        to_worker: 0,
        assignment_version: 1,
        cores: CorePair { dialer: 0, acceptor: 0 },
        streams: vec![stream],
    }
}

struct Side {
    keeper: Keeper,
    address: String,
    events: Receiver<KeeperEvent>,
}

fn side(own: Claims, secret: &str) -> Side {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, events) = channel();
    let mut number = own.worker as u8;
    let random = move || {
        number = number.wrapping_add(2);
        [number; NONCE_BYTES]
    };
    let tell = move |event| drop(sender.send(event));
    let admission = Plain { own, newest: 5 };
    let keeper = Keeper::start(listener, Secret::new(secret), admission, random, tell).unwrap();
    Side { keeper, address, events }
}

fn event(side: &Side) -> KeeperEvent {
    side.events.recv_timeout(Duration::from_secs(20)).unwrap()
}

#[test]
fn two_workers_are_connected_and_connected_again() {
    let (dialer, acceptor) = (side(claims(0), "secret"), side(claims(1), "secret"));
    dialer.keeper.dial(ROUTE, &acceptor.address);
    for _ in 0..3 {
        let KeeperEvent::Connected { route, socket: one, claims: theirs, .. } = event(&dialer) else { panic!() };
        assert_eq!((route, theirs.worker), (ROUTE, 1));
        let KeeperEvent::Connected { route, socket: other, .. } = event(&acceptor) else { panic!() };
        assert_eq!(route, Route { worker: 0, own_core: 5, their_core: 0 });
        // The two sockets are one connection.
        rustix::io::write(&one, b"x").unwrap();
        let started = Instant::now();
        while rustix::io::read(&other, &mut [0; 1]) != Ok(1) {
            assert!(started.elapsed() < Duration::from_secs(20));
        }
        dialer.keeper.lost(ROUTE);
    }
}

/// One that is not there yet is dialed until it is; that is told once.
#[test]
fn a_peer_that_comes_late_is_reached() {
    let dialer = side(claims(0), "secret");
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    dialer.keeper.dial(ROUTE, &gone);
    let KeeperEvent::Unreachable { why, .. } = event(&dialer) else { panic!() };
    assert!(why.contains(&gone) && why.contains("refused"), "{why}");
    assert!(dialer.events.recv_timeout(Duration::from_millis(300)).is_err(), "the same reason is told once");
    let acceptor = side(claims(1), "secret");
    dialer.keeper.dial(ROUTE, &acceptor.address);
    assert!(matches!(event(&dialer), KeeperEvent::Connected { .. }));
}

#[test]
fn a_name_is_resolved() {
    let (dialer, acceptor) = (side(claims(0), "secret"), side(claims(1), "secret"));
    let port = acceptor.address.rsplit_once(':').unwrap().1;
    dialer.keeper.dial(ROUTE, &format!("localhost:{port}"));
    // The name may first lead to another address of this machine.
    while !matches!(event(&dialer), KeeperEvent::Connected { .. }) {}
}

/// Each is refused with one event on either side; the acceptor goes on.
#[test]
fn whoever_is_not_the_same_is_refused() {
    let acceptor = side(claims(1), "secret");
    type Change = fn(&mut Claims);
    let different: [(&str, &str, Change); 5] = [
        ("another secret", "does not know", |_| {}),
        ("secret", "other topology", |claims| claims.topology = "other topology".into()),
        ("secret", "other format", |claims| claims.payload_format = "other format".into()),
        ("secret", "another layout", |claims| claims.streams[0].layout = 8),
        ("secret", "stale", |claims| claims.incarnation = 4),
    ];
    for (secret, named, change) in different {
        let mut own = claims(0);
        change(&mut own);
        let stranger = side(own, secret);
        stranger.keeper.dial(ROUTE, &acceptor.address);
        let KeeperEvent::Unreachable { why, newest, .. } = event(&stranger) else { panic!("{named}") };
        assert!(why.contains(named), "{named}: {why}");
        assert_eq!(newest.is_some(), named == "stale", "{why}");
        let KeeperEvent::Refused { why, .. } = event(&acceptor) else { panic!("{named}") };
        assert!(why.contains(named), "{named}: {why}");
    }
    let friend = side(claims(0), "secret");
    friend.keeper.dial(ROUTE, &acceptor.address);
    assert!(matches!(event(&friend), KeeperEvent::Connected { .. }));
}

#[test]
fn strangers_get_one_line_each_and_are_closed() {
    let acceptor = side(claims(1), "secret");
    let mut huge = Vec::new();
    begin(Kind::Hello, 0, &mut huge);
    huge[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut other_version = huge.clone();
    other_version[4] = 9;
    for (bytes, named) in [
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "not a Ringstorm worker"),
        ((0..=255).cycle().take(5000).collect(), "not a Ringstorm worker"),
        (huge, "4294967295 bytes"),
        (other_version, "layout version 9"),
    ] {
        let mut stranger = TcpStream::connect(&acceptor.address).unwrap();
        // It may be closed before all is written.
        let _ = stranger.write_all(&bytes);
        let KeeperEvent::Refused { from, why } = event(&acceptor) else { panic!("{named}") };
        assert!(from.is_some() && why.contains(named), "{named}: {why}");
        let mut rest = Vec::new();
        stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // Closed in order, or reset because it had more to say.
        let _ = stranger.read_to_end(&mut rest);
    }
    // Hundreds that say nothing do not keep others out, and are closed in time.
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&acceptor.address).unwrap()).collect();
    let friend = side(claims(0), "secret");
    friend.keeper.dial(ROUTE, &acceptor.address);
    assert!(matches!(event(&friend), KeeperEvent::Connected { .. }));
    let late = loop {
        if let KeeperEvent::Refused { why, .. } = event(&acceptor) {
            break why;
        }
    };
    assert!(late.contains("was not done within 5 s"), "{late}");
    drop(silent);
}
