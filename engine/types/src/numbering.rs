//! Numbers for tasks and executors, by Storm's rules, so that every tool that knows Storm's ids finds what it expects.
//!
//! Components, the acker among them, are taken in plain string order; each gets consecutive task ids, from 1 over the
//! whole topology. The tasks of a component are split into executors whose sizes differ by at most one, larger ones
//! first. Pure and total for every topology that [`validate`](crate::validate::validate) accepts.

use std::collections::BTreeMap;

use crate::config::{Config, ConfigError, keys};
use crate::id::{ACKER_COMPONENT, ComponentId, ExecutorId, TaskId};
use crate::topology::{Component, Topology};

/// An executor and the component whose tasks it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executor {
    /// Its first and last task.
    pub id: ExecutorId,
    /// The component.
    pub component: ComponentId,
}

/// Which tasks and executors a topology has. Immutable once made; the same topology and configuration always give the
/// same numbering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    /// The tasks of each component, ascending; the acker is always there, if need be with no tasks.
    tasks: BTreeMap<ComponentId, Vec<TaskId>>,
    /// All executors, in the order of their tasks.
    executors: Vec<Executor>,
    /// For each task by its index: the index of its executor.
    executor_of_task: Vec<u32>,
}

/// Why a topology cannot be numbered. [`validate`](crate::validate::validate) reports the same things in more detail.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NumberingError {
    /// A setting that numbering needs cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There are more tasks than [`keys::MAX_TASKS`].
    #[error(
        "the topology has {tasks} tasks with its ackers, more than the {limit} that are possible; lower the \
         parallelism of its components or topology.acker.executors",
        limit = keys::MAX_TASKS
    )]
    TooManyTasks {
        /// How many there would be.
        tasks: u64,
    },
}

impl Numbering {
    /// The tasks of a component in ascending order; none for an unknown component.
    pub fn tasks_of(&self, component: &str) -> &[TaskId] {
        self.tasks.get(component).map_or(&[], Vec::as_slice)
    }

    /// Every component with its tasks; `__acker` is among them.
    pub fn components(&self) -> impl Iterator<Item = (&ComponentId, &[TaskId])> {
        self.tasks.iter().map(|(component, tasks)| (component, tasks.as_slice()))
    }

    /// The tasks of `__acker`; none when acking is off.
    pub fn ackers(&self) -> &[TaskId] {
        self.tasks_of(ACKER_COMPONENT)
    }

    /// All executors, in the order of their tasks.
    pub fn executors(&self) -> &[Executor] {
        &self.executors
    }

    /// The executors of a component, in the order of their tasks.
    pub fn executors_of(&self, component: &str) -> &[Executor] {
        let Some(first) = self.tasks_of(component).first() else { return &[] };
        let start = self.executors.partition_point(|executor| executor.id.first < *first);
        let length = self.executors[start..].iter().take_while(|executor| &*executor.component == component).count();
        &self.executors[start..start + length]
    }

    /// The executor that runs a task; `None` for the system's task and for ids that are not in use.
    #[inline]
    pub fn executor_of(&self, task: TaskId) -> Option<&Executor> {
        let executor = *self.executor_of_task.get(task.index()?)?;
        self.executors.get(executor as usize)
    }

    /// The component of a task; `None` for the system's task and for ids that are not in use.
    #[inline]
    pub fn component_of(&self, task: TaskId) -> Option<&ComponentId> {
        self.executor_of(task).map(|executor| &executor.component)
    }

    /// The number of tasks, ackers included.
    #[inline]
    pub fn task_count(&self) -> usize {
        self.executor_of_task.len()
    }
}

