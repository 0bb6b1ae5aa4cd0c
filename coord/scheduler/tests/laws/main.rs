//! Laws of the schedulers, in random states.
//!
//! What Storm's schedulers promise only under conditions is tested under those: *healthy* states, in which nothing lies
//! on a lost supervisor. [`after_a_loss`] tests what happens when one is lost.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod after_a_loss;
#[allow(dead_code, reason = "the comparison with Storm needs more of it")]
mod by_hand;
#[allow(dead_code, reason = "the comparison with Storm needs more of it")]
mod case;
mod custom;
mod random;

use std::collections::{BTreeMap, BTreeSet};

use case::{Case, Kind};
use proptest::prelude::*;
use random::{case, healthy};
use ringstorm_scheduler::{Cluster, TopologyIndex, WorkerSlot};

/// A round of each kind, and the case in which the next begins.
fn rounds(case: &Case) -> impl Iterator<Item = (Kind, Cluster)> {
    Kind::ALL.into_iter().map(|kind| (kind, case.scheduled(kind)))
}

fn assignments(cluster: &Cluster) -> Vec<&ringstorm_scheduler::Assignment> {
    cluster.topologies().map(|topology| cluster.assignment(topology)).collect()
}

/// How many executors the slots of a topology have.
fn sizes(cluster: &Cluster, topology: TopologyIndex) -> Vec<usize> {
    cluster.slots(topology).values().map(Vec::len).collect()
}

