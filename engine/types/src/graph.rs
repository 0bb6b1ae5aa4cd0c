//! The shape of a topology: which components lie on cycles, and an order in which tuples flow.
//!
//! Components that reach one another form one group (a strongly connected component); between groups the graph has no
//! cycles. Subscriptions to components that do not exist are passed over: validation reports them. All results depend
//! on nothing but the topology, and no function recurses, so that a chain of any length is fine.

use std::collections::BTreeMap;

use crate::id::ComponentId;
use crate::topology::Topology;

/// Components as indices in string order, with edges from emitters to subscribers.
struct Graph<'a> {
    ids: Vec<&'a ComponentId>,
    targets: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(topology: &'a Topology) -> Self {
        let ids: Vec<&ComponentId> = topology.components.keys().collect();
        let mut targets = vec![Vec::new(); ids.len()];
        for (target, component) in topology.components.values().enumerate() {
            for input in &component.inputs {
                if let Ok(source) = ids.binary_search(&&input.component) {
                    let targets: &mut Vec<usize> = &mut targets[source];
                    if targets.last() != Some(&target) {
                        targets.push(target);
                    }
                }
            }
        }
        Self { ids, targets }
    }

    /// Groups of components that reach one another, by Tarjan's algorithm; each group comes after the groups that it
    /// emits to. Returns the groups and the group of each component.
    fn groups(&self) -> (Vec<Vec<usize>>, Vec<usize>) {
        const UNSEEN: usize = usize::MAX;
        let count = self.ids.len();
        let (mut number, mut lowest, mut group_of) = (vec![UNSEEN; count], vec![0; count], vec![UNSEEN; count]);
        let (mut groups, mut open, mut calls, mut next) = (Vec::new(), Vec::new(), Vec::<(usize, usize)>::new(), 0);
        for root in 0..count {
            if number[root] == UNSEEN {
                calls.push((root, 0));
            }
            while let Some(&mut (node, ref mut edge)) = calls.last_mut() {
                if *edge == 0 {
                    (number[node], lowest[node]) = (next, next);
                    next += 1;
                    open.push(node);
                }
                if let Some(&target) = self.targets[node].get(*edge) {
                    *edge += 1;
                    if number[target] == UNSEEN {
                        calls.push((target, 0));
                    } else if group_of[target] == UNSEEN {
                        lowest[node] = lowest[node].min(number[target]);
                    }
                    continue;
                }
                calls.pop();
                if let Some(&(parent, _)) = calls.last() {
                    lowest[parent] = lowest[parent].min(lowest[node]);
                }
                if lowest[node] == number[node] {
                    let start = open.iter().rposition(|&member| member == node).unwrap_or(0);
                    let mut group = open.split_off(start);
                    group.sort_unstable();
                    for &member in &group {
                        group_of[member] = groups.len();
                    }
                    groups.push(group);
                }
            }
        }
        (groups, group_of)
    }

    /// The members of a group in the order of a walk along its edges, so that a message can name them as a path.
    fn walk(&self, group: &[usize]) -> Vec<ComponentId> {
        let mut seen = vec![false; group.len()];
        let mut path = Vec::with_capacity(group.len());
        let mut open = vec![0];
        while let Some(position) = open.pop() {
            if std::mem::replace(&mut seen[position], true) {
                continue;
            }
            path.push(self.ids[group[position]].clone());
            let targets = self.targets[group[position]].iter().rev();
            open.extend(targets.filter_map(|target| group.binary_search(target).ok()));
        }
        path
    }
}

/// The groups of components that reach one another, a component that subscribes to itself among them. Each group
/// starts with its first member in string order and follows its edges from there; groups are in the order of their
/// first members.
///
/// ```
/// use ringstorm_types::graph::cycles;
/// use ringstorm_types::topology::Topology;
///
/// assert!(cycles(&Topology::default()).is_empty());
/// ```
pub fn cycles(topology: &Topology) -> Vec<Vec<ComponentId>> {
    let graph = Graph::new(topology);
    let mut cycles: Vec<Vec<usize>> = graph.groups().0;
    cycles.retain(|group| group.len() > 1 || graph.targets[group[0]].contains(&group[0]));
    cycles.sort_unstable();
    cycles.iter().map(|group| graph.walk(group)).collect()
}

/// The rank of each component: the length of the longest way to it from a component that reads nothing, where a cycle
/// counts as one place. Who emits to a component outside its own cycle always has a lower rank.
pub fn ranks(topology: &Topology) -> BTreeMap<ComponentId, usize> {
    let graph = Graph::new(topology);
    let (groups, group_of) = graph.groups();
    let mut rank_of_group = vec![0; groups.len()];
    for (group, members) in groups.iter().enumerate().rev() {
        for &target in members.iter().flat_map(|&member| &graph.targets[member]) {
            let target = group_of[target];
            if target != group {
                rank_of_group[target] = rank_of_group[target].max(rank_of_group[group] + 1);
            }
        }
    }
    graph.ids.iter().enumerate().map(|(index, id)| ((*id).clone(), rank_of_group[group_of[index]])).collect()
}

/// All components in an order in which tuples flow: by rank, and in string order within a rank.
pub fn topological_order(topology: &Topology) -> Vec<ComponentId> {
    let mut order: Vec<(usize, ComponentId)> = ranks(topology).into_iter().map(|(id, rank)| (rank, id)).collect();
    order.sort();
    order.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests;
