//! Who a supervisor is: over restarts, and beside a copy of itself.

use std::collections::BTreeMap;

use ringstorm_control::time::Now;
use ringstorm_records::payload;
use ringstorm_records::records::SupervisorInfo;
use ringstorm_records::znode::Node;
use ringstorm_supervisor::supervisor::Standing;
use ringstorm_supervisor::{LocalState, Settings, Supervisor};

use crate::host::{Host, start};
use crate::world::{ID, World, name};

fn running() -> (World, Host) {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    let mut host = Host::new(&world);
    host.pass(1);
    (world, host)
}

fn copy_of(host: &Host, world: &World) -> Host {
    Host::with(world, host.disk.clone(), "boot-2", Settings::default())
}

#[test]
fn the_id_stays_over_restarts_and_the_node_of_the_dead_daemon_is_replaced_at_once() {
    let (world, mut host) = running();
    assert_eq!(host.disk.supervisor.as_deref(), Some(ID));
    let owner = |world: &World| world.read(&Node::Supervisor { supervisor: name(ID) }).unwrap().stat.owner;
    for _ in 0..6 {
        let before = owner(&world);
        host.restart(&world);
        host.run();
        assert_ne!(owner(&world), before);
        assert_eq!(host.machine.standing(), Standing::Admitted);
    }
    assert_eq!(host.disk.sessions.len(), 1);
}

#[test]
fn the_node_of_a_session_that_was_never_heard_of_again_is_replaced_too() {
    let (world, mut host) = running();
    for _ in 0..2 {
        // It opens a session, saves that, and dies before it has said that it lives.
        host.restart(&world);
        host.store.hold_operations();
        host.run();
    }
    host.restart(&world);
    host.run();
    assert_eq!(host.machine.standing(), Standing::Admitted);
}

#[test]
fn a_copy_on_another_host_starts_and_stops_nothing_and_says_why_once() {
    let (world, mut host) = running();
    let mut copy = copy_of(&host, &world);
    for _ in 0..60 {
        host.pass(1);
        copy.pass(1);
    }
    assert_eq!(copy.machine.standing(), Standing::Refused);
    assert_eq!((copy.started.len(), copy.fetched.len(), copy.stopped.len()), (0, 0, 0));
    assert_eq!(copy.has_noted("supervisor first-id is held by another live session (host host-boot-1"), 1);
    assert_eq!(host.machine.standing(), Standing::Admitted);
    assert_eq!(world.info(ID).unwrap().hostname, "host-boot-1");
    // The other one is gone for good: now it is the only one.
    drop(host);
    copy.pass(6);
    assert_eq!(copy.machine.standing(), Standing::Admitted);
    assert_eq!(copy.runs(6700), Some(("words-1-1", 1)));
}

#[test]
fn who_comes_back_and_finds_a_copy_in_its_place_leaves_everything_as_it_is() {
    let (world, mut host) = running();
    let first = host.incarnations(6700);
    let mut copy = copy_of(&host, &world);
    host.store.expire();
    host.pass(1);
    copy.pass(6);
    assert_eq!(copy.machine.standing(), Standing::Admitted);
    host.store.reopen(0);
    host.pass(1);
    assert_eq!(host.machine.standing(), Standing::Refused);
    world.assign("words-1-1", Some(2), &[(6701, 1)]);
    host.pass(20);
    assert_eq!(host.incarnations(6700), first, "its worker goes on");
    assert_eq!(host.stopped, []);
    host.crash(6700);
    host.pass(60);
    assert!(host.processes.is_empty(), "and is not started again");
    drop(copy);
    host.pass(6);
    assert_eq!(host.machine.standing(), Standing::Admitted);
    assert_eq!(host.runs(6701), Some(("words-1-1", 1)));
    assert_eq!(host.has_noted("is this host's again"), 1);
}

#[test]
fn a_node_that_goes_with_no_session_is_named() {
    let world = World::new();
    world.set(&Node::Supervisor { supervisor: name(ID) }, payload::encode(&ours()));
    let mut host = Host::new(&world);
    host.pass(30);
    assert_eq!(host.has_noted("goes with no session"), 1);
    world.delete(&Node::Supervisor { supervisor: name(ID) });
    host.pass(6);
    assert_eq!(host.machine.standing(), Standing::Admitted);
}

fn ours() -> SupervisorInfo {
    SupervisorInfo { version: Some("2.8.2-ringstorm.0.1.0".to_owned()), ..SupervisorInfo::default() }
}

#[test]
fn a_root_of_apache_storm_ends_the_daemon_and_is_left_untouched() {
    let world = World::new();
    let storms = SupervisorInfo { version: Some("2.8.2".to_owned()), ..SupervisorInfo::default() };
    world.set(&Node::Supervisor { supervisor: name("theirs") }, payload::encode(&storms));
    let before = world.snapshot().dump();
    let mut host = Host::new(&world);
    host.pass(30);
    assert!(host.end.as_ref().unwrap().contains("a live daemon of Apache Storm uses this root"));
    assert_eq!(world.snapshot().dump(), before);
    assert_eq!(host.started.len(), 0);
}

#[test]
fn an_id_that_is_no_name_of_a_node_is_refused() {
    let state = LocalState { supervisor: Some("a/b".to_owned()), ..LocalState::default() };
    let start = start(&state, "boot-1", &Settings::default(), Vec::new(), BTreeMap::new());
    assert!(Supervisor::new(start, Now::default()).is_err());
}
