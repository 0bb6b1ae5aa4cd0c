//! Code that several nimbuses hold.

use ringstorm_nimbus::NimbusSettings;
use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_store::acl::Acl;
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::path::ZnodePath;

use crate::life::{kill, submit, world};
use crate::world::World;

fn keys(world: &World, index: usize) -> Vec<String> {
    world.daemons[index].directory.keys().map(ToString::to_string).collect()
}

#[test]
fn whoever_stands_by_fetches_what_the_leader_has() {
    let mut world = world(&["n1", "n2", "n3"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(2);
    for index in 0..3 {
        assert_eq!(keys(&world, index).len(), 3, "{:#?}", world.notes);
    }
    let holders = world.paths().iter().filter(|path| path.contains("-stormjar.jar/")).count();
    assert_eq!(holders, 3);
}

#[test]
fn a_topology_lives_only_when_two_hold_its_code_while_two_live() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    // The other one does not hear of it.
    world.store(1 - leader).hold_watches(true);
    let id = world.ask(leader, submit("words", "t"));
    // One that fetches it right now has nothing to say.
    world.run_secs(4);
    assert!(!world.notes.iter().any(|note| note.contains("nimbuses hold its code")), "{:#?}", world.notes);
    world.run_secs(20);
    assert!(world.bases().is_empty() && !world.replies.contains_key(&id));
    let waits = "waits for 60 s at most, since 1 of 2 nimbuses hold its code; ";
    let notes: Vec<&String> = world.notes.iter().filter(|note| note.contains(waits)).collect();
    assert!(matches!(notes.as_slice(), [one] if one.contains(&format!("n{}:", 2 - leader))), "{notes:?}");
    world.store(1 - leader).hold_watches(false);
    world.run_secs(3);
    assert!(matches!(world.replies.remove(&id), Some(Ok(Reply::Submitted { .. }))));
    assert_eq!(world.bases().len(), 1);
}

#[test]
fn a_nimbus_that_takes_no_code_is_waited_for_and_then_not_any_more() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.store(1 - leader).hold_watches(true);
    let id = world.ask(leader, submit("words", "t"));
    world.run_secs(65);
    assert!(matches!(world.replies.remove(&id), Some(Ok(Reply::Submitted { .. }))));
    let said = |words: &str| world.notes.iter().filter(|note| note.contains(words)).count();
    assert_eq!(said("waits no longer for others, although 1 of 2 nimbuses hold its code"), 1, "{:#?}", world.notes);
}

#[test]
fn a_node_of_a_nimbus_that_cannot_be_read_is_not_waited_for() {
    let mut world = world(&["n1"]);
    let path = ZnodePath::new("/storm/nimbuses/garbage").unwrap();
    let acl = [Acl::anyone()].into();
    let garbage = Operation::create(path, b"garbage".to_vec(), CreateMode::Persistent, acl);
    let observer = world.observer();
    world.ensemble.with(|ensemble| drop(ensemble.perform(observer, &garbage)));
    let id = world.ask(0, submit("words", "t"));
    world.run_secs(5);
    assert!(matches!(world.replies.remove(&id), Some(Ok(Reply::Submitted { .. }))), "{:#?}", world.notes);
    assert!(world.notes.iter().any(|note| note.contains("nimbuses/garbage cannot be read")));
}

#[test]
fn one_that_lives_alone_waits_for_nobody() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.crash(1 - leader);
    world.forget_sessions();
    world.run_secs(1);
    assert!(world.answer(leader, submit("words", "t")).is_ok());
}

/// The nimbuses of the world, the first of which has submitted a topology, and has come back without its code.
fn without_code(mut world: World) -> World {
    world.run_secs(5);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(5);
    world.daemons[0].directory.clear();
    world.crash(0);
    world.forget_sessions();
    world.start(0);
    world
}

#[test]
fn whoever_lacks_code_that_nobody_else_may_have_leads_at_once_without() {
    let mut world = without_code(world(&["n1"]));
    world.run_secs(2);
    assert_eq!(world.leader(), Some(0), "{:#?}", world.notes);
    assert!(world.notes.iter().any(|note| note.contains("no nimbus that lives holds the code of words-1-")));
    let Ok(Reply::Leader(leader)) = world.answer(0, Request::Leader) else { panic!("nobody leads") };
    assert_eq!(leader.host, "n1");
    assert_eq!(world.bases().len(), 1);
    assert_eq!(world.answer(0, kill("words", Some(1))), Ok(Reply::Done));
}

#[test]
fn the_place_of_a_process_that_is_no_more_is_nobodys_lead() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    let other = 1 - leader;
    let says = |world: &mut World| world.answer(other, Request::Leader);
    assert!(matches!(says(&mut world), Ok(Reply::Leader(_))));
    // Its session goes on for a while.
    world.crash(leader);
    world.start(leader);
    world.run_secs(1);
    for index in [leader, other] {
        let Err(Refusal::TryAgain(why)) = world.answer(index, Request::Leader) else { panic!("{:#?}", world.notes) };
        assert!(why.contains("that has ended is first in the queue until its session with ZooKeeper ends"), "{why}");
    }
    world.run_secs(10);
    world.forget_sessions();
    world.run_secs(5);
    assert!(matches!(says(&mut world), Ok(Reply::Leader(_))));
}

