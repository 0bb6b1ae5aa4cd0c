//! What operators set beside topologies.

use std::time::Duration;

use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::payload;
use ringstorm_records::records::{Credentials, LogConfig, LogLevel, LogLevelAction};
use ringstorm_store::memory::Loss;

use crate::life::{kill, submit, world};
use crate::world::World;

fn levels(logger: &str, level: &str) -> LogConfig {
    let level = LogLevel {
        action: LogLevelAction::Update,
        target_log_level: Some(level.into()),
        reset_log_level_timeout_secs: Some(30),
        reset_log_level_timeout_epoch: None,
        reset_log_level: None,
        unknown: Default::default(),
    };
    LogConfig { named_logger_level: Some([(logger.to_owned(), level)].into()), ..LogConfig::default() }
}

fn submitted(world: &mut World, name: &str) -> String {
    match world.answer(0, submit(name, "t")) {
        Ok(Reply::Submitted { topology }) => topology.to_string(),
        other => panic!("{other:?}"),
    }
}

fn credentials(secret: &str, owner: Option<&str>) -> Request {
    let creds = [("password".to_owned(), secret.to_owned())].into();
    let credentials = Credentials { creds, topo_owner: owner.map(str::to_owned), ..Credentials::default() };
    Request::SetCredentials { name: "words".into(), credentials }
}

fn stored_secret(world: &World) -> Option<String> {
    let nodes = world.ensemble.with(|ensemble| ensemble.dump());
    let node = nodes.iter().find(|node| node.path.as_str().starts_with("/storm/credentials/"))?;
    payload::decode::<Credentials>(&node.data).unwrap().creds.get("password").cloned()
}

#[test]
fn levels_of_loggers_are_set_and_read_and_go_with_their_topology() {
    let mut world = world(&["n1"]);
    let topology = submitted(&mut world, "words");
    let read = Request::LogConfig { topology: topology.clone() };
    assert_eq!(world.answer(0, read.clone()), Ok(Reply::LogConfig(LogConfig::default())));
    let set = |levels| Request::SetLogConfig { topology: topology.clone(), levels };
    assert_eq!(world.answer(0, set(levels("a", "DEBUG"))), Ok(Reply::Done));
    assert_eq!(world.answer(0, set(levels("b", "WARN"))), Ok(Reply::Done));
    let Ok(Reply::LogConfig(found)) = world.answer(0, read.clone()) else { panic!("they are refused") };
    let found = found.named_logger_level.unwrap();
    assert_eq!((found["a"].action, found["b"].action), (LogLevelAction::Unchanged, LogLevelAction::Update));
    assert!(found["b"].reset_log_level_timeout_epoch.is_some());
    assert_eq!(world.answer(0, kill("words", Some(0))), Ok(Reply::Done));
    world.run_secs(5);
    assert_eq!(world.answer(0, read), Err(Refusal::NotAlive(topology.clone())));
    assert_eq!(world.answer(0, set(levels("a", "DEBUG"))), Err(Refusal::NotAlive(topology)));
}

#[test]
fn credentials_are_replaced_for_their_owner_only() {
    let mut world = world(&["n1"]);
    let refused = world.answer(0, credentials("herring", None));
    assert_eq!(refused, Err(Refusal::NotAlive("words is not alive".into())));
    submitted(&mut world, "words");
    assert_eq!(world.answer(0, credentials("herring", None)), Ok(Reply::Done));
    assert_eq!(world.answer(0, credentials("swordfish", Some("storm"))), Ok(Reply::Done));
    assert_eq!(stored_secret(&world).as_deref(), Some("swordfish"));
    assert!(matches!(world.answer(0, credentials("cod", Some("somebody"))), Err(Refusal::InvalidTopology(_))));
    assert_eq!(stored_secret(&world).as_deref(), Some("swordfish"));
    assert!(world.notes.iter().all(|note| !note.contains("swordfish")), "secrets are not noted");
}

#[test]
fn whoever_does_not_lead_says_so_and_a_lost_outcome_is_made_good() {
    let mut world = world(&["n1", "n2"]);
    submitted(&mut world, "words");
    let other = 1 - world.leader().unwrap();
    assert!(matches!(world.answer(other, credentials("herring", None)), Err(Refusal::NotLeader { .. })));
    for loss in [Loss::BeforeItWasDone, Loss::AfterItWasDone] {
        let leader = world.leader().unwrap();
        world.lose_after(leader, 0, loss);
        assert_eq!(world.answer(leader, credentials("cod", None)), Ok(Reply::Done), "{loss:?}");
        assert_eq!(stored_secret(&world).as_deref(), Some("cod"));
        world.run_for(Duration::from_secs(1));
    }
}
