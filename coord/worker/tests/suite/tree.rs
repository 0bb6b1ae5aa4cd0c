//! Losing the tree, and what else is read there.

use ringstorm_records::records::{LogConfig, LogLevel, LogLevelAction};
use ringstorm_records::znode::Node;
use ringstorm_worker::PeerEvent;
use ringstorm_worker::WorkerInput;

use crate::rig::{Rig, peer, topology};

#[test]
fn a_worker_without_the_tree_runs_on_and_hears_its_peers() {
    let mut rig = Rig::running();
    rig.told();
    rig.store.expire();
    rig.pass(3_600);
    assert_eq!(rig.told(), [""; 0]);
    assert_eq!(rig.offered(peer("beta", 50), 7).len(), 1);
    // Everything is said and read anew.
    rig.assign(8, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.turns();
    rig.store.reopen(1);
    rig.settle();
    assert_eq!(rig.told(), ["renew 51", "assign 8"]);
}

#[test]
fn what_changed_behind_an_interruption_is_seen_after_it() {
    let mut rig = Rig::running();
    rig.told();
    rig.store.disconnect();
    rig.assign(8, &[("alpha", &[1, 4]), ("gamma", &[2, 3])]);
    rig.pass(5);
    assert_eq!(rig.told(), [""; 0]);
    rig.store.reconnect(1).unwrap();
    rig.settle();
    assert_eq!(rig.told(), ["assign 8"]);
}

#[test]
fn trouble_is_noted_once_and_tried_again_with_pauses() {
    let mut rig = Rig::running();
    rig.told();
    rig.store.hold_operations();
    rig.tell(WorkerInput::Peer(PeerEvent::Lost { peer: peer("beta", 50) }));
    rig.pass(2);
    // What was under way is in doubt, and the session goes on elsewhere.
    rig.store.disconnect();
    rig.settle();
    let notes = rig.notes();
    assert!(notes.iter().any(|note| note.contains("what runs goes on")), "{notes:?}");
    rig.work(60);
    rig.store.reconnect(1).unwrap();
    rig.work(2);
    assert_eq!(rig.notes(), ["the tree can be read again"]);
}

#[test]
fn levels_of_loggers_are_passed_on_when_they_change() {
    let mut rig = Rig::running();
    rig.told();
    let node = Node::LogConfig { topology: topology() };
    let level = LogLevel {
        action: LogLevelAction::Update,
        target_log_level: Some("DEBUG".into()),
        reset_log_level_timeout_secs: Some(30),
        reset_log_level_timeout_epoch: None,
        reset_log_level: None,
        unknown: Default::default(),
    };
    let levels = LogConfig { named_logger_level: Some([("words".into(), level)].into()), ..LogConfig::default() };
    rig.write(&node, &levels);
    rig.work(30);
    assert_eq!(rig.told(), ["levels 1"]);
    rig.write_bytes(&node, b"garbage".to_vec());
    rig.work(30);
    assert_eq!(rig.notes().len(), 1);
    rig.remove(&node);
    rig.settle();
    assert_eq!(rig.told(), ["levels 0"]);
}
