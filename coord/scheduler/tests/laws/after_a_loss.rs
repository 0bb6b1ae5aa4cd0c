//! What users met: hosts that are lost, many small topologies, very large ones, reconnects.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ringstorm_scheduler::{NodeId, Supervisor};

use super::by_hand::{simple, supervisor};
use super::case::{Case, Kind};
use super::random::{case, healthy};
use super::{assignments, is_even, sizes};

fn cluster_of(supervisors: Vec<Supervisor>, topologies: Vec<ringstorm_scheduler::Topology>) -> Case {
    Case { name: String::new(), supervisors, blacklisted: BTreeSet::new(), topologies }
}

/// The state after these supervisors and all executors on them are gone.
fn lose(case: &mut Case, is_lost: impl Fn(&NodeId) -> bool) {
    case.supervisors.retain(|supervisor| !is_lost(&supervisor.id));
    for topology in &mut case.topologies {
        topology.assignment.retain(|_, slot| !is_lost(&slot.node_id));
    }
}

#[test]
fn every_topology_of_a_lost_host_moves_in_one_round() {
    let supervisors = ["s1:1,2,3,4", "s2:1,2,3,4", "s3:1,2,3,4"].map(supervisor).to_vec();
    let case = cluster_of(supervisors, vec![simple("t", 3, 6, ""), simple("u", 2, 5, "")]);
    let mut case = case.after(&case.scheduled(Kind::Default));
    lose(&mut case, |id| *id == "s1".into());
    let after = case.scheduled(Kind::Default);
    for topology in after.topologies() {
        assert!(after.is_fully_assigned(topology) && is_even(&sizes(&after, topology)));
        assert!(after.assignment(topology).values().all(|slot| slot.node_id != "s1".into()));
    }
    assert_eq!(after.shortages(), []);
}

#[test]
fn small_topologies_go_to_the_host_with_the_fewest_used_slots() {
    let supervisors = ["s1:1,2,3,4", "s2:1,2,3,4", "s3:1,2,3,4"].map(supervisor).to_vec();
    let topologies = (0..6).map(|number| simple(&format!("t{number}"), 1, 3, "")).collect();
    let after = cluster_of(supervisors, topologies).scheduled(Kind::Default);
    let mut used: BTreeMap<NodeId, usize> = BTreeMap::new();
    for (index, topology) in after.topologies().enumerate() {
        let slot = after.slots(topology).keys().next().unwrap();
        *used.entry(slot.node_id.clone()).or_default() += 1;
        assert_eq!(used.values().max().unwrap(), &(index / 3 + 1), "after {} topologies", index + 1);
    }
}

#[test]
fn a_topology_of_two_thousand_workers_is_placed() {
    let supervisors = (0..500).map(|number| supervisor(&format!("s{number}:1,2,3,4,5,6,7,8,9,10"))).collect();
    let after = cluster_of(supervisors, vec![simple("t", 2_000, 40_000, "")]).scheduled(Kind::Default);
    let topology = after.topologies().next().unwrap();
    assert_eq!(sizes(&after, topology), vec![20; 2_000]);
}

#[test]
fn supervisors_that_go_and_come_back_between_rounds_move_nothing() {
    let supervisors = ["s1:1,2,3,4", "s2:1,2,3,4"].map(supervisor).to_vec();
    let case = cluster_of(supervisors, vec![simple("t", 3, 6, ""), simple("u", 2, 5, "")]);
    let before = case.scheduled(Kind::Default);
    let mut case = case.after(&before);
    // Their nodes are gone while their workers live.
    case.supervisors.clear();
    let without = case.scheduled(Kind::Default);
    assert_eq!(assignments(&without), assignments(&before));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn who_had_nothing_on_the_lost_host_keeps_everything_and_the_others_are_whole(case in case()) {
        let case = healthy(case);
        prop_assume!(!case.supervisors.is_empty());
        let lost = case.supervisors[0].id.clone();
        // Two rounds, so that nothing is left to do.
        let settled = case.after(&case.scheduled(Kind::Default));
        let settled = settled.after(&settled.scheduled(Kind::Default));
        let before = settled.cluster();
        prop_assume!(before.shortages().is_empty());
        let mut case = settled.clone();
        lose(&mut case, |id| *id == lost);
        let after = case.scheduled(Kind::Default);
        for topology in after.topologies() {
            let was_there = before.slots(topology).keys().any(|slot| slot.node_id == lost);
            let wants_more = before.needs_scheduling(topology);
            if !was_there && !wants_more {
                prop_assert_eq!(before.assignment(topology), after.assignment(topology));
            }
            prop_assert!(after.slots(topology).keys().all(|slot| slot.node_id != lost));
            let is_whole = after.unassigned_executor_count(topology) == 0;
            prop_assert!(is_whole || after.available_slot_count() == 0);
        }
    }
}
