//! The table of known keys, and near misses of them.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::config::keys;

fn with_key(key: &str) -> Config {
    let mut config = Config::new();
    config.set(key, Value::Null, Origin::COMMAND_LINE);
    config
}

fn refused(key: &str) -> Option<String> {
    check_keys(&with_key(key)).err().map(|errors| errors.to_string())
}

#[test]
fn the_table_has_storms_keys_once_each_with_a_reason_where_there_is_no_effect() {
    let lines = include_str!("../known_keys.txt").lines();
    let listed = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '['])).count();
    assert_eq!(listed, KNOWN.len(), "a key stands in two sections");
    let own = ["topology.tuple.max.bytes"];
    let storms = KNOWN.keys().filter(|key| !key.starts_with(OWN_PREFIX) && !own.contains(key)).count();
    assert_eq!(storms, 507);
    for known in known_keys() {
        assert_eq!(known.class == KeyClass::Supported, known.reason.is_empty(), "{}", known.key);
    }
}

#[test]
fn every_key_that_has_a_getter_is_in_the_table() {
    let supported = [
        keys::TOPOLOGY_ACKER_EXECUTORS,
        keys::TOPOLOGY_TASKS,
        keys::TOPOLOGY_MAX_TASK_PARALLELISM,
        keys::TOPOLOGY_MAX_SPOUT_PENDING,
        keys::TOPOLOGY_MESSAGE_TIMEOUT_SECS,
        keys::TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS,
        keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS,
        keys::TOPOLOGY_DISABLE_LOADAWARE_MESSAGING,
        keys::TOPOLOGY_DEBUG,
        keys::TOPOLOGY_MAX_ERROR_REPORT_PER_INTERVAL,
        keys::TOPOLOGY_ERROR_THROTTLE_INTERVAL_SECS,
        keys::TOPOLOGY_TUPLE_MAX_BYTES,
        keys::WORKER_CORES,
        keys::WORKER_LISTEN,
        keys::WORKER_DIAL,
        keys::WORKER_LAUNCH,
        keys::WORKER_SOCKETS,
        keys::CORES_ALWAYS_SPIN,
        keys::CORES_PLACEMENT,
        keys::RING_CELLS,
        keys::FRAME_BYTES,
        keys::INBOX_MARK_BYTES,
        keys::CYCLE_LIMIT_BYTES,
        keys::DRAIN_TIMEOUT_SECS,
        keys::WORKER_ABSENCE_SECS,
        keys::TASK_FAILURE_LIMIT,
    ];
    for known in known_keys() {
        let listed = supported.contains(&known.key);
        assert_eq!(known.class == KeyClass::Supported, listed, "{}", known.key);
    }
    assert_eq!(known_key(keys::TOPOLOGY_STATS_SAMPLE_RATE).unwrap().class, KeyClass::NotNeeded);
    assert_eq!(known_key(keys::TOPOLOGY_WORKERS).unwrap().class, KeyClass::Cluster);
}

#[test]
fn near_misses_are_refused_with_what_was_meant() {
    for (key, meant) in [
        ("topology.worker", "topology.workers"),
        ("topolgy.workers", "topology.workers"),
        ("topology.max.spout.pendng", "topology.max.spout.pending"),
        ("topology.max.psout.pending", "topology.max.spout.pending"),
        ("topology_max_spout_pending", "topology.max.spout.pending"),
        ("TOPOLOGY.MAX.SPOUT.PENDING", "topology.max.spout.pending"),
        ("topology.maxSpoutPending", "topology.max.spout.pending"),
        ("topology.message.timeout.sec", "topology.message.timeout.secs"),
        ("topology.acker.executor", "topology.acker.executors"),
        (" topology.debug", "topology.debug"),
        ("topology.debgu2", "topology.debug"),
        ("topology.edbugg", "topology.debug"),
        ("topology.tsaksk", "topology.tasks"),
        ("ringstorm.worker.core", "ringstorm.worker.cores"),
        ("UI.PORT", "ui.port"),
    ] {
        let error = refused(key).unwrap_or_else(|| panic!("{key} is accepted"));
        assert!(error.contains(&format!("did you mean {meant:?}")), "{error}");
        assert!(error.contains(&format!("{key:?} (set by the command line)")), "{error}");
    }
}

#[test]
fn other_keys_are_left_for_the_components() {
    for key in ["my.key", "my.port", "ui.sort", "kafka.bootstrap.servers", "topology.my.own.setting", "", "..."]
        .into_iter()
        // Two letters of a short word are others: another word.
        .chain(["topology.tags", "topology.debt", "topology.depth", "topology.ranks", "topology.taskset"])
    {
        assert_eq!(refused(key), None, "{key}");
    }
    assert_eq!(refused(&"topology.".repeat(100_000)), None);
}

#[test]
fn an_unknown_key_of_our_own_is_refused_and_the_existing_ones_named() {
    let error = refused("ringstorm.turbo").unwrap();
    assert!(error.contains("not a key of Ringstorm"), "{error}");
    assert!(error.contains("\"ringstorm.worker.cores\""), "{error}");
}

#[test]
fn every_misspelled_key_is_named() {
    let mut config = with_key("topology.worker");
    config.set("topology.task", 1, Origin::file("storm.json"));
    let errors = check_keys(&config).unwrap_err();
    assert_eq!(errors.0.len(), 2);
    assert!(errors.to_string().contains("file \"storm.json\""));
}

#[test]
fn keys_without_effect_are_noted_by_reason_unless_nobody_set_them() {
    let mut config = with_key("topology.kryo.register");
    config.set("topology.kryo.factory", "x", Origin::TOPOLOGY);
    config.set("topology.priority", 1, Origin::TOPOLOGY);
    config.set("topology.worker.childopts", "-Xmx1g", Origin::DEFAULT);
    config.set("topology.workers", 3, Origin::COMMAND_LINE);
    let notes: Vec<String> = check_keys(&config).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "topology.kryo.factory, topology.kryo.register have no effect, because tuples and states have a format of \
             their own and need no Kryo or Java serialisation; nothing changes if you remove them",
            "topology.workers has no effect in a local run, because a local run is one process, or as many as the option \
             --workers says; nothing changes if you remove it",
            "topology.priority has no effect in a local run, because it says how a cluster schedules the topology; \
             nothing changes if you remove it",
        ]
    );
}

proptest! {
    #[test]
    fn one_edit_of_a_long_key_never_slips_through(index in 0_usize..506, position in 0_usize..80, character in "[a-z]") {
        let known = known_keys().nth(index).unwrap().key;
        prop_assume!(known.len() >= CHARACTERS_FOR_AN_EDIT);
        let mut edited = known.to_owned();
        edited.insert_str(position % (known.len() + 1), &character);
        prop_assert!(known_key(&edited).is_some() || refused(&edited).is_some());
    }

    #[test]
    fn any_key_is_checked_without_a_panic(key in ".{0,60}") {
        let _ = check_keys(&with_key(&key));
    }
}
