//! Which generation is the current one: the newest process of each worker, and the newest assignment, that anybody was
//! heard of. By this alone the workers of a topology keep out what is of the past; no clock and no lease is involved.
//!
//! Data path and control plane decide by the same rules: a handshake is judged where it comes, an assignment where it is
//! read.
//!
//! Invariants: the newest version never falls, nor does the lowest current incarnation of a worker. Whatever was once
//! higher is never accepted lower again. What is known of a worker is kept for good: a worker that goes may come back.
//! Threading: plain data. Errors: why something is stale, in words.

use std::collections::BTreeMap;

/// What a worker has heard of generations, its own included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generations {
    newest_version: i64,
    processes: BTreeMap<u64, Process>,
}

/// The newest process of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Process {
    incarnation: u64,
    /// The newest assignment that it was heard to run; `None` while it was not heard of from itself.
    version: Option<i64>,
}

/// A process that is not the newest one of its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("incarnation {found} of worker {worker} is stale: {newest} is known")]
pub struct StaleIncarnation {
    /// The number of its slot.
    pub worker: u64,
    /// What it is.
    pub found: u64,
    /// The lowest that is current.
    pub newest: u64,
}

/// An assignment that is not the newest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("assignment {found} is left: there is an assignment {newest}")]
pub struct StaleVersion {
    /// Its version.
    pub found: i64,
    /// The newest that anybody was heard of.
    pub newest: i64,
}

impl Default for Generations {
    fn default() -> Self {
        Self { newest_version: i64::MIN, processes: BTreeMap::new() }
    }
}

impl Generations {
    /// The newest assignment that was heard of; `i64::MIN` before any was.
    pub fn newest_version(&self) -> i64 {
        self.newest_version
    }

    /// The lowest incarnation of a worker that is current; 0 while nothing is known of it.
    pub fn incarnation_of(&self, worker: u64) -> u64 {
        self.processes.get(&worker).map_or(0, |process| process.incarnation)
    }

    /// There is an assignment of this version. Returns whether it is newer than all that were heard of before.
    pub fn hear_of_version(&mut self, version: i64) -> bool {
        let is_news = version > self.newest_version;
        self.newest_version = version.max(self.newest_version);
        is_news
    }

    /// Whether an assignment may be taken over; from then on none of a lower version may. The newest may come again.
    ///
    /// # Errors
    /// A newer one was heard of.
    pub fn take_version(&mut self, version: i64) -> Result<(), StaleVersion> {
        if version < self.newest_version {
            return Err(StaleVersion { found: version, newest: self.newest_version });
        }
        self.hear_of_version(version);
        Ok(())
    }

    /// Processes of a worker below this incarnation are dead or to be ignored, as an assignment or another worker says.
    /// Returns the lowest that is current.
    pub fn hear_of_process(&mut self, worker: u64, incarnation: u64) -> u64 {
        let process = self.processes.entry(worker).or_default();
        if incarnation > process.incarnation {
            *process = Process { incarnation, version: None };
        }
        process.incarnation
    }

    /// A process says of itself who it is and which assignment it runs. Returns whether it is newer than all of its
    /// worker that were heard of before. What it says of the assignment counts also when it is stale.
    ///
    /// # Errors
    /// A newer process of the same worker is known: nothing of this one may be accepted.
    pub fn meet(&mut self, worker: u64, incarnation: u64, version: i64) -> Result<bool, StaleIncarnation> {
        self.hear_of_version(version);
        let process = self.processes.entry(worker).or_default();
        if incarnation < process.incarnation {
            return Err(StaleIncarnation { worker, found: incarnation, newest: process.incarnation });
        }
        let is_news = incarnation > process.incarnation;
        let before = process.version.filter(|_| !is_news);
        *process = Process { incarnation, version: before.max(Some(version)) };
        Ok(is_news)
    }

    /// A worker has other executors, or none, than in the assignment `before`. A process runs the same for as long as it
    /// lives, so that the one that ran them is of the past, whether or not anybody says so. One that was heard to run a
    /// newer assignment may be its successor already. Returns the lowest incarnation that is current.
    pub fn succeed(&mut self, worker: u64, before: i64) -> u64 {
        let process = self.processes.entry(worker).or_default();
        if process.version.is_none_or(|version| version <= before) {
            *process = Process { incarnation: process.incarnation.saturating_add(1), version: None };
        }
        process.incarnation
    }
}

#[cfg(test)]
mod tests;
