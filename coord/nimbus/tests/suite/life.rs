//! A topology's life.

use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::records::{KillOptions, RebalanceOptions, TopologyStatus};
use ringstorm_store::operation::Operation;
use ringstorm_store::path::ZnodePath;

use crate::topologies::submission;
use crate::world::{World, slots};

pub(crate) fn kill(name: &str, wait_secs: Option<i32>) -> Request {
    Request::Kill { name: name.into(), options: KillOptions { wait_secs, ..KillOptions::default() } }
}

pub(crate) fn submit(name: &str, token: &str) -> Request {
    Request::Submit(Box::new(submission(name, token, 2)))
}

/// A world with supervisors that have been there for a while, and a leader.
pub(crate) fn world(hosts: &[&str]) -> World {
    let mut world = World::new(hosts);
    world.run_secs(1);
    world.add_supervisor("a", &[6700, 6701]);
    world.add_supervisor("b", &[6700, 6701]);
    world.run_secs(15);
    world
}

#[test]
fn a_submission_has_a_base_and_an_assignment() {
    let mut world = world(&["n1"]);
    let Ok(Reply::Submitted { topology }) = world.answer(0, submit("words", "t")) else { panic!("it is refused") };
    assert!(topology.as_str().starts_with("words-1-"), "{topology}");
    world.run_secs(5);
    let bases = world.bases();
    assert_eq!(bases.len(), 1);
    assert_eq!(
        (bases[0].1.name.as_str(), bases[0].1.status, bases[0].1.num_workers),
        ("words", TopologyStatus::Active, 2)
    );
    let assignments = world.assignments();
    assert_eq!(assignments.len(), 1, "{:#?}", world.notes);
    // Two spouts, four bolts, an acker for each worker.
    assert_eq!(assignments[0].1.executor_node_port.len(), 8);
    assert_eq!(slots(&assignments[0].1).len(), 2);
    assert!(assignments[0].1.version.is_some_and(|version| version > 0));
    let Ok(Reply::Topologies(summaries)) = world.answer(0, Request::Topologies) else { panic!("it is refused") };
    let summary = &summaries[0];
    assert_eq!((summary.name.as_str(), summary.status.as_str()), ("words", "ACTIVE"));
    assert_eq!((summary.num_workers, summary.num_executors, summary.num_tasks), (2, 8, 8));
}

#[test]
fn a_name_that_is_taken_and_a_topology_that_is_not_valid_are_refused() {
    let mut world = world(&["n1"]);
    assert!(world.answer(0, submit("words", "t")).is_ok());
    assert_eq!(world.answer(0, submit("words", "u")), Err(Refusal::AlreadyAlive("words is already alive".into())));
    assert_eq!(world.answer(0, Request::IsTopologyNameAllowed { name: "words".into() }), Ok(Reply::Allowed(false)));
    assert!(matches!(world.answer(0, submit("a/b", "v")), Err(Refusal::InvalidTopology(_))));
    let mut invalid = submission("other", "w", 2);
    invalid.conf = "[]".into();
    assert!(matches!(world.answer(0, Request::Submit(Box::new(invalid))), Err(Refusal::InvalidTopology(_))));
    world.daemons[0].has_uploads = false;
    assert!(matches!(world.answer(0, submit("more", "x")), Err(Refusal::NoUpload(_))));
    assert_eq!(world.bases().len(), 1);
}

#[test]
fn the_same_submission_again_is_answered_as_the_first_time() {
    let mut world = world(&["n1"]);
    let first = world.answer(0, submit("words", "t"));
    assert!(first.is_ok());
    assert_eq!(world.answer(0, submit("words", "t")), first);
    assert_eq!(world.bases().len(), 1);
    // Without a token nobody can say that it is the same.
    assert!(matches!(world.answer(0, submit("words", "")), Err(Refusal::AlreadyAlive(_))));
}

