//! What a scheduler is told: supervisors with their ports, topologies with their executors, and who runs where.
//!
//! Plain data, in Storm's words. An [`Assignment`] maps executors to slots, so that no executor is in two of them.
//! Whether all of it fits together is looked at by [`Cluster::new`](crate::Cluster::new).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use ringstorm_types::{ComponentId, ExecutorId};

/// The id of a supervisor, which Storm also calls node. Ordered as Java orders texts, by UTF-16 units, because Storm's
/// schedulers go through nodes in that order.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// The id with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for NodeId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl Ord for NodeId {
    fn cmp(&self, other: &Self) -> Ordering {
        let (left, right) = (self.0.as_bytes(), other.0.as_bytes());
        match left.iter().zip(right).find(|(left, right)| left != right) {
            None => left.len().cmp(&right.len()),
            Some((left, right)) => utf16_rank(*left).cmp(&utf16_rank(*right)),
        }
    }
}

impl PartialOrd for NodeId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Orders the first bytes of UTF-8 as the units of UTF-16 are ordered: what lies above U+FFFF, whose bytes start with
/// `F0` and more, comes before U+E000 to U+FFFF (`EE` and `EF`), since its units are surrogates.
fn utf16_rank(byte: u8) -> u8 {
    if matches!(byte, 0xEE | 0xEF) { byte + 0x10 } else { byte }
}

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

/// A port of a supervisor, where one worker can run. Ordered by node, then port. Displayed as Storm does, `node:port`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerSlot {
    /// The id of the supervisor, which need not live.
    pub node_id: NodeId,
    /// One of its `supervisor.slots.ports`.
    pub port: u16,
}

impl fmt::Display for WorkerSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.node_id, self.port)
    }
}

/// Which slot runs each executor of one topology.
pub type Assignment = BTreeMap<ExecutorId, WorkerSlot>;

/// A supervisor that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// Its id, unique among supervisors.
    pub id: NodeId,
    /// The host that it is on; several supervisors may share one.
    pub host: String,
    /// All of its slots.
    pub ports: BTreeSet<u16>,
    /// Those that must not be used in this round, because an executor there was found dead; see
    /// [`split_living`](crate::split_living). Ports that the supervisor does not have do no harm.
    pub dead_ports: BTreeSet<u16>,
}

/// A topology that should run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// Its id, unique among topologies: as in Storm its name, the number of its submission and the second of that.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How many workers it wants (`topology.workers`).
    pub worker_count: u32,
    /// All of its executors, with the component that each belongs to.
    pub executors: BTreeMap<ExecutorId, ComponentId>,
    /// Those of its executors that live, and where; empty for a topology that is to be placed from scratch, as after a
    /// rebalance.
    pub assignment: Assignment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_in_javas_order() {
        let texts = ["", "a", "ab", "b", "\u{7f}", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}"];
        let texts: Vec<String> = texts.iter().flat_map(|left| texts.map(|right| format!("{left}{right}"))).collect();
        for (left, right) in texts.iter().flat_map(|left| texts.iter().map(move |right| (left, right))) {
            let of_java = left.encode_utf16().cmp(right.encode_utf16());
            assert_eq!(NodeId::from(left.as_str()).cmp(&NodeId::from(right.as_str())), of_java, "{left:?} {right:?}");
        }
    }

    #[test]
    fn slots_are_ordered_by_node_then_port_and_shown_as_storm_does() {
        let slot = |node: &str, port| WorkerSlot { node_id: node.into(), port };
        assert!(slot("a", 2) < slot("a", 10) && slot("a", 10) < slot("b", 1));
        assert_eq!(slot("a", 6700).to_string(), "a:6700");
    }
}
