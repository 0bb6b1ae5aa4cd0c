//! The connections between workers in numbers: from each worker to each other, over all of their cores.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{CoreSnapshot, PeerCounts, PeerSnapshot};

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
    /// Times that tasks of the other paused those here.
    pub pauses: u64,
    /// Times that the other was too far behind to take more.
    pub full_count: u64,
    /// What went and came.
    pub counts: PeerCounts,
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
        self.pauses += peer.pauses;
        self.full_count += peer.full_count;
        self.counts += peer.counts;
    }

    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "from": self.from,
            "to": self.to,
            "connections": self.connections,
            "not_ready": self.not_ready,
            "away": self.away,
            "pauses": self.pauses,
            "full_count": self.full_count,
        });
        if let (Value::Object(object), Ok(Value::Object(counts))) = (&mut object, serde_json::to_value(self.counts)) {
            object.extend(counts);
        }
        object
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
            counts: PeerCounts { sent_tuples: 5, oldest_unconfirmed_ns, ..PeerCounts::default() },
            ..PeerSnapshot::default()
        };
        let core = |worker, peers| CoreSnapshot { worker, peers, ..CoreSnapshot::default() };
        let cores = [core(0, vec![peer(1, 0), peer(2, 7)]), core(0, vec![peer(1, 3)]), core(1, vec![peer(0, 0)])];
        let sums = ConnectionMetrics::of(cores.iter());
        assert_eq!(sums.iter().map(|sum| (sum.from, sum.to)).collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 0)]);
        let first = &sums[0];
        assert_eq!((first.connections, first.not_ready, first.counts.sent_tuples), (2, 1, 10));
        let json = first.to_json();
        assert_eq!((&json["from"], &json["oldest_unconfirmed_ns"]), (&json!(0), &json!(3)));
    }
}
