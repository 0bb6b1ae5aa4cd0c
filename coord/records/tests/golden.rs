//! What a real Storm wrote is read and written again with the same content: every znode and every message of
//! `tests/golden/`.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ringstorm_records::nimbus::{METHODS, NimbusCall};
use ringstorm_records::payload::{self, CONTAINER, NimbusAddress, NimbusInfo, PayloadKind};
use ringstorm_records::render;
use ringstorm_records::thrift::message::{Head, MessageKind};
use ringstorm_records::thrift::{Kind, Tree};
use ringstorm_records::znode::{Node, Root};
use serde_json::Value;

/// The lines of all files of one kind, with the name of their file.
fn lines(kind: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files.iter().filter(|file| file.to_str().unwrap().ends_with(kind)) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        all.extend(text.lines().map(|line| (name.to_owned(), serde_json::from_str(line).unwrap())));
    }
    all
}

fn bytes(line: &Value, field: &str) -> Vec<u8> {
    let hex = line[field].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The content of a bare struct, without the order that Thrift does not have.
fn content(bytes: &[u8]) -> Tree {
    let mut tree = Tree::of_struct(bytes).unwrap();
    tree.sort();
    tree
}

/// The head of a message, and the content of its struct.
fn message_content(message: &[u8]) -> (MessageKind, String, i32, Tree) {
    let (head, input) = Head::read(message).unwrap();
    (head.kind, head.method.to_owned(), head.sequence, content(&message[input.position()..]))
}

#[test]
fn every_znode_is_known_and_has_storms_mode() {
    let root = Root::new("/storm").unwrap();
    let mut kinds = BTreeSet::new();
    for (file, line) in lines(".znodes.jsonl") {
        let path = line["path"].as_str().unwrap();
        let node = root.node(path).unwrap_or_else(|| panic!("{file}: {path} is no node"));
        assert_eq!(root.path(&node), path);
        assert_eq!(Value::Bool(node.mode().is_ephemeral()), line["ephemeral"], "{path}");
        kinds.insert(node.name());
    }
    // What the recorded situations had no need of; their paths are compared with Storm's own by `java_oracle`.
    let unseen: Vec<_> = Node::NAMES.iter().filter(|name| !kinds.contains(**name)).copied().collect();
    assert_eq!(
        unseen,
        [
            "AllCredentials",
            "Credentials",
            "ProfilerConfigs",
            "TopologyProfilerConfigs",
            "ProfilerConfig",
            "SecretKeys",
            "ServiceSecretKeys",
            "TopologySecretKeys",
            "SecretKey",
            "TopologyBackpressure",
            "WorkerBackpressure",
        ]
    );
}

#[test]
fn every_znode_is_read_and_written_with_the_same_content() {
    let root = Root::new("/storm").unwrap();
    let mut records = BTreeMap::<&str, usize>::new();
    for (file, line) in lines(".znodes.jsonl") {
        let path = line["path"].as_str().unwrap();
        let node = root.node(path).unwrap();
        let stored = bytes(&line, "data_hex");
        match node.payload() {
            PayloadKind::Empty => assert!(stored.is_empty(), "{file} {path}"),
            PayloadKind::Container => assert_eq!(stored, CONTAINER, "{file} {path}"),
            PayloadKind::Record(of) => {
                let bare = payload::bare(&stored).unwrap();
                let written = (of.rewrite)(&bare).unwrap_or_else(|error| panic!("{file} {path}: {error}"));
                assert_eq!(content(&written), content(&bare), "{file} {path}");
                *records.entry(of.schema.name).or_default() += 1;
            }
            PayloadKind::Number => {
                assert_eq!(payload::encode_number(payload::decode_number(&stored).unwrap()), *stored, "{path}");
            }
            PayloadKind::Timestamp => panic!("Storm 2 writes none"),
            PayloadKind::Address => {
                let address: NimbusAddress = std::str::from_utf8(&stored).unwrap().parse().unwrap();
                assert_eq!(address.to_string().as_bytes(), stored);
            }
            PayloadKind::NimbusInfo => {
                let info = NimbusInfo::from_bytes(&stored).unwrap();
                assert!(!info.is_leader, "Storm writes false");
                assert_eq!(info.to_bytes(), stored);
            }
        }
        assert_fully_named(&render::node(&node, &stored).unwrap(), path);
    }
    let expected = [
        ("Assignment", 7),
        ("ClusterWorkerHeartbeat", 11),
        ("ErrorInfo", 67),
        ("LogConfig", 4),
        ("NimbusSummary", 9),
        ("StormBase", 7),
        ("SupervisorInfo", 9),
    ];
    assert_eq!(records, BTreeMap::from(expected));
}

/// Every field has a name, every enumeration too: what is shown by number is not in the definition.
fn assert_fully_named(shown: &Value, place: &str) {
    match shown {
        Value::Object(fields) => {
            for (name, field) in fields {
                // Windows of statistics are numbers too, from 600 on.
                let is_nameless = name.parse::<u32>().is_ok_and(|number| number < 600);
                assert!(!is_nameless, "{place}: field {name} is not in the definition");
                assert_fully_named(field, place);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| assert_fully_named(element, place)),
        _ => {}
    }
}

#[test]
fn every_call_is_read_and_written_with_the_same_content() {
    let mut methods = BTreeSet::new();
    for (file, line) in lines(".thrift.jsonl") {
        let message = bytes(&line, "call_hex");
        let (head, input) = Head::read(&message).unwrap();
        assert_eq!((head.kind, head.method), (MessageKind::Call, line["method"].as_str().unwrap()));
        let call = NimbusCall::read(head.method, input).unwrap();
        let call = call.unwrap_or_else(|| panic!("{file}: {} is not known", head.method));
        let written = call.to_message(head.sequence);
        assert_eq!(message_content(&written), message_content(&message), "{file}: {}", head.method);
        // The older head, which Storm's servers read too.
        let name = head.method.as_bytes();
        let mut older = (name.len() as i32).to_be_bytes().to_vec();
        older.extend([name, &[1], &head.sequence.to_be_bytes(), &message[12 + name.len()..]].concat());
        let (older_head, input) = Head::read(&older).unwrap();
        assert_eq!(older_head, head);
        assert_eq!(NimbusCall::read(head.method, input), Ok(Some(call)));
        methods.insert(head.method.to_owned());
    }
    assert_eq!(methods.len(), 34, "{methods:?}");
}

#[test]
fn every_reply_is_read_and_written_with_the_same_content() {
    let (mut results, mut refusals) = (0, 0);
    for (file, line) in lines(".thrift.jsonl") {
        let message = bytes(&line, "reply_hex");
        let (head, _) = Head::read(&message).unwrap();
        let method = METHODS.iter().find(|method| method.name == head.method).unwrap();
        let expected = message_content(&message);
        match (method.rewrite_reply)(head.sequence, &message) {
            Ok(written) => {
                assert_eq!(message_content(&written), expected, "{file}: {}", head.method);
                let Tree::Struct(fields) = expected.3 else { panic!("a result is a struct") };
                let is_refusal = fields.iter().any(|(id, kind, _)| *id != 0 && *kind == Kind::Struct);
                if is_refusal { refusals += 1 } else { results += 1 }
            }
            Err(error) => panic!("{file}: {}: {error}", head.method),
        }
    }
    assert_eq!((results, refusals), (74, 2));
}
