//! What owners use: `getOwnerResourceSummaries`.
//!
//! Source: `Nimbus.getOwnerResourceSummaries` of Storm 2.8.2. Guarantees are those of schedulers that are not here.
//! Threading: plain data. Errors: none.

use std::collections::BTreeMap;

use ringstorm_records::records::OwnerResourceSummary;
use ringstorm_round::Resources;

use crate::gather::Topology;
use crate::topologies::{Definitions, Extent, assigned};

/// What the topologies of each owner use, or of one owner, who need not have any.
pub fn owner_summaries(
    topologies: &[Topology],
    definitions: &Definitions,
    owner: Option<&str>,
) -> Vec<OwnerResourceSummary> {
    let mut by_owner = BTreeMap::<&str, Vec<&Topology>>::new();
    by_owner.extend(owner.map(|owner| (owner, Vec::new())));
    for topology in topologies {
        let of = topology.base.owner.as_deref().unwrap_or_default();
        if owner.is_none_or(|owner| owner == of) {
            by_owner.entry(of).or_default().push(topology);
        }
    }
    by_owner.into_iter().map(|(owner, topologies)| summary(owner, &topologies, definitions)).collect()
}

fn summary(owner: &str, topologies: &[&Topology], definitions: &Definitions) -> OwnerResourceSummary {
    let (mut requested, mut used, mut extent) = (Resources::none(), Resources::none(), Extent::default());
    for topology in topologies {
        let assignment = topology.assignment.as_ref();
        if let Some(definition) = definitions.get(topology.id.as_str()) {
            requested.add(&definition.requested(&topology.base), 1.0);
            used.add(&assigned(assignment), 1.0);
        }
        let of = Extent::of(assignment);
        extent.tasks = extent.tasks.saturating_add(of.tasks);
        extent.executors = extent.executors.saturating_add(of.executors);
        extent.workers = extent.workers.saturating_add(of.workers);
    }
    OwnerResourceSummary {
        owner: owner.to_owned(),
        total_topologies: Some(i32::try_from(topologies.len()).unwrap_or(i32::MAX)),
        total_executors: Some(extent.executors),
        total_workers: Some(extent.workers),
        total_tasks: Some(extent.tasks),
        memory_usage: Some(used.on_heap_mb + used.off_heap_mb),
        cpu_usage: Some(used.cpu_percent),
        requested_on_heap_memory: Some(requested.on_heap_mb),
        requested_off_heap_memory: Some(requested.off_heap_mb),
        requested_total_memory: Some(requested.on_heap_mb + requested.off_heap_mb),
        requested_cpu: Some(requested.cpu_percent),
        assigned_on_heap_memory: Some(used.on_heap_mb),
        assigned_off_heap_memory: Some(used.off_heap_mb),
        ..OwnerResourceSummary::default()
    }
}
