//! What is counted of a peer, for metrics.

use std::collections::VecDeque;

use ringstorm_protocol::unit::{Kind, kind_of, tuple_count};
use serde::{Deserialize, Serialize};

/// What happened with one peer so far, and how it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerCounts {
    /// Bytes that the kernel took, those of units that were sent again included.
    pub sent_bytes: u64,
    /// Bytes that came.
    pub received_bytes: u64,
    /// Frames that were handed over to be sent; those that are sent again count once.
    pub sent_frames: u64,
    /// Frames that were delivered.
    pub received_frames: u64,
    /// Tuples of the former.
    pub sent_tuples: u64,
    /// Tuples of the latter.
    pub received_tuples: u64,
    /// Connections beyond the first.
    pub reconnects: u64,
    /// Units that came again and were left.
    pub duplicates: u64,
    /// Units that the peer gave up before they came.
    pub skipped: u64,
    /// Calls to the kernel that sent something.
    pub sends: u64,
    /// Those that received something.
    pub receives: u64,
    /// Bytes that the peer has not confirmed.
    pub unconfirmed_bytes: usize,
    /// For how long the oldest of them have waited, in nanoseconds, give or take a turn.
    pub oldest_unconfirmed_ns: u64,
    /// Bytes of the buffer that is received into.
    pub receive_buffer_bytes: usize,
    /// Bytes that the kernel holds for the connection.
    pub kernel_bytes: usize,
}

impl PeerCounts {
    pub(super) fn count_sent(&mut self, unit: &[u8]) {
        if kind_of(unit) == Some(Kind::Frame) {
            self.sent_frames += 1;
            self.sent_tuples += u64::from(tuple_count(unit));
        }
    }

    pub(super) fn count_received(&mut self, kind: Kind, unit: &[u8]) {
        if kind == Kind::Frame {
            self.received_frames += 1;
            self.received_tuples += u64::from(tuple_count(unit));
        }
    }
}

impl std::ops::AddAssign for PeerCounts {
    /// Counts and bytes are summed; the age is that of the oldest.
    fn add_assign(&mut self, other: Self) {
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.sent_frames += other.sent_frames;
        self.received_frames += other.received_frames;
        self.sent_tuples += other.sent_tuples;
        self.received_tuples += other.received_tuples;
        self.reconnects += other.reconnects;
        self.duplicates += other.duplicates;
        self.skipped += other.skipped;
        self.sends += other.sends;
        self.receives += other.receives;
        self.unconfirmed_bytes += other.unconfirmed_bytes;
        self.oldest_unconfirmed_ns = self.oldest_unconfirmed_ns.max(other.oldest_unconfirmed_ns);
        self.receive_buffer_bytes += other.receive_buffer_bytes;
        self.kernel_bytes += other.kernel_bytes;
    }
}

/// Moments that are remembered at most; between them ages are those of the next.
const MOMENTS_MAX: usize = 256;

/// When units were handed over that may not be confirmed.
#[derive(Debug, Default)]
pub(super) struct Ages {
    /// Units below this number were there at this time.
    moments: VecDeque<(u64, u64)>,
}

impl Ages {
    /// Units below `next` are there, those below `confirmed` are confirmed.
    pub(super) fn note(&mut self, next: u64, confirmed: u64, now_ns: u64) {
        while self.moments.front().is_some_and(|(below, _)| *below <= confirmed) {
            self.moments.pop_front();
        }
        let is_news = self.moments.back().map_or(confirmed, |(below, _)| *below) < next;
        if is_news && self.moments.len() < MOMENTS_MAX {
            self.moments.push_back((next, now_ns));
        }
    }

    /// For how long the oldest unit that is not confirmed has waited.
    pub(super) fn oldest(&self, confirmed: u64, now_ns: u64) -> u64 {
        let oldest = self.moments.iter().find(|(below, _)| *below > confirmed);
        oldest.map_or(0, |(_, since_ns)| now_ns.saturating_sub(*since_ns))
    }
}

#[cfg(test)]
mod tests {
    //! Ages of what is not confirmed.

    use super::*;

    #[test]
    fn the_oldest_that_is_not_confirmed_tells_the_age() {
        let mut ages = Ages::default();
        assert_eq!(ages.oldest(0, 50), 0, "nothing waits");
        ages.note(3, 0, 100);
        ages.note(3, 0, 150);
        ages.note(5, 0, 200);
        assert_eq!(ages.oldest(0, 1000), 900);
        assert_eq!(ages.oldest(3, 1000), 800, "the first three are confirmed");
        assert_eq!(ages.oldest(5, 1000), 0);
        ages.note(6, 5, 300);
        assert_eq!(ages.oldest(5, 1000), 700);
    }

    #[test]
    fn a_peer_that_confirms_nothing_costs_a_bounded_memory() {
        let mut ages = Ages::default();
        (1..10_000).for_each(|next| ages.note(next, 0, next));
        assert_eq!((ages.moments.len(), ages.oldest(0, 10_000)), (MOMENTS_MAX, 9_999));
    }
}
