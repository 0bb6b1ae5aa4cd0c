//! Two cores' sockets over real connections, every law with each way that sockets go.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ringstorm_net::{Lost, Sockets, SocketsSettings, SocketsWay, UringFacts};
use ringstorm_protocol::unit::{HEADER_BYTES, Kind, begin};
use way::Way;

#[path = "sockets/way.rs"]
mod way;

fn connected() -> (OwnedFd, OwnedFd) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    (one.into(), other.into())
}

/// One core with one peer.
struct Side {
    sockets: Sockets,
    way: Way,
    pushed: u64,
    delivered: u64,
    turns: u64,
    lost: Vec<Lost>,
    is_ahead: Option<i64>,
}

impl Side {
    fn new(way: SocketsWay, settings: SocketsSettings) -> Self {
        let sockets = Sockets::new(1, 1, settings);
        Self { sockets, way: Way::new(way), pushed: 0, delivered: 0, turns: 0, lost: Vec::new(), is_ahead: None }
    }

    fn push(&mut self, body_bytes: usize) {
        let mut unit = Vec::new();
        begin(Kind::Frame, 0, &mut unit);
        unit.extend_from_slice(&self.pushed.to_le_bytes());
        unit.resize(HEADER_BYTES + 8 + body_bytes, self.pushed as u8);
        self.pushed += 1;
        self.sockets.push(0, unit);
    }

    fn turn(&mut self) {
        let delivered = &mut self.delivered;
        self.sockets.receive(
            &mut self.way,
            |_, header, unit| {
                let number = u64::from_le_bytes(unit[HEADER_BYTES..HEADER_BYTES + 8].try_into().unwrap());
                assert_eq!((number, header.sequence), (*delivered, *delivered), "in order, and once");
                assert!(unit[HEADER_BYTES + 8..].iter().all(|byte| *byte == number as u8));
                *delivered += 1;
                Ok(())
            },
            drop,
        );
        let rests = self.turns.is_multiple_of(3);
        self.turns += 1;
        self.sockets.flush(&mut self.way, rests, drop);
        assert_eq!(self.sockets.unconfirmed_bytes(), self.sockets.kept_bytes(0) as u64);
        self.is_ahead = self.sockets.take_ahead().or(self.is_ahead);
        self.lost.extend(self.sockets.take_lost().into_iter().map(|(_, lost)| lost));
    }
}

fn small() -> SocketsSettings {
    SocketsSettings { receive_bytes: 4096, frame_bytes_max: 8 << 20, ..SocketsSettings::default() }
}

fn pair(way: SocketsWay, settings: SocketsSettings) -> [Side; 2] {
    let mut sides = [Side::new(way, settings), Side::new(way, settings)];
    connect(&mut sides);
    sides
}

fn connect(sides: &mut [Side; 2]) {
    let (one, other) = connected();
    sides[0].sockets.attach(0, one, &[]);
    sides[1].sockets.attach(0, other, &[]);
}

/// A connection takes the place of one that the kernel is not done with, and its first bytes came behind the handshake:
/// they are read, though nothing follows them.
fn what_came_behind_a_handshake_is_read_when_nothing_follows(way: SocketsWay) {
    for turns in 0..4 {
        let mut sides = pair(way, small());
        until(&mut sides, "both to resume", |sides| sides.iter().all(|side| side.sockets.is_connected(0)));
        // A receive is left to the kernel.
        (0..turns).for_each(|_| sides[0].turn());
        let (one, other) = connected();
        sides[1].sockets.attach(0, other, &[]);
        let mut first = [0; HEADER_BYTES];
        let mut stream = TcpStream::from(one.try_clone().unwrap());
        stream.set_nonblocking(true).unwrap();
        let latest = Instant::now() + Duration::from_secs(5);
        while std::io::Read::read_exact(&mut stream, &mut first).is_err() {
            assert!(Instant::now() < latest, "the other side resumes");
            sides[1].turn();
        }
        sides[0].sockets.attach(0, one, &first);
        sides[0].push(10);
        until(&mut sides, "the unit", |sides| sides[1].delivered == 1);
    }
}

/// A side that gives up what the other did not confirm goes on behind it, and the other with it, whether or not there was
/// a connection.
fn what_is_given_up_is_skipped_and_the_rest_goes_on(way: SocketsWay) {
    for is_connected in [false, true] {
        let mut sides = pair(way, small());
        until(&mut sides, "both to resume", |sides| sides.iter().all(|side| side.sockets.is_connected(0)));
        if !is_connected {
            sides.iter_mut().for_each(|side| side.sockets.detach(0));
        }
        (0..50).for_each(|_| sides[0].push(2000));
        let mut given_up = 0;
        sides[0].sockets.give_up_units(0, |_| given_up += 1);
        assert_eq!((given_up, sides[0].sockets.kept_bytes(0)), (50, 0));
        sides[1].delivered = 50;
        (0..50).for_each(|_| sides[0].push(2000));
        sides[1].push(10);
        connect(&mut sides);
        until_all_arrived(&mut sides);
        assert_eq!(sides[1].sockets.counts(0).skipped, 50);
    }
}

