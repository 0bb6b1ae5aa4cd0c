//! What decides which process runs what: the assignment of a topology's executors to its workers.
//!
//! Whoever makes it (the process that leads a local run, a file, the control plane) gives the same one to every worker of
//! the topology, and a new one when something changes. Data and checks only.
//!
//! Rules: the version never falls, and grows with every change of who runs what: two assignments of one version differ in
//! addresses, incarnations and whether spouts are active at most. A worker's number belongs to its slot for as long as the
//! topology lives; each process that runs in a slot has a greater incarnation than those before it; a worker whose own
//! executors or cores change is another process.
//!
//! # The file
//!
//! `worker --ringstorm-assignment FILE --ringstorm-worker NUMBER` reads an [`Assignment`] as one JSON object, in UTF-8 and
//! of at most 256 MiB. Every field must be there, once, and no other. README.md has an example.
//!
//! | field | JSON | range |
//! | --- | --- | --- |
//! | `topology_id` | text | any; the same for as long as the topology lives |
//! | `version` | number | a whole number of 64 bits with its sign |
//! | `secret` | text | at least [`SECRET_BYTES_MIN`] bytes |
//! | `acker_executors` | number | from 0; without effect where `topology.acker.executors` is set |
//! | `active` | `true` or `false` | |
//! | `workers` | list of objects | each with a number of its own |
//! | `workers[].number` | number | a whole number from 0, below 2^64 |
//! | `workers[].incarnation` | number | a whole number from 0, below 2^64; `local` takes microseconds since 1970 |
//! | `workers[].address` | text | `host:port`, a name or an address; empty while it is not known |
//! | `workers[].cores` | number | 1 to [`CORES_MAX`] |
//! | `workers[].executors` | list of `[first, last]` task ids, both included | at least one; all of the topology's in exactly one worker |
//!
//! Tasks are numbered as Storm does: the components in the order of their ids, the system's first (`__acker` before `count`),
//! from 1. `describe` shows the executors.
//!
//! Whoever changes it renames another file over it. A worker looks ten times a second. What cannot be read, an assignment that
//! is older than what it or another worker has heard of, and another plan of the same version are left, with a note. It ends
//! in order when the file is gone, when it is not among the workers any more, or when its own executors or cores are others.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::numbering::Numbering;
use crate::{ExecutorId, TaskId};

#[cfg(test)]
mod tests;

/// Which worker of a topology runs which executors, and where it is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The id of the topology, as in Storm: its name, the number of its submission, and the second it was made in.
    pub topology_id: String,
    /// Grows with every change of who runs what.
    pub version: i64,
    /// Known to the workers of this topology and to nobody else.
    pub secret: WorkerSecret,
    /// How many executors `__acker` has if neither the topology nor its configuration says so.
    pub acker_executors: u32,
    /// Whether spouts are asked for tuples.
    pub active: bool,
    /// The workers, each once.
    pub workers: Vec<AssignedWorker>,
}

/// By this text the workers of a topology prove to each other that they belong to it, and derive the keys of their edge
/// ids. At least [`SECRET_BYTES_MIN`] bytes; never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerSecret(pub String);

impl fmt::Debug for WorkerSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WorkerSecret(hidden)")
    }
}

/// A worker of an [`Assignment`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssignedWorker {
    /// The number of its slot, which no other slot of the topology has.
    pub number: u64,
    /// The lowest incarnation that is current: processes of a lower one are dead or to be ignored.
    pub incarnation: u64,
    /// Where the others reach it, as `host:port`; empty while nobody knows, and then nobody dials it.
    pub address: String,
    /// Its cores.
    pub cores: NonZeroUsize,
    /// What it runs, as pairs of first and last task.
    #[serde(with = "pairs")]
    pub executors: Vec<ExecutorId>,
}

/// The shortest secret: 128 bits in hexadecimal digits.
pub const SECRET_BYTES_MIN: usize = 32;
/// The most cores of a worker.
pub const CORES_MAX: usize = crate::config::keys::MAX_WORKER_CORES;

/// Why an assignment is not one for a topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssignmentError {
    /// Two workers with one number.
    #[error("the assignment has worker {0} twice; each slot needs a number of its own")]
    WorkerTwice(u64),
    /// A worker that runs nothing.
    #[error("the assignment gives worker {0} no executors; leave it out")]
    NothingToRun(u64),
    /// An executor of two workers, or twice of one.
    #[error("the assignment has executor {0} twice; each runs in one worker")]
    ExecutorTwice(ExecutorId),
    /// An executor that the topology does not have.
    #[error(
        "the assignment has executor {0}, which this topology does not have; it was made for another version of it, or \
         for another number of ackers"
    )]
    UnknownExecutor(ExecutorId),
    /// An executor that nobody runs.
    #[error("the assignment gives executor {0} to nobody; each must run somewhere")]
    Unassigned(ExecutorId),
    /// A short secret.
    #[error("the secret of the assignment has {0} bytes; it needs at least {SECRET_BYTES_MIN}")]
    Secret(usize),
    /// Too many cores.
    #[error("the assignment gives worker {worker} {cores} cores; at most {CORES_MAX} are possible")]
    Cores {
        /// Its number.
        worker: u64,
        /// What it was given.
        cores: usize,
    },
}

impl Assignment {
    /// Checks that every executor of the topology runs in exactly one worker, and the rest.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self, numbering: &Numbering) -> Result<(), AssignmentError> {
        if self.secret.0.len() < SECRET_BYTES_MIN {
            return Err(AssignmentError::Secret(self.secret.0.len()));
        }
        let mut missing: BTreeMap<ExecutorId, bool> =
            numbering.executors().iter().map(|executor| (executor.id, true)).collect();
        let mut numbers = std::collections::BTreeSet::new();
        for AssignedWorker { number, cores, executors, .. } in &self.workers {
            if !numbers.insert(*number) {
                return Err(AssignmentError::WorkerTwice(*number));
            }
            if cores.get() > CORES_MAX {
                return Err(AssignmentError::Cores { worker: *number, cores: cores.get() });
            }
            if executors.is_empty() {
                return Err(AssignmentError::NothingToRun(*number));
            }
            for executor in executors {
                match missing.get_mut(executor) {
                    None => return Err(AssignmentError::UnknownExecutor(*executor)),
                    Some(is_missing) if !*is_missing => return Err(AssignmentError::ExecutorTwice(*executor)),
                    Some(is_missing) => *is_missing = false,
                }
            }
        }
        match missing.into_iter().find(|(_, is_missing)| *is_missing) {
            Some((executor, _)) => Err(AssignmentError::Unassigned(executor)),
            None => Ok(()),
        }
    }

    /// The place of a worker among [`Assignment::workers`].
    pub fn position_of(&self, number: u64) -> Option<usize> {
        self.workers.iter().position(|worker| worker.number == number)
    }
}

/// Executors as pairs of their first and last task, as Storm shows them.
mod pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{ExecutorId, TaskId};

    pub(super) fn serialize<S: Serializer>(executors: &[ExecutorId], serializer: S) -> Result<S::Ok, S::Error> {
        let pairs: Vec<[i32; 2]> = executors.iter().map(|id| [id.first.0, id.last.0]).collect();
        pairs.serialize(serializer)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Vec<ExecutorId>, D::Error> {
        let pairs = Vec::<[i32; 2]>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|[first, last]| ExecutorId { first: TaskId(first), last: TaskId(last) }).collect())
    }
}
