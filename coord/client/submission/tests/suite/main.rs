//! What nimbus makes of random topologies: it takes them, and numbers their tasks and executors as the engine does.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringstorm_lifecycle::conf::Conf;
use ringstorm_lifecycle::executors::Tasks;
use ringstorm_lifecycle::submission::{Submission, accept};
use ringstorm_lifecycle::system::system_topology;
use ringstorm_records::payload;
use ringstorm_records::records::{StormTopology, TopologyInitialStatus};
use ringstorm_submission::{storm_topology, submitted_conf};
use ringstorm_types::config::{Config, Origin, keys};
use ringstorm_types::numbering::number;
use ringstorm_types::topology::{Component, Grouping, Input, Output, Topology};
use ringstorm_types::validate::validate;
use ringstorm_types::{ComponentId, DEFAULT_STREAM, ExecutorId, StreamId};
use serde_json::{Value, json};

/// The numbers that a component asks for.
#[derive(Clone, Debug)]
struct Numbers {
    parallelism: Option<u32>,
    tasks: Option<u32>,
    configured_tasks: Option<u32>,
    limit: Option<u32>,
    is_null: bool,
    grouping: usize,
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let small = || proptest::option::of(1_u32..9);
    (small(), small(), small(), small(), any::<bool>(), 0_usize..8).prop_map(
        |(parallelism, tasks, configured_tasks, limit, is_null, grouping)| Numbers {
            parallelism,
            tasks,
            // Only one of the two may be said.
            configured_tasks: configured_tasks.filter(|_| tasks.is_none()),
            limit,
            is_null,
            grouping,
        },
    )
}

fn component(mut component: Component, numbers: &Numbers) -> Component {
    (component.parallelism_hint, component.task_count) = (numbers.parallelism, numbers.tasks);
    let mut set = |key: &str, value: Option<u32>| {
        if let Some(value) = value {
            component.config.set(key, value, Origin::TOPOLOGY);
        } else if numbers.is_null {
            component.config.set(key, Value::Null, Origin::TOPOLOGY);
        }
    };
    set(keys::TOPOLOGY_TASKS, numbers.configured_tasks);
    set(keys::TOPOLOGY_MAX_TASK_PARALLELISM, numbers.limit);
    component.outputs.insert(StreamId::new(DEFAULT_STREAM).unwrap(), Output::dynamic(["word", "count"]));
    component
}

/// Ids whose order differs between bytes and Java's units among them.
fn id(place: usize) -> ComponentId {
    let names = ["words", "Count", "__x", "z\u{ff5e}", "z\u{1d7ce}", "sink-2", "a b"];
    let name = names[place % names.len()];
    ComponentId::new(format!("{}{place}", name.trim_start_matches("__"))).unwrap()
}

fn topology(spouts: &[Numbers], bolts: &[Numbers]) -> Topology {
    let mut topology = Topology::default();
    for (place, numbers) in spouts.iter().enumerate() {
        topology.components.insert(id(place), component(Component::spout(), numbers));
    }
    for (place, numbers) in bolts.iter().enumerate() {
        let mut bolt = component(Component::bolt(), numbers);
        let fields = vec!["word".to_owned()];
        let grouping = match numbers.grouping {
            0 => Grouping::Shuffle,
            1 => Grouping::LocalOrShuffle,
            2 => Grouping::Fields(fields),
            3 => Grouping::PartialKey(fields),
            4 => Grouping::All,
            5 => Grouping::Global,
            6 => Grouping::None,
            _ => Grouping::Custom("by size".into()),
        };
        // One of those that were made before it.
        let source = id((place * 7) % (spouts.len() + place));
        bolt.inputs.push(Input { component: source, stream: StreamId::new(DEFAULT_STREAM).unwrap(), grouping });
        topology.components.insert(id(spouts.len() + place), bolt);
    }
    topology
}

/// Executors and their components as nimbus numbers them.
fn of_nimbus(stored: &Conf, topology: &StormTopology, counts: &BTreeMap<String, i32>) -> BTreeMap<ExecutorId, String> {
    let system = system_topology(stored, topology).unwrap();
    let executors = Tasks::number(&system).unwrap().executors(counts);
    executors.into_iter().map(|(id, component)| (id, component.to_string())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn nimbus_takes_what_the_engine_takes_and_numbers_it_the_same(
        spouts in proptest::collection::vec(numbers(), 1..4),
        bolts in proptest::collection::vec(numbers(), 0..6),
        workers in proptest::option::of(1_u32..5),
        ackers in proptest::option::of(0_u32..4),
        tasks in proptest::option::of(1_u32..4),
        limit in proptest::option::of(1_u32..6),
        limit_of_cluster in proptest::option::of(1_u32..6),
        is_logging in any::<bool>(),
    ) {
        let topology = topology(&spouts, &bolts);
        let mut config = Config::new();
        for (key, value) in [
            (keys::TOPOLOGY_WORKERS, workers),
            (keys::TOPOLOGY_ACKER_EXECUTORS, ackers),
            (keys::TOPOLOGY_TASKS, tasks),
            (keys::TOPOLOGY_MAX_TASK_PARALLELISM, limit),
        ] {
            if let Some(value) = value {
                config.set(key, value, Origin::TOPOLOGY);
            }
        }
        prop_assume!(validate(&topology, &config).is_ok());
        let storm = storm_topology(&topology, &config).unwrap();
        // It is the same after its way over the wire.
        let storm: StormTopology = payload::decode(&payload::encode(&storm)).unwrap();
        let conf = Value::Object(submitted_conf(&config, &["--count".into()])).to_string();
        let mut daemon = Conf::new();
        if let Some(limit) = limit_of_cluster {
            daemon.insert(keys::TOPOLOGY_MAX_TASK_PARALLELISM.to_owned(), limit.into());
        }
        if is_logging {
            daemon.insert("topology.eventlogger.executors".to_owned(), 2.into());
            let consumer = json!([{"class": "org.example.Consumer", "parallelism.hint": 1}]);
            daemon.insert("topology.metrics.consumer.register".to_owned(), consumer.clone());
            config.set("topology.metrics.consumer.register", consumer, Origin::TOPOLOGY);
        }
        let accepted = accept(&daemon, &Submission {
            name: "words",
            json_conf: &conf,
            topology: &storm,
            initial_status: TopologyInitialStatus::Active,
            principal: None,
            nimbus_user: "storm",
            number: 1,
            now_secs: 1_795_972_824,
            worker_secret: "0123456789abcdef0123456789abcdef",
        });
        let accepted = accepted.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        let counts = accepted.base.component_executors.clone().unwrap();
        let expected = of_nimbus(&accepted.conf, &accepted.topology, &counts);

        // As a worker numbers them: with the stored configuration over what it was built with.
        let stored = Config::from_json(Value::Object(accepted.conf.clone()), &Origin::other("the cluster")).unwrap();
        let config = config.merged_with(&stored);
        let default = u32::try_from(accepted.base.num_workers).unwrap().max(1);
        let numbering = number(&topology, &config, default).unwrap();
        let own: BTreeMap<ExecutorId, String> =
            numbering.executors().iter().map(|executor| (executor.id, executor.component.to_string())).collect();
        prop_assert_eq!(own, expected);
        for (id, common) in accepted.topology.bolts.iter().map(|(id, bolt)| (id, &bolt.common)) {
            let tasks: Value = serde_json::from_str(common.json_conf.as_deref().unwrap()).unwrap();
            prop_assert_eq!(tasks[keys::TOPOLOGY_TASKS].as_u64(), Some(numbering.tasks_of(id).len() as u64));
        }
    }
}
