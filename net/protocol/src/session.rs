//! What two cores of two workers share for as long as both workers live, over any number of connections: sequence
//! numbers, what is not confirmed yet, and where to go on.
//!
//! One session belongs to a pair of incarnations. Units are numbered in the order in which they are pushed and leave in
//! that order; they are kept until the peer confirms them. A new connection starts with a resumption from both sides,
//! which confirms what arrived and sends the rest again, so that nothing is lost, nothing comes twice and the order holds.
//! A side may give up what it has kept, when the other is away for too long; its resumption says so, and the other goes
//! on behind it.
//!
//! Invariants: units at hand are those from `first` to `next`, without a gap; bytes of a unit do not move or change while
//! a send is under way ([`Session::unsent`] to [`Session::sent`]), also if it is confirmed meanwhile.
//!
//! Threading: belongs to one core. Errors: end the connection, never the session.

use std::collections::VecDeque;

use crate::ProtocolError;
use crate::unit::{Header, Kind, Stamp, bare, seal};

/// Units that a side can have given up between two connections; more is nonsense.
const GIVEN_UP_MAX: u64 = 1 << 40;

/// What to do with a unit that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is the next: deliver it.
    Deliver,
    /// It came before: leave it.
    Duplicate,
    /// It was for the session itself.
    Settled,
    /// The peer has ended in order: nothing follows.
    Closed,
}

/// One direction of units out and one in, between two cores.
#[derive(Debug)]
pub struct Session {
    /// Units that are not confirmed, or whose send is under way.
    units: VecDeque<Vec<u8>>,
    /// The number of the first of them.
    first: u64,
    /// Everything below was confirmed; not below `first`.
    confirmed: u64,
    /// Whole units of `units` that this connection took.
    sent: usize,
    /// Bytes that it took of the next one.
    offset: usize,
    /// A send is under way: nothing may be freed that it may read.
    is_sending: bool,
    /// Bytes of units that are not confirmed.
    kept_bytes: usize,
    /// Those that this connection has not taken.
    unsent_bytes: usize,
    /// The next number that is due from the peer.
    expected: u64,
    /// What the peer was told of it last.
    told: u64,
    /// Bytes received since.
    untold_bytes: usize,
    /// The peer said where to go on: units may be sent.
    is_resumed: bool,
    /// Units below were given up: the peer is told to go on here.
    given_up_before: u64,
    assignment_version: i64,
    /// Counts, for metrics.
    duplicates: u64,
    /// Units of the peer's that it gave up before they came.
    skipped: u64,
}

impl Session {
    /// A session whose first unit has the number 0, in both directions.
    pub fn new(assignment_version: i64) -> Self {
        Self {
            units: VecDeque::new(),
            first: 0,
            confirmed: 0,
            sent: 0,
            offset: 0,
            is_sending: false,
            kept_bytes: 0,
            unsent_bytes: 0,
            expected: 0,
            told: 0,
            untold_bytes: 0,
            is_resumed: false,
            given_up_before: 0,
            assignment_version,
            duplicates: 0,
            skipped: 0,
        }
    }

    /// This session without its units, which are given up: the next connection goes on behind them, and the peer is told
    /// so. What the peer sends goes on where it was. The session itself stays as it is, since the kernel may yet read its
    /// units.
    pub fn without_units(&self) -> Self {
        let next = self.next();
        let &Self { expected, told, assignment_version, duplicates, skipped, .. } = self;
        let (first, confirmed, given_up_before) = (next, next, next);
        let of_peer = Self { expected, told, duplicates, skipped, ..Self::new(assignment_version) };
        Self { first, confirmed, given_up_before, ..of_peer }
    }

    /// From now on units are stamped with this version.
    pub fn set_assignment_version(&mut self, version: i64) {
        self.assignment_version = version;
    }

    /// The version that units are stamped with.
    pub fn assignment_version(&self) -> i64 {
        self.assignment_version
    }

    /// Takes a whole unit of a sequenced kind; it is numbered and sealed here.
    pub fn push(&mut self, mut unit: Vec<u8>) {
        let stamp = Stamp { sequence: self.next(), ..self.stamp() };
        seal(&mut unit, &stamp);
        self.told();
        self.kept_bytes += unit.len();
        self.unsent_bytes += unit.len();
        self.units.push_back(unit);
    }

    /// The number of the next unit to be pushed.
    pub fn next(&self) -> u64 {
        self.first + self.units.len() as u64
    }

    /// Units below this number are confirmed, or were given up.
    pub fn confirmed(&self) -> u64 {
        self.confirmed
    }

    /// Bytes that are kept until they are confirmed.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Units that are kept until they are confirmed.
    pub fn kept_units(&self) -> u64 {
        self.next() - self.confirmed
    }

    /// Bytes that no connection has taken yet, or not this one.
    pub fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Bytes received that the peer was not told of.
    pub fn untold_bytes(&self) -> usize {
        self.untold_bytes
    }

    /// Units received that the peer was not told of: it keeps a buffer for each.
    pub fn untold_units(&self) -> u64 {
        self.expected - self.told
    }

    /// Whether there is something that the peer was not told of.
    pub fn has_untold(&self) -> bool {
        self.told != self.expected
    }

    /// Units that the peer gave up before they came.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Units that came again and were left.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Whether both sides know where to go on, so that units may be sent.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// A connection was made: the unit that must be sent on it before all others. Nothing else is sent before the peer's
    /// own came.
    pub fn connected(&mut self) -> [u8; crate::unit::HEADER_BYTES] {
        let unit = bare(Kind::Resume, &Stamp { sequence: self.given_up_before, ..self.stamp() });
        self.told();
        unit
    }

