//! A cluster of 1,000 topologies and 100,000 executors answers without a look at what it was not asked about.

use std::time::Instant;

use ringstorm_records::nimbus::{GetClusterInfo, GetComponentPageInfo, GetSupervisorPageInfo, GetTopologyInfoByName};
use ringstorm_records::records::{ClusterWorkerHeartbeat, SupervisorInfo};
use ringstorm_records::znode::{Node, Slot};
use ringstorm_store::operation::Operation;

use crate::world::{World, name};

const TOPOLOGIES: usize = 1000;
/// Of spout and bolt; with its acker a topology has one more than twice as many.
const EXECUTORS: i32 = 50;
const WORKERS: i64 = 10;

fn world() -> World {
    let mut world = World::new();
    for number in 0..TOPOLOGIES {
        let (supervisor, port) = (format!("supervisor-{}", number / 10), 6700 + (number % 10) as i64 * WORKERS);
        world.submit(&format!("topology{number}-{number}-1000"), EXECUTORS, &supervisor, port..port + WORKERS);
        if number % 10 == 0 {
            let info = SupervisorInfo { hostname: "host".to_owned(), ..SupervisorInfo::default() };
            world.put(&Node::Supervisor { supervisor: name(&supervisor) }, &info);
        }
    }
    world
}

/// How many beats were read.
fn beats(world: &World) -> usize {
    let is_beat = |operation: &&Operation| match operation {
        Operation::Get { path, .. } | Operation::Children { path, .. } => path.as_str().contains("/workerbeats/"),
        _ => false,
    };
    world.asked.iter().filter(is_beat).count()
}

#[test]
fn a_large_cluster_is_told_of_without_a_look_at_its_beats() {
    let mut world = world();
    let began = Instant::now();
    let summary = world.told(GetClusterInfo {}, 2000);
    let took = began.elapsed();
    let executors: i32 = summary.topologies.iter().map(|topology| topology.num_executors).sum();
    assert_eq!((summary.topologies.len(), summary.supervisors.len()), (TOPOLOGIES, TOPOLOGIES / 10));
    assert_eq!(executors as usize, TOPOLOGIES * (2 * EXECUTORS as usize + 1));
    assert_eq!(beats(&world), 0);
    // A base, an assignment and the holders of the code of each topology, each supervisor, and a few lists.
    assert!(world.asked.len() < 3 * TOPOLOGIES + TOPOLOGIES / 10 + 10, "{}", world.asked.len());
    assert!(world.steps < 20, "{}", world.steps);
    println!("{executors} executors in {took:?}");
}

#[test]
fn of_one_topology_no_other_is_read() {
    let mut world = world();
    world.told(GetTopologyInfoByName { name: Some("topology500".to_owned()) }, 2000);
    assert_eq!(beats(&world), WORKERS as usize);
    assert!(world.asked.len() < WORKERS as usize + 20, "{}", world.asked.len());

    // The acker runs in one worker.
    let page = |component: &str| GetComponentPageInfo {
        topology_id: Some("topology500-500-1000".to_owned()),
        component_id: Some(component.to_owned()),
        window: Some("600".to_owned()),
        is_include_sys: Some(true),
    };
    world.told(page("__acker"), 2000);
    assert_eq!(beats(&world), 1);
    world.told(page("words"), 2000);
    assert_eq!(beats(&world), WORKERS as usize);

    let of = GetSupervisorPageInfo { id: Some("supervisor-7".to_owned()), host: None, is_include_sys: Some(true) };
    let page = world.told(of, 2000);
    assert_eq!(page.worker_summaries.map(|workers| workers.len()), Some(10 * WORKERS as usize));
    assert_eq!(beats(&world), 10 * WORKERS as usize);
}

#[test]
fn a_beat_of_a_slot_that_is_not_assigned_is_not_read() {
    let mut world = World::new();
    world.submit("words-1-1000", 2, "supervisor", 6700..6701);
    let slot = Slot { supervisor: name("other"), port: 6700 };
    let beat = ClusterWorkerHeartbeat { storm_id: "words-1-1000".to_owned(), ..ClusterWorkerHeartbeat::default() };
    world.put(&Node::WorkerBeat { topology: name("words-1-1000"), slot }, &beat);
    world.told(GetTopologyInfoByName { name: Some("words".to_owned()) }, 2000);
    assert_eq!(beats(&world), 1);
}
