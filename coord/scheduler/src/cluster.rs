//! What a scheduler works on: the slots there are, the topologies, and who runs where.
//!
//! Always true: a slot belongs to one topology at most; an executor has one slot at most; what is assigned here (and was
//! not there from the start) lies on a known supervisor, on a host that is not blacklisted and on a port that is not
//! dead. A round of whatever scheduler cannot break this: [`Cluster::assign`] refuses.
//!
//! Source: `org.apache.storm.scheduler.Cluster` of Storm 2.8.2.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ringstorm_types::ExecutorId;

use crate::{Assignment, NodeId, Supervisor, Topology, WorkerSlot};
use free_slots::FreeSlots;

mod free_slots;
#[cfg(test)]
mod tests;

/// The state of a round: made from what is known, changed by a [`Scheduler`](crate::Scheduler), then asked for the result.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// In the order of their ids.
    supervisors: Vec<Supervisor>,
    index_of_supervisor: HashMap<NodeId, usize>,
    /// Which of `supervisors` are on a blacklisted host.
    is_blacklisted: Vec<bool>,
    free: FreeSlots,
    topologies: Vec<Scheduled>,
    /// Slots that have an executor, those of supervisors that are gone among them.
    occupied: HashMap<WorkerSlot, TopologyIndex>,
}

/// A topology of a [`Cluster`]: its place in the order of scheduling. Only for the cluster that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopologyIndex(usize);

#[derive(Debug, Clone)]
struct Scheduled {
    /// Its assignment is kept up to date.
    topology: Topology,
    slots: BTreeMap<WorkerSlot, Vec<ExecutorId>>,
    unassigned: BTreeSet<ExecutorId>,
    /// How many executors of the assignment are none of the topology's.
    foreign: usize,
}

/// Why supervisors and topologies are no cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCluster {
    /// Two supervisors with one id.
    #[error("two supervisors have the id {0}; each needs one of its own")]
    SupervisorTwice(NodeId),
    /// Two topologies with one id.
    #[error("two topologies have the id {0:?}; each needs one of its own")]
    TopologyTwice(String),
}

/// Why executors cannot be assigned to a slot. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssignError {
    /// Another worker is there.
    #[error("slot {slot} is occupied by topology {by:?}; free it first, or take one of the available slots")]
    Occupied {
        /// The slot.
        slot: WorkerSlot,
        /// The id of the topology that has it, which may be the same one.
        by: String,
    },
    /// The slot is not one that may be used.
    #[error("slot {0} must not be used: its supervisor is unknown or blacklisted, or its port is dead or not there")]
    Unusable(WorkerSlot),
    /// No such executor, or it has a slot.
    #[error("executor {executor} of topology {topology:?} is none that waits for a slot")]
    NotUnassigned {
        /// The executor.
        executor: ExecutorId,
        /// The id of the topology.
        topology: String,
    },
}

/// A topology that has less than it wants after a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// Its place.
    pub topology: TopologyIndex,
    /// As many workers as it can use: what it asks for, but not more than it has executors.
    pub wanted_worker_count: usize,
    /// As many as it has.
    pub worker_count: usize,
    /// How many of its executors have no slot.
    pub unassigned_executor_count: usize,
}

