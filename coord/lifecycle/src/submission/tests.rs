//! What nimbus adds to a submission, and all that is wrong with one at once.

use ringstorm_records::records::{Bolt, ComponentCommon, ComponentObject, ShellComponent};
use serde_json::json;

use super::*;

fn topology(json_conf: &str) -> StormTopology {
    let common = ComponentCommon { json_conf: Some(json_conf.to_owned()), ..ComponentCommon::default() };
    let bolt = Bolt { bolt_object: ComponentObject::Shell(ShellComponent::default()), common };
    StormTopology { bolts: [("b".to_owned(), bolt)].into(), ..StormTopology::default() }
}

fn conf(value: Value) -> Conf {
    value.as_object().unwrap().clone()
}

fn submit(daemon: Value, own: &Value, topology: &StormTopology, principal: Option<&str>) -> Result<Accepted, Refusal> {
    let submission = Submission {
        name: "words",
        json_conf: &own.to_string(),
        topology,
        initial_status: TopologyInitialStatus::Inactive,
        principal,
        nimbus_user: "storm",
        number: 2,
        now_secs: 7,
        worker_secret: "secret",
    };
    accept(&conf(daemon), &submission)
}

#[test]
fn who_submits_owns_the_topology_whatever_the_configuration_says() {
    let own = json!({
        "topology.submitter.user": "root", "topology.users": ["you", "you", null], "storm.zookeeper.superACL": "mine",
        "storm.local.hostname": "mine", "topology.classpath.beginning": "mine", "topology.version": "7",
        "storm.zookeeper.topology.auth.payload": "unused", "ringstorm.worker.secret": "guessed", "storm.id": "other",
    });
    let accepted = submit(json!({}), &own, &topology("{}"), Some("me")).unwrap();
    let expected = json!({
        "topology.submitter.principal": "me", "topology.submitter.user": "me", "topology.users": ["you", "me"],
        "storm.zookeeper.superACL": null, "ringstorm.worker.secret": "secret", "storm.id": "words-2-7",
        "topology.name": "words", "topology.version": "7",
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(accepted.conf[key], *value, "{key}");
    }
    for key in ["storm.local.hostname", "topology.classpath.beginning", "storm.zookeeper.topology.auth.payload"] {
        assert!(!accepted.conf.contains_key(key), "{key}");
    }
    let base = accepted.base;
    assert_eq!((base.owner.as_deref(), base.principal.as_deref()), (Some("me"), Some("me")));
    assert_eq!((base.status, base.topology_version.as_deref()), (TopologyStatus::Inactive, Some("7")));
    let anonymous = submit(json!({}), &json!({"topology.users": "you"}), &topology("{}"), None).unwrap();
    assert_eq!(anonymous.conf["topology.users"], json!(["you", null]));
    assert_eq!(anonymous.base.owner.as_deref(), Some("storm"));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let mut topology = topology("{\"topology.tasks\": []}");
    let mut other = topology.bolts["b"].clone();
    other.common.json_conf = Some("{".to_owned());
    topology.bolts.insert("__c".to_owned(), other);
    let daemon = json!({"nimbus.executors.perTopology": 1, "storm.zookeeper.auth.scheme": "digest"});
    let own = json!({"topology.workers": 0, "topology.debug": "yes"});
    let Err(Refusal::Invalid(reasons)) = submit(daemon, &own, &topology, None) else { panic!("it was accepted") };
    let expected = [
        "Field topology.workers must be a Positive Number",
        "Field topology.debug must be of type class java.lang.Boolean. Object: \"yes\" actual type: class java.lang.String",
        "Component: [__c]: The configuration of component [__c] is not JSON: EOF while parsing an object at line 1 column 1",
        "Component: [b]: topology.tasks is [], which is not a whole number of 32 bits",
        "__c is not a valid component id.",
        "Failed to submit topology. Topology requests more than 1 executors.",
        "The cluster is configured for zookeeper authentication, but no payload was provided.",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn a_payload_for_zookeeper_stays_where_the_cluster_has_authentication() {
    let own = json!({"storm.zookeeper.topology.auth.scheme": "digest", "storm.zookeeper.topology.auth.payload": "a:b"});
    let accepted = submit(json!({"storm.zookeeper.auth.scheme": "digest"}), &own, &topology("{}"), None).unwrap();
    assert_eq!(accepted.conf["storm.zookeeper.topology.auth.payload"], "a:b");
}

#[test]
fn a_year_that_the_record_cannot_hold_is_refused() {
    let submission = Submission {
        name: "words",
        json_conf: "{}",
        topology: &topology("{}"),
        initial_status: TopologyInitialStatus::Active,
        principal: None,
        nimbus_user: "storm",
        number: 1,
        now_secs: i64::from(i32::MAX) + 1,
        worker_secret: "secret",
    };
    assert!(accept(&Conf::new(), &submission).unwrap_err().to_string().contains("2038"));
    let later = Submission { now_secs: 7, initial_status: TopologyInitialStatus::from_number(9), ..submission };
    assert_eq!(accept(&Conf::new(), &later).unwrap_err().to_string(), "Inital Status of 9 is not allowed.");
}
