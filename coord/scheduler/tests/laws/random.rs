//! Random states before a round: some as they are in real clusters, some as they should never be.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use ringstorm_scheduler::{Assignment, Supervisor, Topology, WorkerSlot};
use ringstorm_types::{ExecutorId, TaskId};

use super::case::{Case, topology};

/// What ids of supervisors start with: as in real ones, and where Java orders otherwise than by bytes.
const ID_STARTS: [&str; 10] = ["a9", "3f", "b", "B", "0", "ff-", "", "é", "\u{e000}", "\u{10000}"];
const FIRST_PORT: u16 = 6700;

/// A supervisor of the case: what its id starts with, its host, a bit for each of its ports, and for each dead one.
fn supervisor() -> impl Strategy<Value = (usize, usize, u8, u8)> {
    let dead = prop_oneof![6 => Just(0), 1 => any::<u8>()];
    (0..ID_STARTS.len(), 0..6_usize, any::<u8>(), dead)
}

/// How a topology is placed before the round.
#[derive(Debug, Clone)]
struct Placed {
    worker_count: u32,
    /// The number of tasks of each executor.
    executors: Vec<i32>,
    /// Over how many slots.
    slot_count: usize,
    /// Whether its slots are those of the topologies before it too.
    is_greedy: bool,
    /// For each executor where it is: in turn, anywhere, or nowhere.
    places: Vec<Place>,
    has_stranger: bool,
}

#[derive(Debug, Clone)]
enum Place {
    InTurn,
    At(prop::sample::Index),
    Nowhere,
}

fn placed() -> impl Strategy<Value = Placed> {
    let worker_count = prop_oneof![1 => Just(0_u32), 20 => 1..9_u32];
    let mostly = |place: Place| prop_oneof![8 => Just(place), 1 => any::<prop::sample::Index>().prop_map(Place::At), 1 => Just(Place::Nowhere)];
    let places = prop_oneof![
        2 => vec(Just(Place::Nowhere), 20),
        3 => vec(Just(Place::InTurn), 20),
        3 => vec(mostly(Place::InTurn), 20),
        2 => vec(any::<prop::sample::Index>().prop_map(Place::At), 20),
        1 => vec(mostly(Place::Nowhere), 20),
    ];
    let is_greedy = prop::bool::weighted(0.05);
    let has_stranger = prop::bool::weighted(0.03);
    (worker_count, vec(1..4_i32, 0..20), 1..8_usize, is_greedy, places, has_stranger).prop_map(
        |(worker_count, executors, slot_count, is_greedy, places, has_stranger)| Placed {
            worker_count,
            executors,
            slot_count,
            is_greedy,
            places,
            has_stranger,
        },
    )
}

/// Any state before a round.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let blacklisted = prop_oneof![3 => Just(0_u8), 1 => any::<u8>()];
    (vec(supervisor(), 0..8), blacklisted, vec(placed(), 1..6), vec(any::<u16>(), 80), any::<u16>()).prop_map(
        |(supervisors, blacklisted, placed, keys, name)| {
            let supervisors: Vec<Supervisor> = supervisors.iter().enumerate().map(as_supervisor).collect();
            let blacklisted =
                (0..6).filter(|host| blacklisted & 1 << host != 0).map(|host| format!("h{host}")).collect();
            let pool = pool(&supervisors, &keys);
            let mut taken = 0;
            let topologies = placed.iter().enumerate().map(|(index, placed)| {
                let start = if placed.is_greedy { 0 } else { taken };
                let slots = &pool[start.min(pool.len())..(start + placed.slot_count).min(pool.len())];
                taken = taken.max(start + placed.slot_count);
                as_topology(&format!("t{}-{}", name.wrapping_mul(index as u16 + 1) % 100, index + 1), placed, slots)
            });
            let topologies = topologies.collect();
            Case { name: format!("random {name}"), supervisors, blacklisted, topologies }
        },
    )
}

fn as_supervisor((index, (start, host, ports, dead)): (usize, &(usize, usize, u8, u8))) -> Supervisor {
    let all = |bits: u8| (0..8).filter(|bit| bits & 1 << bit != 0).map(|bit| FIRST_PORT + bit).collect();
    Supervisor {
        id: format!("{}{index}", ID_STARTS[*start]).as_str().into(),
        host: format!("h{host}"),
        ports: all(*ports),
        dead_ports: all(*dead),
    }
}

/// Slots that topologies may have: all that there are, and some that are not (any more), in random order.
fn pool(supervisors: &[Supervisor], keys: &[u16]) -> Vec<WorkerSlot> {
    let slot = |id: &str, port| WorkerSlot { node_id: id.into(), port };
    let there = supervisors.iter().flat_map(|of| of.ports.iter().map(|port| slot(of.id.as_str(), *port)));
    let not_there = [slot("gone", 6700), slot("gone", 6701), slot("lost", 6700), slot("3f0", 6799)];
    let mut keyed: Vec<_> = there.chain(not_there).zip(keys.iter().cycle()).map(|(slot, key)| (*key, slot)).collect();
    keyed.sort();
    keyed.into_iter().map(|(_, slot)| slot).collect()
}

fn as_topology(id: &str, placed: &Placed, slots: &[WorkerSlot]) -> Topology {
    let mut first = 1;
    let mut executors = Vec::new();
    for tasks in &placed.executors {
        executors.push(ExecutorId { first: TaskId(first), last: TaskId(first + tasks - 1) });
        first += tasks;
    }
    let mut assignment: Assignment = BTreeMap::new();
    for (index, (executor, place)) in executors.iter().zip(&placed.places).enumerate() {
        let at = match place {
            _ if slots.is_empty() => continue,
            Place::InTurn => index % slots.len(),
            Place::At(at) => at.index(slots.len()),
            Place::Nowhere => continue,
        };
        assignment.insert(*executor, slots[at].clone());
    }
    if let Some(slot) = slots.first().filter(|_| placed.has_stranger) {
        assignment.insert(ExecutorId { first: TaskId(first + 10), last: TaskId(first + 10) }, slot.clone());
    }
    topology(id, placed.worker_count, executors.into_iter(), assignment)
}

/// As real clusters are while no supervisor is lost: every topology wants workers, has only executors of its own, and
/// they are where slots may be used. What is elsewhere has no slot.
pub(crate) fn healthy(mut case: Case) -> Case {
    let cluster = case.cluster();
    for (topology, index) in case.topologies.iter_mut().zip(cluster.topologies()) {
        topology.worker_count = topology.worker_count.max(1);
        let is_mine = |slot: &WorkerSlot| cluster.is_assignable(slot) && cluster.occupied_by(slot) == Some(index);
        let executors = &topology.executors;
        topology.assignment.retain(|executor, slot| executors.contains_key(executor) && is_mine(slot));
    }
    case
}
