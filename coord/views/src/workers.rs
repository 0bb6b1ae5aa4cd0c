//! Workers: those of a topology on its page, and `getSupervisorPageInfo`.
//!
//! Source: `StatsUtil.aggWorkerStats` and `Nimbus.getSupervisorPageInfo` of Storm 2.8.2. Threading: plain data. Errors:
//! none.

use std::collections::BTreeMap;

use ringstorm_records::records::{NodeInfo, SupervisorInfo, SupervisorPageInfo, WorkerSummary};
use ringstorm_records::znode::NodeName;

use crate::cluster::supervisor_summary;
use crate::definition::{Definition, is_system};
use crate::executors::{Placed, by_slot, placed};
use crate::gather::{Beats, Topology};

/// The workers of a topology, of one supervisor or of all, in the order of slots. Without `include_system` tasks of the
/// system's components are not counted; executors always are.
pub fn worker_summaries(
    topology: &Topology,
    definition: &Definition,
    beats: &Beats,
    include_system: bool,
    supervisor: Option<&str>,
) -> Vec<WorkerSummary> {
    let by_slot = by_slot(beats);
    let mut workers = BTreeMap::<(&str, u16), WorkerSummary>::new();
    let wanted = |placed: &Placed<'_>| supervisor.is_none_or(|wanted| wanted == placed.node);
    for placed in placed(topology.assignment.as_ref()).filter(wanted) {
        let slot = (placed.node, placed.port);
        let worker = workers.entry(slot).or_insert_with(|| {
            let uptime_secs = by_slot.get(&slot).map_or(0, |beat| beat.uptime_secs);
            WorkerSummary { uptime_secs: Some(uptime_secs), ..worker_summary(topology, definition, &placed) }
        });
        worker.num_executors = worker.num_executors.map(|count| count.saturating_add(1));
        let tasks = worker.component_to_num_tasks.get_or_insert_default();
        for (component, count) in tasks_of(definition, &placed) {
            if include_system || !is_system(component) {
                *tasks.entry(component.to_owned()).or_default() += count;
            }
        }
    }
    workers.into_values().collect()
}

/// The components of an executor's tasks, with how many of them it runs. It is one, but for what a stranger wrote.
fn tasks_of<'a>(definition: &'a Definition, placed: &Placed<'_>) -> impl Iterator<Item = (&'a str, i64)> {
    let (mut next, last) = (placed.first, placed.last);
    std::iter::from_fn(move || {
        let component = (next <= last).then(|| definition.component_of(next)).flatten()?;
        let end = match definition.component_of(last) {
            Some(of_last) if of_last == component => last,
            _ => definition.tasks().of(component).end - 1,
        };
        let count = i64::from(end) - i64::from(next) + 1;
        next = end.saturating_add(1);
        Some((component, count))
    })
}

fn worker_summary(topology: &Topology, definition: &Definition, placed: &Placed<'_>) -> WorkerSummary {
    let info = NodeInfo { node: placed.node.to_owned(), port: [i64::from(placed.port)].into() };
    let resources = topology.assignment.as_ref().and_then(|assignment| assignment.worker_resources.get(&info));
    let amount = |of: fn(&ringstorm_records::records::WorkerResources) -> Option<f64>| {
        Some(resources.and_then(of).unwrap_or(0.0))
    };
    WorkerSummary {
        supervisor_id: Some(placed.node.to_owned()),
        host: Some(placed.host.to_owned()),
        port: Some(i32::from(placed.port)),
        topology_id: Some(topology.id.as_str().to_owned()),
        topology_name: Some(definition.name().unwrap_or(&topology.base.name).to_owned()),
        num_executors: Some(0),
        component_to_num_tasks: Some(BTreeMap::new()),
        assigned_memonheap: amount(|of| of.mem_on_heap),
        assigned_memoffheap: amount(|of| of.mem_off_heap),
        assigned_cpu: amount(|of| of.cpu),
        owner: topology.base.owner.clone(),
        ..WorkerSummary::default()
    }
}

/// Supervisors, and what runs on them. Each topology comes with its definition and the beats of its slots there.
pub fn supervisor_page(
    supervisors: &[(NodeName, SupervisorInfo)],
    topologies: &[(Topology, std::sync::Arc<Definition>, Beats)],
    include_system: bool,
) -> SupervisorPageInfo {
    let summaries = supervisors.iter().map(|(id, info)| supervisor_summary(id, info)).collect();
    let of = |(id, _): &(NodeName, SupervisorInfo)| {
        let id = id.as_str().to_owned();
        topologies.iter().flat_map(move |(topology, definition, beats)| {
            worker_summaries(topology, definition, beats, include_system, Some(&id))
        })
    };
    let workers: Vec<_> = supervisors.iter().flat_map(of).collect();
    // As in Storm, whose list is not set when nothing was put into it.
    let worker_summaries = (!workers.is_empty()).then_some(workers);
    SupervisorPageInfo { supervisor_summaries: Some(summaries), worker_summaries }
}
