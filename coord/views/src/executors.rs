//! Where executors run and how they do: `getTopologyInfo` and its kin, and what pages are made of.
//!
//! Source: `Nimbus.getTopologyInfoWithOptsImpl` and `StatsUtil.extractDataFromHb` of Storm 2.8.2. Threading: plain data.
//! Errors: none; an executor whose id or slot is malformed is left out.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{
    Assignment, ClusterWorkerHeartbeat, ExecutorInfo, ExecutorStats, ExecutorSummary, NodeInfo, TopologyInfo,
};
use ringstorm_records::znode::{NodeName, Slot};

use crate::definition::{Definition, is_system};
use crate::gather::{Beats, Errors, Topology};
use crate::topologies::uptime_secs;

/// An executor in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Its first task.
    pub first: i32,
    /// Its last task, which is not lower.
    pub last: i32,
    /// The id of the supervisor.
    pub node: &'a str,
    /// The supervisor's host, or its id where no host is known.
    pub host: &'a str,
    /// The worker's port.
    pub port: u16,
}

/// An executor that has beaten.
#[derive(Clone, Copy, Debug)]
pub struct Beating<'a> {
    /// It.
    pub placed: Placed<'a>,
    /// Its component.
    pub component: &'a str,
    /// How long its worker was up at its last beat.
    pub uptime_secs: i32,
    /// What it counted.
    pub stats: &'a ExecutorStats,
}

impl Placed<'_> {
    /// Its id.
    pub fn info(&self) -> ExecutorInfo {
        ExecutorInfo { task_start: self.first, task_end: self.last }
    }

    /// How many tasks it runs.
    pub fn task_count(&self) -> i64 {
        i64::from(self.last) - i64::from(self.first) + 1
    }
}

/// The executors of an assignment, in the order of tasks.
pub fn placed(assignment: Option<&Assignment>) -> impl Iterator<Item = Placed<'_>> {
    assignment.into_iter().flat_map(|assignment| {
        assignment.executor_node_port.iter().filter_map(|(tasks, slot)| {
            let ([first, .., last] | [first @ last]) = tasks.as_slice() else { return None };
            let (first, last) = (i32::try_from(*first).ok()?, i32::try_from(*last).ok()?);
            let NodeInfo { node, port } = slot;
            let port = u16::try_from(*port.first()?).ok()?;
            let host = assignment.node_host.get(node).unwrap_or(node);
            (first <= last).then_some(Placed { first, last, node, host, port })
        })
    })
}

/// The slots of some executors of an assignment.
pub fn slots<'a>(executors: impl Iterator<Item = Placed<'a>>) -> BTreeSet<Slot> {
    let slots: BTreeSet<(&str, u16)> = executors.map(|of| (of.node, of.port)).collect();
    let slot = |(node, port)| Some(Slot { supervisor: NodeName::new(node).ok()?, port });
    slots.into_iter().filter_map(slot).collect()
}

/// Beats, found by what assignments name slots by.
pub(crate) fn by_slot(beats: &Beats) -> BTreeMap<(&str, u16), &ClusterWorkerHeartbeat> {
    beats.iter().map(|(slot, beat)| ((slot.supervisor.as_str(), slot.port), beat)).collect()
}

/// The executors that have beaten, each with the figures of its last beat. The system's own executors, and with
/// `include_system` unset all of the system's components, are left out.
pub fn beating<'a>(
    assignment: Option<&'a Assignment>,
    definition: &'a Definition,
    beats: &'a Beats,
    include_system: bool,
) -> Vec<Beating<'a>> {
    let beats = by_slot(beats);
    let figures = |placed: Placed<'a>| {
        let component = definition.component_of(placed.first)?;
        if !include_system && is_system(component) {
            return None;
        }
        let beat = beats.get(&(placed.node, placed.port))?;
        let stats = beat.executor_stats.get(&placed.info())?;
        Some(Beating { placed, component, uptime_secs: beat.uptime_secs, stats })
    };
    placed(assignment).filter_map(figures).collect()
}

/// A topology with its executors. `errors` has a list for each component with tasks.
pub fn topology_info(
    topology: &Topology,
    definition: &Definition,
    beats: &Beats,
    errors: Errors,
    now_secs: i32,
) -> TopologyInfo {
    let by_slot = by_slot(beats);
    let summary = |placed: Placed<'_>| {
        let component = definition.component_of(placed.first)?;
        let beat = by_slot.get(&(placed.node, placed.port)).copied();
        let stats = beat.and_then(|beat| beat.executor_stats.get(&placed.info()));
        Some(ExecutorSummary {
            executor_info: placed.info(),
            component_id: component.to_owned(),
            host: placed.host.to_owned(),
            port: i32::from(placed.port),
            // As in Storm: a worker whose beat does not name the executor says nothing of it.
            uptime_secs: stats.and(beat).map_or(0, |beat| beat.uptime_secs),
            stats: stats.cloned(),
        })
    };
    let base = &topology.base;
    TopologyInfo {
        id: topology.id.as_str().to_owned(),
        name: definition.name().unwrap_or(&base.name).to_owned(),
        uptime_secs: uptime_secs(base.launch_time_secs, now_secs),
        executors: placed(topology.assignment.as_ref()).filter_map(summary).collect(),
        status: base.status.to_string(),
        errors,
        component_debug: base.component_debug.clone(),
        storm_version: definition.storm_version(),
        owner: base.owner.clone(),
        replication_count: Some(i32::try_from(topology.code_holders).unwrap_or(i32::MAX)),
        ..TopologyInfo::default()
    }
}
