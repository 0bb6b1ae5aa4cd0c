//! What becomes of workers: deaths, silence, failed starts, stops, new code.

use std::collections::BTreeSet;

use ringstorm_supervisor::events::{CodeEvent, FetchFailure, OperatorEvent, ProcessEvent, StartFailure, StopHow};
use ringstorm_supervisor::{Settings, SupervisorInput};

use crate::host::{Host, Manners};
use crate::world::{ID, World};

fn running(parts: &[(u16, i64)]) -> (World, Host) {
    let world = World::new();
    world.assign("words-1-1", Some(1), parts);
    let mut host = Host::new(&world);
    host.pass(1);
    (world, host)
}

#[test]
fn a_dead_worker_is_started_again_at_once_and_no_other_slot_is_touched() {
    let (_, mut host) = running(&[(6700, 1), (6701, 2)]);
    let (first, other) = (host.incarnations(6700)[0], host.incarnations(6701));
    host.crash(6700);
    let second = host.incarnations(6700)[0];
    assert!(second > first);
    assert_eq!(host.state(6700), "RUNNING");
    assert_eq!(host.incarnations(6701), other);
    assert_eq!(host.stopped, []);
}

#[test]
fn a_crash_loop_has_growing_pauses_until_a_worker_ran_well() {
    let (_, mut host) = running(&[(6700, 1), (6701, 2)]);
    let other = host.incarnations(6701);
    host.manners.crashes = true;
    host.crash(6700);
    // At once, and then after 1, 2, 4, 8, 16 and 32 s.
    host.pass(63);
    assert_eq!(host.started.len(), 2 + 7);
    assert_eq!(host.state(6700), "BACKING_OFF");
    host.pass(600);
    assert_eq!(host.started.len(), 2 + 17, "the longest pause is a minute");
    host.manners = Manners::default();
    host.pass(130);
    assert_eq!(host.state(6700), "RUNNING");
    let before = host.started.len();
    host.crash(6700);
    assert_eq!(host.started.len(), before + 1);
    assert_eq!(host.state(6700), "RUNNING");
    assert_eq!(host.incarnations(6701), other);
}

#[test]
fn a_worker_that_never_comes_up_is_killed_and_started_again() {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    let mut host = Host::new(&world);
    host.manners = Manners { never_ready: true, ..Manners::default() };
    host.pass(119);
    assert_eq!((host.state(6700), host.started.len()), ("WAITING_FOR_WORKER_START", 1));
    host.manners = Manners::default();
    host.pass(3);
    assert_eq!((host.state(6700), host.started.len()), ("RUNNING", 2));
    assert_eq!(host.stopped, [(6700, host.started[0].incarnation, StopHow::Kill)]);
}

#[test]
fn a_worker_that_falls_silent_is_killed_and_started_again() {
    let (_, mut host) = running(&[(6700, 1), (6701, 2)]);
    let first = host.incarnations(6700)[0];
    host.processes.get_mut(&(6700, first)).unwrap().manners.silent = true;
    host.pass(27);
    assert_eq!(host.incarnations(6700), [first]);
    host.pass(5);
    assert!(host.incarnations(6700)[0] > first);
    assert_eq!(host.stopped, [(6700, first, StopHow::Kill)]);
}

#[test]
fn a_supervisor_that_was_frozen_itself_blames_no_worker() {
    let (_, mut host) = running(&[(6700, 1)]);
    let first = host.incarnations(6700);
    host.freeze(600);
    host.pass(40);
    assert_eq!(host.incarnations(6700), first);
    assert_eq!(host.stopped, []);
}

#[test]
fn a_stop_asks_first_and_kills_then() {
    let (world, mut host) = running(&[(6700, 1)]);
    let first = host.incarnations(6700)[0];
    host.processes.get_mut(&(6700, first)).unwrap().manners = Manners { deaf: true, undying: true, ..host.manners };
    world.assign("words-1-1", Some(2), &[]);
    host.pass(2);
    assert_eq!(host.stopped, [(6700, first, StopHow::Ask)]);
    assert_eq!(host.state(6700), "KILL");
    host.pass(2);
    assert_eq!(host.stopped[1..], [(6700, first, StopHow::Kill)]);
    host.pass(9);
    assert_eq!(host.stopped.len(), 5, "it is killed again until it is gone");
    // A process that does not even die of that has its slot withdrawn, and nothing is started beside it.
    world.assign("words-1-1", Some(3), &[(6700, 1)]);
    host.pass(120);
    assert_eq!(host.started.len(), 1);
    assert_eq!(world.info(ID).unwrap().meta.unwrap(), [6701, 6702, 6703]);
    assert_eq!(host.has_noted("does not die"), 1);
    host.processes.get_mut(&(6700, first)).unwrap().manners.undying = false;
    host.pass(5);
    assert_eq!(host.state(6700), "RUNNING");
    assert_eq!(world.info(ID).unwrap().meta.unwrap().len(), 4);
}

