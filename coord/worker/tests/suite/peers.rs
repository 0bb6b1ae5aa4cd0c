//! Which processes of other workers are heard.

use ringstorm_records::records::ClusterWorkerHeartbeat;
use ringstorm_records::znode::Node;
use ringstorm_worker::{PeerEvent, StopReason, WorkerEffect, WorkerInput};

use crate::rig::{INCARNATION, Rig, peer, short, slot, topology};

fn offered(rig: &mut Rig, supervisor: &str, incarnation: u64, version: i64) -> Vec<String> {
    rig.offered(peer(supervisor, incarnation), version).iter().filter_map(short).collect()
}

#[test]
fn the_newest_process_of_a_worker_is_accepted_and_older_ones_are_not() {
    let mut rig = Rig::running();
    rig.taken();
    assert_eq!(offered(&mut rig, "beta", 50, 7), ["accept 50"]);
    assert_eq!(offered(&mut rig, "beta", 50, 7), ["accept 50"], "each core has connections of its own");
    assert_eq!(offered(&mut rig, "beta", 60, 7), ["renew 60", "accept 60"], "the old connections go first");
    assert_eq!(offered(&mut rig, "beta", 50, 7), ["refuse 50"]);
    let effects = rig.offered(peer("beta", 59), 7);
    let [WorkerEffect::Refuse { why, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(why.contains("incarnation 59") && why.contains("60 is known"), "{why}");
}

#[test]
fn who_has_nothing_to_do_with_this_worker_is_refused() {
    let mut rig = Rig::running();
    rig.taken();
    assert_eq!(offered(&mut rig, "gamma", 50, 7), ["refuse 50"]);
    assert_eq!(offered(&mut rig, "alpha", 5_000, 7), ["refuse 5000"], "somebody says that it is this worker");
    let mut rig = Rig::silent();
    assert_eq!(offered(&mut rig, "beta", 50, 7), ["refuse 50"], "there is no assignment yet");
}

#[test]
fn who_ran_what_another_process_runs_now_is_of_the_past() {
    let mut rig = Rig::running();
    offered(&mut rig, "beta", 50, 7);
    offered(&mut rig, "gamma", 50, 7);
    rig.assign(8, &[("alpha", &[1, 4]), ("beta", &[2]), ("gamma", &[3])]);
    rig.settle();
    assert_eq!(rig.told(), ["renew 51", "assign 8"]);
    assert_eq!(offered(&mut rig, "beta", 50, 8), ["refuse 50"]);
    assert_eq!(offered(&mut rig, "beta", 70, 8), ["renew 70", "accept 70"]);
    assert_eq!(offered(&mut rig, "gamma", 50, 8), ["accept 50"]);
}

#[test]
fn who_had_nothing_to_run_for_a_while_comes_back_as_another_process() {
    let mut rig = Rig::running();
    offered(&mut rig, "beta", 50, 7);
    rig.assign(8, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.settle();
    assert_eq!(rig.told(), ["renew 51", "assign 8"]);
    rig.assign(9, &[("alpha", &[1, 4]), ("beta", &[2, 3])]);
    rig.settle();
    rig.taken();
    assert_eq!(offered(&mut rig, "beta", 50, 7), ["refuse 50"], "it thawed late");
}

#[test]
fn a_successor_that_was_faster_than_the_assignment_stays() {
    let mut rig = Rig::running();
    offered(&mut rig, "beta", 50, 7);
    rig.store.disconnect();
    rig.settle();
    rig.taken();
    assert_eq!(offered(&mut rig, "beta", 60, 8), ["renew 60", "accept 60"]);
    rig.assign(8, &[("alpha", &[1, 4]), ("beta", &[2]), ("gamma", &[3])]);
    rig.store.reconnect(0).unwrap();
    rig.settle();
    assert_eq!(rig.told(), ["assign 8"]);
    assert_eq!(offered(&mut rig, "beta", 60, 8), ["accept 60"]);
}

#[test]
fn a_process_whose_place_was_taken_ends_and_leaves_the_beat_to_the_newer_one() {
    let mut rig = Rig::running();
    rig.taken();
    rig.tell(WorkerInput::Peer(PeerEvent::RefusedAsStale { newest: INCARNATION }));
    assert_eq!(rig.told(), [""; 0], "that is this process");
    rig.tell(WorkerInput::Peer(PeerEvent::RefusedAsStale { newest: 2_000 }));
    let effects = rig.taken();
    let [WorkerEffect::Stop { why }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(*why, StopReason::Superseded { newest: 2_000 });
    assert!(why.to_string().contains("2000"), "{why}");
    let beat = Node::WorkerBeat { topology: topology(), slot: slot("alpha") };
    assert!(rig.read::<ClusterWorkerHeartbeat>(&beat).is_some());
    assert_eq!(offered(&mut rig, "beta", 50, 7), ["refuse 50"]);
}

#[test]
fn a_lost_connection_is_a_reason_to_look() {
    let mut rig = Rig::running();
    rig.taken();
    rig.store.hold_watches(true);
    rig.assign(8, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.store.drop_held_watches();
    rig.pass(2);
    rig.tell(WorkerInput::Peer(PeerEvent::Lost { peer: peer("beta", 50) }));
    assert_eq!(rig.told(), ["assign 8"]);
}

#[test]
fn an_assignment_that_somebody_runs_by_is_looked_for_and_none_before_it_is_taken() {
    let mut rig = Rig::running();
    rig.taken();
    rig.tell(WorkerInput::Peer(PeerEvent::Ahead { version: 9 }));
    assert_eq!(rig.control.generations().newest_version(), 9);
    rig.assign(8, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.settle();
    assert!(rig.told().is_empty(), "it was set back");
    rig.assign(9, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.settle();
    assert_eq!(rig.told(), ["assign 9"]);
}
