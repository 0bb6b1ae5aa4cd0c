//! What of a stored assignment lives, and which slots the dead leave behind.
//!
//! Source: `Nimbus.computeTopologyToSchedulerAssignment` and `computeSupervisorToDeadPorts` of Storm 2.8.2. A slot with a
//! dead executor is not used in this round; when its executors have moved away, the next round may use it again. Its
//! living executors stay where they are, if the scheduler lets them.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_types::{ComponentId, ExecutorId};

use crate::{Assignment, WorkerSlot};

/// See [`split_living`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Living {
    /// The executors of the topology that live, and where: its [`Topology::assignment`](crate::Topology::assignment).
    pub assignment: Assignment,
    /// Slots with a dead executor: the [`Supervisor::dead_ports`](crate::Supervisor::dead_ports) that come from this
    /// topology.
    pub dead_slots: BTreeSet<WorkerSlot>,
}

/// Divides the stored assignment of a topology by whether its executors live. An executor that the topology does not have
/// (any more) is dropped, and says nothing about its slot.
pub fn split_living(
    stored: Assignment,
    executors: &BTreeMap<ExecutorId, ComponentId>,
    mut is_alive: impl FnMut(ExecutorId) -> bool,
) -> Living {
    let mut living = Living::default();
    for (executor, slot) in stored.into_iter().filter(|(executor, _)| executors.contains_key(executor)) {
        if is_alive(executor) {
            living.assignment.insert(executor, slot);
        } else {
            living.dead_slots.insert(slot);
        }
    }
    living
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringstorm_types::TaskId;

    #[test]
    fn the_dead_leave_a_dead_slot_and_strangers_nothing() {
        let executor = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
        let slot = |port| WorkerSlot { node_id: "node".into(), port };
        let stored: Assignment =
            [(1, 10), (2, 10), (3, 20), (4, 30)].map(|(task, port)| (executor(task), slot(port))).into();
        let executors = [1, 2, 3].map(|task| (executor(task), ComponentId::from_static("bolt"))).into();
        let living = split_living(stored, &executors, |of| of != executor(2));
        assert_eq!(living.assignment, [(executor(1), slot(10)), (executor(3), slot(20))].into());
        assert_eq!(living.dead_slots, [slot(10)].into());
    }
}
