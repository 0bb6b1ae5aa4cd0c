//! Which executor runs where, as an assignment in the tree says it.
//!
//! Entries that are no executor in a slot are left out and named. So the executors in them count as having no slot, and
//! the next round writes the assignment anew. Threading: plain data. Errors: none.

use std::collections::{BTreeMap, HashMap};

use ringstorm_records::records::{Assignment, NodeInfo};
use ringstorm_scheduler::{Assignment as Slots, NodeId, WorkerSlot};
use ringstorm_types::{ExecutorId, TaskId};

/// A stored assignment, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Where each executor is.
    pub(crate) slots: Slots,
    /// When each was put there, in seconds since 1970.
    pub(crate) start_times: BTreeMap<ExecutorId, i64>,
    /// What could not be understood.
    pub(crate) malformed: Vec<String>,
}

impl Placement {
    pub(crate) fn of(assignment: &Assignment) -> Self {
        let mut placement = Self::default();
        // One id of a node is shared by all of its executors.
        let mut nodes: HashMap<&str, NodeId> = HashMap::new();
        for (tasks, at) in &assignment.executor_node_port {
            match (executor(tasks), port(at)) {
                (Some(executor), Some(port)) => {
                    let node_id = nodes.entry(&at.node).or_insert_with(|| NodeId::from(at.node.as_str())).clone();
                    placement.slots.insert(executor, WorkerSlot { node_id, port });
                }
                _ => {
                    placement
                        .malformed
                        .push(format!("{tasks:?} at {}:{:?} is no executor in a slot", at.node, at.port));
                }
            }
        }
        let times = assignment.executor_start_time_secs.iter();
        placement.start_times = times.filter_map(|(tasks, secs)| Some((executor(tasks)?, *secs))).collect();
        placement
    }

    /// Each slot with the time when its executors were put there, the latest if they differ.
    pub(crate) fn started_secs(&self) -> BTreeMap<WorkerSlot, i64> {
        let mut started = BTreeMap::new();
        for (executor, slot) in &self.slots {
            let secs = self.start_times.get(executor).copied().unwrap_or(0);
            match started.get_mut(slot) {
                Some(latest) => *latest = secs.max(*latest),
                None => drop(started.insert(slot.clone(), secs)),
            }
        }
        started
    }
}

/// Each slot with its executors.
pub(crate) fn by_slot(slots: &Slots) -> BTreeMap<&WorkerSlot, Vec<ExecutorId>> {
    let mut by_slot: BTreeMap<&WorkerSlot, Vec<ExecutorId>> = BTreeMap::new();
    for (executor, slot) in slots {
        by_slot.entry(slot).or_default().push(*executor);
    }
    by_slot
}

/// The record of a slot.
pub(crate) fn node_info(slot: &WorkerSlot) -> NodeInfo {
    NodeInfo { node: slot.node_id.as_str().to_owned(), port: [i64::from(slot.port)].into() }
}

/// The record of an executor's id.
pub(crate) fn tasks(executor: ExecutorId) -> Vec<i64> {
    vec![i64::from(executor.first.0), i64::from(executor.last.0)]
}

fn executor(tasks: &[i64]) -> Option<ExecutorId> {
    let task = |task: i64| i32::try_from(task).ok().map(TaskId);
    match tasks {
        [first, last] if first <= last => Some(ExecutorId { first: task(*first)?, last: task(*last)? }),
        _ => None,
    }
}

fn port(at: &NodeInfo) -> Option<u16> {
    let mut ports = at.port.iter();
    match (ports.next(), ports.next()) {
        (Some(port), None) => u16::try_from(*port).ok().filter(|port| *port != 0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_executor_in_a_slot_is_named_and_left_out() {
        let at = |ports: &[i64]| NodeInfo { node: "n".into(), port: ports.iter().copied().collect() };
        let assignment = Assignment {
            executor_node_port: [
                (vec![1, 2], at(&[6700])),
                (vec![3], at(&[6700])),
                (vec![5, 4], at(&[6700])),
                (vec![6, i64::MAX], at(&[6700])),
                (vec![7, 7], at(&[])),
                (vec![8, 8], at(&[6700, 6701])),
                (vec![9, 9], at(&[0])),
                (vec![10, 10], at(&[65_536])),
                (vec![11, 11], at(&[6700])),
            ]
            .into(),
            executor_start_time_secs: [(vec![1, 2], 50), (vec![11, 11], 70), (vec![], 90)].into(),
            ..Assignment::default()
        };
        let placement = Placement::of(&assignment);
        assert_eq!(placement.slots.len(), 2);
        assert_eq!(placement.malformed.len(), 7);
        assert_eq!(placement.started_secs().into_values().collect::<Vec<_>>(), [70]);
    }
}
