//! What a cluster refuses, keeps and counts.

use ringstorm_types::{ComponentId, TaskId};

use super::*;

fn executor(task: i32) -> ExecutorId {
    ExecutorId { first: TaskId(task), last: TaskId(task) }
}

fn slot(node: &str, port: u16) -> WorkerSlot {
    WorkerSlot { node_id: node.into(), port }
}

fn supervisor(id: &str, ports: &[u16]) -> Supervisor {
    Supervisor {
        id: id.into(),
        host: format!("host-of-{id}"),
        ports: ports.iter().copied().collect(),
        dead_ports: BTreeSet::new(),
    }
}

fn topology(id: &str, tasks: i32, assigned: &[(i32, WorkerSlot)]) -> Topology {
    let bolt = ComponentId::from_static("bolt");
    Topology {
        id: id.into(),
        name: id.into(),
        worker_count: 2,
        executors: (1..=tasks).map(|task| (executor(task), bolt.clone())).collect(),
        assignment: assigned.iter().map(|(task, slot)| (executor(*task), slot.clone())).collect(),
    }
}

fn cluster(supervisors: &[Supervisor], topologies: &[Topology]) -> Cluster {
    Cluster::new(supervisors.to_vec(), topologies.to_vec(), &BTreeSet::from(["host-of-black".to_owned()])).unwrap()
}

fn available(cluster: &Cluster) -> Vec<String> {
    cluster.available_slots().map(|slot| slot.to_string()).collect()
}

#[test]
fn ids_must_be_unique() {
    let twice = [supervisor("a", &[1]), supervisor("b", &[]), supervisor("a", &[])];
    let error = Cluster::new(twice.to_vec(), Vec::new(), &BTreeSet::new()).unwrap_err();
    assert_eq!(error, InvalidCluster::SupervisorTwice("a".into()));
    let twice = vec![topology("t", 1, &[]), topology("u", 1, &[]), topology("t", 2, &[])];
    let error = Cluster::new(Vec::new(), twice, &BTreeSet::new()).unwrap_err();
    assert_eq!(error.to_string(), "two topologies have the id \"t\"; each needs one of its own");
}

#[test]
fn dead_blacklisted_and_used_slots_are_not_available() {
    let mut half_dead = supervisor("half-dead", &[1, 2, 3]);
    half_dead.dead_ports = [2, 99].into();
    let all = [half_dead, supervisor("black", &[1, 2]), supervisor("fine", &[5, 4])];
    let cluster = cluster(&all, &[topology("t", 2, &[(1, slot("fine", 4)), (2, slot("gone", 1))])]);
    assert_eq!(available(&cluster), ["half-dead:1", "fine:5", "half-dead:3"]);
    assert_eq!(cluster.available_slot_count(), 3);
    assert!(cluster.is_blacklisted(&"black".into()) && !cluster.is_blacklisted(&"gone".into()));
    let assignable = [("fine", 4), ("fine", 6), ("half-dead", 2), ("half-dead", 99), ("black", 1), ("gone", 1)];
    assert_eq!(
        assignable.map(|(node, port)| cluster.is_assignable(&slot(node, port))),
        [true, false, false, false, false, false]
    );
}

#[test]
fn what_must_not_be_assigned_is_refused_and_changes_nothing() {
    let mut cluster = cluster(
        &[supervisor("a", &[1, 2]), supervisor("black", &[1])],
        &[topology("t", 3, &[(1, slot("a", 1))]), topology("u", 1, &[])],
    );
    let [t, u] = [0, 1].map(TopologyIndex);
    let before = format!("{:?}", cluster.assignment(t));
    let occupied = cluster.assign(u, &slot("a", 1), vec![executor(1)]).unwrap_err();
    assert_eq!(occupied, AssignError::Occupied { slot: slot("a", 1), by: "t".into() });
    for unusable in [slot("a", 3), slot("black", 1), slot("gone", 1)] {
        let error = cluster.assign(u, &unusable, vec![executor(1)]).unwrap_err();
        assert_eq!(error, AssignError::Unusable(unusable));
    }
    for wrong in [vec![2, 1], vec![3, 3], vec![2, 3, 4]] {
        let last = *wrong.last().unwrap();
        let error = cluster.assign(t, &slot("a", 2), wrong.into_iter().map(executor).collect()).unwrap_err();
        assert_eq!(error, AssignError::NotUnassigned { executor: executor(last), topology: "t".into() });
        assert_eq!(cluster.unassigned_executor_count(t), 2);
    }
    assert_eq!(format!("{:?}", cluster.assignment(t)), before);
    cluster.assign(t, &slot("a", 2), Vec::new()).unwrap();
    assert_eq!((available(&cluster), cluster.needs_scheduling(u)), (vec!["a:2".to_owned()], true));
    cluster.assign(t, &slot("a", 2), vec![executor(3), executor(2)]).unwrap();
    assert!(!cluster.needs_scheduling(t) && cluster.is_fully_assigned(t) && available(&cluster).is_empty());
}

#[test]
fn a_slot_that_two_topologies_claim_belongs_to_the_first() {
    let both = [("t", 1), ("u", 2)].map(|(id, port)| topology(id, 2, &[(1, slot("gone", 7)), (2, slot("a", port))]));
    let cluster = cluster(&[supervisor("a", &[1, 2])], &both);
    let [t, u] = [0, 1].map(TopologyIndex);
    assert_eq!(cluster.occupied_by(&slot("gone", 7)), Some(t));
    assert_eq!(cluster.unassigned_executors(u).collect::<Vec<_>>(), [executor(1)]);
    assert_eq!(cluster.slots(u).keys().cloned().collect::<Vec<_>>(), [slot("a", 2)]);
    assert!(!cluster.needs_scheduling(t));
}

#[test]
fn a_freed_slot_is_available_again_unless_its_supervisor_is_not() {
    let assigned = [(1, slot("a", 1)), (2, slot("gone", 1)), (9, slot("a", 1))];
    let mut cluster = cluster(&[supervisor("a", &[1])], &[topology("t", 2, &assigned)]);
    let t = TopologyIndex(0);
    // Executor 9 is none of the topology's.
    assert!(!cluster.is_fully_assigned(t) && !cluster.needs_scheduling(t));
    for slot in [slot("a", 1), slot("gone", 1), slot("a", 1), slot("b", 1)] {
        cluster.free_slot(&slot);
    }
    assert_eq!(available(&cluster), ["a:1"]);
    assert!(cluster.assignment(t).is_empty() && cluster.slots(t).is_empty());
    assert_eq!(cluster.unassigned_executors(t).collect::<Vec<_>>(), [executor(1), executor(2)]);
    cluster.assign(t, &slot("a", 1), vec![executor(1), executor(2)]).unwrap();
    assert!(cluster.is_fully_assigned(t));
}

#[test]
fn shortages_say_what_is_missing() {
    let mut needs_one = topology("enough", 1, &[(1, slot("a", 1))]);
    needs_one.worker_count = 5;
    let cluster = cluster(&[supervisor("a", &[1])], &[needs_one, topology("short", 3, &[(1, slot("b", 1))])]);
    let short =
        Shortage { topology: TopologyIndex(1), wanted_worker_count: 2, worker_count: 1, unassigned_executor_count: 2 };
    assert_eq!(cluster.shortages(), [short]);
}