impl Cluster {
    /// The state before a round. Schedulers go through topologies in the order given here, so that those at the front
    /// come first where slots are short; Storm's order is that of a Java hash map.
    ///
    /// As in Storm, what is assigned need not be on a supervisor that is known. Where two topologies claim a slot, the
    /// first keeps it, and the other's executors there have none.
    ///
    /// # Errors
    /// [`InvalidCluster`] when an id is there twice.
    pub fn new(
        mut supervisors: Vec<Supervisor>,
        topologies: Vec<Topology>,
        blacklisted_hosts: &BTreeSet<String>,
    ) -> Result<Self, InvalidCluster> {
        supervisors.sort_by(|left, right| left.id.cmp(&right.id));
        if let Some(pair) = supervisors.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(InvalidCluster::SupervisorTwice(pair[0].id.clone()));
        }
        let mut ids: Vec<&str> = topologies.iter().map(|topology| topology.id.as_str()).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(InvalidCluster::TopologyTwice(pair[0].to_owned()));
        }
        let index_of_supervisor =
            supervisors.iter().enumerate().map(|(index, supervisor)| (supervisor.id.clone(), index)).collect();
        let is_blacklisted: Vec<bool> =
            supervisors.iter().map(|supervisor| blacklisted_hosts.contains(&supervisor.host)).collect();
        let free = FreeSlots::new(supervisors.iter().zip(&is_blacklisted).map(|(supervisor, is_blacklisted)| {
            let usable = supervisor.ports.difference(&supervisor.dead_ports).copied();
            if *is_blacklisted { Vec::new() } else { usable.collect() }
        }));
        let mut cluster = Self {
            supervisors,
            index_of_supervisor,
            is_blacklisted,
            free,
            topologies: Vec::with_capacity(topologies.len()),
            occupied: HashMap::new(),
        };
        for topology in topologies {
            cluster.add(topology);
        }
        Ok(cluster)
    }

    fn add(&mut self, mut topology: Topology) {
        let index = TopologyIndex(self.topologies.len());
        let mut slots: BTreeMap<WorkerSlot, Vec<ExecutorId>> = BTreeMap::new();
        for (executor, slot) in &topology.assignment {
            match slots.get_mut(slot) {
                Some(executors) => executors.push(*executor),
                None => drop(slots.insert(slot.clone(), vec![*executor])),
            }
        }
        slots.retain(|slot, executors| {
            let is_mine = *self.occupied.entry(slot.clone()).or_insert(index) == index;
            if !is_mine {
                executors.iter().for_each(|executor| drop(topology.assignment.remove(executor)));
            }
            is_mine
        });
        for slot in slots.keys() {
            self.take(slot);
        }
        let unassigned: BTreeSet<ExecutorId> =
            topology.executors.keys().filter(|executor| !topology.assignment.contains_key(executor)).copied().collect();
        let foreign = topology.assignment.len() + unassigned.len() - topology.executors.len();
        self.topologies.push(Scheduled { topology, slots, unassigned, foreign });
    }

    /// All topologies, in the order in which they are scheduled.
    pub fn topologies(&self) -> impl DoubleEndedIterator<Item = TopologyIndex> + use<> {
        (0..self.topologies.len()).map(TopologyIndex)
    }

    /// A topology, with its assignment as it is now.
    ///
    /// # Panics
    /// When `topology` is of another cluster, as all methods that take one.
    pub fn topology(&self, topology: TopologyIndex) -> &Topology {
        &self.topologies[topology.0].topology
    }

    /// Which slot runs which executor of a topology now: the result of a round.
    pub fn assignment(&self, topology: TopologyIndex) -> &Assignment {
        &self.topology(topology).assignment
    }

    /// The slots of a topology, with the executors in each.
    pub fn slots(&self, topology: TopologyIndex) -> &BTreeMap<WorkerSlot, Vec<ExecutorId>> {
        &self.topologies[topology.0].slots
    }

    /// The executors of a topology that have no slot, by their tasks.
    pub fn unassigned_executors(&self, topology: TopologyIndex) -> impl Iterator<Item = ExecutorId> {
        self.topologies[topology.0].unassigned.iter().copied()
    }

    /// How many executors of a topology have no slot.
    pub fn unassigned_executor_count(&self, topology: TopologyIndex) -> usize {
        self.topologies[topology.0].unassigned.len()
    }

    /// Whether exactly the topology's executors have slots.
    pub fn is_fully_assigned(&self, topology: TopologyIndex) -> bool {
        let scheduled = &self.topologies[topology.0];
        scheduled.unassigned.is_empty() && scheduled.foreign == 0
    }

    /// Whether a topology has fewer workers than it wants, or executors without a slot.
    pub fn needs_scheduling(&self, topology: TopologyIndex) -> bool {
        let scheduled = &self.topologies[topology.0];
        scheduled.topology.worker_count as usize > scheduled.slots.len() || !scheduled.unassigned.is_empty()
    }

    /// All supervisors, in the order of their ids.
    pub fn supervisors(&self) -> &[Supervisor] {
        &self.supervisors
    }

    /// Whether the supervisor is there and on a blacklisted host.
    pub fn is_blacklisted(&self, supervisor: &NodeId) -> bool {
        self.index_of_supervisor.get(supervisor).is_some_and(|index| self.is_blacklisted[*index])
    }

    /// Whether a slot may be given out, as far as its supervisor goes: it may still be occupied.
    pub fn is_assignable(&self, slot: &WorkerSlot) -> bool {
        self.index_of_supervisor.get(&slot.node_id).is_some_and(|index| {
            let supervisor = &self.supervisors[*index];
            !self.is_blacklisted[*index]
                && supervisor.ports.contains(&slot.port)
                && !supervisor.dead_ports.contains(&slot.port)
        })
    }

    /// The topology that has this slot.
    pub fn occupied_by(&self, slot: &WorkerSlot) -> Option<TopologyIndex> {
        self.occupied.get(slot).copied()
    }

    /// The slots that can be given out, in the order in which Storm's schedulers take them (`EvenScheduler.sortSlots`):
    /// one of each node in turn, the nodes with the most free slots first, ports ascending. Costs as much as is taken.
    pub fn available_slots(&self) -> impl Iterator<Item = WorkerSlot> {
        self.free
            .in_turn()
            .map(|(supervisor, port)| WorkerSlot { node_id: self.supervisors[supervisor].id.clone(), port })
    }

    /// How many slots can be given out.
    pub fn available_slot_count(&self) -> usize {
        self.free.len()
    }

    /// Gives a slot to executors of a topology that have none.
    ///
    /// # Errors
    /// [`AssignError`] when the slot is not available, or an executor not one that waits for a slot.
    pub fn assign(
        &mut self,
        topology: TopologyIndex,
        slot: &WorkerSlot,
        executors: Vec<ExecutorId>,
    ) -> Result<(), AssignError> {
        if let Some(by) = self.occupied.get(slot) {
            return Err(AssignError::Occupied { slot: slot.clone(), by: self.topology(*by).id.clone() });
        }
        if !self.is_assignable(slot) {
            return Err(AssignError::Unusable(slot.clone()));
        }
        let scheduled = &mut self.topologies[topology.0];
        for (index, executor) in executors.iter().enumerate() {
            if !scheduled.unassigned.remove(executor) {
                // Those before it are as they were.
                scheduled.unassigned.extend(&executors[..index]);
                return Err(AssignError::NotUnassigned {
                    executor: *executor,
                    topology: scheduled.topology.id.clone(),
                });
            }
        }
        if executors.is_empty() {
            return Ok(());
        }
        scheduled.topology.assignment.extend(executors.iter().map(|executor| (*executor, slot.clone())));
        scheduled.slots.insert(slot.clone(), executors);
        self.occupied.insert(slot.clone(), topology);
        self.take(slot);
        Ok(())
    }

    /// Takes a slot from whoever has it; its executors have none then.
    pub fn free_slot(&mut self, slot: &WorkerSlot) {
        let Some(topology) = self.occupied.remove(slot) else { return };
        let scheduled = &mut self.topologies[topology.0];
        for executor in scheduled.slots.remove(slot).into_iter().flatten() {
            scheduled.topology.assignment.remove(&executor);
            if scheduled.topology.executors.contains_key(&executor) {
                scheduled.unassigned.insert(executor);
            } else {
                scheduled.foreign -= 1;
            }
        }
        if self.is_assignable(slot) {
            self.free.insert(self.index_of_supervisor[&slot.node_id], slot.port);
        }
    }

    /// The topologies that have fewer workers than they could use, or executors without a slot.
    pub fn shortages(&self) -> Vec<Shortage> {
        let shortage = |topology| {
            let of = self.topology(topology);
            Shortage {
                topology,
                wanted_worker_count: of.executors.len().min(of.worker_count as usize),
                worker_count: self.slots(topology).len(),
                unassigned_executor_count: self.unassigned_executor_count(topology),
            }
        };
        let is_short = |of: &Shortage| of.worker_count < of.wanted_worker_count || of.unassigned_executor_count > 0;
        self.topologies().map(shortage).filter(is_short).collect()
    }

    /// A slot is no longer available, if it ever was.
    fn take(&mut self, slot: &WorkerSlot) {
        if let Some(supervisor) = self.index_of_supervisor.get(&slot.node_id) {
            self.free.remove(*supervisor, slot.port);
        }
    }
}
