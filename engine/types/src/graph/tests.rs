//! The graph functions against known graphs and against the slow definition of reachability.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::testing::{graph, topologies};

fn shown(groups: &[Vec<ComponentId>]) -> Vec<String> {
    groups.iter().map(|group| group.iter().map(ComponentId::as_str).collect::<Vec<_>>().join(",")).collect()
}

#[test]
fn a_chain_has_no_cycles_and_flows_in_order() {
    let topology = graph(&[("z", "y"), ("y", "x"), ("z", "x")]);
    assert!(cycles(&topology).is_empty());
    assert_eq!(topological_order(&topology), ["z", "y", "x"]);
}

#[test]
fn cycles_are_named_along_their_edges() {
    let topology = graph(&[("s", "a"), ("a", "d"), ("d", "b"), ("b", "a"), ("b", "e"), ("e", "e"), ("e", "f")]);
    assert_eq!(shown(&cycles(&topology)), ["a,d,b", "e"]);
    assert_eq!(topological_order(&topology), ["s", "a", "b", "d", "e", "f"]);
    let ranks = ranks(&topology);
    assert_eq!((ranks["s"], ranks["a"], ranks["d"], ranks["e"], ranks["f"]), (0, 1, 1, 2, 3));
}

#[test]
fn two_loops_that_share_a_component_are_one_group() {
    let topology = graph(&[("s", "a"), ("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")]);
    assert_eq!(shown(&cycles(&topology)), ["a,b,c"]);
}

#[test]
fn a_very_long_chain_is_no_problem() {
    let names: Vec<String> = (0..20_000).map(|index| format!("c{index:05}")).collect();
    let edges: Vec<(&str, &str)> = names.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let order = topological_order(&graph(&edges));
    assert!(order.iter().map(ComponentId::as_str).eq(names.iter().map(String::as_str)));
}

#[test]
fn an_unknown_source_is_passed_over() {
    let mut topology = graph(&[("a", "b")]);
    topology.components.remove("a");
    assert_eq!(topological_order(&topology), ["b"]);
}

/// Who can be reached from a component, in one step or more.
fn reached(topology: &Topology, from: &ComponentId) -> BTreeSet<ComponentId> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.clone()];
    while let Some(source) = open.pop() {
        for (id, component) in &topology.components {
            if component.inputs.iter().any(|input| input.component == source) && reached.insert(id.clone()) {
                open.push(id.clone());
            }
        }
    }
    reached
}

proptest! {
    #[test]
    fn groups_and_ranks_agree_with_reachability(topology in topologies()) {
        let cycles = cycles(&topology);
        let ranks = ranks(&topology);
        let order = topological_order(&topology);
        prop_assert_eq!(order.iter().collect::<BTreeSet<_>>(), topology.components.keys().collect::<BTreeSet<_>>());
        prop_assert_eq!(order.len(), topology.components.len());
        for id in topology.components.keys() {
            let reached = reached(&topology, id);
            let group = cycles.iter().find(|group| group.contains(id));
            prop_assert_eq!(group.is_some(), reached.contains(id));
            for target in &reached {
                let together = group.is_some_and(|group| group.contains(target));
                prop_assert_eq!(together, self::reached(&topology, target).contains(id));
                let expected = if together { Ordering::Equal } else { Ordering::Less };
                prop_assert_eq!(ranks[id].cmp(&ranks[target]), expected);
            }
        }
    }
}
