//! How a worker says that it lives.

use std::collections::BTreeMap;

use ringstorm_control::machine::Machine;
use ringstorm_control::time::Moment;
use ringstorm_records::records::{ClusterWorkerHeartbeat, ExecutorInfo, ExecutorSpecificStats};
use ringstorm_records::znode::Node;
use ringstorm_store::memory::Loss;
use ringstorm_worker::{CoresEvent, WorkerInput};

use crate::rig::{Rig, peer, slot, topology};

fn beat(rig: &Rig) -> Option<(ClusterWorkerHeartbeat, i32)> {
    rig.read(&Node::WorkerBeat { topology: topology(), slot: slot("alpha") })
}

fn version(rig: &Rig) -> i32 {
    beat(rig).unwrap().1
}

fn executor(first: i32, last: i32) -> ExecutorInfo {
    ExecutorInfo { task_start: first, task_end: last }
}

#[test]
fn a_worker_beats_from_its_start_and_names_its_executors_when_they_exist() {
    let mut rig = Rig::silent();
    rig.settle();
    let (first, _) = beat(&rig).unwrap();
    assert_eq!((first.storm_id.as_str(), first.executor_stats.len(), first.uptime_secs), (crate::rig::TOPOLOGY, 0, 0));
    let mut rig = Rig::running();
    rig.work(3);
    let (later, _) = beat(&rig).unwrap();
    let executors: Vec<_> = later.executor_stats.keys().cloned().collect();
    assert_eq!(executors, [executor(-1, -1), executor(1, 1), executor(4, 4)]);
    assert!(matches!(later.executor_stats[&executor(4, 4)].specific, ExecutorSpecificStats::Spout(_)));
    assert!(matches!(later.executor_stats[&executor(1, 1)].specific, ExecutorSpecificStats::Bolt(_)));
    assert_eq!((later.uptime_secs, later.time_secs), (3, 1_795_972_903));
}

#[test]
fn the_node_is_written_anew_every_three_seconds() {
    let mut rig = Rig::running();
    let before = version(&rig);
    rig.work(30);
    assert_eq!(version(&rig) - before, 10);
}

#[test]
fn a_core_that_ends_no_turn_stops_the_beats_until_it_does() {
    let mut rig = Rig::running();
    rig.taken();
    let since = rig.now().moment;
    let only_the_other = |rig: &Rig| CoresEvent::Progress(vec![rig.now().moment, since]);
    let mut versions = Vec::new();
    for _ in 0..60 {
        rig.pass(1);
        let progress = only_the_other(&rig);
        rig.cores(progress);
        versions.push(version(&rig));
    }
    assert!(versions[28] > versions[20] && versions[59] == versions[30], "{versions:?}");
    let notes = rig.notes();
    assert!(notes.len() == 1 && notes[0].contains("core 1 has not ended a turn for 30 s"), "{notes:?}");
    rig.turns();
    assert!(version(&rig) > versions[59], "at once");
    assert_eq!(rig.notes(), ["every core goes on: so do the beats"]);
}

#[test]
fn a_reading_that_never_comes_stops_the_beats_too() {
    let mut rig = Rig::running();
    rig.pass(60);
    let before = version(&rig);
    rig.pass(60);
    assert_eq!(version(&rig), before);
}

#[test]
fn turns_that_are_still_to_come_count_as_now() {
    let mut rig = Rig::running();
    rig.cores(CoresEvent::Progress(vec![Moment(std::time::Duration::MAX); 2]));
    rig.pass(60);
    let before = version(&rig);
    rig.pass(60);
    assert_eq!(version(&rig), before);
}

#[test]
fn figures_stand_in_the_next_beat() {
    let mut rig = Rig::running();
    let mut figures = beat(&rig).unwrap().0.executor_stats.remove(&executor(4, 4)).unwrap();
    figures.emitted.insert(":all-time".into(), BTreeMap::from([("default".into(), 12)]));
    // Those of an executor that is not here stand nowhere.
    let both = [(executor(4, 4), figures.clone()), (executor(9, 9), figures.clone())];
    rig.cores(CoresEvent::Statistics(both.into()));
    rig.work(3);
    let (later, _) = beat(&rig).unwrap();
    assert_eq!(later.executor_stats[&executor(4, 4)], figures);
    assert_eq!(later.executor_stats.len(), 3);
}

#[test]
fn a_beat_of_which_nobody_knows_is_followed_by_another_one() {
    let mut rig = Rig::running();
    rig.taken();
    for loss in [Loss::BeforeItWasDone, Loss::AfterItWasDone] {
        let before = version(&rig);
        rig.store.lose_next(loss);
        rig.work(4);
        assert!(version(&rig) > before);
    }
    assert_eq!(rig.notes().len(), 2);
}

#[test]
fn a_beat_says_which_assignment_runs_or_the_newest_one_if_the_tree_was_set_back() {
    let mut rig = Rig::running();
    let said = |rig: &Rig| beat(rig).unwrap().0.version;
    assert_eq!(said(&rig), Some(7));
    rig.offered(peer("beta", 50), 9);
    rig.work(3);
    assert_eq!(said(&rig), Some(9), "somebody runs what the tree does not have any more");
    rig.assign(10, &[("alpha", &[1, 4]), ("beta", &[2, 3])]);
    rig.work(3);
    assert_eq!(said(&rig), Some(10));
}

#[test]
fn whoever_ends_has_taken_leave_when_its_beat_is_gone() {
    let mut rig = Rig::running();
    assert!(!rig.control.has_taken_leave());
    let effects = rig.control.handle(rig.now(), WorkerInput::End);
    assert!(!rig.control.has_taken_leave(), "it is asked for and not done: {effects:?}");
    let mut rig = Rig::running();
    rig.tell(WorkerInput::End);
    assert!(rig.control.has_taken_leave());
}
