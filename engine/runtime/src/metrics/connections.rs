//! The connections between workers in numbers: from each worker to each other, over all of their cores.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{CoreSnapshot, PeerSnapshot};

/// The connections from one worker to another. Counts and bytes are sums over the cores of both, ages those of the worst.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionMetrics {
    /// The worker that counted.
    pub from: u64,
    /// The other.
    pub to: u64,
    /// How many connections there are to be.
    pub connections: usize,
    /// Those that are not ready now.
    pub not_ready: usize,
    /// Those that are away for so long that what is for them is dropped.
    pub away: usize,
    /// Bytes that were sent, those that were sent again included.
    pub sent_bytes: u64,
    /// Bytes that came.
    pub received_bytes: u64,
    /// Frames that were handed over.
    pub sent_frames: u64,
    /// Frames that came.
    pub received_frames: u64,
    /// Tuples that were handed over.
    pub sent_tuples: u64,
    /// Tuples that came.
    pub received_tuples: u64,
    /// Connections beyond the first of each pair of cores.
    pub reconnects: u64,
    /// Frames and control units that came again and were left.
    pub duplicates: u64,
    /// Times that tasks of the other paused those here.
    pub pauses: u64,
    /// Times that the other was too far behind to take more.
    pub full_count: u64,
    /// Bytes that the other has not confirmed.
    pub unconfirmed_bytes: usize,
    /// For how long the oldest of them have waited.
    pub oldest_unconfirmed: Duration,
    /// Bytes of buffers that are received into.
    pub receive_buffer_bytes: usize,
    /// Bytes that the kernel holds.
    pub kernel_bytes: usize,
}

impl ConnectionMetrics {
    /// Sums the connections of all cores, in the order of workers.
    pub(super) fn of<'a>(cores: impl Iterator<Item = &'a CoreSnapshot>) -> Vec<Self> {
        let mut sums: BTreeMap<(u64, u64), Self> = BTreeMap::new();
        for core in cores {
            for peer in &core.peers {
                let (from, to) = (core.worker, peer.worker);
                sums.entry((from, to)).or_insert_with(|| Self { from, to, ..Self::default() }).add(peer);
            }
        }
        sums.into_values().collect()
    }

    fn add(&mut self, peer: &PeerSnapshot) {
        self.connections += 1;
        self.not_ready += usize::from(!peer.is_ready);
        self.away += usize::from(peer.is_away);
        self.sent_bytes += peer.sent_bytes;
        self.received_bytes += peer.received_bytes;
        self.sent_frames += peer.sent_frames;
        self.received_frames += peer.received_frames;
        self.sent_tuples += peer.sent_tuples;
        self.received_tuples += peer.received_tuples;
        self.reconnects += peer.reconnects;
        self.duplicates += peer.duplicates;
        self.pauses += peer.pauses;
        self.full_count += peer.full_count;
        self.unconfirmed_bytes += peer.unconfirmed_bytes;
        self.oldest_unconfirmed = self.oldest_unconfirmed.max(Duration::from_nanos(peer.oldest_unconfirmed_ns));
        self.receive_buffer_bytes += peer.receive_buffer_bytes;
        self.kernel_bytes += peer.kernel_bytes;
    }

    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "from": self.from,
            "to": self.to,
            "connections": self.connections,
            "not_ready": self.not_ready,
            "away": self.away,
            "sent_bytes": self.sent_bytes,
            "received_bytes": self.received_bytes,
            "sent_frames": self.sent_frames,
            "received_frames": self.received_frames,
            "sent_tuples": self.sent_tuples,
            "received_tuples": self.received_tuples,
            "reconnects": self.reconnects,
            "duplicates": self.duplicates,
            "pauses": self.pauses,
            "full_count": self.full_count,
            "unconfirmed_bytes": self.unconfirmed_bytes,
            "oldest_unconfirmed_ms": self.oldest_unconfirmed.as_secs_f64() * 1e3,
            "receive_buffer_bytes": self.receive_buffer_bytes,
            "kernel_bytes": self.kernel_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    //! Sums over cores.

    use super::*;

    #[test]
    fn cores_of_two_workers_are_one_line() {
        let peer = |worker, oldest_unconfirmed_ns| PeerSnapshot {
            worker,
            is_ready: oldest_unconfirmed_ns == 0,
            sent_tuples: 5,
            oldest_unconfirmed_ns,
            ..PeerSnapshot::default()
        };
        let core = |worker, peers| CoreSnapshot { worker, peers, ..CoreSnapshot::default() };
        let cores =
            [core(0, vec![peer(1, 0), peer(2, 7)]), core(0, vec![peer(1, 3_000_000)]), core(1, vec![peer(0, 0)])];
        let sums = ConnectionMetrics::of(cores.iter());
        assert_eq!(sums.iter().map(|sum| (sum.from, sum.to)).collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 0)]);
        let first = &sums[0];
        assert_eq!((first.connections, first.not_ready, first.sent_tuples), (2, 1, 10));
        assert_eq!(first.oldest_unconfirmed, Duration::from_millis(3));
        assert_eq!(first.to_json()["oldest_unconfirmed_ms"], json!(3.0));
    }
}
