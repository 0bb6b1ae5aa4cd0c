//! A nimbus that starts.

use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::records::NimbusSummary;

use crate::topologies::submission;
use crate::world::{World, name};

#[test]
fn a_root_that_a_live_apache_storm_uses_is_refused_and_not_touched() {
    let world = World::new(&[]);
    let storm = NimbusSummary { host: "old".into(), port: 6627, version: "2.8.2".into(), ..NimbusSummary::default() };
    let observer = world.observer();
    world
        .tree(observer, |tree| async move { tree.announce_nimbus(observer, &name("old"), &storm, None).await })
        .unwrap();
    let before = world.paths();
    let mut world = {
        let ensemble = world.ensemble.clone();
        let mut fresh = World::new(&["n1"]);
        fresh.ensemble = ensemble;
        fresh.start(0);
        fresh
    };
    world.run_secs(30);
    let why = world.daemons[0].stopped.clone().unwrap();
    assert!(why.contains("Apache Storm") && why.contains("storm.zookeeper.root"), "{why}");
    assert_eq!(world.paths(), before);
}

#[test]
fn a_nimbus_that_starts_has_the_folders_of_a_storm_without_topologies() {
    let mut world = World::new(&["n1"]);
    world.run_secs(1);
    assert_eq!(world.leader(), Some(0));
    let mut paths = world.paths();
    paths.retain(|path| !path.starts_with("/storm/leader-lock/_c_"));
    paths.sort();
    let expected = [
        "/",
        "/storm",
        "/storm/assignments",
        "/storm/backpressure",
        "/storm/blobstore",
        "/storm/errors",
        "/storm/leader-lock",
        "/storm/logconfigs",
        "/storm/nimbuses",
        "/storm/nimbuses/n1",
        "/storm/storm",
        "/storm/storm/leader-info",
        "/storm/storms",
        "/storm/supervisors",
        "/storm/workerbeats",
    ];
    assert_eq!(paths.iter().filter(|path| *path != "/").collect::<Vec<_>>(), expected[1..].iter().collect::<Vec<_>>());
}

#[test]
fn a_second_nimbus_of_a_host_goes_by_host_and_port_and_one_that_starts_again_takes_its_node_back() {
    let mut world = World::new(&["n1", "n1:6700"]);
    world.run_secs(1);
    assert!(world.paths().contains(&"/storm/nimbuses/n1".to_owned()));
    assert!(world.paths().contains(&"/storm/nimbuses/n1:6700".to_owned()));
    // Its old session is not over yet.
    world.crash(0);
    world.start(0);
    world.run_secs(1);
    world.forget_sessions();
    world.run_secs(1);
    assert!(world.paths().contains(&"/storm/nimbuses/n1".to_owned()));
}

#[test]
fn a_node_that_somebody_deleted_is_made_again() {
    let mut world = World::new(&["n1"]);
    world.run_secs(1);
    let observer = world.observer();
    world.tree(observer, |tree| async move { tree.withdraw_nimbus(&name("n1")).await }).unwrap();
    world.run_secs(15);
    assert!(world.paths().contains(&"/storm/nimbuses/n1".to_owned()));
}

#[test]
fn who_does_not_lead_says_who_does_and_anybody_answers_what_only_reads() {
    let mut world = World::new(&["n1", "n2"]);
    world.run_secs(1);
    let leader = world.leader().unwrap();
    let other = 1 - leader;
    let address = world.address(leader);
    let submit = Request::Submit(Box::new(submission("words", "t", 2)));
    assert_eq!(world.answer(other, submit), Err(Refusal::NotLeader { leader: Some(address.clone()) }));
    let Ok(Reply::Leader(summary)) = world.answer(other, Request::Leader) else { panic!("nobody leads") };
    assert_eq!((summary.host.as_str(), summary.is_leader), (address.host(), true));
    assert_eq!(world.answer(other, Request::Topologies), Ok(Reply::Topologies(Vec::new())));
    let allowed = |name: &str| Request::IsTopologyNameAllowed { name: name.into() };
    assert_eq!(world.answer(other, allowed("words")), Ok(Reply::Allowed(true)));
    assert!(matches!(world.answer(other, allowed("a/b")), Err(Refusal::InvalidTopology(_))));
}

#[test]
fn a_nimbus_that_is_asked_to_end_answers_everybody_first() {
    let mut world = World::new(&["n1"]);
    world.run_secs(1);
    let submission = Request::Submit(Box::new(submission("words", "t", 2)));
    let (submits, reads) = (world.ask(0, submission), world.ask(0, Request::Topologies));
    world.end(0);
    assert_eq!(world.daemons[0].stopped.as_deref(), Some("it was asked to end"));
    for id in [submits, reads] {
        let answer = world.replies.remove(&id).unwrap();
        assert!(matches!(&answer, Err(Refusal::TryAgain(why)) if why.contains("is ending")), "{answer:?}");
    }
}
