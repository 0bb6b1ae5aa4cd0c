//! What a supervisor makes of what it finds after its own restart.

use ringstorm_supervisor::events::{Exit, ProcessEvent, StopHow};
use ringstorm_supervisor::{Settings, SupervisorInput};

use crate::host::Host;
use crate::world::{ID, World};

fn running() -> (World, Host) {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1), (6701, 2)]);
    let mut host = Host::new(&world);
    host.pass(1);
    (world, host)
}

#[test]
fn running_workers_are_adopted_and_looked_after() {
    let (world, mut host) = running();
    let before: Vec<_> = host.processes.keys().copied().collect();
    host.restart(&world);
    host.pass(60);
    assert_eq!(host.processes.keys().copied().collect::<Vec<_>>(), before);
    assert_eq!((host.started.len(), host.fetched.len()), (2, 1));
    host.processes.get_mut(&before[0]).unwrap().manners.silent = true;
    host.pass(35);
    assert!(host.incarnations(6700)[0] > before[0].1);
    assert_eq!(host.incarnations(6701), [before[1].1]);
}

#[test]
fn what_died_while_nobody_looked_is_started_again() {
    let (world, mut host) = running();
    let first = host.incarnations(6700)[0];
    host.processes.remove(&(6700, first));
    host.restart(&world);
    host.pass(1);
    assert!(host.incarnations(6700)[0] > first);
    assert_eq!(host.started.len(), 3);
}

#[test]
fn what_is_assigned_otherwise_meanwhile_is_stopped() {
    let (world, mut host) = running();
    let before = host.incarnations(6701);
    world.assign("words-1-1", Some(2), &[(6700, 7), (6701, 2)]);
    host.restart(&world);
    host.pass(1);
    assert_eq!(host.runs(6700), Some(("words-1-1", 7)));
    assert_eq!(host.incarnations(6701), before);
}

#[test]
fn a_process_that_nobody_remembers_is_stopped_before_its_slot_is_used() {
    let (world, mut host) = running();
    host.has_intruders = true;
    let (port, mut orphan) = (6700, host.processes[&(6700, host.incarnations(6700)[0])].clone());
    orphan.manners.deaf = true;
    let known = host.incarnations(6700)[0];
    host.processes.remove(&(port, known));
    host.processes.insert((port, 5), orphan.clone());
    host.processes.insert((9999, 6), orphan);
    host.restart(&world);
    host.pass(2);
    assert_eq!((host.state(6700), host.incarnations(6700)), ("WAITING_FOR_OTHER_PROCESS", vec![5]));
    assert_eq!(host.stopped, [(6700, 5, StopHow::Ask), (9999, 6, StopHow::Ask)]);
    host.pass(3);
    assert_eq!(host.state(6700), "RUNNING");
    assert!(host.incarnations(6700)[0] > known);
    assert!(host.incarnations(9999).is_empty());
}

#[test]
fn a_stranger_that_speaks_up_is_stopped_and_what_comes_late_is_not() {
    let (_, mut host) = running();
    let known = host.incarnations(6700)[0];
    host.crash(6700);
    // A message of the dead one that was under way.
    host.tell(SupervisorInput::Process(ProcessEvent::Beat { port: 6700, incarnation: known }));
    host.run();
    assert_eq!(host.stopped, []);
    host.tell(SupervisorInput::Process(ProcessEvent::Beat { port: 6702, incarnation: 99 }));
    host.run();
    assert_eq!(host.stopped, [(6702, 99, StopHow::Ask)]);
    assert_eq!(host.has_noted("incarnation 99"), 1);
}

#[test]
fn nothing_is_started_or_stopped_before_the_tree_was_read() {
    let (world, mut host) = running();
    let second = host.incarnations(6701)[0];
    host.restart(&world);
    host.store.disconnect();
    host.run();
    host.end_process(6701, second, Exit::Unknown);
    host.pass(60);
    assert_eq!((host.started.len(), host.incarnations(6700).len()), (2, 1));
    assert_eq!(host.stopped, []);
    host.store.reconnect(0).unwrap();
    host.pass(1);
    assert_eq!(host.state(6701), "RUNNING");
}

#[test]
fn workers_of_slots_that_were_taken_away_are_stopped() {
    let (world, mut host) = running();
    let last = host.incarnations(6700)[0];
    host.settings = Settings { ports: [6701].into(), ..Settings::default() };
    host.restart(&world);
    host.pass(1);
    assert_eq!((host.runs(6700), host.runs(6701)), (None, Some(("words-1-1", 2))));
    assert_eq!(world.info(ID).unwrap().meta.unwrap(), [6701]);
    // Its incarnations are remembered for when it comes back.
    assert_eq!(host.disk.slots[&6700].last_incarnation, last);
    host.settings = Settings::default();
    host.now.wall = std::time::Duration::ZERO;
    host.restart(&world);
    host.pass(1);
    assert_eq!(host.incarnations(6700), [last + 1]);
}
