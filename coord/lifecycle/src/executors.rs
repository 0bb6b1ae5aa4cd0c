//! Tasks and executors of a topology. Source: `StormCommon.stormTaskInfo` and `Nimbus.computeExecutors` of Storm 2.8.2.
//!
//! Tasks are numbered over the system topology, in the string order of components, by the `topology.tasks` that
//! [`normalize_topology`](crate::conf::normalize_topology) has put into each component's configuration. How many executors
//! share them stands in the `StormBase`. For topologies that are built in Rust the engine's
//! [`numbering`](ringstorm_types::numbering) gives the same.

use std::collections::BTreeMap;
use std::ops::Range;

use ringstorm_records::records::StormTopology;
use ringstorm_types::config::keys::{MAX_TASKS, TOPOLOGY_TASKS};
use ringstorm_types::numbering::split_into_executors;
use ringstorm_types::{ComponentId, ExecutorId, TaskId};

use crate::Refusal;
use crate::conf;
use crate::system::components;

/// Which tasks each component has. Tasks of all of them are numbered from 1 without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Components and their last tasks, in the order of tasks.
    components: Vec<(ComponentId, i32)>,
}

impl Tasks {
    /// The tasks of a system topology, as [`system_topology`](crate::system::system_topology) gives it. Negative numbers of
    /// tasks count as 0.
    ///
    /// # Errors
    /// [`Refusal::Invalid`]: a component whose id or configuration cannot be read, or without `topology.tasks`; unlike
    /// Storm, more than [`MAX_TASKS`] tasks.
    pub fn number(system: &StormTopology) -> Result<Self, Refusal> {
        let mut counts = Vec::new();
        for (id, common) in components(system) {
            let conf = conf::of_component(id, common)?;
            let Some(count) = conf::int(&conf, TOPOLOGY_TASKS)? else {
                return Err(Refusal::invalid(format!(
                    "Component: [{id}] has no {TOPOLOGY_TASKS} in its configuration"
                )));
            };
            let id = ComponentId::new(id).map_err(|error| Refusal::invalid(error.to_string()))?;
            counts.push((id, i64::from(count.max(0))));
        }
        let total: i64 = counts.iter().map(|(_, count)| count).sum();
        if total > i64::from(MAX_TASKS) {
            return Err(Refusal::invalid(format!(
                "The topology has {total} tasks with those of the system, more than the {MAX_TASKS} that are possible"
            )));
        }
        // Java compares texts by UTF-16 units, which differs from the order of bytes above U+FFFF.
        counts.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
        let mut last = 0;
        let components = counts.into_iter().map(|(id, count)| {
            last += count as i32;
            (id, last)
        });
        Ok(Self { components: components.collect() })
    }

    /// Every component with its tasks, in the order of tasks; the range of a component without tasks is empty.
    pub fn components(&self) -> impl Iterator<Item = (&ComponentId, Range<i32>)> {
        let firsts = [0].into_iter().chain(self.components.iter().map(|(_, last)| *last));
        self.components.iter().zip(firsts).map(|((id, last), before)| (id, before + 1..*last + 1))
    }

    /// The tasks of a component; none for one that is not there.
    pub fn of(&self, component: &str) -> Range<i32> {
        self.components().find(|(id, _)| **id == *component).map_or(1..1, |(_, tasks)| tasks)
    }

    /// The component of a task; `None` for the system's own task and for those that are not there.
    pub fn component_of(&self, task: TaskId) -> Option<&ComponentId> {
        let at = self.components.partition_point(|(_, last)| *last < task.0);
        if task.0 < 1 { None } else { self.components.get(at).map(|(id, _)| id) }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.components.last().map_or(0, |(_, last)| *last as usize)
    }

    /// The executors of these tasks, with the component of each, for the counts of a `StormBase`. A component whose count
    /// is not there, or 0 or less, has none, so that its tasks do not run; more executors than tasks are reduced to one
    /// for each task.
    pub fn executors(&self, component_executors: &BTreeMap<String, i32>) -> BTreeMap<ExecutorId, ComponentId> {
        let mut executors = BTreeMap::new();
        for (id, tasks) in self.components() {
            let count = component_executors.get(id.as_str()).copied().unwrap_or(0);
            if count > 0 {
                let tasks: Vec<TaskId> = tasks.map(TaskId).collect();
                executors.extend(split_into_executors(&tasks, count as u32).into_iter().map(|of| (of, id.clone())));
            }
        }
        executors
    }
}

/// How many executors each component of a system topology starts with: the `component_executors` of its first
/// `StormBase`.
pub fn first_executors(system: &StormTopology) -> BTreeMap<String, i32> {
    components(system).map(|(id, common)| (id.to_owned(), common.parallelism_hint.unwrap_or(1))).collect()
}

#[cfg(test)]
mod tests;
