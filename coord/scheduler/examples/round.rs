//! Prints how long a round takes in a large cluster: when nothing runs yet, when nothing has changed, and when one node or
//! half of them were lost.
//!
//! Run it with `cargo run --release -p ringstorm-scheduler --example round`. The cluster: 1,000 nodes with ten slots each,
//! 1,000 topologies with ten workers and 100 executors each (100,000 in all). A round is timed from the plain state to the
//! result, with the making of the [`Cluster`] in it; copying the state beforehand is not. Each figure is the best and the
//! worst of several rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ringstorm_scheduler::{Cluster, DefaultScheduler, Scheduler, Supervisor, Topology};
use ringstorm_types::{ComponentId, ExecutorId, TaskId};

const NODES: usize = 1_000;
const SLOTS_PER_NODE: u16 = 10;
const TOPOLOGIES: usize = 1_000;
const EXECUTORS_PER_TOPOLOGY: i32 = 100;
const ROUNDS: usize = 10;

fn main() {
    for workers_per_topology in [10, 9] {
        let used = TOPOLOGIES * workers_per_topology as usize;
        println!("{used} of {} slots are wanted", NODES * usize::from(SLOTS_PER_NODE));
        let topologies = topologies(workers_per_topology);
        let placed = measure("cold start", &supervisors(), &topologies);
        let same = measure("nothing changed", &supervisors(), &placed);
        assert!(same == placed, "a round without a reason moves nothing");

        let mut remaining = supervisors();
        let mut living = placed;
        lose(&remaining.split_off(NODES - 1), &mut living);
        let moved = measure("one node lost", &remaining, &living);
        assert!(moved.iter().all(|of| of.executors.len() == of.assignment.len()), "every executor has a slot");
        lose(&remaining.split_off(NODES / 2), &mut living);
        measure("half of the nodes lost", &remaining, &living);
    }
}

/// Nothing lives on these supervisors any more.
fn lose(lost: &[Supervisor], topologies: &mut [Topology]) {
    let lost: BTreeSet<_> = lost.iter().map(|supervisor| &supervisor.id).collect();
    for topology in topologies {
        topology.assignment.retain(|_, slot| !lost.contains(&slot.node_id));
    }
}

/// Times rounds from one state; the state after one of them.
fn measure(name: &str, supervisors: &[Supervisor], topologies: &[Topology]) -> Vec<Topology> {
    let mut times: Vec<Duration> = Vec::new();
    let mut after = Vec::new();
    for _ in 0..ROUNDS {
        let (supervisors, topologies) = (supervisors.to_vec(), topologies.to_vec());
        let start = Instant::now();
        let mut cluster = Cluster::new(supervisors, topologies, &BTreeSet::new()).expect("all ids differ");
        DefaultScheduler.schedule(&mut cluster);
        times.push(start.elapsed());
        after = cluster.topologies().map(|of| cluster.topology(of).clone()).collect();
    }
    times.sort();
    let milliseconds = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    println!("  {name:<44} {:7.1} to {:7.1} ms", milliseconds(times.first()), milliseconds(times.last()));
    after
}

fn supervisors() -> Vec<Supervisor> {
    // Ids as long as real ones, which are random.
    let id = |node: usize| format!("{:016x}-{node:04}-192.168.{}.{}", hash(node), node / 250, node % 250);
    let supervisor = |node| Supervisor {
        id: id(node).as_str().into(),
        host: format!("192.168.{}.{}", node / 250, node % 250),
        ports: (6700..6700 + SLOTS_PER_NODE).collect(),
        dead_ports: BTreeSet::new(),
    };
    (0..NODES).map(supervisor).collect()
}

fn topologies(worker_count: u32) -> Vec<Topology> {
    let components = ["spout", "split", "count", "sink"].map(ComponentId::from_static);
    let executor = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
    let executors: BTreeMap<ExecutorId, ComponentId> = (1..=EXECUTORS_PER_TOPOLOGY)
        .map(|task| (executor(task), components[task as usize % components.len()].clone()))
        .collect();
    let topology = |number| Topology {
        id: format!("topology-{number}-{}-1700000000", hash(number) % 10_000),
        name: format!("topology-{number}"),
        worker_count,
        executors: executors.clone(),
        assignment: BTreeMap::new(),
    };
    (0..TOPOLOGIES).map(topology).collect()
}

fn hash(number: usize) -> u64 {
    (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}
