//! Reading, completing and showing configurations.

use serde_json::json;

use super::*;
use ringstorm_records::records::{Bolt, ComponentObject, ShellComponent, StormTopology};

fn conf(value: Value) -> Conf {
    value.as_object().unwrap().clone()
}

fn bolt(parallelism_hint: Option<i32>, json_conf: Option<Value>) -> StormTopology {
    let json_conf = json_conf.map(|conf| conf.to_string());
    let common = ComponentCommon { parallelism_hint, json_conf, ..ComponentCommon::default() };
    let bolt = Bolt { bolt_object: ComponentObject::Shell(ShellComponent::default()), common };
    StormTopology { bolts: [("b".to_owned(), bolt)].into(), ..StormTopology::default() }
}

#[test]
fn what_is_no_configuration_costs_one_clear_error() {
    for (json, words) in [
        ("[1]", "It is a list, not a JSON object"),
        ("{\"a\":", "It is not JSON: EOF"),
        ("{a: 1}", "It is not JSON: key must be a string"),
        (&"[".repeat(100_000), "recursion limit"),
    ] {
        let refusal = parse(json, "It").unwrap_err().to_string();
        assert!(refusal.contains(words) && !refusal.contains('\n'), "{refusal}");
    }
    for json in ["", " ", "null", "{}"] {
        assert_eq!(parse(json, "It"), Ok(Conf::new()));
    }
}

#[test]
fn a_damaged_blob_is_an_error() {
    assert!(matches!(decode(b""), Err(StoredConfError::Payload(_))));
    assert!(matches!(decode(&payload::gzip(b"[]")), Err(StoredConfError::NotAConf(_))));
    assert_eq!(decode(b"{\"a\":1}"), Ok(conf(json!({"a": 1}))));
}

#[test]
fn numbers_are_read_as_storm_reads_them() {
    let read = |value: Value| int(&conf(json!({"k": value})), "k");
    assert_eq!(read(json!(7)), Ok(Some(7)));
    assert_eq!(read(json!("-7")), Ok(Some(-7)));
    assert_eq!(read(Value::Null), Ok(None));
    for other in [json!(1.0), json!(1_i64 << 40), json!("x"), json!([]), json!(true)] {
        assert!(
            read(other.clone()).unwrap_err().to_string().starts_with(&format!("k is {other}, which is not a whole"))
        );
    }
}

#[test]
fn a_secret_is_neither_in_messages_nor_in_what_is_read() {
    let secret = conf(json!({WORKER_SECRET: 12_345}));
    assert!(!int(&conf(json!({"my.password": "12345x"})), "my.password").unwrap_err().to_string().contains("12345"));
    assert_eq!(redacted(&secret), conf(json!({WORKER_SECRET: "(hidden)"})));
    assert_eq!(redacted(&Conf::new()), Conf::new());
    let all = json!({
        "db.password": 7, "api.token": ["a"], "storm.zookeeper.auth.payload": null, "drpc.https.keystore.password": "", "topology.workers": 2,
        "topology.auto-credentials": ["A"], "storm.worker.token.life.time.hours": 24,
        "kafka": [{"sasl.password": "x", "servers": ["a"]}],
    });
    let shown = json!({
        "db.password": "(hidden)", "api.token": "(hidden)", "storm.zookeeper.auth.payload": null, "drpc.https.keystore.password": "", "topology.workers": 2,
        "topology.auto-credentials": ["A"], "storm.worker.token.life.time.hours": 24,
        "kafka": [{"sasl.password": "(hidden)", "servers": ["a"]}],
    });
    assert_eq!(redacted(&conf(all)), conf(shown));
}

#[test]
fn serializers_of_components_and_topology_are_united() {
    let component =
        json!({"topology.kryo.register": ["A", {"B": "of the component"}], "topology.kryo.decorators": ["D"]});
    let topology = bolt(None, Some(component));
    let daemon = conf(json!({"topology.kryo.register": ["Z"], "topology.kryo.decorators": ["E", "D"]}));
    let own = conf(json!({"topology.kryo.register": [{"B": "of the topology"}]}));
    let normalized = normalize_conf(&daemon, &own, &topology).unwrap();
    assert_eq!(normalized["topology.kryo.register"], json!({"A": null, "B": "of the topology"}));
    assert_eq!(normalized["topology.kryo.decorators"], json!(["D", "E"]));
}

#[test]
fn the_cluster_has_the_last_word_on_what_is_its_own() {
    let daemon = conf(json!({
        "storm.cgroup.hierarchy.dir": "/of/the/cluster", "worker.max.timeout.secs": 600,
        "storm.messaging.netty.authentication": true, "topology.acker.executors": 3,
        "storm.topology.metrics.system.reporters": [{"class": "S"}], "storm.metrics.reporters": [{"class": "R"}],
    }));
    let own = conf(json!({
        "storm.cgroup.hierarchy.dir": "/of/the/topology", "worker.metrics": {"a": "b"}, "topology.worker.timeout.secs": 601,
        "storm.messaging.netty.authentication": false, "storm.workers.artifacts.dir": "/", "mine": [null],
    }));
    let normalized = normalize_conf(&daemon, &own, &StormTopology::default()).unwrap();
    let expected = json!({
        "storm.cgroup.hierarchy.dir": "/of/the/cluster", "worker.metrics": null, "topology.worker.timeout.secs": 600,
        "storm.messaging.netty.authentication": true, "mine": [null], "topology.acker.executors": 3,
        "topology.eventlogger.executors": null, "topology.max.task.parallelism": null,
        "topology.kryo.register": {}, "topology.kryo.decorators": [], "nimbus.thrift.client.use.tls": false,
        "topology.worker.nimbus.thrift.client.use.tls": false,
        "topology.metrics.reporters": [{"class": "R"}, {"class": "S"}],
    });
    assert_eq!(Value::Object(normalized), expected);
}

#[test]
fn tasks_follow_the_component_then_the_topology_then_the_executors_up_to_the_limit() {
    let tasks = |total: Value, hint, component: Option<Value>| {
        let topology = normalize_topology(&conf(total), &bolt(hint, component)).unwrap();
        let own = of_component("b", &topology.bolts["b"].common).unwrap();
        own["topology.tasks"].as_i64().unwrap()
    };
    assert_eq!(tasks(json!({}), None, None), 1);
    assert_eq!(tasks(json!({}), Some(3), None), 3);
    assert_eq!(tasks(json!({"topology.tasks": 5}), Some(3), None), 5);
    assert_eq!(tasks(json!({"topology.tasks": 5}), Some(3), Some(json!({"topology.tasks": 7}))), 7);
    assert_eq!(tasks(json!({"topology.tasks": 5}), Some(3), Some(json!({"topology.tasks": null}))), 3);
    assert_eq!(tasks(json!({"topology.max.task.parallelism": 2}), Some(3), None), 2);
    let own_limit = Some(json!({"topology.max.task.parallelism": 6}));
    assert_eq!(tasks(json!({"topology.max.task.parallelism": 2}), Some(9), own_limit), 6);
}