#[test]
fn other_executors_in_the_same_slot_are_a_new_incarnation() {
    let (world, mut host) = running(&[(6700, 1), (6701, 2)]);
    let (first, other) = (host.incarnations(6700)[0], host.incarnations(6701));
    world.assign("words-1-1", Some(2), &[(6700, 1), (6700, 3), (6701, 2)]);
    host.pass(1);
    assert_eq!(host.started.last().unwrap().executors, [(1, 1), (3, 3)].into());
    assert_eq!((host.started.last().unwrap().version, host.started.last().unwrap().cores), (2, 4));
    assert!(host.incarnations(6700)[0] > first);
    assert_eq!(host.incarnations(6701), other);
    assert_eq!(host.stopped, [(6700, first, StopHow::Ask)]);
}

#[test]
fn a_slot_in_which_nothing_starts_is_withdrawn_with_its_reason_and_comes_back() {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1), (6701, 2)]);
    let mut host = Host::new(&world);
    host.manners.fails = Some(StartFailure::PortTaken);
    host.run();
    host.manners.fails = None;
    host.pass(70);
    assert_eq!((host.state(6700), host.state(6701)), ("RUNNING", "RUNNING"), "two failures withdraw nothing");

    host.manners.fails = Some(StartFailure::PortTaken);
    host.crash(6700);
    host.pass(10);
    assert_eq!(host.state(6700), "WITHDRAWN");
    assert_eq!(world.info(ID).unwrap().meta.unwrap(), [6701, 6702, 6703]);
    assert_eq!(host.has_noted("slot 6700 is withdrawn for 30 s, since another process has its port"), 1);
    host.manners.fails = None;
    host.pass(30);
    assert_eq!(host.state(6700), "RUNNING");
    assert_eq!(world.info(ID).unwrap().meta.unwrap(), [6700, 6701, 6702, 6703]);
}

#[test]
fn what_lies_in_the_code_withdraws_no_slot() {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    let mut host = Host::new(&world);
    host.manners.fails = Some(StartFailure::Other);
    host.pass(60);
    assert!(host.started.len() > 4);
    assert_eq!(world.info(ID).unwrap().meta.unwrap().len(), 4);
}

#[test]
fn a_worker_that_is_refused_as_stale_is_started_above_what_its_peers_know() {
    let (_, mut host) = running(&[(6700, 1)]);
    let first = host.incarnations(6700)[0];
    let newest = first + 1_000_000_000_000;
    host.tell(SupervisorInput::Process(ProcessEvent::Stale { port: 6700, incarnation: first, newest }));
    host.run();
    assert_eq!(host.incarnations(6700), [newest + 1]);
    // What cannot be an incarnation is passed over.
    let incarnation = newest + 1;
    host.tell(SupervisorInput::Process(ProcessEvent::Stale { port: 6700, incarnation, newest: u64::MAX }));
    host.run();
    assert_eq!(host.incarnations(6700), [newest + 1]);
}

#[test]
fn incarnations_grow_when_the_clock_goes_back() {
    let (_, mut host) = running(&[(6700, 1)]);
    let first = host.incarnations(6700)[0];
    host.now.wall = std::time::Duration::ZERO;
    host.crash(6700);
    assert_eq!(host.incarnations(6700), [first + 1]);
}

#[test]
fn code_is_fetched_once_and_removed_when_nobody_needs_it() {
    let (world, mut host) = running(&[(6700, 1), (6701, 2)]);
    assert_eq!(host.fetched, ["words-1-1"]);
    world.assign("words-1-1", Some(2), &[(6701, 2)]);
    host.pass(1);
    assert_eq!(host.code, ["words-1-1".to_owned()].into());
    world.assign("words-1-1", Some(3), &[]);
    host.pass(1);
    assert!(host.code.is_empty() && host.processes.is_empty());
}

#[test]
fn code_that_cannot_be_had_is_tried_again_and_keeps_no_other_slot_waiting() {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    world.assign("other-2-2", Some(1), &[(6701, 2)]);
    let mut host = Host::new(&world);
    host.missing_code.insert("words-1-1".to_owned());
    host.pass(2);
    assert!(host.reports.is_empty(), "that nobody gives it may be a moment's trouble");
    host.pass(18);
    assert_eq!((host.state(6700), host.state(6701)), ("WAITING_FOR_BLOB_LOCALIZATION", "RUNNING"));
    assert!(host.reports.iter().all(|(port, text)| *port == 6700 && text.ends_with("no nimbus has it")));
    assert!(!host.reports.is_empty());
    // Other hosts have the same nimbuses.
    assert_eq!(offered(&world), [6700, 6701, 6702, 6703]);
    let tries = host.fetched.iter().filter(|topology| *topology == "words-1-1").count();
    assert!((4..=6).contains(&tries), "{tries}");
    host.missing_code.clear();
    host.pass(20);
    assert_eq!(host.state(6700), "RUNNING");
}

