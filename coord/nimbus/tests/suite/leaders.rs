//! Leaders that come and go.

use std::time::Duration;

use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::records::TopologyStatus;

use crate::life::{kill, rebalance, submit, world};
use crate::world::{World, slots};

/// The leader's process ends, and its session with it.
fn lose_leader(world: &mut World) -> usize {
    let leader = world.leader().unwrap();
    world.crash(leader);
    world.forget_sessions();
    world.run_secs(2);
    assert!(world.leader().is_some_and(|next| next != leader), "{:#?}", world.notes);
    leader
}

#[test]
fn another_one_leads_and_moves_nothing() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(10);
    let before = (world.bases(), world.assignments());
    lose_leader(&mut world);
    world.run_secs(60);
    assert_eq!((world.bases(), world.assignments()), before);
    let leader = world.leader().unwrap();
    assert!(matches!(world.answer(leader, submit("words", "u")), Err(Refusal::AlreadyAlive(_))));
    assert!(world.answer(leader, submit("words", "t")).is_ok());
}

#[test]
fn a_pending_kill_survives_its_leader() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(10);
    world.answer(leader, kill("words", Some(20))).unwrap();
    world.run_secs(15);
    lose_leader(&mut world);
    world.run_secs(10);
    // It waits anew, as in Storm.
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Killed);
    world.run_secs(12);
    assert!(world.bases().is_empty() && world.assignments().is_empty());
}

#[test]
fn a_pending_rebalance_survives_its_leader() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(10);
    world.answer(leader, rebalance(20, 1)).unwrap();
    world.run_secs(15);
    lose_leader(&mut world);
    world.run_secs(60);
    let (_, base) = world.bases().remove(0);
    assert_eq!((base.status, base.num_workers), (TopologyStatus::Active, 1));
    assert_eq!(slots(&world.assignments()[0].1).len(), 1);
}

#[test]
fn a_leader_that_is_cut_off_stops_and_a_deposed_one_writes_nothing() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.answer(leader, submit("words", "t")).unwrap();
    world.run_secs(10);
    world.store(leader).disconnect();
    world.settle();
    assert!(!world.is_leading(leader));
    let refused = world.answer(leader, kill("words", Some(0)));
    assert_eq!(refused, Err(Refusal::NotLeader { leader: None }));
    // It comes back in time, and leads again.
    world.store(leader).reconnect(0).unwrap();
    world.run_secs(1);
    assert_eq!(world.leader(), Some(leader));
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Active);

    // It does not come back in time.
    let writes = world.daemons[leader].writes;
    world.store(leader).expire();
    world.run_secs(5);
    assert_eq!(world.leader(), Some(1 - leader));
    assert_eq!(world.daemons[leader].writes, writes);
    world.store(leader).reopen(0);
    world.run_secs(5);
    assert_eq!(world.leader(), Some(1 - leader));
}

#[test]
fn a_leader_whose_place_was_deleted_writes_nothing_and_queues_up_again() {
    let mut world = world(&["n1"]);
    world.run_secs(1);
    let place = world.paths().into_iter().find(|path| path.starts_with("/storm/leader-lock/_c_")).unwrap();
    // It does not hear of it.
    world.store(0).hold_watches(true);
    let path = ringstorm_store::path::ZnodePath::new(&place).unwrap();
    let observer = world.observer();
    world.ensemble.with(|ensemble| {
        let _ = ensemble.perform(observer, &ringstorm_store::operation::Operation::delete(path));
    });
    let id = world.ask(0, submit("words", "t"));
    world.settle();
    assert!(world.bases().is_empty());
    world.store(0).hold_watches(false);
    world.run_for(Duration::from_secs(8));
    assert!(matches!(world.replies.remove(&id), Some(Err(Refusal::TryAgain(_)))), "{:#?}", world.notes);
    assert!(world.bases().is_empty());
    assert_eq!(world.leader(), Some(0));
    assert!(world.answer(0, submit("words", "t")).is_ok());
}

#[test]
fn a_missed_watch_is_made_good_by_looking() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    world.store(1 - leader).hold_watches(true);
    world.crash(leader);
    world.forget_sessions();
    world.store(1 - leader).drop_held_watches();
    world.run_secs(6);
    assert_eq!(world.leader(), Some(1 - leader));
    assert_eq!(world.answer(1 - leader, Request::Topologies), Ok(Reply::Topologies(Vec::new())));
}
