//! The tree in ZooKeeper: every path, what kind of node lies there, and what it holds.
//!
//! [`Node`] is the one definition. A [`Root`] turns nodes into paths and paths into nodes. Paths, modes and payloads
//! are Storm's (2.8.2); nodes that are only made as parents of others have no data there, which
//! [`PayloadKind::Container`](crate::payload::PayloadKind::Container) and
//! [`PayloadKind::Empty`](crate::payload::PayloadKind::Empty) tell apart.
//!
//! Invariants: whatever a [`Node`] holds, its path is one that ZooKeeper takes, below the root, and leads back to the
//! node; names that would not be so cannot be made. Two exceptions: an enumeration that is unrecognised gives a path that
//! leads nowhere, and, as in Storm, the folder of a component whose name ends in `-last-error` is the last error of
//! another component.

mod root;
mod segment;
mod tree;

pub use root::{InvalidRoot, Root};
pub use segment::{
    BlobHolder, Candidate, ComponentName, ErrorNumber, InvalidName, LastError, NodeName, ProfileTarget, Slot,
};
pub use tree::Node;

/// How a node is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It stays until it is deleted.
    Persistent,
    /// It goes with the session that made it.
    Ephemeral,
    /// As ephemeral, and ZooKeeper appends ten digits to its path, see [`Root::sequential_prefix`].
    EphemeralSequential,
}

impl Mode {
    /// Whether the node goes with its session.
    pub fn is_ephemeral(self) -> bool {
        !matches!(self, Self::Persistent)
    }

    /// Whether ZooKeeper numbers the node.
    pub fn is_sequential(self) -> bool {
        matches!(self, Self::EphemeralSequential)
    }
}

#[cfg(test)]
mod tests;