#[test]
fn a_killed_topology_is_gone_after_its_wait_and_what_it_left_after_the_delay() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(10);
    assert_eq!(world.answer(0, kill("words", Some(8))), Ok(Reply::Done));
    world.run_secs(7);
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Killed);
    assert_eq!(world.assignments().len(), 1);
    world.run_secs(2);
    assert!(world.bases().is_empty() && world.assignments().is_empty());
    let remains = |world: &World| world.paths().iter().filter(|path| path.contains("words-1-")).count();
    assert!(remains(&world) > 0);
    assert_eq!(world.daemons[0].directory.len(), 3);
    world.run_secs(280);
    assert!(remains(&world) > 0);
    world.run_secs(60);
    assert_eq!(remains(&world), 0, "{:#?}", world.paths());
    assert!(world.daemons[0].directory.is_empty());
    let gone = Err(Refusal::NotAlive("words is not alive".into()));
    assert_eq!(world.answer(0, kill("words", None)), gone);
    assert_eq!(world.answer(0, Request::Activate { name: "words".into() }), gone);
}

#[test]
fn a_kill_that_says_no_wait_waits_for_the_time_out_of_messages() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.answer(0, kill("words", None)).unwrap();
    world.run_secs(29);
    assert_eq!(world.bases().len(), 1);
    world.run_secs(2);
    assert!(world.bases().is_empty());
}

#[test]
fn spouts_stop_and_go_on() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(10);
    let assignments = world.assignments();
    assert_eq!(world.answer(0, Request::Deactivate { name: "words".into() }), Ok(Reply::Done));
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Inactive);
    assert_eq!(world.answer(0, Request::Activate { name: "words".into() }), Ok(Reply::Done));
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Active);
    world.run_secs(10);
    assert_eq!(world.assignments(), assignments);
}

pub(crate) fn rebalance(wait_secs: i32, workers: i32) -> Request {
    let options = RebalanceOptions {
        wait_secs: Some(wait_secs),
        num_workers: Some(workers),
        num_executors: Some([("count".to_owned(), 2)].into()),
        topology_conf_overrides: Some(r#"{"topology.debug": true}"#.into()),
        ..RebalanceOptions::default()
    };
    Request::Rebalance { name: "words".into(), options }
}

#[test]
fn a_rebalance_takes_effect_after_its_wait() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(10);
    let version = world.assignments()[0].1.version;
    assert_eq!(world.answer(0, rebalance(8, 1)), Ok(Reply::Done));
    assert_eq!(world.bases()[0].1.status, TopologyStatus::Rebalancing);
    // The same again is the one that is waiting; another one is not.
    assert_eq!(world.answer(0, rebalance(8, 1)), Ok(Reply::Done));
    assert!(matches!(world.answer(0, rebalance(8, 2)), Err(Refusal::IllegalState(_))));
    world.run_secs(5);
    assert_eq!(world.bases()[0].1.num_workers, 2);
    world.run_secs(10);
    let (_, base) = world.bases().remove(0);
    assert_eq!(
        (base.status, base.num_workers, base.prev_status),
        (TopologyStatus::Active, 1, None),
        "{:#?}",
        world.notes
    );
    let (topology, assignment) = world.assignments().remove(0);
    assert_eq!(slots(&assignment).len(), 1);
    assert_eq!(assignment.executor_node_port.len(), 6);
    assert!(assignment.version > version);
    let conf = &world.daemons[0].directory[&crate::world::name(&format!("{topology}-stormconf.ser"))];
    assert_eq!(conf.number, 2);
    let ringstorm_nimbus::interface::Content::Conf(conf) = &conf.content else { panic!("no configuration") };
    assert_eq!(conf["topology.debug"], true);
}

#[test]
fn a_rebalance_that_makes_no_sense_is_refused() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    let options =
        RebalanceOptions { num_executors: Some([("nobody".to_owned(), 2)].into()), ..RebalanceOptions::default() };
    let request = Request::Rebalance { name: "words".into(), options };
    assert!(matches!(world.answer(0, request), Err(Refusal::InvalidTopology(_))));
}

