//! What is known of topologies, as a round wants it, and what it says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ringstorm_lifecycle::conf::of_component;
use ringstorm_lifecycle::executors::Tasks;
use ringstorm_lifecycle::system::system_topology;
use ringstorm_records::records::{Assignment, NodeInfo, StormBase, StormTopology};
use ringstorm_records::znode::NodeName;
use ringstorm_round::{Executors, Report, Resources, Stored, TopologyInRound};
use ringstorm_scheduler::WorkerSlot;
use ringstorm_store::cluster::Skipped;

use super::Rounds;
use super::talks::RoundRead;
use crate::interface::Conf;

/// What is known of each topology.
pub(super) fn together<'a>(
    read: &'a RoundRead,
    rounds: &'a Rounds,
    worker_timeouts: &BTreeMap<NodeName, Duration>,
    from_scratch: Option<&NodeName>,
) -> BTreeMap<NodeName, TopologyInRound<'a>> {
    let mut topologies: BTreeMap<NodeName, TopologyInRound<'a>> = BTreeMap::new();
    let seen = versions_seen(read);
    let empty = |topology: &NodeName| TopologyInRound {
        base: Stored::Absent,
        executors: match rounds.executors.get(topology) {
            Some(cached) => cached.executors.as_ref().map_err(Clone::clone),
            None => Err("its code is not here".into()),
        },
        assignment: Stored::Absent,
        worker_timeout: worker_timeouts.get(topology).copied(),
        version_floor: rounds.versions.get(topology).max(seen.get(topology.as_str())).copied().unwrap_or(0),
        is_from_scratch: from_scratch == Some(topology),
    };
    for (topology, base) in &read.bases.found {
        topologies.entry(topology.clone()).or_insert_with(|| empty(topology)).base = Stored::Found(base);
    }
    for skipped in &read.bases.skipped {
        if let Some(topology) = named(skipped) {
            let unreadable = Stored::Unreadable(skipped.why.clone());
            topologies.entry(topology.clone()).or_insert_with(|| empty(&topology)).base = unreadable;
        }
    }
    for (topology, assignment) in &read.assignments.found {
        let found = Stored::Found(assignment);
        topologies.entry(topology.clone()).or_insert_with(|| empty(topology)).assignment = found;
    }
    for skipped in &read.assignments.skipped {
        if let Some(topology) = named(skipped) {
            let unreadable = Stored::Unreadable(skipped.why.clone());
            topologies.entry(topology.clone()).or_insert_with(|| empty(&topology)).assignment = unreadable;
        }
    }
    topologies
}

/// The highest versions that supervisors have seen of assignments that are older now.
fn versions_seen(read: &RoundRead) -> BTreeMap<&str, i64> {
    let mut highest = BTreeMap::new();
    for (topology, version) in read.supervisors.found.iter().flat_map(|(_, info)| info.versions_seen.iter().flatten()) {
        let known: &mut i64 = highest.entry(topology.as_str()).or_default();
        *known = (*known).max(*version);
    }
    highest
}

/// A planted fault: the slots of the first topology that runs count as free.
pub(super) fn forget_first(topologies: &mut BTreeMap<NodeName, TopologyInRound<'_>>) {
    let runs = |of: &TopologyInRound<'_>| matches!(of.assignment, Stored::Found(_));
    if let Some(first) = topologies.iter().find(|(_, of)| runs(of)).map(|(id, _)| id.clone()) {
        topologies.remove(&first);
    }
}

/// The last part of the path of what cannot be read.
pub(super) fn named(skipped: &Skipped) -> Option<NodeName> {
    NodeName::new(skipped.path.name()).ok()
}

/// The slots of an assignment.
pub(super) fn slots(assignment: &Assignment) -> BTreeSet<WorkerSlot> {
    let of_node = |NodeInfo { node, port }: &NodeInfo| {
        let slot = |port: &i64| Some(WorkerSlot { node_id: node.as_str().into(), port: u16::try_from(*port).ok()? });
        port.iter().filter_map(slot).collect::<Vec<_>>()
    };
    assignment.executor_node_port.values().flat_map(of_node).collect()
}

/// The executors of a topology, and what each may use.
pub(super) fn executors(conf: &Conf, code: &StormTopology, base: &StormBase) -> Result<Executors, String> {
    let system = system_topology(conf, code).map_err(|refusal| refusal.to_string())?;
    let tasks = Tasks::number(&system).map_err(|refusal| refusal.to_string())?;
    let counts = base.component_executors.clone().unwrap_or_default();
    let mut resources = BTreeMap::new();
    for (component, _) in tasks.components() {
        let id = component.as_str();
        let spout = system.spouts.get(id).map(|spout| &spout.common);
        let common = spout.or_else(|| system.bolts.get(id).map(|bolt| &bolt.common));
        let own = common.and_then(|common| of_component(id, common).ok()).unwrap_or_default();
        resources.insert(component.clone(), Resources::of_component(id, &own, conf));
    }
    Ok(Executors { components: tasks.executors(&counts), resources })
}

/// What is to be told of a topology; empty if it has all that it wants.
pub(super) fn words(report: &Report) -> String {
    let mut words = Vec::new();
    if let Some(why) = &report.left_alone {
        words.push(format!("it is left as it is: {why}"));
    }
    if let Some(shortage) = &report.shortage {
        let (has, wants, lacks) = (report.worker_count, report.wanted_worker_count, report.unassigned.len());
        words.push(format!("it has {has} of {wants} workers, and {lacks} executors without one: {shortage}"));
    }
    words.extend(report.dead.iter().map(|(slot, why)| format!("slot {slot} is given up: {why}")));
    words.extend(report.contested.iter().map(|slot| format!("slot {slot} belongs to another topology")));
    words.extend(report.malformed.iter().cloned());
    words.join("; ")
}
