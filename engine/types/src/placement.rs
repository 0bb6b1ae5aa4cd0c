//! Which executor lives on which core of a worker: one pure function, so that everybody who asks gets one answer.
//!
//! Components are taken in topological order and their executors dealt out to the cores in turn, so that neighbours
//! in the flow of tuples spread over the cores. Blocking executors have threads of their own and are passed over.
//! Ackers go to the cores that host spouts, in turn, so that a spout finds an acker without leaving its core.
//!
//! Where nobody else assigns executors to workers ([`share`]), they are dealt out to them in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use crate::config::{Config, ConfigError};
use crate::graph::topological_order;
use crate::id::{ACKER_COMPONENT, CoreIndex, ExecutorId, TaskId};
use crate::numbering::{Numbering, executor_count};
use crate::topology::{ComponentKind, Execution, Topology};

/// Where an executor lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// On a core, together with others.
    Core(CoreIndex),
    /// On an unpinned thread of its own, because its code may wait.
    OwnThread,
}

/// The homes of all executors of a worker. Immutable once made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    homes: BTreeMap<ExecutorId, Home>,
    /// For each core: its executors in the order of their tasks.
    cores: Vec<Vec<ExecutorId>>,
}

impl Placement {
    /// Where an executor lives; `None` for one that is not placed here.
    pub fn home_of(&self, executor: ExecutorId) -> Option<Home> {
        self.homes.get(&executor).copied()
    }

    /// Where the executor of a task lives; `None` for a task that is not placed here.
    pub fn home_of_task(&self, task: TaskId) -> Option<Home> {
        let (executor, home) = self.homes.range(..=ExecutorId { first: task, last: TaskId(i32::MAX) }).next_back()?;
        executor.contains(task).then_some(*home)
    }

    /// The number of cores, idle ones included.
    pub fn core_count(&self) -> usize {
        self.cores.len()
    }

    /// The executors of a core in the order of their tasks; none for a core that does not exist.
    pub fn executors_on(&self, core: CoreIndex) -> &[ExecutorId] {
        self.cores.get(core.0).map_or(&[], Vec::as_slice)
    }

    /// Every core with its executors.
    pub fn cores(&self) -> impl Iterator<Item = (CoreIndex, &[ExecutorId])> {
        self.cores.iter().enumerate().map(|(index, executors)| (CoreIndex(index), executors.as_slice()))
    }

    /// The executors with threads of their own, in the order of their tasks.
    pub fn on_own_threads(&self) -> impl Iterator<Item = ExecutorId> {
        self.homes.iter().filter(|(_, home)| **home == Home::OwnThread).map(|(executor, _)| *executor)
    }

    fn put(&mut self, executor: ExecutorId, home: Home) {
        if let Home::Core(core) = home {
            self.cores[core.0].push(executor);
        }
        self.homes.insert(executor, home);
    }
}

/// Deals out the executors of a topology to its workers, evenly: for each worker, those that it runs.
///
/// `numbering` must be that of `topology`, as for [`place`].
pub fn share(numbering: &Numbering, topology: &Topology, worker_count: NonZeroUsize) -> Vec<BTreeSet<ExecutorId>> {
    let mut shares = vec![BTreeSet::new(); worker_count.get()];
    let order = topological_order(topology);
    let executors = order.iter().flat_map(|id| numbering.executors_of(id));
    for (index, executor) in executors.enumerate() {
        shares[index % worker_count].insert(executor.id);
    }
    // Whoever has few executors gets the first ackers.
    for (index, executor) in numbering.executors_of(ACKER_COMPONENT).iter().enumerate() {
        shares[worker_count.get() - 1 - index % worker_count].insert(executor.id);
    }
    shares
}

/// Deals out the executors of a topology that runs in one worker.
///
/// `numbering` must be that of `topology`; executors of components that the topology does not have are not placed,
/// apart from the ackers.
pub fn place(numbering: &Numbering, topology: &Topology, core_count: NonZeroUsize) -> Placement {
    place_those(numbering, topology, core_count, |_| true)
}

/// As [`place`], for a worker that runs those executors of the topology that are `here`.
pub fn place_those(
    numbering: &Numbering,
    topology: &Topology,
    core_count: NonZeroUsize,
    here: impl Fn(ExecutorId) -> bool,
) -> Placement {
    let mut placement = Placement { homes: BTreeMap::new(), cores: vec![Vec::new(); core_count.get()] };
    let mut dealer = Dealer { next: 0, core_count: core_count.get() };
    let mut hosts_spout = vec![false; core_count.get()];
    for id in topological_order(topology) {
        let Some(component) = topology.components.get(&id) else { continue };
        for executor in numbering.executors_of(&id).iter().filter(|executor| here(executor.id)) {
            let home = dealer.deal(component.execution);
            if let (Home::Core(core), ComponentKind::Spout) = (home, component.kind) {
                hosts_spout[core.0] = true;
            }
            placement.put(executor.id, home);
        }
    }
    let acker_cores = acker_cores(&hosts_spout);
    let ackers = numbering.executors_of(ACKER_COMPONENT).iter().filter(|executor| here(executor.id));
    for (executor, core) in ackers.zip(acker_cores.iter().cycle()) {
        placement.put(executor.id, Home::Core(*core));
    }
    for executors in &mut placement.cores {
        executors.sort_unstable();
    }
    placement
}

/// The number of ackers that a topology gets in one process when `topology.acker.executors` is unset: one for each
/// core that hosts a spout, and one if its spouts all have threads of their own.
///
/// # Errors
/// [`ConfigError::BadValue`] when a setting that the number of tasks depends on cannot be read.
pub fn local_acker_count(topology: &Topology, config: &Config, core_count: NonZeroUsize) -> Result<u32, ConfigError> {
    let mut dealer = Dealer { next: 0, core_count: core_count.get() };
    let mut hosts_spout = vec![false; core_count.get()];
    for id in topological_order(topology) {
        let Some(component) = topology.components.get(&id) else { continue };
        for _ in 0..executor_count(component, config)? {
            if let (Home::Core(core), ComponentKind::Spout) = (dealer.deal(component.execution), component.kind) {
                hosts_spout[core.0] = true;
            }
        }
    }
    Ok(hosts_spout.into_iter().filter(|hosts| *hosts).count().max(1) as u32)
}

/// The cores that ackers go to, in turn: those that host a spout, or all if none does.
fn acker_cores(hosts_spout: &[bool]) -> Vec<CoreIndex> {
    let any = hosts_spout.contains(&true);
    (0..hosts_spout.len()).filter(|core| !any || hosts_spout[*core]).map(CoreIndex).collect()
}

/// Gives out the cores in turn.
struct Dealer {
    next: usize,
    core_count: usize,
}

impl Dealer {
    fn deal(&mut self, execution: Execution) -> Home {
        if execution == Execution::Blocking {
            return Home::OwnThread;
        }
        let core = CoreIndex(self.next);
        self.next = (self.next + 1) % self.core_count;
        Home::Core(core)
    }
}

#[cfg(test)]
mod tests;
