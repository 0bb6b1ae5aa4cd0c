//! The record of an assignment, as Storm writes it, and whether it has to be written.
//!
//! Start times and resources stay for a slot whose executors stay, and are new for all executors of one where they do not.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{Assignment, WorkerResources};
use ringstorm_scheduler::{Assignment as Slots, NodeId, WorkerSlot};
use ringstorm_types::ExecutorId;

use super::Round;
use super::placement::{Placement, by_slot, node_info, tasks};
use super::plan::Scheduled;
use crate::resources::Resources;

/// Whether what is to be is another assignment than what is stored. Which folder a nimbus has is no reason to write.
pub(crate) fn is_changed(input: &Round<'_>, of: &Scheduled<'_>, after: &Slots) -> bool {
    let Some((stored, placement)) = &of.stored else { return !after.is_empty() };
    of.given.is_from_scratch
        || placement.slots != *after
        || !placement.malformed.is_empty()
        || stored.version != Some(of.version_read)
        || stored.node_host != hosts(input, of, after)
        || stored.owner != owner(of)
}

/// The record, without a version.
pub(crate) fn record(input: &Round<'_>, of: &Scheduled<'_>, after: &Slots) -> Assignment {
    let now = i64::from(input.now.wall_secs());
    let kept = of.stored.as_ref().filter(|_| !of.given.is_from_scratch);
    let before = kept.map(|(_, placement)| by_slot(&placement.slots)).unwrap_or_default();
    let (mut start_times, mut worker_resources) = (BTreeMap::new(), BTreeMap::new());
    let mut kept_nodes: BTreeSet<&NodeId> = BTreeSet::new();
    for (slot, executors) in by_slot(after) {
        let same = kept.filter(|_| before.get(slot) == Some(&executors));
        if same.is_some() {
            kept_nodes.insert(&slot.node_id);
        }
        let started = |executor| same.and_then(|(_, placement)| placement.start_times.get(executor)).copied();
        start_times.extend(executors.iter().map(|executor| (tasks(*executor), started(executor).unwrap_or(now))));
        let info = node_info(slot);
        let resources = same.and_then(|(stored, _)| stored.worker_resources.get(&info)).cloned();
        worker_resources.insert(info, resources.unwrap_or_else(|| resources_of(of, &executors)));
    }
    Assignment {
        master_code_dir: input.master_code_dir.to_owned(),
        node_host: hosts(input, of, after),
        executor_node_port: after.iter().map(|(executor, slot)| (tasks(*executor), node_info(slot))).collect(),
        executor_start_time_secs: start_times,
        worker_resources,
        total_shared_off_heap: BTreeMap::new(),
        owner: owner(of),
        version: None,
        slot_cores: Some(slot_cores(input, kept, &kept_nodes, after)),
    }
}

/// The nodes that are used.
fn nodes(after: &Slots) -> BTreeSet<&NodeId> {
    after.values().map(|slot: &WorkerSlot| &slot.node_id).collect()
}

/// The hosts of the nodes that are used: as their supervisors say now, or as it was known before.
fn hosts(input: &Round<'_>, of: &Scheduled<'_>, after: &Slots) -> BTreeMap<String, String> {
    let host = |node: &NodeId| match input.supervisors.offer(node) {
        Some(offer) => Some(offer.host.clone()),
        None => of.stored.as_ref()?.0.node_host.get(node.as_str()).cloned(),
    };
    nodes(after).into_iter().filter_map(|node| Some((node.as_str().to_owned(), host(node)?))).collect()
}

fn owner(of: &Scheduled<'_>) -> Option<String> {
    let stored = || of.stored.as_ref().and_then(|(assignment, _)| assignment.owner.clone());
    of.base.owner.clone().or_else(stored)
}

fn resources_of(of: &Scheduled<'_>, executors: &[ExecutorId]) -> WorkerResources {
    let each = executors.iter().map(|executor| {
        let component = of.executors.components.get(executor);
        component.and_then(|component| of.executors.resources.get(component)).cloned().unwrap_or_default()
    });
    Resources::of_worker(each)
}

/// The cores of each slot of a node. They stay while a slot of the node keeps what it runs, whatever its supervisor says
/// since then: workers that run have the cores that they were started with.
fn slot_cores(
    input: &Round<'_>,
    kept: Option<&(&Assignment, Placement)>,
    kept_nodes: &BTreeSet<&NodeId>,
    after: &Slots,
) -> BTreeMap<String, i64> {
    let cores = |node: &NodeId| {
        let stored = || kept?.0.slot_cores.as_ref()?.get(node.as_str()).copied();
        let offered = || input.supervisors.offer(node).map(|offer| offer.slot_cores);
        if kept_nodes.contains(node) { stored().or_else(offered) } else { offered().or_else(stored) }
    };
    nodes(after).into_iter().filter_map(|node| Some((node.as_str().to_owned(), cores(node)?))).collect()
}
