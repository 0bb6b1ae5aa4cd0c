//! The page of a topology: `getTopologyPageInfo`.
//!
//! Source: `Nimbus.getTopologyPageInfo`, `addSpoutAggStats`, `addBoltAggStats` of Storm 2.8.2. Threading: plain data.
//! Errors: none.

use std::collections::BTreeMap;

use ringstorm_lifecycle::conf::{self, redacted};
use ringstorm_records::records::{ComponentAggregateStats, ComponentType, ErrorInfo, TopologyPageInfo};
use ringstorm_types::id::SYSTEM_COMPONENT;

use crate::definition::{Definition, is_system};
use crate::executors::{beating, placed};
use crate::gather::{Beats, Topology};
use crate::statistics::Figures;
use crate::statistics::topology::TopologyFigures;
use crate::topologies::uptime_secs;
use crate::workers::worker_summaries;

/// A topology with the figures of its components in one window, and of itself in all.
pub fn topology_page(
    topology: &Topology,
    definition: &Definition,
    beats: &Beats,
    last_errors: &BTreeMap<String, ErrorInfo>,
    window: &str,
    include_system: bool,
    now_secs: i32,
) -> TopologyPageInfo {
    let base = &topology.base;
    let assignment = topology.assignment.as_ref();
    let executors = beating(assignment, definition, beats, include_system);
    let figures = TopologyFigures::of(&executors, window, include_system);
    let count = |count: usize| Some(i32::try_from(count).unwrap_or(i32::MAX));
    let components = |kind| Some(components(&figures, definition, last_errors, kind, include_system));
    TopologyPageInfo {
        id: topology.id.as_str().to_owned(),
        name: Some(definition.name().unwrap_or(&base.name).to_owned()),
        uptime_secs: Some(uptime_secs(base.launch_time_secs, now_secs)),
        status: Some(base.status.to_string()),
        num_tasks: count(definition.tasks().count()),
        num_workers: count(figures.workers()),
        num_executors: count(placed(assignment).count()),
        topology_conf: Some(conf::to_json(&redacted(definition.total_conf()))),
        id_to_spout_agg_stats: components(ComponentType::Spout),
        id_to_bolt_agg_stats: components(ComponentType::Bolt),
        topology_stats: Some(figures.stats()),
        owner: base.owner.clone(),
        debug_options: base.component_debug.as_ref().and_then(|of| of.get(topology.id.as_str())).cloned(),
        replication_count: count(topology.code_holders),
        workers: assignment.map(|_| worker_summaries(topology, definition, beats, include_system, None)),
        storm_version: definition.storm_version(),
        topology_version: base.topology_version.clone(),
        ..TopologyPageInfo::default()
    }
}

/// The components of a kind that have beaten, with their figures; as long as none has, all that there are, without any. One
/// that has not beaten and has an error is always there: it is what somebody looks for whose workers end at once.
fn components(
    figures: &TopologyFigures,
    definition: &Definition,
    last_errors: &BTreeMap<String, ErrorInfo>,
    kind: ComponentType,
    include_system: bool,
) -> BTreeMap<String, ComponentAggregateStats> {
    let record = |(component, figures): (&String, &Figures)| {
        let last_error = last_errors.get(component).cloned();
        (
            component.clone(),
            with_request(definition, component, ComponentAggregateStats { last_error, ..figures.record(kind) }),
        )
    };
    let beaten: BTreeMap<_, _> = figures.components(kind).map(record).collect();
    let ids: Vec<&String> = match kind {
        ComponentType::Spout => definition.system().spouts.keys().collect(),
        _ => definition.system().bolts.keys().collect(),
    };
    let shown = ids.into_iter().filter(|id| *id != SYSTEM_COMPONENT && (include_system || !is_system(id)));
    let silent = shown.filter(|id| beaten.is_empty() || !beaten.contains_key(*id) && last_errors.contains_key(*id));
    let silent = silent.map(|id| {
        let last_error = last_errors.get(id).cloned();
        (id.clone(), ComponentAggregateStats { last_error, ..placeholder(definition, id, kind) })
    });
    let silent: BTreeMap<_, _> = silent.collect();
    beaten.into_iter().chain(silent).collect()
}

/// A component of which nothing has beaten yet.
fn placeholder(definition: &Definition, component: &str, kind: ComponentType) -> ComponentAggregateStats {
    let executors = definition.common(component).and_then(|common| common.parallelism_hint).unwrap_or(1);
    let tasks = i64::try_from(definition.tasks().of(component).len()).unwrap_or(i64::MAX);
    let mut record = Figures { executors, tasks, ..Figures::default() }.record(kind);
    if let Some(common) = &mut record.common_stats {
        // Storm leaves it out here, and here only.
        common.failed = None;
    }
    with_request(definition, component, record)
}

/// With what each executor of the component may use.
fn with_request(
    definition: &Definition,
    component: &str,
    mut record: ComponentAggregateStats,
) -> ComponentAggregateStats {
    if let Some(common) = &mut record.common_stats {
        common.resources_map = Some(definition.request(component).named());
    }
    record
}