fn offered(world: &World) -> Vec<i64> {
    world.info(ID).unwrap().meta.unwrap()
}

#[test]
fn b066_a_fetch_that_hangs_holds_up_no_other_slot_and_not_its_own_once_the_topology_is_killed() {
    let world = World::new();
    let mut host = Host::new(&world);
    host.hung_code.insert("words-1-1".to_owned());
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    host.pass(5);
    world.assign("other-2-2", Some(1), &[(6701, 1)]);
    host.pass(1);
    assert_eq!((host.state(6700), host.state(6701)), ("WAITING_FOR_BLOB_LOCALIZATION", "RUNNING"));
    world.remove("words-1-1");
    host.pass(10);
    assert_eq!(host.state(6700), "EMPTY");
    world.assign("third-3-3", Some(1), &[(6700, 1)]);
    host.pass(1);
    assert_eq!(host.state(6700), "RUNNING");
    assert_eq!(offered(&world).len(), 4);
}

#[test]
fn a_host_that_cannot_store_code_is_given_no_more_work_until_it_can() {
    let world = World::new();
    world.assign("other-2-2", Some(1), &[(6701, 2)]);
    let mut host = Host::new(&world);
    host.run();
    host.missing_code.insert("words-1-1".to_owned());
    host.fetch_failure = FetchFailure::Host;
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    host.pass(1);
    // What runs stays; nothing else can be given to this host, whichever slot it would be.
    assert_eq!((offered(&world), host.state(6701)), (vec![6701], "RUNNING"));
    let expected =
        "its worker in slot 6700 of host-boot-1 did not start: its code could not be fetched: no nimbus has it";
    assert!(!host.reports.is_empty() && host.reports.iter().all(|report| *report == (6700, expected.to_owned())));
    assert_eq!(host.has_noted("slot 6702 is withdrawn, since code cannot be fetched: no nimbus has it"), 1);
    // A worker whose code is here is started again here.
    host.crash(6701);
    host.pass(3);
    assert_eq!((offered(&world), host.state(6701)), (vec![6701], "RUNNING"));
    // The work went elsewhere, and this host tries whether it can store it by now.
    world.assign("words-1-1", Some(2), &[]);
    host.pass(10);
    assert_eq!(offered(&world), [6701]);
    let tries = host.fetched.len();
    host.pass(60);
    assert!(host.fetched.len() > tries);
    host.missing_code.clear();
    host.pass(60);
    assert_eq!(offered(&world), [6700, 6701, 6702, 6703]);
    assert_eq!(host.has_noted("slot 6702 is in service again"), 1);
    assert!(!host.code.contains("words-1-1"), "nobody here needs it");
}

#[test]
fn a_host_does_not_try_for_ever_whether_it_can_store_code_that_is_gone() {
    let world = World::new();
    world.assign("words-1-1", Some(1), &[(6700, 1)]);
    let mut host = Host::new(&world);
    host.missing_code.insert("words-1-1".to_owned());
    host.fetch_failure = FetchFailure::Host;
    host.pass(1);
    world.assign("words-1-1", Some(2), &[]);
    host.pass(5);
    assert!(offered(&world).is_empty());
    host.fetch_failure = FetchFailure::Passing;
    host.pass(30);
    assert_eq!(offered(&world), [6700, 6701, 6702, 6703]);
    let tries = host.fetched.len();
    host.pass(120);
    assert_eq!(host.fetched.len(), tries);
}

#[test]
fn a_slot_whose_code_is_wrong_or_unknown_is_withdrawn_for_that_topology_only() {
    for (cause, secs) in [(FetchFailure::Lasting, 1), (FetchFailure::Passing, 5)] {
        let world = World::new();
        world.assign("words-1-1", Some(1), &[(6700, 1), (6701, 2)]);
        let mut host = Host::new(&world);
        host.missing_code.insert("words-1-1".to_owned());
        host.fetch_failure = cause;
        host.pass(secs);
        assert_eq!(offered(&world), [6702, 6703], "{cause:?}");
        let ports: BTreeSet<u16> = host.reports.iter().map(|(port, _)| *port).collect();
        assert_eq!(ports, [6700, 6701].into());
        // It is somewhere else by now, and the slots are as good as any other.
        world.assign("words-1-1", Some(2), &[(6702, 1)]);
        host.pass(1);
        assert_eq!(offered(&world), [6700, 6701, 6703], "{cause:?}");
        world.assign("words-1-1", Some(3), &[]);
        world.assign("other-2-2", Some(1), &[(6700, 1)]);
        host.pass(1);
        assert_eq!((offered(&world).len(), host.state(6700)), (4, "RUNNING"));
    }
}

