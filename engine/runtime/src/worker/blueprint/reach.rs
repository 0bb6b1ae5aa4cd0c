//! Who reaches whom: what may hold an executor, where a tree may go, which threads need links.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_types::topology::{ComponentKind, Grouping};

use super::{Blueprint, LinkNeed, task_number};
use crate::core::gate::GateRoute;

impl Blueprint {
    /// What may hold an executor of this component on this worker: as [`Blueprint::gate_routes`], but for what goes to
    /// tasks of this worker alone.
    pub(crate) fn own_gate_routes(&self, component: &str) -> Vec<GateRoute> {
        self.routes(component, |tasks, grouping| match grouping {
            Grouping::LocalOrShuffle => self.own_or_all(tasks),
            _ => tasks,
        })
    }

    /// Those of the tasks that this worker runs; all if it runs none.
    pub(crate) fn own_or_all(&self, tasks: Vec<u32>) -> Vec<u32> {
        let own = tasks.iter().copied().filter(|task| self.is_own(self.thread_of_task[*task as usize]));
        let own: Vec<u32> = own.collect();
        if own.is_empty() { tasks } else { own }
    }

    /// What may hold an executor of this component on some worker.
    pub(crate) fn gate_routes(&self, component: &str) -> Vec<GateRoute> {
        self.routes(component, |tasks, _| tasks)
    }

    fn routes(&self, component: &str, targets: impl Fn(Vec<u32>, &Grouping) -> Vec<u32>) -> Vec<GateRoute> {
        let mut routes = Vec::new();
        let Some(data) = self.built.topology.components.get(component) else { return routes };
        for stream in data.outputs.keys() {
            for (subscriber, _, grouping) in self.subscribers(component, stream) {
                if self.is_in_cycle(component, subscriber) {
                    continue;
                }
                let any_is_enough = matches!(grouping, Grouping::Shuffle | Grouping::LocalOrShuffle) && self.load_aware;
                let tasks = targets(self.tasks_of(subscriber), grouping);
                routes.push(GateRoute { tasks: tasks.into(), any_is_enough });
                // What enters a cycle waits for all of it: inside, nobody waits for anybody.
                if let Some(cycle) = self.cycle_of(subscriber) {
                    let tasks: Vec<u32> = cycle.iter().flat_map(|member| self.tasks_of(member)).collect();
                    routes.push(GateRoute { tasks: tasks.into(), any_is_enough: false });
                }
            }
        }
        routes
    }

    /// Threads whose executors the tasks of a component may hold.
    pub(crate) fn held_by(&self, component: &str) -> BTreeSet<usize> {
        let tasks = self.tasks_of(component);
        let Some(first) = tasks.first() else { return BTreeSet::new() };
        let holders = self
            .built
            .topology
            .components
            .keys()
            .filter(|emitter| self.gate_routes(emitter).iter().any(|route| route.tasks.contains(first)));
        holders.flat_map(|emitter| self.threads_of(emitter)).collect()
    }

    /// The numbers of the workers where a tree of this spout may have something, be it a tuple or its acker.
    pub(crate) fn touched_by(&self, spout: &str) -> BTreeSet<u64> {
        let components = &self.built.topology.components;
        let mut reached: BTreeSet<&str> = BTreeSet::from([spout]);
        let mut next: Vec<&str> = vec![spout];
        while let Some(id) = next.pop() {
            let Some(component) = components.get(id) else { continue };
            for stream in component.outputs.keys() {
                for (subscriber, _, _) in self.subscribers(id, stream) {
                    if reached.insert(subscriber) {
                        next.push(subscriber);
                    }
                }
            }
        }
        let ackers = self.ackers.iter().map(|task| self.thread_of_task[*task as usize]);
        let threads = reached.iter().flat_map(|id| self.threads_of(id)).chain(ackers);
        threads.map(|thread| self.place(thread).worker).collect()
    }

    pub(crate) fn threads_of(&self, component: &str) -> BTreeSet<usize> {
        let tasks = self.numbering.tasks_of(component);
        tasks.iter().map(|task| self.thread_of_task[task_number(*task)]).collect()
    }

    pub(super) fn plan_links(&self) -> BTreeMap<(usize, usize), LinkNeed> {
        let mut links: BTreeMap<(usize, usize), LinkNeed> = BTreeMap::new();
        let mut need = |from: usize, to: usize, data: bool| {
            if from != to {
                let link = links.entry((from, to)).or_default();
                link.data |= data;
                link.control |= !data;
            }
        };
        let acker_threads: BTreeSet<usize> =
            self.ackers.iter().map(|task| self.thread_of_task[*task as usize]).collect();
        for (id, component) in &self.built.topology.components {
            let own = self.threads_of(id);
            for stream in component.outputs.keys() {
                for (subscriber, _, _) in self.subscribers(id, stream) {
                    for to in self.threads_of(subscriber) {
                        own.iter().for_each(|from| need(*from, to, true));
                    }
                }
            }
            for to in self.held_by(id) {
                own.iter().for_each(|from| need(*from, to, false));
            }
            for acker in &acker_threads {
                own.iter().for_each(|from| need(*from, *acker, false));
                if component.kind == ComponentKind::Spout {
                    own.iter().for_each(|to| need(*acker, *to, false));
                }
            }
        }
        links
    }
}
