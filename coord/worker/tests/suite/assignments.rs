//! What a worker makes of the assignments that it sees.

use ringstorm_records::records::{StormBase, TopologyStatus};
use ringstorm_records::znode::Node;
use ringstorm_worker::{StopReason, WorkerEffect, WorkerInput};

use crate::rig::{Rig, base, peer, slot, topology};

const AS_BEFORE: [(&str, &[i64]); 2] = [("alpha", &[1, 4]), ("beta", &[2, 3])];

fn node() -> Node {
    Node::Assignment { topology: topology() }
}

fn beat() -> Node {
    Node::WorkerBeat { topology: topology(), slot: slot("alpha") }
}

#[test]
fn the_first_assignment_starts_the_cores_and_others_follow_as_they_are_written() {
    let mut rig = Rig::running();
    assert_eq!(rig.told(), ["assign 7", "active true"]);
    rig.assign(8, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.settle();
    let effects = rig.taken();
    let [WorkerEffect::Assign(assignment)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((assignment.version, assignment.active, assignment.workers.len()), (8, true, 2));
    assert_eq!(assignment.position_of(peer("gamma", 0).worker), Some(1));
    assert_eq!(assignment.workers[1].address, "gamma.example:6700");
    // The same once more is no news.
    rig.assign(8, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.work(30);
    assert_eq!(rig.told(), [""; 0]);
}

#[test]
fn a_lost_watch_is_mended_by_a_look() {
    let mut rig = Rig::running();
    rig.told();
    rig.store.hold_watches(true);
    rig.assign(8, &AS_BEFORE);
    rig.store.drop_held_watches();
    rig.work(11);
    assert_eq!(rig.told(), ["assign 8"]);
}

#[test]
fn an_older_assignment_is_left_wherever_the_newer_one_was_seen() {
    let mut rig = Rig::running();
    rig.told();
    rig.assign(6, &AS_BEFORE);
    rig.settle();
    let notes = rig.notes();
    assert_eq!(notes, ["assignment 6 is left: there is an assignment 7"]);
    rig.work(30);
    assert_eq!(rig.notes(), [""; 0], "it is said once");
    // A peer runs assignment 9, which is not in the tree any more, or not yet.
    rig.assign(7, &AS_BEFORE);
    rig.offered(peer("beta", 50), 9);
    rig.assign(8, &AS_BEFORE);
    rig.settle();
    rig.assign(9, &AS_BEFORE);
    rig.settle();
    assert_eq!(rig.told(), ["assign 9"]);
}

#[test]
fn a_newer_assignment_of_a_peer_is_looked_for_at_once_and_behind_everything_that_was_written() {
    let mut rig = Rig::running();
    rig.told();
    rig.ensemble.with(|ensemble| ensemble.hold(0));
    rig.assign(8, &AS_BEFORE);
    rig.settle();
    assert_eq!(rig.told(), [""; 0], "the member does not know it yet");
    rig.offered(peer("beta", 50), 8);
    assert_eq!(rig.control.assignment().unwrap().version, 8);
}

#[test]
fn a_worker_whose_topology_has_no_assignment_any_more_ends_after_two_fresh_looks() {
    let mut rig = Rig::running();
    rig.told();
    assert!(rig.read::<ringstorm_records::records::ClusterWorkerHeartbeat>(&beat()).is_some());
    rig.remove(&node());
    rig.settle();
    assert_eq!(rig.told(), [""; 0], "one look is not enough");
    rig.pass(2);
    assert_eq!(rig.told(), ["stop NoAssignment"]);
    assert!(rig.read::<ringstorm_records::records::ClusterWorkerHeartbeat>(&beat()).is_none(), "its beat goes with it");
    rig.pass(60);
    assert_eq!(rig.told(), [""; 0]);
}

#[test]
fn an_assignment_that_was_away_for_a_moment_ends_nothing() {
    let mut rig = Rig::running();
    rig.told();
    rig.remove(&node());
    rig.settle();
    rig.assign(8, &AS_BEFORE);
    rig.work(30);
    assert_eq!(rig.told(), ["assign 8"]);
}

#[test]
fn what_a_lagging_member_does_not_know_yet_ends_nothing() {
    let mut rig = Rig::silent();
    rig.settle();
    // The member knows of nothing.
    rig.ensemble.with(|ensemble| ensemble.hold(0));
    rig.write(&Node::Storm { topology: topology() }, &base(TopologyStatus::Active, None));
    rig.assign(7, &AS_BEFORE);
    rig.pass(5);
    assert_eq!(rig.told(), ["assign 7"]);
}

#[test]
fn a_worker_whose_slot_has_other_executors_or_none_ends() {
    for (places, why) in [
        ([("alpha", &[1, 3][..]), ("beta", &[2, 4])], StopReason::OtherExecutors),
        ([("gamma", &[1, 4]), ("beta", &[2, 3])], StopReason::NothingAssigned),
    ] {
        let mut rig = Rig::running();
        rig.told();
        rig.assign(8, &places);
        rig.settle();
        assert_eq!(rig.told(), [format!("stop {why:?}")]);
        assert_eq!(rig.control.is_over(), Some(why));
    }
}

#[test]
fn a_worker_whose_topology_has_other_numbers_of_executors_ends() {
    let mut rig = Rig::running();
    rig.told();
    let mut rebalanced: StormBase = base(TopologyStatus::Active, None);
    rebalanced.component_executors.as_mut().unwrap().insert("count".into(), 1);
    rig.write(&Node::Storm { topology: topology() }, &rebalanced);
    rig.settle();
    assert_eq!(rig.told(), [""; 0], "the assignment is still made for what runs");
    let mut record = crate::rig::assignment(8, &[("alpha", &[1, 4])]);
    let beta = crate::rig::assignment(8, &[("beta", &[2])]).executor_node_port.into_values().next().unwrap();
    record.executor_node_port.insert(vec![2, 3], beta);
    rig.write(&node(), &record);
    rig.settle();
    assert_eq!(rig.told(), ["stop OtherNumbering"]);
}

#[test]
fn what_cannot_be_read_or_used_is_noted_once_and_changes_nothing() {
    let mut rig = Rig::running();
    rig.told();
    rig.write_bytes(&node(), b"garbage".to_vec());
    rig.work(30);
    let notes = rig.notes();
    assert!(notes.len() == 1 && notes[0].contains("cannot be read"), "{notes:?}");
    rig.assign(8, &[("alpha", &[1, 4]), ("beta", &[2, 3, 5])]);
    rig.work(30);
    let effects = rig.taken();
    let [WorkerEffect::Note(note)] = &effects[..] else { panic!("{effects:?}") };
    assert!(note.contains("executor") && note.contains("what runs goes on"), "{note}");
    rig.assign(9, &AS_BEFORE);
    rig.settle();
    assert_eq!(rig.told(), ["assign 9"]);
}

#[test]
fn a_worker_that_is_asked_to_end_takes_its_beat_with_it() {
    let mut rig = Rig::running();
    rig.taken();
    rig.tell(WorkerInput::End);
    assert_eq!(rig.told(), ["stop Asked"]);
    assert!(rig.read::<ringstorm_records::records::ClusterWorkerHeartbeat>(&beat()).is_none());
    // Asked again, it ends no other way.
    rig.tell(WorkerInput::End);
    assert!(rig.told().is_empty());
}