#[test]
fn whoever_lacks_code_waits_for_a_nimbus_that_led_before_it() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    let other = 1 - leader;
    world.crash(other);
    world.forget_sessions();
    world.run_secs(1);
    world.answer(leader, submit("words", "t")).unwrap();
    world.crash(leader);
    world.forget_sessions();
    world.start(other);
    world.run_secs(30);
    assert_eq!(world.leader(), None, "{:#?}", world.notes);
    world.start(leader);
    world.run_secs(5);
    assert!(world.leader().is_some(), "{:#?}", world.notes);
}

#[test]
fn whoever_lacks_code_waits_a_while_where_others_are_expected_and_says_so() {
    let settings = NimbusSettings { has_peers: true, ..NimbusSettings::default() };
    let mut world = without_code(World::with(&["n1"], settings));
    world.run_secs(30);
    assert_eq!(world.leader(), None);
    assert_eq!(world.bases().len(), 1);
    for request in [Request::Leader, kill("words", Some(1))] {
        let Err(Refusal::TryAgain(why)) = world.answer(0, request) else { panic!("it does not lead") };
        assert!(why.contains("waits for the code of words-1-") && why.contains(" s at the latest"), "{why}");
    }
    // Nobody comes with it: it leads without.
    world.run_secs(40);
    assert_eq!(world.leader(), Some(0), "{:#?}", world.notes);
    // In the same session it does not wait once more.
    world.store(0).disconnect();
    world.settle();
    assert_eq!(world.leader(), None);
    assert!(world.store(0).reconnect(0).is_ok());
    world.run_secs(2);
    assert_eq!(world.leader(), Some(0), "{:#?}", world.notes);
    let before = world.assignments();
    world.run_secs(400);
    assert_eq!((world.assignments(), world.bases().len()), (before, 1));
    assert_eq!(world.answer(0, kill("words", Some(1))), Ok(Reply::Done));
    world.run_secs(5);
    assert!(world.bases().is_empty());
}

#[test]
fn whoever_is_first_and_lacks_code_that_another_holds_goes_behind_it() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(5);
    // The one that stands by loses its disk, and then the leader is cut off for a moment.
    let other = 1 - leader;
    world.crash(other);
    world.forget_sessions();
    world.daemons[other].directory.clear();
    world.store(leader).expire();
    world.start(other);
    world.run_secs(1);
    assert_eq!(world.leader(), None);
    world.store(leader).reopen(0);
    world.run_secs(3);
    assert!(world.leader().is_some(), "{:#?}", world.notes);
    world.run_secs(5);
    assert_eq!(keys(&world, other).len(), 3);
}

#[test]
fn code_of_a_topology_that_is_gone_is_removed_everywhere() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(5);
    world.answer(leader, kill("words", Some(1))).unwrap();
    world.run_secs(800);
    for index in 0..2 {
        assert_eq!(keys(&world, index), Vec::<String>::new(), "{:#?}", world.notes);
    }
    assert!(!world.paths().iter().any(|path| path.contains("words-1")), "{:#?}", world.paths());
}

#[test]
fn the_node_of_a_blob_that_somebody_deleted_is_made_again() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(5);
    let observer = world.observer();
    let path = world.paths().into_iter().find(|path| path.contains("-stormjar.jar/")).unwrap();
    let blob = path.rsplit_once('/').unwrap().0.to_owned();
    for path in [path.clone(), blob] {
        let path = ZnodePath::new(&path).unwrap();
        world.ensemble.with(|ensemble| {
            let _ = ensemble.perform(observer, &Operation::delete(path));
        });
    }
    world.run_secs(5);
    assert!(world.paths().contains(&path), "{:#?}", world.notes);
    world.run_secs(600);
    assert_eq!(keys(&world, 0).len(), 3);
}

#[test]
fn a_submission_that_waits_for_its_code_to_be_held_holds_up_nobody() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(5);
    world.store(1 - leader).hold_watches(true);
    let id = world.ask(leader, submit("others", "u"));
    world.run_secs(1);
    assert_eq!(world.answer(leader, kill("words", Some(1))), Ok(Reply::Done));
    world.run_secs(5);
    assert!(world.bases().is_empty() && world.assignments().is_empty());
    assert!(!world.replies.contains_key(&id));
    // Nobody waits for ever.
    world.run_secs(60);
    assert!(matches!(world.replies.remove(&id), Some(Ok(Reply::Submitted { .. }))));
}

#[test]
fn one_that_starts_again_before_its_old_session_ends_says_what_it_waits_for() {
    let mut world = world(&["n1"]);
    world.crash(0);
    world.start(0);
    world.run_secs(15);
    assert_eq!(world.leader(), None);
    let waits = "an earlier process of this nimbus has ended, and keeps its place in the queue";
    assert_eq!(world.notes.iter().filter(|note| note.contains(waits)).count(), 1, "{:#?}", world.notes);
    world.forget_sessions();
    world.run_secs(1);
    assert_eq!(world.leader(), Some(0), "{:#?}", world.notes);
}
