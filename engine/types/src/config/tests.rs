//! Values, origins, merging, and the errors of the getters.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn with(key: &str, value: Value) -> Config {
    let mut config = Config::new();
    config.set(key, value, Origin::file("storm.json"));
    config
}

#[test]
fn the_defaults_are_storms() {
    let config = Config::new();
    assert_eq!(config.workers(), Ok(1));
    assert_eq!(config.acker_executors(), Ok(None));
    assert_eq!(config.max_spout_pending(), Ok(None));
    assert_eq!(config.max_task_parallelism(), Ok(None));
    assert_eq!(config.message_timeout_secs(), Ok(30));
    assert_eq!(config.enable_message_timeouts(), Ok(true));
    assert_eq!(config.tick_tuple_freq_secs(), Ok(None));
    assert_eq!(config.stats_sample_rate(), Ok(0.05));
    assert_eq!(config.disable_loadaware_messaging(), Ok(false));
    assert_eq!(config.debug(), Ok(false));
    assert_eq!(config.max_error_report_per_interval(), Ok(5));
    assert_eq!(config.error_throttle_interval_secs(), Ok(10));
    assert_eq!(config.tuple_max_bytes(), Ok(67_108_864));
    assert_eq!(config.worker_cores(), Ok(None));
    assert_eq!(config.cores_placement(), Ok(CorePlacement::Pinned));
    assert_eq!(config.worker_sockets(), Ok(SocketsSetting::Auto));
    assert_eq!(config.cores_always_spin(), Ok(false));
    assert_eq!(config.ring_cells(), Ok(512));
    assert_eq!(config.frame_bytes(), Ok(8192));
    assert_eq!(config.cycle_limit_bytes(), Ok(268_435_456));
    assert_eq!(config.check_values(), []);
}

#[test]
fn null_means_unset() {
    assert_eq!(with(keys::TOPOLOGY_WORKERS, Value::Null).workers(), Ok(1));
    assert_eq!(with(keys::TOPOLOGY_MAX_SPOUT_PENDING, Value::Null).max_spout_pending(), Ok(None));
}

#[test]
fn good_values_are_taken() {
    assert_eq!(with(keys::TOPOLOGY_ACKER_EXECUTORS, json!(0)).acker_executors(), Ok(Some(0)));
    assert_eq!(with(keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS, json!(0.25)).tick_tuple_freq_secs(), Ok(Some(0.25)));
    assert_eq!(with(keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS, json!(3)).tick_tuple_freq_secs(), Ok(Some(3.0)));
    assert_eq!(with(keys::CORES_PLACEMENT, json!("unbound")).cores_placement(), Ok(CorePlacement::Unbound));
    assert_eq!(with(keys::WORKER_SOCKETS, json!("io_uring")).worker_sockets(), Ok(SocketsSetting::Uring));
    assert_eq!(with(keys::WORKER_SOCKETS, json!("readiness")).worker_sockets(), Ok(SocketsSetting::Readiness));
    assert_eq!(with(keys::DRAIN_TIMEOUT_SECS, json!(0.001)).drain_timeout_secs(), Ok(0.001));
    assert_eq!(Config::new().worker_absence_secs(), Ok(15.0));
    assert_eq!(with(keys::WORKER_ABSENCE_SECS, json!(2.5)).worker_absence_secs(), Ok(2.5));
    assert_eq!(with(keys::RING_CELLS, json!(4)).ring_cells(), Ok(4));
}

