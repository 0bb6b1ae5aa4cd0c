//! Rules that a component can break by itself: its id, its streams, its counts.

use std::collections::BTreeSet;

use super::violation::STREAMS_MAX;
use super::{Findings, Violation, Warning};
use crate::config::{Config, keys};
use crate::id::ComponentId;
use crate::numbering::{executors_wanted, tasks_wanted};
use crate::topology::{Component, ComponentKind, Execution, Topology};

pub(super) fn check(topology: &Topology, config: &Config, findings: &mut Findings) {
    if !topology.components.values().any(|component| component.kind == ComponentKind::Spout) {
        findings.violation(Violation::NoSpouts);
    }
    for (id, component) in &topology.components {
        if id.is_reserved() {
            findings.violation(Violation::ReservedComponent { component: id.clone() });
        }
        check_outputs(id, component, findings);
        check_counts(id, component, config, findings);
    }
    check_total(topology, config, findings);
}

fn check_outputs(id: &ComponentId, component: &Component, findings: &mut Findings) {
    let streams = component.outputs.len();
    if streams > STREAMS_MAX {
        findings.violation(Violation::TooManyStreams { component: id.clone(), streams });
    }
    for (stream, output) in &component.outputs {
        if stream.is_reserved() {
            findings.violation(Violation::ReservedStream { component: id.clone(), stream: stream.clone() });
        }
        let mut seen = BTreeSet::new();
        let mut reported = BTreeSet::new();
        for field in &output.fields {
            if !seen.insert(field) && reported.insert(field) {
                findings.violation(Violation::DuplicateField {
                    component: id.clone(),
                    stream: stream.clone(),
                    field: field.clone(),
                });
            }
        }
    }
}

fn check_counts(id: &ComponentId, component: &Component, config: &Config, findings: &mut Findings) {
    if component.execution == (Execution::Async { concurrency: 0 }) {
        findings.violation(Violation::ZeroConcurrency { component: id.clone() });
    }
    let executors = executors_wanted(component);
    if executors == 0 {
        findings.violation(Violation::ZeroParallelism { component: id.clone() });
    }
    if component.task_count == Some(0) {
        findings.violation(Violation::ZeroTasks { component: id.clone() });
        return;
    }
    // A value that cannot be read is reported with the other settings.
    let configured = component.config.tasks().unwrap_or(None);
    if let (Some(tasks), Some(configured)) = (component.task_count, configured)
        && tasks != configured
    {
        findings.violation(Violation::ContradictoryTasks { component: id.clone(), tasks, configured });
    }
    if let Some(tasks) = component.task_count.or(configured)
        && executors > tasks
    {
        findings.violation(Violation::MoreExecutorsThanTasks { component: id.clone(), executors, tasks });
    }
    let asked = component.task_count.or(configured).unwrap_or(executors);
    let limit = config.merged_with(&component.config).max_task_parallelism().unwrap_or(None);
    if let Some(limit) = limit
        && asked > limit
    {
        findings.warning(Warning::ParallelismCapped { component: id.clone(), asked, limit });
    }
}

fn check_total(topology: &Topology, config: &Config, findings: &mut Findings) {
    let mut total = 0_u64;
    let mut largest: Option<(u32, &ComponentId)> = None;
    for (id, component) in &topology.components {
        // As above.
        let tasks = tasks_wanted(component, config).unwrap_or(0);
        total += u64::from(tasks);
        if largest.is_none_or(|(most, _)| tasks > most) {
            largest = Some((tasks, id));
        }
    }
    if let Some((_, largest)) = largest
        && total > u64::from(keys::MAX_TASKS)
    {
        findings.violation(Violation::TooManyTasks { tasks: total, largest: largest.clone() });
    }
}
