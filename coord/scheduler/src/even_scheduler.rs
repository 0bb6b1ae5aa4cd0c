//! Storm's even scheduler: executors without a slot are dealt over free slots, one after another.
//!
//! Source: `org.apache.storm.scheduler.EvenScheduler` of Storm 2.8.2. It never frees a slot.
//!
//! One thing differs: for a topology that holds more slots than it wants workers and misses executors, Storm ends the
//! whole round with an exception (`subList` with a negative end). Here that topology is left alone.

use ringstorm_types::ExecutorId;

use crate::{Cluster, Scheduler, TopologyIndex, WorkerSlot};

/// Deals executors without a slot over the free slots of the nodes in turn, those with the most free slots first, and
/// leaves all others where they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct EvenScheduler;

impl Scheduler for EvenScheduler {
    fn schedule(&mut self, cluster: &mut Cluster) {
        schedule_evenly(cluster);
    }
}

/// One pass over all topologies, in their order.
pub(crate) fn schedule_evenly(cluster: &mut Cluster) {
    for topology in cluster.topologies() {
        // A topology that only lacks workers has nothing that could be dealt.
        if cluster.unassigned_executor_count(topology) > 0 {
            schedule_topology(cluster, topology);
        }
    }
}

fn schedule_topology(cluster: &mut Cluster, topology: TopologyIndex) {
    let available = cluster.available_slot_count();
    let alive = cluster.slots(topology).len();
    let total = (cluster.topology(topology).worker_count as usize).min(available + alive);
    let slots: Vec<WorkerSlot> = cluster.available_slots().take(total.saturating_sub(alive)).collect();
    if slots.is_empty() {
        return;
    }
    let executors: Vec<ExecutorId> = cluster.unassigned_executors(topology).collect();
    for (index, slot) in slots.iter().enumerate().take(executors.len()) {
        let dealt: Vec<ExecutorId> = executors[index..].iter().step_by(slots.len()).copied().collect();
        cluster
            .assign(topology, slot, dealt)
            .expect("the slot is available, and the executors are those of the topology without a slot");
    }
}
