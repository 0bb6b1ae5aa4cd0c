//! Situations that are rare, one at a time.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{Assignment, NodeInfo};
use ringstorm_records::znode::NodeName;
use ringstorm_round::{Dead, LeftAlone, Outcome, Report, Resources, Shortage};
use ringstorm_types::ComponentId;

use super::checks::slots;
use super::world::{Event, Submitted, World};

fn id(number: usize) -> NodeName {
    NodeName::new(&format!("t{number}-1-1")).unwrap()
}

fn of(world: &mut World, number: usize) -> &mut Submitted {
    world.topologies.get_mut(&id(number)).unwrap()
}

fn stored(world: &World, number: usize) -> &Assignment {
    world.topologies[&id(number)].assignment.as_ref().unwrap()
}

fn report(outcome: &Outcome, number: usize) -> &Report {
    &outcome.reports[&id(number)]
}

/// Some time and a round.
fn next(world: &mut World, secs: u64) -> Outcome {
    world.passes(secs);
    world.round().unwrap()
}

/// Which slots a topology has.
fn used(world: &World, number: usize) -> BTreeSet<String> {
    slots(Some(stored(world, number))).values().map(ToString::to_string).collect()
}

fn texts(of: &[&str]) -> BTreeSet<String> {
    of.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn of_two_that_claim_a_slot_the_older_one_keeps_it_and_the_other_lets_go_first() {
    let mut world = World::new(&[(1, 1), (1, 1)], &[(1, 1), (1, 1)]);
    next(&mut world, 10);
    let contested = stored(&world, 0).clone();
    of(&mut world, 1).assignment = Some(contested);
    of(&mut world, 1).base.launch_time_secs = Some(0);
    let outcome = next(&mut world, 3);
    assert_eq!(report(&outcome, 0).contested.len(), 1, "t0 is the younger one here");
    assert_eq!((used(&world, 1), used(&world, 0)), (texts(&["s0:6700"]), texts(&["s1:6700"])));
    assert_eq!(next(&mut world, 3).writes, []);
}

#[test]
fn an_assignment_that_is_older_than_what_workers_run_is_written_anew_above_that() {
    let mut world = World::new(&[(2, 2)], &[(1, 2)]);
    next(&mut world, 10);
    world.happens(&Event::SnapshotTaken);
    for _ in 0..3 {
        world.happens(&Event::Rebalanced(0, 1));
        next(&mut world, 10);
    }
    next(&mut world, 10);
    assert_eq!(stored(&world, 0).version, Some(4));
    world.happens(&Event::SnapshotRestored);
    assert_eq!(stored(&world, 0).version, Some(1));
    next(&mut world, 3);
    assert_eq!(stored(&world, 0).version, Some(5));
    // Also when it is gone altogether.
    world.happens(&Event::AssignmentDeleted(0));
    next(&mut world, 3);
    assert_eq!(stored(&world, 0).version, Some(6));
}

#[test]
fn where_no_higher_version_is_left_nothing_is_written() {
    let mut world = World::new(&[(2, 2)], &[(1, 2)]);
    next(&mut world, 10);
    of(&mut world, 0).assignment.as_mut().unwrap().version = Some(i64::MAX - 1);
    let outcome = next(&mut world, 3);
    assert_eq!(report(&outcome, 0).left_alone, Some(LeftAlone::VersionsUsedUp(i64::MAX - 1)));
}

#[test]
fn where_slots_are_short_older_topologies_come_first() {
    let mut world = World::new(&[(1, 1)], &[(1, 2), (1, 2)]);
    of(&mut world, 0).base.launch_time_secs = Some(9);
    let outcome = next(&mut world, 10);
    assert_eq!(used(&world, 1), texts(&["s0:6700"]));
    let short = report(&outcome, 0);
    assert_eq!((short.shortage, short.unassigned.len(), short.version), (Some(Shortage::NoFreeSlot), 2, None));
}

#[test]
fn workers_that_run_keep_the_cores_that_they_were_started_with() {
    let mut world = World::new(&[(2, 8)], &[(1, 2), (1, 2)]);
    next(&mut world, 10);
    assert_eq!(stored(&world, 0).slot_cores, Some([("s0".to_owned(), 4)].into()));
    // A slot is withdrawn, and so there are more CPUs for those that are left.
    world.happens(&Event::PortWithdrawn(0));
    let outcome = next(&mut world, 3);
    assert_eq!(report(&outcome, 0).dead.values().collect::<Vec<_>>(), [&Dead::Withdrawn]);
    assert_eq!(slots(Some(stored(&world, 0))).len(), 0, "the other slot is in use");
    assert_eq!(stored(&world, 1).slot_cores, Some([("s0".to_owned(), 4)].into()));
    // Placed from scratch, a topology leaves its slots to all, and here the other one is before it.
    world.happens(&Event::Rebalanced(1, 1));
    next(&mut world, 3);
    assert_eq!(stored(&world, 0).slot_cores, Some([("s0".to_owned(), 8)].into()));
    assert_eq!(stored(&world, 1).slot_cores, Some([].into()));
}

#[test]
fn a_host_that_was_renamed_is_written_and_a_nimbus_in_another_folder_is_no_reason() {
    let mut world = World::new(&[(1, 1)], &[(1, 1)]);
    next(&mut world, 10);
    of(&mut world, 0).assignment.as_mut().unwrap().master_code_dir = "/elsewhere".into();
    assert_eq!(next(&mut world, 3).writes, []);
    let hosts = &mut of(&mut world, 0).assignment.as_mut().unwrap().node_host;
    hosts.insert("s0".into(), "old".into());
    assert_eq!(next(&mut world, 3).writes.len(), 1);
    assert_eq!(stored(&world, 0).node_host["s0"], "host-of-s0");
    assert_eq!(stored(&world, 0).version, Some(2));
}

#[test]
fn what_is_malformed_in_an_assignment_is_named_and_mended() {
    let mut world = World::new(&[(2, 2)], &[(1, 2)]);
    next(&mut world, 10);
    let whole = stored(&world, 0).clone();
    let nowhere = NodeInfo { node: "s0".into(), port: [-5].into() };
    of(&mut world, 0).assignment.as_mut().unwrap().executor_node_port.insert(vec![9], nowhere);
    // At once, since nobody of the world can read it.
    let outcome = world.round().unwrap();
    assert_eq!(report(&outcome, 0).malformed.len(), 1);
    assert_eq!(stored(&world, 0).executor_node_port, whole.executor_node_port);
    assert_eq!(stored(&world, 0).version, Some(2));
}

#[test]
fn of_an_assignment_that_cannot_be_read_the_slots_that_beat_are_occupied() {
    let mut world = World::new(&[(1, 1), (1, 1)], &[(1, 1)]);
    next(&mut world, 10);
    next(&mut world, 10);
    world.happens(&Event::AssignmentDamaged(0));
    let other = Submitted { assignment: None, is_assignment_damaged: false, ..of(&mut world, 0).clone() };
    world.topologies.insert(id(1), other);
    let outcome = next(&mut world, 0);
    assert!(matches!(report(&outcome, 0).left_alone, Some(LeftAlone::Assignment(_))));
    assert_eq!(used(&world, 1), texts(&["s1:6700"]));
}

#[test]
fn what_is_only_guessed_to_be_occupied_is_taken_from_nobody() {
    let mut world = World::new(&[(1, 1), (1, 1)], &[(1, 1)]);
    next(&mut world, 10);
    next(&mut world, 10);
    // It moves, and what it said in its old slot is still there.
    world.happens(&Event::HostDies(0));
    next(&mut world, 20);
    world.happens(&Event::SupervisorReturns(0));
    let other = Submitted { assignment: None, ..of(&mut world, 0).clone() };
    world.topologies.insert(id(1), other);
    next(&mut world, 10);
    assert_eq!((used(&world, 0), used(&world, 1)), (texts(&["s1:6700"]), texts(&["s0:6700"])));
    world.happens(&Event::AssignmentDamaged(0));
    world.happens(&Event::ReadingsFail);
    let outcome = next(&mut world, 0);
    assert!(report(&outcome, 1).contested.is_empty() && outcome.writes.is_empty());
}

#[test]
fn a_killed_topology_keeps_its_slots_also_dead_ones() {
    let mut world = World::new(&[(1, 1)], &[(1, 1), (1, 1)]);
    next(&mut world, 10);
    world.happens(&Event::Killed(0));
    world.happens(&Event::PortWithdrawn(0));
    let outcome = next(&mut world, 100);
    assert_eq!((outcome.writes.len(), report(&outcome, 0).left_alone.clone()), (0, Some(LeftAlone::Killed)));
    assert_eq!(report(&outcome, 1).shortage, Some(Shortage::NoFreeSlot));
}

#[test]
fn an_inactive_topology_is_placed_as_any_other() {
    let mut world = World::new(&[(1, 1), (1, 1)], &[(1, 1)]);
    of(&mut world, 0).base.status = ringstorm_records::records::TopologyStatus::Inactive;
    next(&mut world, 10);
    next(&mut world, 10);
    world.happens(&Event::HostDies(0));
    next(&mut world, 20);
    assert_eq!(used(&world, 0), texts(&["s1:6700"]));
}

#[test]
fn a_lost_host_gives_up_all_and_a_lost_supervisor_nothing() {
    let mut world = World::new(&[(2, 2), (2, 2)], &[(2, 4)]);
    next(&mut world, 10);
    next(&mut world, 10);
    let before = used(&world, 0);
    world.happens(&Event::SupervisorDies(0));
    assert_eq!(next(&mut world, 300).writes, []);
    world.happens(&Event::HostDies(0));
    assert_eq!(next(&mut world, 6).writes, []);
    let outcome = next(&mut world, 6);
    assert_eq!(report(&outcome, 0).dead.values().collect::<Vec<_>>(), [&Dead::Lost]);
    assert_eq!(used(&world, 0), texts(&["s1:6700", "s1:6701"]));
    assert_ne!(before, used(&world, 0));
}

#[test]
fn what_beats_without_a_supervisor_stays_also_when_the_rest_must_be_dealt_anew() {
    // Three executors in each of two slots; with one supervisor gone the scheduler would want them all on the other.
    let mut world = World::new(&[(1, 1), (1, 1)], &[(2, 6)]);
    next(&mut world, 10);
    next(&mut world, 10);
    let before = slots(Some(stored(&world, 0)));
    world.happens(&Event::SupervisorDies(0));
    of(&mut world, 0).executors = super::world::executors(8);
    let outcome = next(&mut world, 3);
    let after = slots(Some(stored(&world, 0)));
    for (executor, slot) in before.iter().filter(|(_, slot)| slot.node_id.as_str() == "s0") {
        assert_eq!(after.get(executor), Some(slot));
    }
    assert_eq!((after.len(), outcome.cluster.topologies().count()), (8, 1));
}

#[test]
fn resources_are_the_sum_over_the_executors_of_a_worker() {
    let mut world = World::new(&[(1, 1)], &[(1, 3)]);
    let heavy = Resources { on_heap_mb: 200.0, off_heap_mb: 10.0, cpu_percent: 55.5, generic: BTreeMap::new() };
    of(&mut world, 0).executors.resources = [(ComponentId::from_static("bolt"), heavy)].into();
    next(&mut world, 10);
    let resources = stored(&world, 0).worker_resources.values().next().unwrap();
    assert_eq!((resources.mem_on_heap, resources.mem_off_heap, resources.cpu), (Some(600.0), Some(30.0), Some(166.5)));
}