#[test]
fn a_cluster_that_has_just_started_waits_for_supervisors() {
    let mut world = World::new(&["n1"]);
    world.run_secs(1);
    world.answer(0, submit("words", "t")).unwrap();
    world.add_supervisor("a", &[6700, 6701]);
    world.run_secs(5);
    assert!(world.assignments().is_empty());
    world.add_supervisor("b", &[6700, 6701]);
    world.run_secs(7);
    let assignments = world.assignments();
    let supervisors: std::collections::BTreeSet<_> =
        slots(&assignments[0].1).into_iter().map(|slot| slot.supervisor).collect();
    assert_eq!(supervisors.len(), 2);
}

#[test]
fn a_lost_host_is_left_and_a_supervisor_whose_workers_beat_is_not() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(20);
    let before = world.assignments();
    world.end_supervisor("a");
    world.run_secs(60);
    assert_eq!(world.assignments(), before);
    world.silent.insert("a".into());
    world.run_secs(40);
    let after = world.assignments();
    assert!(slots(&after[0].1).iter().all(|slot| slot.supervisor.as_str() == "b"), "{:#?}", world.notes);
}

#[test]
fn a_topology_whose_base_cannot_be_read_is_said_to_be_and_can_be_killed() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(10);
    let path = ZnodePath::new(&format!("/storm/storms/{}", world.bases()[0].0)).unwrap();
    let observer = world.observer();
    world
        .ensemble
        .with(|ensemble| drop(ensemble.perform(observer, &Operation::set(path.clone(), b"garbage".to_vec()))));
    let name = || "words".to_owned();
    for request in [
        Request::Activate { name: name() },
        Request::Deactivate { name: name() },
        rebalance(1, 1),
        Request::SetCredentials { name: name(), credentials: Default::default() },
    ] {
        let Err(Refusal::IllegalState(why)) = world.answer(0, request) else { panic!("it cannot be read") };
        assert!(
            why.contains(&format!("its node {path} cannot be read")) && why.contains("or kill the topology"),
            "{why}"
        );
    }
    assert_eq!(world.assignments().len(), 1);
    assert_eq!(world.answer(0, kill("words", Some(8))), Ok(Reply::Done));
    let (_, base) = &world.bases()[0];
    assert_eq!((base.name.as_str(), base.status), ("words", TopologyStatus::Killed));
    // What lists say of its age is true.
    assert!(path.name().ends_with(&format!("-{}", base.launch_time_secs.unwrap())), "{base:?}");
    world.run_secs(7);
    assert_eq!(world.assignments().len(), 1);
    world.run_secs(2);
    assert!(world.assignments().is_empty() && !world.paths().contains(&path.to_string()));
    world.run_secs(400);
    assert!(!world.paths().iter().any(|path| path.contains("words-1-")), "{:#?}", world.paths());
    assert!(world.daemons[0].directory.is_empty());
    assert_eq!(world.answer(0, kill("words", None)), Err(Refusal::NotAlive("words is not alive".into())));
}

#[test]
fn what_becomes_of_a_topology_stands_in_the_log_in_plain_words() {
    let mut world = world(&["n1"]);
    world.answer(0, submit("words", "t")).unwrap();
    world.run_secs(10);
    world.answer(0, Request::Deactivate { name: "words".into() }).unwrap();
    world.answer(0, Request::Activate { name: "words".into() }).unwrap();
    world.answer(0, rebalance(1, 1)).unwrap();
    world.run_secs(10);
    world.answer(0, kill("words", Some(2))).unwrap();
    world.run_secs(5);
    for wanted in [
        "since it had none: ",
        "is inactive",
        "is active",
        "is rebalancing, and placed anew in 1 s",
        "since it is rebalanced: ",
        "is rebalanced",
        "is killed, and removed in 2 s",
        "is gone",
    ] {
        assert!(world.notes.iter().any(|note| note.contains(wanted)), "{wanted}: {:#?}", world.notes);
    }
    for internal in ["REMOVE", "DO_REBALANCE", "INACTIVATE", "KILL of"] {
        assert!(!world.notes.iter().any(|note| note.contains(internal)), "{:#?}", world.notes);
    }
}
