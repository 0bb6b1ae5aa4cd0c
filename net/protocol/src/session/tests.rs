//! Sessions over connections that break at any byte.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::ReceiveBuffer;
use crate::unit::{HEADER_BYTES, begin};

/// One end of a wire: a session, what it sent and the connection has not carried yet, and what it was given.
struct End {
    session: Session,
    wire: VecDeque<u8>,
    received: ReceiveBuffer,
    delivered: Vec<u64>,
    pushed: u64,
    lost: Vec<u64>,
}

impl End {
    fn new() -> Self {
        let received = ReceiveBuffer::new(4096, 1 << 20);
        Self {
            session: Session::new(1),
            wire: VecDeque::new(),
            received,
            delivered: Vec::new(),
            pushed: 0,
            lost: Vec::new(),
        }
    }

    fn push(&mut self, body_bytes: usize) {
        let mut unit = Vec::new();
        begin(Kind::Frame, 0, &mut unit);
        unit.extend_from_slice(&self.pushed.to_le_bytes());
        unit.resize(HEADER_BYTES + 8 + body_bytes, 7);
        self.pushed += 1;
        self.session.push(unit);
    }

    fn give_up(&mut self) {
        let number = |unit: &[u8]| u64::from_le_bytes(unit[HEADER_BYTES..HEADER_BYTES + 8].try_into().unwrap());
        self.lost.extend(self.session.unconfirmed().map(number));
        self.session = self.session.without_units();
    }

    fn connect(&mut self) {
        self.received = ReceiveBuffer::new(4096, 1 << 20);
        self.wire.clear();
        let resume = self.session.connected();
        self.wire.extend(resume);
    }

    /// Sends at most so many bytes of what is unsent.
    fn send(&mut self, most: usize) {
        let bytes: Vec<u8> = self.session.unsent().flatten().copied().take(most).collect();
        self.session.sent(bytes.len(), drop);
        self.wire.extend(bytes);
    }

