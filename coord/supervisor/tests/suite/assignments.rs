//! What is believed of the tree, and what is not.

use std::time::Duration;

use ringstorm_records::payload;
use ringstorm_records::records::TopologyStatus;
use ringstorm_records::znode::Node;
use ringstorm_supervisor::events::Exit;
use ringstorm_supervisor::{LocalState, Settings};

use crate::host::Host;
use crate::world::{ID, World, assignment, assignment_of, name};

fn running() -> (World, Host) {
    let world = World::new();
    world.assign("words-1-1", Some(5), &[(6700, 1)]);
    let mut host = Host::new(&world);
    host.pass(1);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
    (world, host)
}

#[test]
fn a_new_assignment_acts_at_once_by_its_watch() {
    let (world, mut host) = running();
    world.assign("words-1-1", Some(6), &[(6701, 1)]);
    host.run();
    assert_eq!((host.runs(6700), host.runs(6701)), (None, Some(("words-1-1", 1))));
    world.assign("other-2-2", Some(1), &[(6700, 1)]);
    host.run();
    assert_eq!(host.runs(6700), Some(("other-2-2", 1)));
}

#[test]
fn a_watch_that_is_never_told_costs_the_period_of_looks() {
    let (world, mut host) = running();
    host.store.hold_watches(true);
    world.assign("words-1-1", Some(6), &[(6701, 1)]);
    host.pass(11);
    assert_eq!(host.runs(6701), Some(("words-1-1", 1)));
}

#[test]
fn a_member_that_lags_is_caught_up_with_before_it_is_believed() {
    let world = World::new();
    world.assign("words-1-1", Some(5), &[(6700, 1)]);
    // It writes nothing meanwhile, by which the member would catch up.
    let settings = Settings { heartbeat_period: Duration::from_secs(3600), ..Settings::default() };
    let mut host = Host::with(&world, LocalState::default(), "boot-1", settings);
    host.pass(1);
    host.store.disconnect();
    host.store.reconnect(1).unwrap();
    host.pass(1);
    world.ensemble.with(|ensemble| ensemble.hold(1));
    world.assign("words-1-1", Some(6), &[(6701, 1)]);
    host.pass(11);
    assert_eq!(host.runs(6701), Some(("words-1-1", 1)));
}

#[test]
fn an_older_assignment_is_passed_over_also_after_a_restart() {
    let (world, mut host) = running();
    let first = host.incarnations(6700);
    world.assign("words-1-1", Some(4), &[(6701, 1)]);
    host.pass(30);
    assert_eq!(host.incarnations(6700), first);
    assert_eq!(host.has_noted("version 4 is older than 5"), 1);
    host.restart(&world);
    host.pass(30);
    assert_eq!(host.incarnations(6700), first);
    // What dies is started again as the newest assignment that was seen wants it.
    host.crash(6700);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
    assert_eq!(host.started.last().unwrap().version, 5);
    world.assign("words-1-1", Some(6), &[(6702, 1)]);
    host.pass(1);
    assert_eq!((host.runs(6700), host.runs(6702)), (None, Some(("words-1-1", 1))));
}

#[test]
fn versions_that_were_seen_are_told_while_the_tree_is_older() {
    let (world, mut host) = running();
    let told = |world: &World| world.info(ID).unwrap().versions_seen;
    assert_eq!(told(&world), None);
    world.assign("words-1-1", Some(4), &[(6701, 1)]);
    host.pass(30);
    assert_eq!(told(&world), Some([("words-1-1".to_owned(), 5)].into()));
    world.assign("words-1-1", Some(6), &[(6700, 1)]);
    host.pass(30);
    assert_eq!(told(&world), None);
}

#[test]
fn an_older_tree_that_is_restored_stops_nothing_that_is_newer() {
    let (mut world, mut host) = running();
    let older = world.snapshot();
    world.assign("words-1-1", Some(6), &[(6701, 1)]);
    world.assign("late-2-2", Some(1), &[(6702, 1)]);
    host.pass(1);
    let running = host.incarnations(6701);
    world.restore(&older);
    host.store.expire();
    host.store.reopen(0);
    host.pass(30);
    assert_eq!(host.incarnations(6701), running);
    assert_eq!(host.runs(6700), None);
    assert_eq!(host.runs(6702), None, "what the restored tree never had is gone");
    world.assign("words-1-1", Some(7), &[(6700, 1)]);
    host.pass(1);
    assert_eq!((host.runs(6700), host.runs(6701)), (Some(("words-1-1", 1)), None));
}