fn is_even(sizes: &[usize]) -> bool {
    sizes.iter().max().unwrap_or(&0) - sizes.iter().min().unwrap_or(&0) <= 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// From any state at all. More than one round is needed only when slots are given back or too few: then one topology
    /// can take what another frees, as in Storm, but never from one that has all of its executors placed.
    #[test]
    fn nothing_changes_when_nothing_changed(case in case()) {
        for kind in Kind::ALL {
            let mut settled = case.clone();
            for _ in 0..case.topologies.len() + 2 {
                settled = settled.after(&settled.scheduled(kind));
            }
            let (before, after) = (settled.cluster(), settled.scheduled(kind));
            prop_assert_eq!(assignments(&before), assignments(&after));
        }
    }

    #[test]
    fn one_round_is_enough_while_there_are_slots_and_none_are_given_back(case in case()) {
        let mut case = healthy(case);
        let before = case.cluster();
        for (topology, index) in case.topologies.iter_mut().zip(before.topologies()) {
            topology.worker_count = topology.worker_count.max(before.slots(index).len() as u32);
        }
        for (kind, first) in rounds(&case) {
            if first.topologies().any(|topology| first.unassigned_executor_count(topology) > 0) {
                continue;
            }
            let second = case.after(&first).scheduled(kind);
            prop_assert_eq!(assignments(&first), assignments(&second));
        }
    }

    #[test]
    fn who_needs_nothing_keeps_everything(case in case()) {
        let before = case.cluster();
        for (_, after) in rounds(&case) {
            for topology in before.topologies().filter(|topology| !before.needs_scheduling(*topology)) {
                prop_assert_eq!(before.assignment(topology), after.assignment(topology));
            }
        }
    }

    #[test]
    fn no_slot_runs_two_topologies_and_no_executor_is_lost(case in case()) {
        for (_, after) in rounds(&case) {
            let mut seen = BTreeSet::new();
            for topology in after.topologies() {
                let used: BTreeSet<&WorkerSlot> = after.assignment(topology).values().collect();
                prop_assert_eq!(&used, &after.slots(topology).keys().collect());
                for slot in used {
                    prop_assert!(seen.insert(slot), "{} runs two topologies", slot);
                    prop_assert_eq!(after.occupied_by(slot), Some(topology));
                }
                let waiting: Vec<_> = after.unassigned_executors(topology).collect();
                for executor in after.topology(topology).executors.keys() {
                    prop_assert_ne!(after.assignment(topology).contains_key(executor), waiting.contains(executor));
                }
            }
        }
    }

    #[test]
    fn nothing_is_placed_where_it_must_not_be(case in case()) {
        let may_be_used = |slot: &WorkerSlot| {
            let supervisor = case.supervisors.iter().find(|of| of.id == slot.node_id);
            supervisor.is_some_and(|of| {
                let is_dead = of.dead_ports.contains(&slot.port) || case.blacklisted.contains(&of.host);
                of.ports.contains(&slot.port) && !is_dead
            })
        };
        let before = case.cluster();
        for (_, after) in rounds(&case) {
            for topology in after.topologies() {
                for (executor, slot) in after.assignment(topology) {
                    let is_old = before.assignment(topology).get(executor) == Some(slot);
                    prop_assert!(is_old || may_be_used(slot), "{} was placed on {}", executor, slot);
                }
            }
        }
    }

    #[test]
    fn every_executor_is_assigned_while_there_are_slots(case in case()) {
        let case = healthy(case);
        let after = case.scheduled(Kind::Default);
        for topology in after.topologies() {
            let is_assigned = after.unassigned_executor_count(topology) == 0;
            prop_assert!(is_assigned || after.available_slot_count() == 0);
        }
    }

    /// As a topology is when it was submitted or rebalanced.
    #[test]
    fn what_is_placed_from_scratch_is_even(case in case()) {
        let before = case.cluster();
        for (_, after) in rounds(&case) {
            for topology in before.topologies().filter(|topology| before.slots(*topology).is_empty()) {
                prop_assert!(is_even(&sizes(&after, topology)), "{:?}", sizes(&after, topology));
            }
        }
    }

    /// Alone, since what another topology's turn deals out may be uneven, as in Storm.
    #[test]
    fn a_topology_that_changes_becomes_even_with_as_many_workers_as_it_can_have(case in case()) {
        let mut case = healthy(case);
        case.topologies.truncate(1);
        let before = case.cluster();
        let after = case.scheduled(Kind::Default);
        let topology = after.topologies().next().unwrap();
        let of = after.topology(topology);
        if before.assignment(topology) != after.assignment(topology) {
            prop_assert!(is_even(&sizes(&after, topology)), "{:?}", sizes(&after, topology));
            let slots = before.available_slot_count() + before.slots(topology).len();
            let wanted = (of.worker_count as usize).min(slots).min(of.executors.len());
            prop_assert_eq!(after.slots(topology).len(), wanted);
        }
    }

    /// A slot moves its executors only if an even distribution wants none, or no more, of that many.
    #[test]
    fn as_many_slots_keep_their_executors_as_an_even_distribution_allows(case in case()) {
        let mut case = healthy(case);
        case.topologies.truncate(1);
        let before = case.cluster();
        let after = case.scheduled(Kind::Default);
        let topology = after.topologies().next().unwrap();
        let mut kept: BTreeMap<usize, usize> = BTreeMap::new();
        let mut had: BTreeMap<usize, usize> = BTreeMap::new();
        for (slot, executors) in before.slots(topology) {
            *had.entry(executors.len()).or_default() += 1;
            if after.slots(topology).get(slot) == Some(executors) {
                *kept.entry(executors.len()).or_default() += 1;
            }
        }
        if before.assignment(topology) == after.assignment(topology) {
            prop_assert_eq!(kept, had);
        } else {
            // What it became is the even distribution.
            for (size, had) in had {
                let wanted = sizes(&after, topology).iter().filter(|of| **of == size).count();
                prop_assert!(kept.get(&size).copied().unwrap_or(0) >= had.min(wanted), "of size {}", size);
            }
        }
    }

    #[test]
    fn equal_states_give_equal_results_in_whatever_order_supervisors_come(case in case(), turn in 0..8_usize) {
        let mut turned = case.clone();
        let count = turned.supervisors.len();
        turned.supervisors.rotate_left(if count == 0 { 0 } else { turn % count });
        for kind in Kind::ALL {
            let (left, right) = (case.scheduled(kind), turned.scheduled(kind));
            prop_assert_eq!(assignments(&left), assignments(&right));
        }
    }
}