#[test]
fn bad_values_are_refused_by_key_value_origin_and_range() {
    for (key, value, wanted) in [
        (keys::TOPOLOGY_WORKERS, json!(0), "a whole number from 1 to 2147483647"),
        (keys::TOPOLOGY_WORKERS, json!("2"), "a whole number from 1 to"),
        (keys::TOPOLOGY_WORKERS, json!(2.5), "a whole number from 1 to"),
        (keys::TOPOLOGY_ACKER_EXECUTORS, json!(-1), "a whole number from 0 to"),
        (keys::TOPOLOGY_TASKS, json!(0), "a whole number from 1 to 1000000"),
        (keys::TOPOLOGY_MAX_TASK_PARALLELISM, json!(0), "a whole number from 1 to"),
        (keys::TOPOLOGY_MAX_SPOUT_PENDING, json!(4_294_967_296_u64), "a whole number from 1 to 2147483647"),
        (keys::TOPOLOGY_MESSAGE_TIMEOUT_SECS, json!(0), "a whole number from 1 to"),
        (keys::TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS, json!("no"), "true or false"),
        (keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS, json!(0), "a number from 0.001 to"),
        (keys::TOPOLOGY_STATS_SAMPLE_RATE, json!(1.5), "a number from 0.000000001 to 1"),
        (keys::TOPOLOGY_DISABLE_LOADAWARE_MESSAGING, json!(1), "true or false"),
        (keys::TOPOLOGY_DEBUG, json!([]), "true or false"),
        (keys::TOPOLOGY_MAX_ERROR_REPORT_PER_INTERVAL, json!(0), "a whole number from 1 to"),
        (keys::TOPOLOGY_ERROR_THROTTLE_INTERVAL_SECS, json!(0), "a whole number from 1 to"),
        (keys::TOPOLOGY_TUPLE_MAX_BYTES, json!(1), "a whole number from 64 to 1073741824"),
        (keys::WORKER_CORES, json!(0), "a whole number from 1 to 1024"),
        (keys::WORKER_LISTEN, json!("127.0.0.1:6700"), "a list of texts such as"),
        (keys::WORKER_DIAL, json!(["127.0.0.1"]), "a list of texts such as"),
        (keys::WORKER_LAUNCH, json!(["numactl"]), "a list of lists of words"),
        (keys::CORES_ALWAYS_SPIN, json!({}), "true or false"),
        (keys::CORES_PLACEMENT, json!("here"), "\"pinned\" or \"unbound\""),
        (keys::WORKER_SOCKETS, json!("tcp"), "\"auto\", \"io_uring\" or \"readiness\""),
        (keys::RING_CELLS, json!(48), "a power of two from 2 to 65536"),
        (keys::FRAME_BYTES, json!(10), "a whole number from 1024 to 16777216"),
        (keys::INBOX_MARK_BYTES, json!(10), "a whole number from 1024 to"),
        (keys::CYCLE_LIMIT_BYTES, json!("256M"), "a whole number from 1024 to"),
        (keys::DRAIN_TIMEOUT_SECS, json!(0), "a number from 0.001 to"),
        (keys::WORKER_ABSENCE_SECS, json!(0), "a number from 0.1 to"),
        (keys::TASK_FAILURE_LIMIT, json!(0), "a whole number from 1 to"),
    ] {
        let errors = with(key, value.clone()).check_values();
        assert_eq!(errors.len(), 1, "{key}");
        let error = errors[0].to_string();
        assert!(error.starts_with(&format!("{key} is {value} (set by file \"storm.json\")")), "{error}");
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn long_values_are_shortened_and_secrets_hidden() {
    let error = with(keys::TOPOLOGY_WORKERS, json!("x".repeat(100_000))).workers().unwrap_err();
    assert!(error.to_string().len() < 400);
    let config = with("storm.zookeeper.auth.payload", json!("digest:swordfish"));
    assert!(!format!("{config:?}").contains("swordfish"));
    assert!(is_secret("ringstorm.worker.secret") && !is_secret(keys::TOPOLOGY_WORKERS));
}

#[test]
fn the_later_setting_wins_and_brings_its_origin() {
    let mut config = with("a", json!(1)).merged_with(&with("b", json!(2)));
    let mut over = Config::new();
    over.set_from_text("b=3", Origin::COMMAND_LINE).unwrap();
    config.merge(&over);
    assert_eq!((config.get("a"), config.get("b")), (Some(&json!(1)), Some(&json!(3))));
    assert_eq!(config.origin("b"), Some(&Origin::COMMAND_LINE));
    assert_eq!(config.origin("a").unwrap().to_string(), "file \"storm.json\"");
    assert_eq!(config.origin("c"), None);
    assert_eq!(serde_json::to_string(&config).unwrap(), r#"{"a":1,"b":3}"#);
    assert_eq!((config.len(), config.is_empty()), (2, false));
}

#[test]
fn a_setting_is_json_if_it_can_be_and_text_if_not() {
    for (text, key, value) in [
        ("k=1", "k", json!(1)),
        ("k=\"1\"", "k", json!("1")),
        ("k=\"v w\"", "k", json!("v w")),
        ("k=v w", "k", json!("v w")),
        ("k={\"k\": [1, \"x y\"]}", "k", json!({"k": [1, "x y"]})),
        ("k=a=b", "k", json!("a=b")),
        ("k=", "k", json!("")),
        ("k=null", "k", json!(null)),
        ("k=$HOME", "k", json!("$HOME")),
        (" k =1", "k", json!(1)),
    ] {
        assert_eq!(Config::parse_setting(text), Ok((key.to_owned(), value)), "{text}");
    }
    for (text, problem) in [("", "no '='"), ("topology.workers", "no '='"), ("=1", "no key"), (" =1", "no key")] {
        let error = Config::parse_setting(text).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("write key=value"), "{error}");
    }
}

#[test]
fn what_is_no_object_is_refused() {
    let origin = Origin::file("storm.json");
    let error = Config::from_json_text("{\"a\": }", &origin).unwrap_err().to_string();
    assert!(error.contains("storm.json") && error.contains("line 1"), "{error}");
    let error = Config::from_json_text("[1]", &origin).unwrap_err().to_string();
    assert!(error.contains("is a list"), "{error}");
    assert!(Config::from_json_text(&"[".repeat(1_000_000), &origin).is_err());
}

proptest! {
    #[test]
    fn any_setting_is_read_without_a_panic(text in ".{0,60}") {
        if let Ok((key, value)) = Config::parse_setting(&text) {
            let config = with(&key, value);
            let _ = config.check_values();
        }
    }

    #[test]
    fn merging_is_associative(
        maps in proptest::collection::vec(proptest::collection::btree_map("[a-c]", 0_u32..9, 0..4), 3)
    ) {
        let configs: Vec<Config> = maps.iter().map(|map| {
            let mut config = Config::new();
            map.iter().for_each(|(key, value)| config.set(key, *value, Origin::TOPOLOGY));
            config
        }).collect();
        let left = configs[0].merged_with(&configs[1]).merged_with(&configs[2]);
        let right = configs[0].merged_with(&configs[1].merged_with(&configs[2]));
        prop_assert_eq!(left, right);
    }
}