#[test]
fn what_cannot_be_read_changes_nothing_and_is_named_once() {
    let (world, mut host) = running();
    world.assign("other-2-2", Some(1), &[(6701, 1)]);
    host.pass(1);
    let (words, other) = (host.incarnations(6700), host.incarnations(6701));
    world.set(&assignment_of("words-1-1"), b"garbage".to_vec());
    host.pass(60);
    assert_eq!((host.incarnations(6700), host.incarnations(6701)), (words, other.clone()));
    assert_eq!(host.has_noted("the assignment of words-1-1 is passed over"), 1);
    host.crash(6700);
    host.restart(&world);
    host.pass(1);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
    // One with nonsense for a slot of this supervisor is taken for garbage as a whole.
    world.assign("words-1-1", Some(6), &[(6702, 1), (0, 2)]);
    host.pass(1);
    assert_eq!((host.runs(6700), host.runs(6702)), (Some(("words-1-1", 1)), None));
    assert_eq!(host.incarnations(6701), other);
}

#[test]
fn a_topology_that_is_gone_is_stopped_after_two_looks() {
    let (world, mut host) = running();
    world.remove("words-1-1");
    host.pass(2);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
    host.pass(2);
    assert_eq!(host.runs(6700), None);
    assert!(host.code.is_empty() && host.disk.assigned.is_empty());
}

#[test]
fn a_worker_that_ends_before_its_topology_is_surely_gone_is_not_started_again() {
    let (world, mut host) = running();
    let incarnation = *host.incarnations(6700).last().unwrap();
    world.remove("words-1-1");
    host.pass(1);
    host.end_process(6700, incarnation, Exit::Code(0));
    host.pass(1);
    assert_eq!(host.runs(6700), None);
    // It was not gone.
    world.assign("words-1-1", Some(6), &[(6700, 1)]);
    host.pass(1);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
}

#[test]
fn a_worker_that_sees_a_new_assignment_first_and_leaves_has_not_died() {
    let (world, mut host) = running();
    for task in [2, 3, 4] {
        let incarnation = *host.incarnations(6700).last().unwrap();
        world.assign("words-1-1", Some(5 + task), &[(6700, task)]);
        // The watch comes behind.
        host.end_process(6700, incarnation, Exit::Done);
        host.run();
        assert_eq!(host.runs(6700), Some(("words-1-1", task)));
    }
    assert_eq!(host.has_noted("started again"), 0, "{:#?}", host.notes);
}

#[test]
fn a_worker_that_leaves_over_and_over_what_it_is_wanted_for_is_started_with_pauses() {
    let (_world, mut host) = running();
    for _ in 0..2 {
        let incarnation = *host.incarnations(6700).last().unwrap();
        host.end_process(6700, incarnation, Exit::Done);
        host.run();
    }
    assert_eq!((host.runs(6700), host.has_noted("found again that it has nothing to do here")), (None, 1));
    host.pass(2);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
}

#[test]
fn an_assignment_that_is_missing_for_a_moment_costs_nothing() {
    let (world, mut host) = running();
    let first = host.incarnations(6700);
    for version in [6, 7] {
        world.remove("words-1-1");
        host.pass(2);
        world.assign("words-1-1", Some(version), &[(6700, 1)]);
        host.pass(2);
    }
    assert_eq!(host.incarnations(6700), first);
}

#[test]
fn a_topology_that_lives_keeps_its_workers_without_an_assignment() {
    let (world, mut host) = running();
    let first = host.incarnations(6700);
    world.delete(&assignment_of("words-1-1"));
    host.pass(60);
    assert_eq!(host.incarnations(6700), first);
    assert_eq!(host.has_noted("words-1-1 lives and has no assignment"), 1);
    world.set_base("words-1-1", TopologyStatus::Killed);
    host.pass(20);
    assert_eq!(host.runs(6700), None);
}

#[test]
fn what_the_tree_names_counts_more_than_what_is_remembered() {
    let (world, mut host) = running();
    world.delete(&assignment_of("words-1-1"));
    host.pass(1);
    world.assign("other-2-2", Some(1), &[(6700, 1)]);
    host.pass(1);
    assert_eq!(host.runs(6700), Some(("other-2-2", 1)));
}

#[test]
fn a_slot_that_is_given_twice_runs_on_and_is_named() {
    let (world, mut host) = running();
    let first = host.incarnations(6700);
    for other in ["a-2-2", "z-3-3"] {
        world.assign(other, Some(1), &[(6700, 1)]);
        host.pass(1);
    }
    assert_eq!(host.incarnations(6700), first);
    assert_eq!(host.has_noted("slot 6700 is assigned to a-2-2 and words-1-1"), 2);
    assert_eq!(host.has_noted("slot 6700 is assigned to a-2-2 and words-1-1 and z-3-3"), 1);
}

