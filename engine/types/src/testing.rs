//! Topologies for the unit tests of this crate.

use proptest::prelude::*;

use crate::id::{ComponentId, DEFAULT_STREAM, StreamId};
use crate::topology::{Component, Execution, Grouping, Input, Output, Topology};

pub(crate) fn id(text: &str) -> ComponentId {
    ComponentId::new(text).unwrap()
}

pub(crate) fn input(component: &str, grouping: Grouping) -> Input {
    Input { component: id(component), stream: StreamId::from_static(DEFAULT_STREAM), grouping }
}

/// A component that emits dynamic tuples on the default stream, with a parallelism.
pub(crate) fn emitting(mut component: Component, parallelism: u32, fields: &[&str]) -> Component {
    component.parallelism_hint = Some(parallelism);
    component.outputs.insert(StreamId::default(), Output::dynamic(fields.iter().copied()));
    component
}

/// `words` (1 spout) -> `split` (2 bolts) -> `count` (2 bolts, by word).
pub(crate) fn word_count() -> Topology {
    let mut topology = Topology::default();
    topology.components.insert(id("words"), emitting(Component::spout(), 1, &["sentence"]));
    let mut split = emitting(Component::bolt(), 2, &["word"]);
    split.inputs.push(input("words", Grouping::Shuffle));
    topology.components.insert(id("split"), split);
    let mut count = emitting(Component::bolt(), 2, &["word", "count"]);
    count.inputs.push(input("split", Grouping::Fields(vec!["word".to_owned()])));
    topology.components.insert(id("count"), count);
    topology
}

/// A topology with these edges between components `a`, `b` and so on; whoever reads nothing is a spout.
pub(crate) fn graph(edges: &[(&str, &str)]) -> Topology {
    let mut topology = Topology::default();
    for name in edges.iter().flat_map(|(from, to)| [from, to]) {
        topology.components.entry(id(name)).or_insert_with(|| emitting(Component::spout(), 1, &["x"]));
    }
    for (from, to) in edges {
        let component = topology.components.get_mut(*to).unwrap();
        component.kind = crate::topology::ComponentKind::Bolt;
        component.inputs.push(input(from, Grouping::Shuffle));
    }
    topology
}

/// Valid topologies, cycles included: up to eleven components, some of them blocking.
pub(crate) fn topologies() -> impl Strategy<Value = Topology> {
    let component = (1_u32..6, 0_u32..4, any::<bool>(), proptest::collection::vec(0_usize..12, 0..4));
    proptest::collection::vec(component, 1..12).prop_map(|drawn| {
        let mut topology = Topology::default();
        for (index, (parallelism, more_tasks, blocking, sources)) in drawn.iter().enumerate() {
            let bolt = index > 0 && !sources.is_empty();
            let mut component =
                emitting(if bolt { Component::bolt() } else { Component::spout() }, *parallelism, &["x"]);
            component.task_count = (*more_tasks > 0).then_some(parallelism + more_tasks);
            if *blocking {
                component.execution = Execution::Blocking;
            }
            if bolt {
                let sources = sources.iter().map(|source| source % drawn.len());
                component.inputs = sources.map(|source| input(&name(source), Grouping::Shuffle)).collect();
            }
            topology.components.insert(id(&name(index)), component);
        }
        topology
    })
}

/// Names whose string order is not the order of their numbers.
fn name(index: usize) -> String {
    format!("{}{index}", ["b", "A", "$", "z"][index % 4])
}