    /// The connection is gone, and no send of it is under way any more.
    pub fn disconnected(&mut self) {
        self.is_sending = false;
        self.is_resumed = false;
        self.rewind();
    }

    /// A confirmation by itself, for when there is nothing else to send.
    pub fn confirmation(&mut self) -> [u8; crate::unit::HEADER_BYTES] {
        let unit = bare(Kind::Confirm, &self.stamp());
        self.told();
        unit
    }

    /// Says that nothing follows, now or later.
    pub fn close(&mut self) -> [u8; crate::unit::HEADER_BYTES] {
        let unit = bare(Kind::Close, &self.stamp());
        self.told();
        unit
    }

    /// The bytes to send next, in order: the rest of a unit that was begun, then whole ones. Empty until the session is
    /// resumed. From here until [`Session::sent`] nothing of it is freed.
    pub fn unsent(&mut self) -> impl Iterator<Item = &[u8]> {
        self.is_sending = self.is_resumed && self.sent < self.units.len();
        let from = if self.is_resumed { self.sent } else { self.units.len() };
        let offset = self.offset;
        self.units.range(from..).enumerate().map(move |(index, unit)| if index == 0 { &unit[offset..] } else { unit })
    }

    /// The send is over and the connection took this many bytes of it. Confirmed units are handed to `free`.
    ///
    /// # Panics
    /// If there were not as many.
    pub fn sent(&mut self, bytes: usize, free: impl FnMut(Vec<u8>)) {
        self.is_sending = false;
        self.unsent_bytes -= bytes;
        self.offset += bytes;
        while let Some(unit) = self.units.get(self.sent).filter(|unit| unit.len() <= self.offset) {
            self.offset -= unit.len();
            self.sent += 1;
        }
        assert!(self.offset == 0 || self.sent < self.units.len(), "more was sent than there was");
        self.free(free);
    }

    /// Whether a unit of a stopped send was left in the middle, so that only its rest may follow.
    pub fn is_within_unit(&self) -> bool {
        self.offset > 0
    }

    /// A unit came. What it confirms is handed to `free`.
    ///
    /// # Errors
    /// When it has no place in this session.
    pub fn arrived(&mut self, header: &Header, free: impl FnMut(Vec<u8>)) -> Result<Arrival, ProtocolError> {
        let unexpected = |expected| Err(ProtocolError::Unexpected { found: header.kind.name(), expected });
        if header.kind == Kind::Resume {
            if self.is_resumed {
                return unexpected("a unit of a session that goes on");
            }
            if header.sequence.saturating_sub(self.expected) > GIVEN_UP_MAX {
                return Err(ProtocolError::Gap { found: header.sequence, expected: self.expected });
            }
            // A peer that waits for something older is told by the resumption from here that it is not to be had.
            self.confirm(header.confirms.max(self.given_up_before), self.next())?;
            if header.sequence > self.expected {
                self.skipped += header.sequence - self.expected;
                self.expected = header.sequence;
            }
            self.is_resumed = true;
            self.rewind();
            self.free(free);
            return Ok(Arrival::Settled);
        }
        if !self.is_resumed {
            return unexpected("a resumption");
        }
        if header.confirms > self.confirmed {
            // Of a send that is under way the peer may have read everything.
            let sent = if self.is_sending { self.next() } else { self.first + self.sent as u64 };
            self.confirm(header.confirms, sent)?;
            self.free(free);
        }
        match header.kind {
            Kind::Frame | Kind::Control if header.sequence < self.expected => {
                self.duplicates += 1;
                Ok(Arrival::Duplicate)
            }
            Kind::Frame | Kind::Control if header.sequence > self.expected => {
                Err(ProtocolError::Gap { found: header.sequence, expected: self.expected })
            }
            Kind::Frame | Kind::Control => {
                self.expected += 1;
                self.untold_bytes += header.length as usize;
                Ok(Arrival::Deliver)
            }
            Kind::Confirm => Ok(Arrival::Settled),
            Kind::Close => Ok(Arrival::Closed),
            _ => unexpected("a unit of an open connection"),
        }
    }

    /// The units that were not confirmed, in order.
    pub fn unconfirmed(&self) -> impl Iterator<Item = &[u8]> {
        self.units.range((self.confirmed - self.first) as usize..).map(Vec::as_slice)
    }

    fn stamp(&self) -> Stamp {
        Stamp { sequence: 0, assignment_version: self.assignment_version, confirms: self.expected }
    }

    fn told(&mut self) {
        self.told = self.expected;
        self.untold_bytes = 0;
    }

    /// Notes what the peer has received; it may be no more than was sent.
    fn confirm(&mut self, next: u64, sent: u64) -> Result<(), ProtocolError> {
        if next < self.confirmed || next > sent {
            return Err(ProtocolError::Resume { asked: next, first: self.confirmed, next: sent });
        }
        let from = (self.confirmed - self.first) as usize;
        let to = (next - self.first) as usize;
        self.kept_bytes -= self.units.range(from..to).map(Vec::len).sum::<usize>();
        self.confirmed = next;
        Ok(())
    }

    /// The next connection begins with the first unit that is not confirmed.
    fn rewind(&mut self) {
        self.sent = (self.confirmed - self.first) as usize;
        self.offset = 0;
        self.unsent_bytes = self.units.range(self.sent..).map(Vec::len).sum();
    }

    fn free(&mut self, mut free: impl FnMut(Vec<u8>)) {
        // Confirmed means that the peer has read it, yet the end of its send may not have been heard of.
        if self.is_sending {
            return;
        }
        while self.first < self.confirmed && self.sent > 0 {
            let Some(unit) = self.units.pop_front() else { break };
            self.first += 1;
            self.sent -= 1;
            free(unit);
        }
    }
}

#[cfg(test)]
mod tests;