/// Turns both sides until something is so.
fn until(sides: &mut [Side; 2], what: &str, mut is_so: impl FnMut(&[Side; 2]) -> bool) {
    let started = Instant::now();
    while !is_so(sides) {
        sides.iter_mut().for_each(Side::turn);
        assert!(started.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
    }
}

fn until_all_arrived(sides: &mut [Side; 2]) {
    until(sides, "all units, confirmed", |[one, other]| {
        one.delivered == other.pushed
            && other.delivered == one.pushed
            && one.sockets.kept_bytes(0) == 0
            && other.sockets.kept_bytes(0) == 0
    });
}

fn units_of_all_sizes_arrive_in_both_directions(way: SocketsWay) {
    let mut sides = pair(way, small());
    for round in 0..200 {
        sides[0].push([0, 1, 100, 4000, 4096, 20_000, 1 << 20][round % 7]);
        sides[1].push(round);
    }
    until_all_arrived(&mut sides);
    for side in &mut sides {
        let counts = side.sockets.counts(0);
        assert_eq!((counts.sent_frames, counts.received_frames, counts.reconnects), (200, 200, 0));
        assert!(side.lost.is_empty());
        side.sockets.close(&mut side.way);
    }
}

/// Connections are given up at any moment, by either side, while units are on their way.
fn nothing_is_lost_or_doubled_when_connections_break(way: SocketsWay) {
    let mut sides = pair(way, small());
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    for _ in 0..300 {
        for _ in 0..next(20) {
            sides[0].push(next(20_000) as usize);
            sides[1].push(next(200) as usize);
        }
        for _ in 0..next(30) {
            sides[next(2) as usize].turn();
        }
        match next(3) {
            0 => sides[next(2) as usize].sockets.detach(0),
            1 => connect(&mut sides),
            _ => {}
        }
    }
    connect(&mut sides);
    until_all_arrived(&mut sides);
    assert!(sides[0].sockets.counts(0).reconnects > 50);
    for side in &mut sides {
        side.sockets.close(&mut side.way);
        assert!(side.sockets.is_quiet());
    }
}

fn a_peer_that_does_not_read_gets_no_more_than_it_may(way: SocketsWay) {
    let mut sides = pair(way, SocketsSettings::default());
    until(&mut sides, "the resumption", |sides| sides[0].sockets.is_connected(0));
    let mut pushed = 0;
    sides[0].sockets.set_now(1_000);
    while sides[0].sockets.has_room(0) {
        sides[0].push(8000);
        pushed += 8000;
        // Only one side has its turn.
        sides[0].turn();
    }
    sides[0].sockets.set_now(8_000);
    let counts = sides[0].sockets.counts(0);
    assert_eq!(counts.oldest_unconfirmed_ns, 7_000);
    assert!(counts.unconfirmed_bytes >= pushed, "{counts:?}");
    let kernel_bytes: usize = sides.iter().map(|side| side.sockets.counts(0).kernel_bytes).sum();
    assert!(kernel_bytes > 1 << 20, "the kernel holds it: {kernel_bytes}");
    assert!(pushed <= 5 << 20, "{pushed} bytes were taken for a peer that does not read");
    until_all_arrived(&mut sides);
    assert!(sides[0].sockets.has_room(0));
    assert_eq!(sides[0].sockets.counts(0).oldest_unconfirmed_ns, 0);
    sides.iter_mut().for_each(|side| side.sockets.close(&mut side.way));
}

fn who_closes_and_who_sends_garbage_is_lost_by_itself(way: SocketsWay) {
    let mut side = Side::new(way, small());
    let (own, other) = connected();
    side.sockets.attach(0, own, &[]);
    drop(other);
    let started = Instant::now();
    while side.lost.is_empty() {
        side.turn();
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    assert!(matches!(side.lost[0], Lost::ClosedByPeer | Lost::System(_)), "{:?}", side.lost);
    let (own, other) = connected();
    rustix::io::write(&other, b"GET / HTTP/1.1\r\n\r\n").unwrap();
    side.sockets.attach(0, own, &[]);
    while side.lost.len() < 2 {
        side.turn();
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    assert!(matches!(side.lost[1], Lost::Protocol(_)), "{:?}", side.lost);
    side.sockets.close(&mut side.way);
}

fn an_orderly_end_is_told(way: SocketsWay) {
    let mut sides = pair(way, small());
    sides[0].push(100);
    until_all_arrived(&mut sides);
    let [one, other] = &mut sides;
    one.sockets.close(&mut one.way);
    let started = Instant::now();
    while other.lost.is_empty() {
        other.turn();
        assert!(started.elapsed() < Duration::from_secs(20));
    }
    assert!(matches!(other.lost[..], [Lost::PeerEnded]), "{:?}", other.lost);
    other.sockets.close(&mut other.way);
}

/// A peer that is another incarnation gets nothing of what was for the one before, whatever was under way then.
fn another_incarnation_starts_over(way: SocketsWay) {
    let mut sides = pair(way, small());
    for round in 0..200 {
        for _ in 0..10 {
            sides[0].push(20_000);
        }
        sides[0].turn();
        if round % 3 == 0 {
            sides[1].turn();
        }
        let mut lost = 0;
        sides[0].sockets.start_over(0, |unit| lost += u64::from(unit.len() > HEADER_BYTES));
        assert!(lost <= sides[0].pushed);
        sides[0].pushed = 0;
        // The other one is as new.
        sides[1].sockets.detach(0);
        sides[1] = Side::new(way, small());
        connect(&mut sides);
        sides[0].push(100);
        until(&mut sides, "the first unit for the new one", |sides| sides[1].delivered == 1);
    }
    until_all_arrived(&mut sides);
    sides.iter_mut().for_each(|side| side.sockets.close(&mut side.way));
}

/// A core that rests has a receive under way on every connection, also where something has just come: nothing else would
/// wake it.
fn a_side_that_rests_is_woken_by_what_comes(way: SocketsWay) {
    let mut sides = pair(way, small());
    until(&mut sides, "the resumption", |sides| sides.iter().all(|side| side.sockets.is_connected(0)));
    for round in 0..200 {
        sides[0].push(round % 300);
        sides[0].turns = 1;
        sides[0].turn();
        let [_, other] = &mut sides;
        // One turn for what has come, and then rest.
        loop {
            other.turns = 0;
            other.turn();
            assert!(!other.sockets.has_hot(), "it rests");
            if other.delivered > round as u64 {
                break;
            }
            other.way.wait(Duration::from_secs(10));
        }
        until_all_arrived(&mut sides);
    }
    sides.iter_mut().for_each(|side| side.sockets.close(&mut side.way));
}

/// What was sent by a newer assignment waits until that is taken over here, also over a lost connection; what was sent
/// before does not.
fn what_is_of_a_newer_assignment_waits_for_it(way: SocketsWay) {
    let mut sides = pair(way, small());
    for round in 1..20 {
        let version = 1 + round as i64;
        sides[0].push(100);
        until_all_arrived(&mut sides);
        sides[0].sockets.set_assignment_version(version);
        for body in [100, 0, 20_000] {
            sides[0].push(body);
        }
        until(&mut sides, "the newer one", |sides| sides[1].is_ahead == Some(version));
        if round % 3 == 0 {
            sides[1].sockets.detach(0);
            connect(&mut sides);
        }
        (0..10).for_each(|_| sides.iter_mut().for_each(Side::turn));
        assert_eq!(sides[1].delivered + 3, sides[0].pushed, "nothing of it came");
        match round % 2 {
            0 => sides[1].sockets.set_assignment_version(version),
            _ => sides[1].sockets.accept_version(version),
        }
        until_all_arrived(&mut sides);
    }
    sides.iter_mut().for_each(|side| side.sockets.close(&mut side.way));
}

/// Each law is a test for each way.
macro_rules! laws {
    ($($law:ident)*) => {
        mod on_io_uring {
            $(#[test]
            fn $law() {
                super::$law(ringstorm_net::SocketsWay::Uring);
            })*
        }
        mod by_readiness {
            $(#[test]
            fn $law() {
                super::$law(ringstorm_net::SocketsWay::Readiness);
            })*
        }
    };
}

laws! {
    units_of_all_sizes_arrive_in_both_directions
    nothing_is_lost_or_doubled_when_connections_break
    a_peer_that_does_not_read_gets_no_more_than_it_may
    who_closes_and_who_sends_garbage_is_lost_by_itself
    an_orderly_end_is_told
    another_incarnation_starts_over
    a_side_that_rests_is_woken_by_what_comes
    what_came_behind_a_handshake_is_read_when_nothing_follows
    what_is_given_up_is_skipped_and_the_rest_goes_on
    what_is_of_a_newer_assignment_waits_for_it
}

#[test]
fn this_machine_allows_io_uring() {
    assert_eq!(UringFacts::probe(), UringFacts::Whole, "the other tests need it");
}
