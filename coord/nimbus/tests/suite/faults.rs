//! Outcomes that nobody knows, and reads that fail.

use std::time::Duration;

use ringstorm_nimbus::interface::{Refusal, Reply};
use ringstorm_records::records::TopologyStatus;
use ringstorm_store::memory::Loss;

use crate::life::{kill, rebalance, submit, world};
use crate::world::slots;

#[test]
fn whichever_write_of_a_submission_is_lost_it_is_asked_again() {
    for loss in [Loss::BeforeItWasDone, Loss::AfterItWasDone] {
        for at in 0..40 {
            let mut world = world(&["n1"]);
            let id = world.ask(0, submit("words", "t"));
            let before = world.daemons[0].writes;
            world.lose_after(0, at, loss);
            world.run_secs(10);
            let reply = world.replies.remove(&id).unwrap();
            assert!(matches!(reply, Ok(Reply::Submitted { .. })), "{reply:?} {:#?}", world.notes);
            assert_eq!(world.bases().len(), 1);
            assert_eq!(slots(&world.assignments()[0].1).len(), 2);
            if world.daemons[0].writes - before < at {
                break;
            }
        }
    }
}

#[test]
fn a_topology_that_is_killed_while_its_submission_is_in_doubt_stays_killed() {
    let mut caught = 0;
    for (at, wait) in (0..40).flat_map(|at| [(at, Some(0)), (at, Some(20))]) {
        let mut world = world(&["n1"]);
        let submission = world.ask(0, submit("words", "t"));
        world.lose_after(0, at, Loss::AfterItWasDone);
        let mut steps = 0;
        while world.bases().is_empty() {
            steps += 1;
            assert!(steps < 10_000, "{:#?}", world.notes);
            world.run_for(Duration::from_millis(5));
        }
        caught += u32::from(!world.replies.contains_key(&submission));
        assert_eq!(world.answer(0, kill("words", wait)), Ok(Reply::Done));
        world.run_for(Duration::from_millis(1));
        let reply = world.replies.remove(&submission).unwrap();
        assert!(matches!(reply, Ok(Reply::Submitted { .. })), "{reply:?} {:#?}", world.notes);
        for _ in 0..10 {
            world.run_secs(1);
            assert!(world.bases().iter().all(|(_, base)| base.status == TopologyStatus::Killed), "{at} {wait:?}");
        }
        world.run_secs(20);
        assert!(world.bases().is_empty(), "{at} {wait:?} {:#?}", world.notes);
    }
    assert!(caught > 0, "no kill met a submission that was in doubt");
}

#[test]
fn whichever_write_of_a_rebalance_and_a_kill_is_lost_it_is_asked_again() {
    for loss in [Loss::BeforeItWasDone, Loss::AfterItWasDone] {
        for at in 0..15 {
            let mut world = world(&["n1"]);
            world.answer(0, submit("words", "t")).unwrap();
            world.run_secs(5);
            world.lose_after(0, at, loss);
            assert_eq!(world.answer(0, rebalance(1, 1)), Ok(Reply::Done));
            world.run_secs(20);
            let (_, base) = world.bases().remove(0);
            assert_eq!((base.status, base.num_workers), (TopologyStatus::Active, 1), "{at} {:#?}", world.notes);
            assert_eq!(slots(&world.assignments()[0].1).len(), 1);
            world.lose_after(0, at, loss);
            assert_eq!(world.answer(0, kill("words", Some(1))), Ok(Reply::Done));
            world.run_secs(20);
            assert!(world.bases().is_empty() && world.assignments().is_empty());
        }
    }
}

#[test]
fn a_leader_that_is_cut_off_in_a_write_says_that_it_does_not_know() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(5);
    let mut answers = Vec::new();
    for done in 0..8 {
        world.store(0).hold_operations();
        let id = world.ask(0, kill("words", Some(1000 + done)));
        for _ in 0..done {
            world.store(0).do_held(1);
            world.settle();
        }
        world.store(0).do_held_and_disconnect(1);
        world.settle();
        if let Some(reply) = world.replies.remove(&id) {
            answers.push(reply);
        }
        world.store(0).reconnect(0).unwrap();
        world.run_secs(5);
        assert_eq!(world.leader(), Some(0));
    }
    let is_unknown = |reply: &Result<Reply, Refusal>| matches!(reply, Err(Refusal::Unknown(_)));
    assert!(answers.iter().any(is_unknown), "{answers:?}");
    assert!(!answers.iter().any(|reply| matches!(reply, Err(Refusal::NotAlive(_)))), "{answers:?}");
}

#[test]
fn a_submission_that_is_asked_for_again_while_it_is_in_doubt_is_in_doubt() {
    let is_unknown = |reply: &Result<Reply, Refusal>| matches!(reply, Err(Refusal::Unknown(_)));
    let mut in_doubt = 0;
    for at in 0..60 {
        let mut world = world(&["n1"]);
        world.store(0).hold_operations();
        let [first, again, other] =
            [("words", "t"), ("words", "t"), ("bees", "u")].map(|(name, token)| world.ask(0, submit(name, token)));
        for _ in 0..at {
            world.store(0).do_held(1);
            world.settle();
        }
        world.store(0).do_held_and_disconnect(1);
        world.settle();
        let replies = [first, again, other].map(|id| world.replies.remove(&id));
        let [Some(first), Some(again), Some(other)] = replies else { continue };
        in_doubt += u32::from(is_unknown(&first));
        assert_eq!(is_unknown(&first), is_unknown(&again), "{at}: {first:?} {again:?}");
        assert!(matches!(other, Err(Refusal::TryAgain(_))), "{at}: {other:?}");
    }
    assert!(in_doubt > 0, "no submission was cut off where it matters");
}

#[test]
fn garbage_in_the_tree_is_named_and_left_alone() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(5);
    let observer = world.observer();
    let topology = world.bases()[0].0.clone();
    for folder in ["storms", "assignments"] {
        let path = ringstorm_store::path::ZnodePath::new(&format!("/storm/{folder}/{topology}")).unwrap();
        world.ensemble.with(|ensemble| {
            let _ = ensemble.perform(observer, &ringstorm_store::operation::Operation::set(path, b"garbage".to_vec()));
        });
    }
    let before = world.paths();
    world.run_secs(700);
    assert_eq!(world.paths(), before);
    let said = world.notes.iter().filter(|note| note.contains("/storm/storms/") && note.contains("cannot be read"));
    assert_eq!(said.count(), 1, "{:#?}", world.notes);
    assert!(matches!(world.answer(0, submit("words", "u")), Err(Refusal::AlreadyAlive(_))));
}
