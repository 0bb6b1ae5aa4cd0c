//! Who reaches whom.
//!
//! Invariant: an obstacle that was put up is there until it is taken away. Threading: plain data.

use std::collections::BTreeSet;

use super::process::{HostId, ProcessId};

/// Obstacles between hosts, and between processes.
#[derive(Debug, Default)]
pub struct Network {
    /// From the first to the second nothing arrives.
    hosts: BTreeSet<(HostId, HostId)>,
    processes: BTreeSet<(ProcessId, ProcessId)>,
    from_zookeeper: BTreeSet<HostId>,
}

impl Network {
    /// Whether what the one host sends arrives at the other.
    pub fn carries(&self, from: HostId, to: HostId) -> bool {
        from == to || !self.hosts.contains(&(from, to))
    }

    /// As [`Self::carries`], between two processes whose hosts reach each other.
    pub fn carries_between(&self, from: ProcessId, to: ProcessId) -> bool {
        !self.processes.contains(&(from, to))
    }

    /// Whether a host has a connection to the ensemble.
    pub fn reaches_zookeeper(&self, host: HostId) -> bool {
        !self.from_zookeeper.contains(&host)
    }

    /// Puts an obstacle between two hosts, one way.
    pub fn part(&mut self, from: HostId, to: HostId) {
        self.hosts.insert((from, to));
    }

    /// Puts an obstacle between two processes, one way.
    pub fn part_processes(&mut self, from: ProcessId, to: ProcessId) {
        self.processes.insert((from, to));
    }

    /// Parts a host from the ensemble.
    pub fn part_zookeeper(&mut self, host: HostId) {
        self.from_zookeeper.insert(host);
    }

    /// Takes all obstacles away.
    pub fn heal(&mut self) {
        *self = Self::default();
    }
}