#[test]
fn code_that_was_damaged_on_disk_is_fetched_anew_and_what_runs_goes_on() {
    let (_, mut host) = running(&[(6700, 1), (6701, 2)]);
    let other = host.incarnations(6701);
    host.manners.fails = Some(StartFailure::Other);
    host.tell(SupervisorInput::Code(CodeEvent::Damaged { topology: "words-1-1".to_owned(), why: "odd".to_owned() }));
    host.crash(6700);
    assert_eq!(host.fetched, ["words-1-1", "words-1-1"]);
    host.manners.fails = None;
    host.pass(3);
    assert_eq!((host.state(6700), host.incarnations(6701)), ("RUNNING", other));
    assert_eq!(host.has_noted("was not run, and is fetched anew: odd"), 1);
    // It is known by now.
    host.tell(SupervisorInput::Code(CodeEvent::Damaged { topology: "gone-3-3".to_owned(), why: "odd".to_owned() }));
    host.pass(1);
    assert_eq!(host.fetched.len(), 2);
}

#[test]
fn new_code_stops_the_workers_before_it_takes_the_place_of_the_old() {
    let (_, mut host) = running(&[(6700, 1), (6701, 2)]);
    let slow = host.incarnations(6701)[0];
    host.processes.get_mut(&(6701, slow)).unwrap().manners.deaf = true;
    host.tell(SupervisorInput::Code(CodeEvent::Changed { topology: "words-1-1".to_owned() }));
    host.pass(2);
    assert_eq!((host.state(6700), host.state(6701)), ("WAITING_FOR_BLOB_UPDATE", "KILL_BLOB_UPDATE"));
    assert_eq!(host.fetched.len(), 1);
    host.pass(2);
    assert_eq!(host.fetched.len(), 2);
    assert_eq!((host.state(6700), host.state(6701)), ("RUNNING", "RUNNING"));
    assert_eq!(host.started.len(), 4);
}

#[test]
fn out_of_service_takes_no_new_work_and_keeps_what_runs() {
    let (world, mut host) = running(&[(6700, 1)]);
    let first = host.incarnations(6700);
    host.operator(OperatorEvent::OutOfService);
    let info = world.info(ID).unwrap();
    assert_eq!((info.meta.unwrap(), info.used_ports.unwrap()), (vec![], vec![6700]));
    assert_eq!(info.is_out_of_service, Some(true));
    host.pass(60);
    assert_eq!(host.incarnations(6700), first);
    // It stays so over a restart, and what dies is still wanted here.
    host.restart(&world);
    host.pass(1);
    assert!(world.info(ID).unwrap().meta.unwrap().is_empty());
    host.crash(6700);
    assert_eq!(host.state(6700), "RUNNING");
    world.assign("words-1-1", Some(2), &[]);
    host.pass(1);
    assert!(host.processes.is_empty());
    host.operator(OperatorEvent::InService);
    let info = world.info(ID).unwrap();
    assert_eq!((info.meta.unwrap().len(), info.is_out_of_service), (4, None));
}

#[test]
fn a_supervisor_is_published_as_storms_is() {
    let (world, mut host) = running(&[(6700, 1), (6701, 2)]);
    host.pass(133);
    let info = world.info(ID).unwrap();
    // The record of tests/golden in coord/records, 02-running.
    assert_eq!(info.used_ports, Some(vec![6700, 6701]));
    assert_eq!(info.meta, Some(vec![6700, 6701, 6702, 6703]));
    assert_eq!(info.scheduler_meta, None);
    let resources = [("cpu.pcore.percent".to_owned(), 400.0), ("memory.mb".to_owned(), 4096.0)];
    assert_eq!(info.resources_map, Some(resources.into()));
    assert_eq!(info.server_port, Some(6628));
    assert_eq!(info.assignment_id.as_deref(), Some(ID));
    assert_eq!(info.hostname, "host-boot-1");
    assert!(info.version.unwrap().starts_with("2.8.2-ringstorm."));
    let age = host.now.wall.as_secs() as i64 - info.time_secs;
    assert!((0..=5).contains(&age), "it is refreshed every 5 s, and not {age} s ago");
    assert_eq!(info.uptime_secs, Some(134 - age));
    assert_eq!(host.settings, Settings::default());
}
