//! Schedulers of others: a cluster keeps its laws whatever they try.

use proptest::collection::vec;
use proptest::prelude::*;
use ringstorm_scheduler::{AssignError, Cluster, Scheduler, TopologyIndex, WorkerSlot};
use ringstorm_types::ExecutorId;

use super::random::case;

/// Packs each topology into one slot, the last that is free.
struct Packing;

impl Scheduler for Packing {
    fn schedule(&mut self, cluster: &mut Cluster) {
        for topology in cluster.topologies() {
            let executors: Vec<ExecutorId> = cluster.unassigned_executors(topology).collect();
            if let Some(slot) = cluster.available_slots().last() {
                cluster.assign(topology, &slot, executors).unwrap();
            }
        }
    }
}

/// Storm's order, straight from its definition.
fn sorted_slots(cluster: &Cluster) -> Vec<WorkerSlot> {
    let free = |port: &&u16, id: &str| {
        let slot = WorkerSlot { node_id: id.into(), port: **port };
        cluster.is_assignable(&slot) && cluster.occupied_by(&slot).is_none()
    };
    let mut groups: Vec<(&str, Vec<u16>)> = cluster
        .supervisors()
        .iter()
        .map(|of| (of.id.as_str(), of.ports.iter().filter(|port| free(port, of.id.as_str())).copied().collect()))
        .collect();
    groups.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
    groups.sort_by_key(|(_, ports)| std::cmp::Reverse(ports.len()));
    let rounds = groups.iter().map(|(_, ports)| ports.len()).max().unwrap_or(0);
    let in_round = |round: usize| groups.iter().filter_map(move |(id, ports)| Some((*id, *ports.get(round)?)));
    (0..rounds).flat_map(in_round).map(|(id, port)| WorkerSlot { node_id: id.into(), port }).collect()
}

/// The executors that a cluster knows of, each with a slot or without.
fn check(cluster: &Cluster) {
    let available: Vec<WorkerSlot> = cluster.available_slots().collect();
    assert_eq!(available, sorted_slots(cluster));
    assert_eq!(available.len(), cluster.available_slot_count());
    for topology in cluster.topologies() {
        let in_slots = cluster.slots(topology).values().map(Vec::len).sum::<usize>();
        assert_eq!(in_slots, cluster.assignment(topology).len());
        for (slot, executors) in cluster.slots(topology) {
            assert_eq!(cluster.occupied_by(slot), Some(topology));
            assert!(executors.iter().all(|executor| &cluster.assignment(topology)[executor] == slot));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_cluster_keeps_its_laws_whatever_is_tried(
        case in case(),
        steps in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5_usize, any::<bool>()), 0..60),
    ) {
        let mut cluster = case.cluster();
        let topologies: Vec<TopologyIndex> = cluster.topologies().collect();
        let mut slots: Vec<WorkerSlot> = topologies.iter().flat_map(|of| cluster.slots(*of).keys().cloned()).collect();
        for supervisor in cluster.supervisors() {
            slots.extend(supervisor.ports.iter().map(|port| WorkerSlot { node_id: supervisor.id.clone(), port: *port }));
        }
        prop_assume!(!slots.is_empty());
        for (topology, slot, count, frees) in steps {
            let (topology, slot) = (topologies[topology.index(topologies.len())], &slots[slot.index(slots.len())]);
            if frees {
                cluster.free_slot(slot);
                prop_assert_eq!(cluster.occupied_by(slot), None);
            } else {
                let executors: Vec<ExecutorId> = cluster.unassigned_executors(topology).take(count).collect();
                let may = cluster.is_assignable(slot) && cluster.occupied_by(slot).is_none();
                match cluster.assign(topology, slot, executors) {
                    Ok(()) => prop_assert!(may),
                    Err(AssignError::Occupied { .. } | AssignError::Unusable(_)) => prop_assert!(!may),
                    Err(error) => panic!("{error}"),
                }
            }
            check(&cluster);
        }
    }

    #[test]
    fn a_scheduler_of_ones_own_needs_nothing_but_the_cluster(case in case()) {
        let mut cluster = case.cluster();
        let scheduler: &mut dyn Scheduler = &mut Packing;
        scheduler.schedule(&mut cluster);
        check(&cluster);
        let is_short = cluster.topologies().any(|topology| cluster.unassigned_executor_count(topology) > 0);
        prop_assert!(!is_short || cluster.available_slot_count() == 0);
    }
}
