//! What of a record the data path is told, and what is refused.

use std::collections::BTreeSet;

use ringstorm_types::ComponentId;
use ringstorm_types::assignment::WorkerSecret;
use ringstorm_types::config::Config;
use ringstorm_types::numbering::number;
use ringstorm_types::topology::{Component, Topology};

use super::*;

/// An acker (task 1) and a spout with two executors (tasks 2 and 3).
fn facts() -> TopologyFacts {
    let mut spout = Component::spout();
    spout.parallelism_hint = Some(2);
    let words = ComponentId::new("words").unwrap();
    let topology = Topology { components: [(words.clone(), spout)].into() };
    TopologyFacts {
        secret: WorkerSecret("0".repeat(32)),
        acker_executors: 1,
        numbering: number(&topology, &Config::new(), 1).unwrap(),
        spouts: [words].into(),
    }
}

fn slot(supervisor: &str, port: u16) -> Slot {
    Slot { supervisor: NodeName::new(supervisor).unwrap(), port }
}

fn identity() -> Identity {
    Identity {
        topology: NodeName::new("words-1-1795972824").unwrap(),
        slot: slot("alpha", 6700),
        host: "a.example".into(),
        incarnation: 40,
        version: 7,
        cores: NonZeroUsize::new(3).unwrap(),
    }
}

fn record(executors: &[(&[i64], &str, &[i64])]) -> records::Assignment {
    let placed = |(executor, node, ports): &(&[i64], &str, &[i64])| {
        let slot = NodeInfo { node: (*node).to_owned(), port: ports.iter().copied().collect() };
        (executor.to_vec(), slot)
    };
    let hosts = [("alpha", "a.example"), ("beta", "fd00::7")].map(|(node, host)| (node.to_owned(), host.to_owned()));
    records::Assignment {
        node_host: hosts.into(),
        executor_node_port: executors.iter().map(placed).collect(),
        version: Some(7),
        ..records::Assignment::default()
    }
}

fn made(record: &records::Assignment) -> Result<Assignment, Unusable> {
    let mut generations = Generations::default();
    generations.hear_of_process(slot_number(&slot("beta", 6701)), 90);
    data_path_assignment(record, &shares(record)?, &identity(), &facts(), &generations)
}

#[test]
fn the_data_path_is_told_who_runs_what_and_where_it_is_reached() {
    let record = record(&[(&[1, 1], "alpha", &[6700]), (&[2, 2], "beta", &[6701]), (&[3, 3], "gamma", &[6702])]);
    let assignment = made(&record).unwrap();
    assert_eq!((assignment.version, assignment.active), (7, false));
    let told: Vec<_> = assignment
        .workers
        .iter()
        .map(|it| (it.number, it.address.as_str(), it.incarnation, it.executors[0].first.0))
        .collect();
    let number = |supervisor, port| slot_number(&slot(supervisor, port));
    assert_eq!(
        told,
        [
            (number("alpha", 6700), "a.example:6700", 40, 1),
            (number("beta", 6701), "[fd00::7]:6701", 90, 2),
            // Nobody says where it is, so that nobody dials it.
            (number("gamma", 6702), "", 0, 3),
        ]
    );
    let cores: Vec<_> = assignment.workers.iter().map(|worker| worker.cores.get()).collect();
    assert_eq!(cores, [3, 1, 1], "its own it knows from its supervisor, and others have one where nothing is said");
}

#[test]
fn all_workers_take_the_cores_of_a_slot_from_the_assignment() {
    let mut record = record(&[(&[1, 1], "alpha", &[6700]), (&[2, 2], "beta", &[6701]), (&[3, 3], "beta", &[6702])]);
    record.slot_cores = Some([("alpha".to_owned(), 2), ("beta".to_owned(), 4)].into());
    let cores: Vec<_> = made(&record).unwrap().workers.iter().map(|worker| worker.cores.get()).collect();
    assert_eq!(cores, [2, 4, 4]);
    record.slot_cores = Some([("beta".to_owned(), 0)].into());
    assert_eq!(made(&record), Err(Unusable::Cores { supervisor: "beta".into(), cores: 0 }));
    record.slot_cores = Some([("beta".to_owned(), i64::MAX)].into());
    assert!(matches!(made(&record), Err(Unusable::Check(AssignmentError::Cores { .. }))));
}

#[test]
fn each_thing_that_is_no_assignment_is_named() {
    let refused = |executors: &[(&[i64], &str, &[i64])]| made(&record(executors)).unwrap_err();
    let all = |third: (&'static [i64], &'static str, &'static [i64])| -> Unusable {
        refused(&[(&[1, 1], "alpha", &[6700]), (&[2, 2], "alpha", &[6700]), third])
    };
    assert_eq!(all((&[3], "beta", &[6701])), Unusable::Executor(vec![3]));
    assert_eq!(all((&[3, 1 << 40], "beta", &[6701])), Unusable::Executor(vec![3, 1 << 40]));
    let node = |node: &str, ports: &[i64]| NodeInfo { node: node.to_owned(), port: ports.iter().copied().collect() };
    assert_eq!(all((&[3, 3], "beta", &[])), Unusable::Slot(node("beta", &[])));
    assert_eq!(all((&[3, 3], "beta", &[6701, 6702])), Unusable::Slot(node("beta", &[6701, 6702])));
    assert_eq!(all((&[3, 3], "beta", &[70_000])), Unusable::Slot(node("beta", &[70_000])));
    assert_eq!(all((&[3, 3], "a/b", &[6701])), Unusable::Slot(node("a/b", &[6701])));
    assert!(matches!(all((&[4, 4], "beta", &[6701])), Unusable::Check(AssignmentError::UnknownExecutor(_))));
    assert!(matches!(refused(&[(&[1, 1], "alpha", &[6700])]), Unusable::Check(AssignmentError::Unassigned(_))));
}

#[test]
fn slots_of_a_large_cluster_have_numbers_of_their_own() {
    let numbers: BTreeSet<u64> = (0..2_000)
        .flat_map(|host| (6700..6710).map(move |port| slot_number(&slot(&format!("host-{host}"), port))))
        .collect();
    assert_eq!(numbers.len(), 20_000);
    // Other processes, and later versions, count on this.
    assert_eq!(slot_number(&slot("alpha", 6700)), fnv(*b"alpha:6700"));
}