#[test]
fn a_tree_that_was_deleted_stops_nothing_until_it_is_there_again() {
    let (world, mut host) = running();
    let first = host.incarnations(6700);
    world.delete_all();
    host.pass(60);
    assert_eq!(host.incarnations(6700), first);
    assert_eq!(host.has_noted("the tree has no assignments"), 1);
    assert!(world.info(ID).is_some(), "it says again that it lives");
    world.set(&Node::Assignments {}, vec![7]);
    host.pass(20);
    assert_eq!(host.runs(6700), None);
}

#[test]
fn without_zookeeper_workers_go_on_and_dead_ones_are_started_again() {
    let (world, mut host) = running();
    host.store.expire();
    host.pass(300);
    host.crash(6700);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
    world.assign("words-1-1", Some(6), &[(6701, 1)]);
    host.pass(300);
    assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
    host.store.reopen(1);
    host.pass(1);
    assert_eq!((host.runs(6700), host.runs(6701)), (None, Some(("words-1-1", 1))));
    assert!(world.info(ID).is_some());
}

#[test]
fn what_changed_while_the_connection_was_lost_is_read_when_it_is_back() {
    let (world, mut host) = running();
    for (watches_are_late, executor) in [(false, 8), (true, 9)] {
        host.store.disconnect();
        host.run();
        world.assign("words-1-1", Some(executor), &[(6701, executor)]);
        world.assign("other-2-2", Some(executor), &[(6700, executor)]);
        host.store.hold_watches(watches_are_late);
        host.store.reconnect(1).unwrap();
        host.run();
        let both = (host.runs(6700), host.runs(6701));
        assert_eq!(both, (Some(("other-2-2", executor)), Some(("words-1-1", executor))));
    }
}

#[test]
fn what_looks_unchanged_in_another_session_is_read_all_the_same() {
    let (mut world, mut host) = running();
    let older = world.snapshot();
    // As many writes as the restored tree will have had.
    for _ in 0..3 {
        world.set_base("words-1-1", TopologyStatus::Active);
    }
    world.assign("words-1-1", Some(6), &[(6701, 1)]);
    host.run();
    let before = world.read(&assignment_of("words-1-1")).unwrap().stat;
    world.restore(&older);
    let bytes = |version| payload::encode(&assignment(Some(version), &[(6702, 1)])).len();
    let version = (7..1000).find(|version| bytes(*version) == before.data_bytes).unwrap();
    world.assign("words-1-1", Some(version), &[(6702, 1)]);
    assert_eq!(world.read(&assignment_of("words-1-1")).unwrap().stat, before);
    host.store.expire();
    host.store.reopen(0);
    host.run();
    assert_eq!((host.runs(6701), host.runs(6702)), (None, Some(("words-1-1", 1))));
}

#[test]
fn an_outage_in_the_middle_of_a_look_is_no_look() {
    let (world, mut host) = running();
    for held in 0..6 {
        host.store.hold_operations();
        world.assign("words-1-1", Some(6 + held), &[(6700, 1)]);
        host.run();
        host.store.do_held(usize::try_from(held).unwrap());
        host.store.disconnect();
        host.pass(20);
        assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
        host.store.reconnect(0).unwrap();
        host.pass(1);
        assert_eq!(host.runs(6700), Some(("words-1-1", 1)));
    }
    assert_eq!(host.started.len(), 1);
}

#[test]
fn ports_that_are_no_slots_are_named_and_left_alone() {
    let (world, mut host) = running();
    world.assign("words-1-1", Some(6), &[(6700, 1), (9999, 2)]);
    host.pass(30);
    assert_eq!(host.started.len(), 1);
    assert_eq!(host.has_noted("words-1-1 is assigned to port 9999, which is no slot"), 1);
}

#[test]
fn an_assignment_of_storm_has_no_version_and_counts() {
    let world = World::new();
    world.assign("words-1-1", None, &[(6700, 1)]);
    let mut host = Host::new(&world);
    host.pass(1);
    world.assign("words-1-1", None, &[(6701, 1)]);
    host.pass(1);
    assert_eq!((host.runs(6700), host.runs(6701)), (None, Some(("words-1-1", 1))));
    // Once one has a version, there is no way back.
    world.assign("words-1-1", Some(1), &[(6702, 1)]);
    host.pass(1);
    world.assign("words-1-1", None, &[(6703, 1)]);
    host.pass(1);
    assert_eq!(host.runs(6702), Some(("words-1-1", 1)));
    assert!(world.read(&Node::Supervisor { supervisor: name(ID) }).is_some());
}
