//! Topologies in a list: `getTopologySummaries` and its kin.
//!
//! Source: `Nimbus.getTopologySummaryImpl` and `TopologyResources` of Storm 2.8.2. Threading: plain data. Errors: none; of a
//! topology whose code this nimbus does not hold, what only the code says is left out or 0.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{Assignment, TopologySummary};
use ringstorm_round::Resources;
use ringstorm_round::resources::generic_of;

use crate::definition::Definition;
use crate::executors::placed;
use crate::gather::Topology;

/// How long ago a second since 1970 was; 0 for one that is not set or still to come, since clocks differ.
pub(crate) fn uptime_secs(since_secs: Option<i32>, now_secs: i32) -> i32 {
    now_secs.saturating_sub(since_secs.unwrap_or(0)).max(0)
}

/// What a topology has at present, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Extent {
    /// Tasks that are assigned.
    pub tasks: i32,
    /// Executors that are assigned.
    pub executors: i32,
    /// Slots that are used.
    pub workers: i32,
}

impl Extent {
    /// Of an assignment.
    pub fn of(assignment: Option<&Assignment>) -> Self {
        let (mut tasks, mut executors, mut slots) = (0_i64, 0, BTreeSet::new());
        for placed in placed(assignment) {
            tasks += placed.task_count();
            executors += 1;
            slots.insert((placed.node, placed.port));
        }
        let workers = i32::try_from(slots.len()).unwrap_or(i32::MAX);
        Self { tasks: i32::try_from(tasks).unwrap_or(i32::MAX), executors, workers }
    }
}

/// What the workers of an assignment may use together.
pub fn assigned(assignment: Option<&Assignment>) -> Resources {
    let mut sum = Resources::none();
    let Some(assignment) = assignment else { return sum };
    for of in assignment.worker_resources.values() {
        sum.on_heap_mb += of.mem_on_heap.unwrap_or(0.0);
        sum.off_heap_mb += of.mem_off_heap.unwrap_or(0.0);
        sum.cpu_percent += of.cpu.unwrap_or(0.0);
        for (name, amount) in of.resources.iter().flat_map(generic_of) {
            *sum.generic.entry(name.clone()).or_default() += amount;
        }
    }
    sum.off_heap_mb += assignment.total_shared_off_heap.values().sum::<f64>();
    sum
}

/// A topology in a list. `definition` is `None` where this nimbus does not hold its code.
pub fn topology_summary(topology: &Topology, definition: Option<&Definition>, now_secs: i32) -> TopologySummary {
    let Topology { id, base, assignment, code_holders, .. } = topology;
    let extent = Extent::of(assignment.as_ref());
    let (requested, assigned) = match definition {
        Some(definition) => (definition.requested(base), assigned(assignment.as_ref())),
        None => (Resources::none(), Resources::none()),
    };
    TopologySummary {
        id: id.as_str().to_owned(),
        name: base.name.clone(),
        num_tasks: extent.tasks,
        num_executors: extent.executors,
        num_workers: extent.workers,
        uptime_secs: uptime_secs(base.launch_time_secs, now_secs),
        status: base.status.to_string(),
        storm_version: definition.and_then(Definition::storm_version),
        topology_version: base.topology_version.clone(),
        // Storm's default schedulers do not say it; `placing` does.
        sched_status: None,
        owner: base.owner.clone(),
        replication_count: Some(i32::try_from(*code_holders).unwrap_or(i32::MAX)),
        requested_memonheap: Some(requested.on_heap_mb),
        requested_memoffheap: Some(requested.off_heap_mb),
        requested_cpu: Some(requested.cpu_percent),
        assigned_memonheap: Some(assigned.on_heap_mb),
        assigned_memoffheap: Some(assigned.off_heap_mb),
        assigned_cpu: Some(assigned.cpu_percent),
        requested_generic_resources: Some(requested.generic),
        assigned_generic_resources: Some(assigned.generic),
    }
}

/// Definitions by topology id.
pub type Definitions = BTreeMap<String, std::sync::Arc<Definition>>;

/// All topologies, in the order of ids.
pub fn topology_summaries(topologies: &[Topology], definitions: &Definitions, now_secs: i32) -> Vec<TopologySummary> {
    let summary = |topology: &Topology| {
        let definition = definitions.get(topology.id.as_str()).map(|definition| &**definition);
        topology_summary(topology, definition, now_secs)
    };
    topologies.iter().map(summary).collect()
}
