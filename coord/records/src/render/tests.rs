//! What people see.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;
use crate::records::{Assignment, Grouping, NodeInfo, ProfileAction, ProfileRequest, StormBase, TopologyStatus};
use crate::thrift::{Binary, UnknownFields};
use crate::znode::Root;

fn slot() -> NodeInfo {
    NodeInfo { node: "s".into(), port: BTreeSet::from([6700]) }
}

#[test]
fn fields_enumerations_and_maps_have_storms_names() {
    let assignment = Assignment {
        master_code_dir: "d".into(),
        executor_node_port: BTreeMap::from([(vec![1, 2], slot())]),
        version: Some(7),
        ..Assignment::default()
    };
    assert_eq!(
        record(&assignment),
        json!({
            "master_code_dir": "d",
            "node_host": {},
            "executor_node_port": [{"key": [1, 2], "value": {"node": "s", "port": [6700]}}],
            "executor_start_time_secs": [],
            "worker_resources": [],
            "total_shared_off_heap": {},
            "assignment version": 7,
        })
    );
    let request = ProfileRequest { node_info: slot(), action: ProfileAction::JmapDump, time_stamp: None };
    assert_eq!(record(&request), json!({"nodeInfo": {"node": "s", "port": [6700]}, "action": "JMAP_DUMP"}));
    let unknown = ProfileRequest { action: ProfileAction::Unrecognized(99), ..request };
    assert_eq!(record(&unknown)["action"], json!(99));
}

#[test]
fn bytes_are_base64_and_numbers_that_json_lacks_are_words() {
    assert_eq!(
        record(&Grouping::CustomSerialized(Binary(vec![0xff, 0xfe, 0xfd]))),
        json!({"custom_serialized": "//79"})
    );
    let resources = BTreeMap::from([("a".into(), f64::NAN), ("b".into(), f64::INFINITY), ("c".into(), 1.5)]);
    let assignment = Assignment { total_shared_off_heap: resources, ..Assignment::default() };
    assert_eq!(record(&assignment)["total_shared_off_heap"], json!({"a": "NaN", "b": "inf", "c": 1.5}));
}

#[test]
fn what_is_unknown_or_missing_is_shown_as_far_as_it_can_be() {
    // A status, and two fields that nobody knows; no name, which is required.
    let bytes = [8, 0, 2, 0, 0, 0, 4, 11, 4, 0, 0, 0, 0, 1, b'x', 13, 4, 1, 8, 2, 0, 0, 0, 1, 0, 0, 0, 5, 1, 0];
    assert!(StormBase::from_bytes(&bytes).is_err());
    assert_eq!(
        bare_record(StormBase::SCHEMA, &bytes).unwrap(),
        json!({"status": "KILLED", "1024": "x", "1025": [{"key": 5, "value": true}]})
    );
}

#[test]
fn any_node_is_shown_by_its_path() {
    let root = Root::new("/storm").unwrap();
    let show = |path: &str, bytes: &[u8]| node(&root.node(path).unwrap(), bytes);
    assert_eq!(show("/storm/storms", &[7]), Ok(Value::Null));
    assert_eq!(show("/storm/leader-lock", &[]), Ok(Value::Null));
    assert!(show("/storm/storms", &[8]).is_err());
    assert_eq!(show("/storm/blobstoremaxkeysequencenumber/k", &[0, 0, 1, 0]), Ok(json!(256)));
    assert_eq!(show("/storm/leader-lock/_c_u-latch-0000000000", b"h:6627:0"), Ok(json!("h:6627:0")));
    let base = StormBase {
        name: "words".into(),
        status: TopologyStatus::Active,
        num_workers: 2,
        component_executors: None,
        launch_time_secs: None,
        owner: None,
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: None,
        unknown: UnknownFields::default(),
    };
    let expected = json!({"name": "words", "status": "ACTIVE", "num_workers": 2});
    assert_eq!(show("/storm/storms/words-1-2", &payload::encode(&base)), Ok(expected));
    assert_eq!(show("/storm/storms/words-1-2", &[7]), Ok(Value::Null));
}
