//! What is made of launch files, right and wrong.

use std::net::IpAddr;

use ringstorm_records::records::TopologyStatus;
use ringstorm_runtime::{Next, Result, Spout, SpoutCollector, TopologyBuilder};
use ringstorm_types::ExecutorId;
use serde_json::{Map, json};

use super::*;

/// A launch file of a worker at port 6700, of incarnation 7.
pub(crate) fn launch() -> Launch {
    let conf = json!({
        "ringstorm.worker.secret": "0123456789abcdef0123456789abcdef",
        "topology.acker.executors": null,
        "topology.workers": 2,
        "topology.message.timeout.secs": 40,
        "task.heartbeat.frequency.secs": 2,
        "storm.zookeeper.servers": ["127.0.0.1"],
        "storm.zookeeper.root": "/storm",
        "own.key": [1, 2],
    });
    Launch {
        topology: "words-1-1795972824".into(),
        topology_name: "words".into(),
        supervisor: "id-host".into(),
        host: "host".into(),
        port: 6700,
        incarnation: 7,
        assignment_version: 3,
        cores: 2,
        cpus: [0, 1].into(),
        control_socket: "/nowhere/control.sock".into(),
        bind_address: IpAddr::from([127, 0, 0, 1]),
        conf: conf.as_object().unwrap().clone(),
    }
}

struct Nothing;

impl Spout for Nothing {
    fn declare(&self, _: &mut ringstorm_runtime::Declarer) {}
    fn next_tuple(&mut self, _: &mut SpoutCollector<'_>) -> Result<Next> {
        Ok(Next::Finished)
    }
}

/// A spout with two executors and five tasks.
pub(crate) fn topology(config: &Config) -> BuiltTopology {
    let mut topology = TopologyBuilder::new();
    topology.spout("words", || Nothing).parallelism(2).tasks(5);
    topology.build(config).unwrap()
}

/// A base with these numbers of executors.
pub(crate) fn base(counts: &[(&str, i32)]) -> StormBase {
    StormBase {
        name: "words".into(),
        status: TopologyStatus::Active,
        num_workers: 2,
        component_executors: Some(counts.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect()),
        launch_time_secs: None,
        owner: None,
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: None,
        unknown: Default::default(),
    }
}

#[test]
fn settings_and_identity_come_from_the_file() {
    let known = Known::of(&launch()).unwrap();
    assert_eq!((known.identity.slot.port, known.identity.incarnation, known.identity.version), (6700, 7, 3));
    assert_eq!(known.settings.beat_period, Duration::from_secs(2));
    assert_eq!(known.settings.message_timeout, Duration::from_secs(40));
    assert_eq!(known.settings.look_period, Duration::from_secs(10), "Storm's default");
    assert_eq!(known.drain_limit, Duration::from_secs(2), "before the supervisor's patience is over");
    assert_eq!(known.zookeeper.servers, ["127.0.0.1:2181"]);
    assert_eq!(known.config.get("own.key"), Some(&json!([1, 2])), "it passes through to the components");
}

#[test]
fn what_is_wrong_is_named() {
    let with = |key: &str, value: Value| {
        let mut launch = launch();
        launch.conf.insert(key.to_owned(), value);
        Known::of(&launch).unwrap_err().to_string()
    };
    assert!(with("ringstorm.worker.secret", "short".into()).contains("no ringstorm.worker.secret"));
    assert!(with("task.heartbeat.frequency.secs", 0.into()).contains("task.heartbeat.frequency.secs is 0"));
    assert!(with("storm.zookeeper.root", "storm".into()).contains("storm.zookeeper.root"));
    assert!(with("topology.message.timeout.secs", "x".into()).contains("topology.message.timeout.secs"));
    let error = Known::of(&Launch { topology: "a/b".into(), ..launch() }).unwrap_err();
    assert!(error.to_string().contains("a/b"), "{error}");
    assert!(Known::of(&Launch { conf: Map::new(), ..launch() }).is_err());
}

#[test]
fn executors_are_those_of_the_tree_and_tasks_those_of_the_code() {
    let known = Known::of(&launch()).unwrap();
    let executors = |counts: &[(&str, i32)]| {
        let (built, facts) = known.with_base(topology(&known.config), &base(counts)).unwrap();
        let again = number(built.topology(), built.config(), facts.acker_executors).unwrap();
        assert_eq!(again.executors_of("words"), facts.numbering.executors_of("words"));
        let ids = facts.numbering.executors().iter().map(|executor| executor.id);
        ids.map(|ExecutorId { first, last }| (first.0, last.0)).collect::<Vec<_>>()
    };
    assert_eq!(executors(&[("__acker", 2), ("words", 2)]), [(1, 1), (2, 2), (3, 5), (6, 7)]);
    assert_eq!(executors(&[("__acker", 2), ("words", 5)]), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)]);
    assert_eq!(executors(&[("__acker", 1), ("words", 1), ("gone", 9)]), [(1, 2), (3, 7)], "one has both ackers");
    assert_eq!(executors(&[]), [(1, 1), (2, 2), (3, 5), (6, 7)], "one acker for each worker");
}