    /// Takes at most so many bytes of what the other end has sent.
    fn receive(&mut self, from: &mut VecDeque<u8>, most: usize) {
        let space = self.received.space();
        let count = most.min(from.len()).min(space.len());
        for (byte, sent) in space.iter_mut().zip(from.drain(..count)) {
            *byte = sent;
        }
        self.received.filled(count);
        while let Some((header, unit)) = self.received.next_unit().expect("nothing is changed on the way") {
            let number = unit.get(HEADER_BYTES..HEADER_BYTES + 8).map(|bytes| bytes.try_into().unwrap());
            if self.session.arrived(&header, drop).expect("the peer keeps to the protocol") == Arrival::Deliver {
                self.delivered.push(u64::from_le_bytes(number.unwrap()));
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(bool, usize),
    Send(bool, usize),
    Receive(bool, usize),
    Confirm(bool),
    /// The connection is lost with all that is on it, and made again.
    Cut,
    /// As `Cut`; meanwhile one end gives up what it has kept.
    GiveUp(bool),
}

fn steps(give_ups: u32) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (any::<bool>(), 0..200_usize).prop_map(|(end, bytes)| Step::Push(end, bytes)),
        6 => (any::<bool>(), 1..600_usize).prop_map(|(end, bytes)| Step::Send(end, bytes)),
        6 => (any::<bool>(), 1..600_usize).prop_map(|(end, bytes)| Step::Receive(end, bytes)),
        2 => any::<bool>().prop_map(Step::Confirm),
        1 => Just(Step::Cut),
        give_ups => any::<bool>().prop_map(Step::GiveUp),
    ];
    prop::collection::vec(step, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Over any number of lost connections every unit arrives once and in order, in both directions, and what is
    /// confirmed is not kept.
    #[test]
    fn every_unit_arrives_once_and_in_order(steps in steps(0)) {
        let ends = run(steps)?;
        for end in 0..2 {
            prop_assert_eq!(ends[end].delivered.len() as u64, ends[1 - end].pushed);
        }
    }

    /// Who gives up what the other may not have loses that and nothing else: each unit arrives once or is known to be
    /// given up, and none that came late is out of order.
    #[test]
    fn what_is_given_up_is_known_and_the_rest_arrives_once_and_in_order(steps in steps(1)) {
        let ends = run(steps)?;
        for end in 0..2 {
            let (delivered, lost) = (&ends[end].delivered, &ends[1 - end].lost);
            prop_assert!((0..ends[1 - end].pushed).all(|unit| delivered.contains(&unit) || lost.contains(&unit)));
            prop_assert!(ends[end].session.skipped() <= lost.len() as u64);
        }
    }
}

/// Carries steps out, and then all that is left, over a connection that holds.
fn run(steps: Vec<Step>) -> Result<[End; 2], TestCaseError> {
    let mut ends = [End::new(), End::new()];
    ends.iter_mut().for_each(End::connect);
    for step in steps {
        match step {
            Step::Push(end, bytes) => ends[usize::from(end)].push(bytes),
            Step::Send(end, most) => ends[usize::from(end)].send(most),
            Step::Receive(end, most) => {
                let mut wire = std::mem::take(&mut ends[usize::from(!end)].wire);
                ends[usize::from(end)].receive(&mut wire, most);
                ends[usize::from(!end)].wire = wire;
            }
            Step::Confirm(end) => {
                let end = &mut ends[usize::from(end)];
                if !end.session.is_within_unit() {
                    let unit = end.session.confirmation();
                    end.wire.extend(unit);
                }
            }
            Step::Cut => {
                ends.iter_mut().for_each(|end| end.session.disconnected());
                ends.iter_mut().for_each(End::connect);
            }
            Step::GiveUp(end) => {
                ends.iter_mut().for_each(|end| end.session.disconnected());
                ends[usize::from(end)].give_up();
                ends.iter_mut().for_each(End::connect);
            }
        }
        for end in &ends {
            prop_assert!(end.delivered.is_sorted_by(|earlier, later| earlier < later));
        }
    }
    for _ in 0..2000 {
        for end in [0, 1] {
            ends[end].send(usize::MAX);
            let mut wire = std::mem::take(&mut ends[end].wire);
            ends[1 - end].receive(&mut wire, usize::MAX);
            ends[end].wire = wire;
        }
    }
    for end in 0..2 {
        let unit = ends[1 - end].session.confirmation();
        ends[1 - end].wire.extend(unit);
        let mut wire = std::mem::take(&mut ends[1 - end].wire);
        ends[end].receive(&mut wire, usize::MAX);
    }
    for end in &ends {
        prop_assert_eq!((end.session.kept_bytes(), end.session.unsent_bytes()), (0, 0));
    }
    Ok(ends)
}

fn header(kind: Kind, sequence: u64, confirms: u64) -> Header {
    Header { kind, length: 64, count: 0, sequence, assignment_version: 0, confirms }
}

#[test]
fn a_gap_and_a_confirmation_of_what_was_never_sent_are_faults() {
    let mut session = Session::new(0);
    session.connected();
    assert_eq!(session.arrived(&header(Kind::Resume, 0, 0), drop), Ok(Arrival::Settled));
    assert_eq!(session.arrived(&header(Kind::Frame, 1, 0), drop), Err(ProtocolError::Gap { found: 1, expected: 0 }));
    let fault = ProtocolError::Resume { asked: 5, first: 0, next: 0 };
    assert_eq!(session.arrived(&header(Kind::Frame, 0, 5), drop), Err(fault));
}

#[test]
fn who_gives_up_more_than_can_be_is_at_fault() {
    let mut session = Session::new(0);
    session.connected();
    let fault = ProtocolError::Gap { found: u64::MAX, expected: 0 };
    assert_eq!(session.arrived(&header(Kind::Resume, u64::MAX, 0), drop), Err(fault));
    assert_eq!(session.arrived(&header(Kind::Resume, 1000, 0), drop), Ok(Arrival::Settled));
    assert_eq!(session.arrived(&header(Kind::Frame, 1000, 0), drop), Ok(Arrival::Deliver));
    assert_eq!(session.skipped(), 1000);
}

#[test]
fn nothing_is_sent_or_taken_before_the_peer_said_where_to_go_on() {
    let mut end = End::new();
    end.push(0);
    end.connect();
    assert_eq!(end.session.unsent().count(), 0);
    let early = end.session.arrived(&header(Kind::Frame, 0, 0), drop);
    assert_eq!(early, Err(ProtocolError::Unexpected { found: "frame", expected: "a resumption" }));
    end.session.arrived(&header(Kind::Resume, 0, 0), drop).unwrap();
    assert_eq!(end.session.unsent().count(), 1);
    let again = end.session.arrived(&header(Kind::Resume, 0, 0), drop);
    assert!(matches!(again, Err(ProtocolError::Unexpected { .. })));
}

#[test]
fn what_a_send_may_read_is_not_freed_though_it_is_confirmed() {
    let mut end = End::new();
    end.connect();
    end.session.arrived(&header(Kind::Resume, 0, 0), drop).unwrap();
    end.push(0);
    let bytes = end.session.unsent().map(<[u8]>::len).sum::<usize>();
    let mut freed = 0;
    end.session.arrived(&header(Kind::Confirm, 0, 1), |_| freed += 1).unwrap();
    assert_eq!((freed, end.session.kept_bytes()), (0, 0));
    end.session.sent(bytes, |_| freed += 1);
    assert_eq!(freed, 1);
}

#[test]
fn what_was_not_confirmed_is_known() {
    let mut end = End::new();
    end.connect();
    end.session.arrived(&header(Kind::Resume, 0, 0), drop).unwrap();
    (0..4).for_each(|_| end.push(0));
    end.send(usize::MAX);
    assert_eq!(end.session.unconfirmed().count(), 4);
    end.session.arrived(&header(Kind::Frame, 0, 3), drop).unwrap();
    assert_eq!(end.session.unconfirmed().count(), 1);
}
