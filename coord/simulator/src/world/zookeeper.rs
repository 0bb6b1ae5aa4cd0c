//! The servers' side of connections to the tree: sessions, their silence, snapshots.
//!
//! Invariant: a session that is heard of is not ended. Threading: plain data.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_store::memory::Ensemble;
use ringstorm_store::store::SessionId;

use super::process::ProcessId;

/// How many members the ensemble has.
pub(crate) const MEMBERS: usize = 3;

/// The ensemble and what it knows of its clients.
#[derive(Debug)]
pub(crate) struct ZooKeeper {
    pub(crate) ensemble: Ensemble,
    pub(crate) served: BTreeMap<SessionId, Served>,
    /// After how long a silence a session expires.
    pub(crate) timeout: Duration,
    /// Whether there is no quorum.
    pub(crate) is_down: bool,
    /// The members that take no connections.
    pub(crate) members_down: [bool; MEMBERS],
    pub(crate) snapshots: Vec<Ensemble>,
    /// The session of whoever changes the tree by hand.
    pub(crate) operator: SessionId,
    /// How many operations were done.
    pub(crate) performed: u64,
}

/// A session, as the ensemble sees it.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) process: ProcessId,
    /// The connection over which it is served.
    pub(crate) link: u64,
    /// By which member.
    pub(crate) member: usize,
    /// How many requests of that connection have arrived.
    pub(crate) arrived: u64,
    /// From this request on they were lost with the connection.
    pub(crate) lost_from: u64,
    /// Changes whenever a silence begins or ends.
    pub(crate) silence: u64,
    pub(crate) is_silent: bool,
}

impl ZooKeeper {
    pub(crate) fn new(timeout: Duration) -> Self {
        let mut ensemble = Ensemble::new(MEMBERS);
        let operator = ensemble.open(0, &[]);
        Self {
            ensemble,
            served: BTreeMap::new(),
            timeout,
            is_down: false,
            members_down: [false; MEMBERS],
            snapshots: Vec::new(),
            operator,
            performed: 0,
        }
    }

    /// The members that take connections.
    pub(crate) fn members_up(&self) -> Vec<usize> {
        (0..MEMBERS).filter(|member| !self.members_down[*member]).collect()
    }

    /// A process by the session that it has, or had.
    pub(crate) fn process_of(&self, session: SessionId) -> Option<ProcessId> {
        self.served.get(&session).map(|served| served.process)
    }
}
