//! When spouts emit, rest, and finish.

use ringstorm_records::records::{KillOptions, RebalanceOptions, TopologyActionOptions, TopologyStatus};
use ringstorm_records::znode::Node;
use ringstorm_worker::CoresEvent;

use crate::rig::{Rig, base, topology};

fn become_of(rig: &mut Rig, status: TopologyStatus, options: Option<TopologyActionOptions>) -> Vec<String> {
    rig.write(&Node::Storm { topology: topology() }, &base(status, options));
    rig.settle();
    rig.told()
}

fn killed(wait_secs: Option<i32>) -> Option<TopologyActionOptions> {
    Some(TopologyActionOptions::KillOptions(KillOptions { wait_secs, ..KillOptions::default() }))
}

fn rebalanced(wait_secs: Option<i32>) -> Option<TopologyActionOptions> {
    Some(TopologyActionOptions::RebalanceOptions(RebalanceOptions { wait_secs, ..RebalanceOptions::default() }))
}

#[test]
fn spouts_wait_until_every_connection_was_ready() {
    let mut rig = Rig::silent();
    assert_eq!(become_of(&mut rig, TopologyStatus::Active, None), [""; 0]);
    rig.assign(7, &[("alpha", &[1, 4]), ("beta", &[2, 3])]);
    rig.settle();
    rig.cores(CoresEvent::Started);
    rig.work(60);
    assert_eq!(rig.told(), ["assign 7"]);
    rig.cores(CoresEvent::Ready);
    assert_eq!(rig.told(), ["active true"]);
}

#[test]
fn spouts_of_an_inactive_topology_stay_as_they_are() {
    let mut rig = Rig::silent();
    become_of(&mut rig, TopologyStatus::Inactive, None);
    rig.assign(7, &[("alpha", &[1, 4]), ("beta", &[2, 3])]);
    rig.settle();
    rig.cores(CoresEvent::Started);
    rig.cores(CoresEvent::Ready);
    assert_eq!(rig.told(), ["assign 7"]);
    assert_eq!(become_of(&mut rig, TopologyStatus::Killed, killed(Some(5))), [""; 0], "there is nothing to finish");
}

#[test]
fn spouts_follow_the_status() {
    let mut rig = Rig::running();
    rig.told();
    assert_eq!(become_of(&mut rig, TopologyStatus::Inactive, None), ["active false"]);
    assert_eq!(become_of(&mut rig, TopologyStatus::Active, None), ["active true"]);
    assert_eq!(become_of(&mut rig, TopologyStatus::Active, None), [""; 0]);
    assert_eq!(become_of(&mut rig, TopologyStatus::from_number(9), None), [""; 0], "nobody knows that one");
}

#[test]
fn a_kill_and_a_rebalance_let_spouts_finish_for_as_long_as_they_wait() {
    let mut rig = Rig::running();
    rig.told();
    assert_eq!(become_of(&mut rig, TopologyStatus::Rebalancing, rebalanced(Some(7))), ["drain 7"]);
    assert_eq!(become_of(&mut rig, TopologyStatus::Active, rebalanced(Some(7))), ["active true"]);
    // The options are those of the last rebalance.
    assert_eq!(become_of(&mut rig, TopologyStatus::Killed, rebalanced(Some(7))), ["drain 30"]);
    let mut rig = Rig::running();
    rig.told();
    assert_eq!(become_of(&mut rig, TopologyStatus::Killed, killed(Some(-3))), ["drain 0"]);
}

#[test]
fn a_base_that_is_gone_or_unreadable_changes_nothing() {
    let mut rig = Rig::running();
    rig.told();
    let node = Node::Storm { topology: topology() };
    rig.write_bytes(&node, b"garbage".to_vec());
    rig.work(30);
    assert_eq!(rig.notes().len(), 1);
    rig.remove(&node);
    rig.work(30);
    assert_eq!(rig.told(), [""; 0]);
}
