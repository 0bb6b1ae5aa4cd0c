//! Storm's record of an assignment as the one that the data path takes.
//!
//! Invariants: what is not one for the topology is refused as a whole, in words that name the place. Equal records give
//! equal assignments. Threading: pure functions. Errors: [`Unusable`]; what ran before goes on.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use ringstorm_records::records::{self, NodeInfo};
use ringstorm_records::znode::{NodeName, Slot};
use ringstorm_types::assignment::{AssignedWorker, Assignment, AssignmentError};
use ringstorm_types::fnv::fnv;
use ringstorm_types::generations::Generations;
use ringstorm_types::{ExecutorId, TaskId};

use crate::settings::{Identity, TopologyFacts};

#[cfg(test)]
mod tests;

/// What each slot runs, in the order of tasks. No slot without executors.
pub type Shares = BTreeMap<Slot, Vec<ExecutorId>>;

/// Why a record is no assignment for this worker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// An executor that is not a first and a last task.
    #[error("{0:?} is no executor; one is a first and a last task")]
    Executor(Vec<i64>),
    /// Something that is not a slot.
    #[error("{0:?} is no slot; one is the id of a supervisor and a port")]
    Slot(NodeInfo),
    /// Two slots whose numbers are equal, by a chance of one in 2^64.
    #[error(
        "the slots {one:?} and {other:?} have the same number, {number}; let one of the supervisors have another port or \
         id"
    )]
    NumberTwice {
        /// A slot.
        one: Slot,
        /// Another.
        other: Slot,
        /// The number of both.
        number: u64,
    },
    /// A number of cores that no slot can have.
    #[error("slots of supervisor {supervisor} have {cores} cores by it; each has at least one")]
    Cores {
        /// The id of the supervisor.
        supervisor: String,
        /// The number.
        cores: i64,
    },
    /// It has not the executors of the topology.
    #[error(transparent)]
    Check(#[from] AssignmentError),
}

/// The number of a slot: the same wherever it is asked for, and as good as never that of another one.
pub fn slot_number(slot: &Slot) -> u64 {
    fnv(format!("{}:{}", slot.supervisor, slot.port).into_bytes())
}

/// What each slot runs.
///
/// # Errors
/// What is not an executor, or not a slot.
pub fn shares(record: &records::Assignment) -> Result<Shares, Unusable> {
    let mut shares = Shares::new();
    for (executor, slot) in &record.executor_node_port {
        shares.entry(slot_of(slot)?).or_default().push(executor_of(executor)?);
    }
    Ok(shares)
}

/// The assignment that the data path takes: `record`, which gives `shares`, with the incarnations that are known to be
/// current.
///
/// # Errors
/// Two slots have one number, a slot no cores, or it has not the executors of the topology.
pub fn data_path_assignment(
    record: &records::Assignment,
    shares: &Shares,
    identity: &Identity,
    facts: &TopologyFacts,
    generations: &Generations,
) -> Result<Assignment, Unusable> {
    let mut numbers: BTreeMap<u64, &Slot> = BTreeMap::new();
    let mut workers = Vec::with_capacity(shares.len());
    for (slot, executors) in shares {
        let number = slot_number(slot);
        if let Some(other) = numbers.insert(number, slot) {
            return Err(Unusable::NumberTwice { one: other.clone(), other: slot.clone(), number });
        }
        let is_own = *slot == identity.slot;
        let host = record.node_host.get(slot.supervisor.as_str()).filter(|host| !host.is_empty());
        workers.push(AssignedWorker {
            number,
            incarnation: if is_own { identity.incarnation } else { generations.incarnation_of(number) },
            address: host.map_or_else(String::new, |host| address(host, slot.port)),
            cores: cores_of(record, slot)?.unwrap_or(if is_own { identity.cores } else { NonZeroUsize::MIN }),
            executors: executors.clone(),
        });
    }
    let assignment = Assignment {
        topology_id: identity.topology.to_string(),
        version: version_of(record),
        secret: facts.secret.clone(),
        acker_executors: facts.acker_executors,
        active: false,
        workers,
    };
    assignment.check(&facts.numbering)?;
    Ok(assignment)
}

/// Its version; 0 of one that Apache Storm wrote, which has none.
pub fn version_of(record: &records::Assignment) -> i64 {
    record.version.unwrap_or(0)
}

/// What all workers take for the cores of a slot, its own among them; nothing if it does not say so.
fn cores_of(record: &records::Assignment, slot: &Slot) -> Result<Option<NonZeroUsize>, Unusable> {
    let said = record.slot_cores.as_ref().and_then(|cores| cores.get(slot.supervisor.as_str()));
    let cores = |said: &i64| {
        let cores = usize::try_from(*said).ok().and_then(NonZeroUsize::new);
        cores.ok_or_else(|| Unusable::Cores { supervisor: slot.supervisor.to_string(), cores: *said })
    };
    said.map(cores).transpose()
}

/// A literal address of IPv6 is set in brackets.
fn address(host: &str, port: u16) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn slot_of(info: &NodeInfo) -> Result<Slot, Unusable> {
    let unusable = || Unusable::Slot(info.clone());
    let mut ports = info.port.iter();
    let (Some(port), None) = (ports.next(), ports.next()) else { return Err(unusable()) };
    let port = u16::try_from(*port).ok().filter(|port| *port != 0).ok_or_else(unusable)?;
    let supervisor = NodeName::new(&info.node).map_err(|_| unusable())?;
    Ok(Slot { supervisor, port })
}

fn executor_of(tasks: &[i64]) -> Result<ExecutorId, Unusable> {
    let unusable = || Unusable::Executor(tasks.to_vec());
    let [first, last] = tasks else { return Err(unusable()) };
    let task = |task: i64| i32::try_from(task).map(TaskId).map_err(|_| unusable());
    Ok(ExecutorId { first: task(*first)?, last: task(*last)? })
}
