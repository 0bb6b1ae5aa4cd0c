//! Nodes that somebody damaged or deleted.

use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::records::TopologyStatus;

use crate::life::{kill, rebalance, submit, world};

#[test]
fn a_leader_sees_to_it_that_the_node_that_says_so_does() {
    let mut world = world(&["n1", "n2"]);
    let leader = world.leader().unwrap();
    let path = "/storm/storm/leader-info";
    let whole = world.data(path).unwrap();
    let others = String::from_utf8_lossy(&whole).replace(&format!("n{}", leader + 1), "n9").into_bytes();
    for damage in [Some(b"garbage".to_vec()), Some(Vec::new()), Some(others), None] {
        let noted = world.notes.len();
        world.damage(path, damage.clone());
        world.run_secs(25);
        assert!(matches!(world.answer(1 - leader, Request::Leader), Ok(Reply::Leader(_))), "{damage:?}");
        // All but the times of its writes is as it was.
        assert_eq!(world.data(path).as_ref(), Some(&whole), "{damage:?}");
        let said = world.notes[noted..].iter().filter(|note| note.contains("should say that this nimbus leads"));
        assert_eq!(said.count(), 1, "{damage:?}: {:#?}", world.notes);
    }
    assert_eq!(world.leader(), Some(leader));
}

#[test]
fn a_rebalance_of_what_has_a_damaged_assignment_is_refused_with_a_way_out() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(10);
    let path = format!("/storm/assignments/{}", world.bases()[0].0);
    let whole = world.data(&path).unwrap();
    world.damage(&path, Some(b"garbage".to_vec()));
    let Err(Refusal::IllegalState(why)) = world.answer(0, rebalance(1, 1)) else { panic!("it is taken") };
    assert!(
        why.contains(&format!("its node {path} cannot be read: ")) && why.contains("put back what it held, or kill"),
        "{why}"
    );
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Active);
    // Once it is put back all is well.
    world.damage(&path, Some(whole));
    assert_eq!(world.answer(0, rebalance(1, 1)), Ok(Reply::Done));
    world.run_secs(10);
    assert_eq!((world.bases()[0].1.status, world.bases()[0].1.num_workers), (TopologyStatus::Active, 1));
}

#[test]
fn a_rebalance_of_what_no_nimbus_holds_is_refused_at_once_when_that_is_known() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(10);
    let directory = std::mem::take(&mut world.daemons[0].directory);
    world.crash(0);
    world.forget_sessions();
    world.start(0);
    world.run_secs(10);
    // One that holds it may be on its way.
    assert!(matches!(world.answer(0, rebalance(1, 1)), Err(Refusal::TryAgain(_))));
    world.run_secs(60);
    let Err(Refusal::IllegalState(why)) = world.answer(0, rebalance(1, 1)) else { panic!("it is to be tried again") };
    assert!(why.contains("no nimbus that lives holds its code; bring back one that does, or kill it"), "{why}");
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Active);
    world.daemons[0].directory = directory;
    world.crash(0);
    world.forget_sessions();
    world.start(0);
    world.run_secs(10);
    assert_eq!(world.answer(0, rebalance(1, 1)), Ok(Reply::Done));
    assert_eq!(world.answer(0, kill("words", Some(1))), Ok(Reply::Done));
}