/// Numbers the tasks and executors of a topology.
///
/// `default_acker_count` counts when [`keys::TOPOLOGY_ACKER_EXECUTORS`] is unset: the number of workers in a cluster
/// (as in Storm), [`local_acker_count`](crate::placement::local_acker_count) in one process.
///
/// # Errors
/// [`NumberingError`] for a topology that would not pass [`validate`](crate::validate::validate), or whose ackers
/// take it over the limit of tasks.
pub fn number(topology: &Topology, config: &Config, default_acker_count: u32) -> Result<Numbering, NumberingError> {
    let ackers = config.acker_executors()?.unwrap_or(default_acker_count);
    let shared_by = config.ackers_shared_by().unwrap_or(ackers).min(ackers);
    let mut counts = vec![(ComponentId::from_static(ACKER_COMPONENT), ackers, shared_by)];
    for (id, component) in &topology.components {
        counts.push((id.clone(), tasks_wanted(component, config)?, executor_count(component, config)?));
    }
    let total = counts.iter().map(|(_, tasks, _)| u64::from(*tasks)).sum();
    if total > u64::from(keys::MAX_TASKS) {
        return Err(NumberingError::TooManyTasks { tasks: total });
    }
    // Java compares texts by UTF-16 units, which differs from the order of bytes above U+FFFF.
    counts.sort_by(|(left, ..), (right, ..)| left.encode_utf16().cmp(right.encode_utf16()));

    let mut numbering = Numbering {
        tasks: BTreeMap::new(),
        executors: Vec::new(),
        executor_of_task: Vec::with_capacity(total as usize),
    };
    let mut next_task = 1;
    for (component, task_count, executor_count) in counts {
        let end = next_task + task_count as i32;
        let tasks: Vec<TaskId> = (next_task..end).map(TaskId).collect();
        next_task = end;
        for id in split_into_executors(&tasks, executor_count) {
            let executor = numbering.executors.len() as u32;
            numbering.executor_of_task.extend(id.tasks().map(|_| executor));
            numbering.executors.push(Executor { id, component: component.clone() });
        }
        numbering.tasks.insert(component, tasks);
    }
    Ok(numbering)
}

/// Splits consecutive tasks into at most `executor_count` executors whose sizes differ by at most one, larger ones
/// first, as Storm does. More executors than tasks are reduced to one for each task; 0 count as 1, so that no task is
/// ever left out.
pub fn split_into_executors(tasks: &[TaskId], executor_count: u32) -> Vec<ExecutorId> {
    if tasks.is_empty() {
        return Vec::new();
    }
    let executor_count = (executor_count.max(1) as usize).min(tasks.len());
    let (size, larger) = (tasks.len() / executor_count, tasks.len() % executor_count);
    let mut rest = tasks;
    let mut executors = Vec::with_capacity(executor_count);
    for index in 0..executor_count {
        let (chunk, after) = rest.split_at(size + usize::from(index < larger));
        executors.push(ExecutorId { first: chunk[0], last: chunk[chunk.len() - 1] });
        rest = after;
    }
    executors
}

/// The number of executors that a component asks for: its parallelism hint, 1 without one.
pub fn executors_wanted(component: &Component) -> u32 {
    component.parallelism_hint.unwrap_or(1)
}

/// The number of tasks that a component gets: what it says, else what its configuration says, else one for each
/// executor; never more than [`keys::TOPOLOGY_MAX_TASK_PARALLELISM`] of the component, else of the topology.
///
/// # Errors
/// [`ConfigError::BadValue`] when one of the two settings cannot be read.
pub fn tasks_wanted(component: &Component, config: &Config) -> Result<u32, ConfigError> {
    let configured = component.config.tasks()?;
    let asked = component.task_count.or(configured).unwrap_or_else(|| executors_wanted(component));
    let limit = match component.config.max_task_parallelism()? {
        Some(limit) => Some(limit),
        None => config.max_task_parallelism()?,
    };
    Ok(limit.map_or(asked, |limit| asked.min(limit)))
}

/// The number of executors that a component gets: as many as it asks for, but no more than it has tasks, and at least
/// one if it has any.
///
/// # Errors
/// Those of [`tasks_wanted`].
pub fn executor_count(component: &Component, config: &Config) -> Result<u32, ConfigError> {
    Ok(executors_wanted(component).max(1).min(tasks_wanted(component, config)?))
}

#[cfg(test)]
mod tests;
