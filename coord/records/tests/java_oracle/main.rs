//! Apache Storm's own classes agree: on every definition, on every record and call that is written, on every path.
//!
//! Needs Java 17 or later (a development kit) and Maven, which fetches Storm 2.8.2's client library once. Without them
//! the tests are skipped and say so; with `RINGSTORM_REQUIRE_JAVA=1` that is a failure.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod oracle;
mod paths;
#[path = "../laws/samples.rs"]
#[allow(dead_code, reason = "the laws need more of it")]
mod samples;

use oracle::{hex, oracle};
use ringstorm_records::nimbus::{METHODS, MethodType, NimbusCall};
use ringstorm_records::payload::{self, NimbusAddress, NimbusInfo};
use ringstorm_records::records::{Assignment, ClusterSummary, ClusterWorkerHeartbeat, SupervisorInfo};
use ringstorm_records::thrift::message::{Head, MessageKind};
use ringstorm_records::thrift::{EnumSchema, FieldSchema, RecordType, Schema, Type};
use ringstorm_records::{records, render};
use samples::{bytes_of, full, full_members};
use serde_json::{Value, json};

/// Where the oracle's program lies, from this package.
const ORACLE: &str = "tests/java";

/// The fields that are not Storm's: record, id, name. No field of Storm's has one of these names.
const OURS: [(&str, i16, &str); 6] = [
    ("Assignment", 1001, "assignment version"),
    ("Assignment", 1002, "slot cores"),
    ("ClusterWorkerHeartbeat", 1001, "assignment version"),
    ("SupervisorInfo", 1001, "versions seen"),
    ("SupervisorInfo", 1002, "out of service"),
    ("ClusterSummary", 1001, "unreadable topologies"),
];

fn type_text(of: Type) -> String {
    match of {
        Type::Bool => "bool".into(),
        Type::I32 => "i32".into(),
        Type::I64 => "i64".into(),
        Type::Double => "double".into(),
        Type::String => "string".into(),
        Type::Binary => "binary".into(),
        Type::Enum(schema) => schema.name.into(),
        Type::Record(schema) => schema.name.into(),
        Type::List(of) => format!("list<{}>", type_text(*of)),
        Type::Set(of) => format!("set<{}>", type_text(*of)),
        Type::Map(key, of) => format!("map<{},{}>", type_text(*key), type_text(*of)),
    }
}

fn field_text(field: &FieldSchema) -> String {
    let required = if field.is_required { "required " } else { "" };
    format!("{} {required}{} {}", field.id, type_text(field.holds), field.name)
}

/// A definition as the oracle prints it.
fn schema_text(schema: &Schema) -> String {
    let fields = schema.fields.iter().filter(|field| !OURS.contains(&(schema.name, field.id, field.name)));
    let fields: Vec<String> = fields.map(field_text).collect();
    format!("{} {{{}}}", if schema.is_union { "union" } else { "struct" }, fields.join(", "))
}

/// Every enumeration that a record holds.
fn enumerations() -> Vec<&'static EnumSchema> {
    fn collect(of: Type, all: &mut Vec<&'static EnumSchema>) {
        match of {
            Type::Enum(schema) => all.push(schema),
            Type::List(of) | Type::Set(of) => collect(*of, all),
            Type::Map(key, of) => [key, of].into_iter().for_each(|of| collect(*of, all)),
            // What it holds is a record of its own.
            _ => {}
        }
    }
    let mut all = Vec::new();
    records::all().flat_map(|of| of.schema.fields).for_each(|field| collect(field.holds, &mut all));
    all.push(records::WorkerTokenServiceType::SCHEMA);
    all
}

#[test]
fn every_definition_is_storms() {
    let mut requests = Vec::new();
    let mut expected = Vec::new();
    for of in records::all() {
        requests.push(format!("schema\t{}", of.schema.name));
        expected.push(schema_text(of.schema));
    }
    for schema in enumerations() {
        requests.push(format!("enumeration\t{}", schema.name));
        let values: Vec<String> = schema.values.iter().map(|(number, name)| format!("{number}={name}")).collect();
        expected.push(format!("{{{}}}", values.join(", ")));
    }
    for method in METHODS {
        requests.push(format!("schema\tNimbus${}_args", method.name));
        expected.push(schema_text(method.arguments));
    }
    let Some(answers) = oracle(&requests) else { return };
    for ((request, answer), expected) in requests.iter().zip(&answers).zip(&expected) {
        assert_eq!(answer, expected, "{request}");
    }
}

#[test]
fn every_method_answers_what_storms_does() {
    let requests: Vec<String> = METHODS.iter().map(|method| format!("schema\tNimbus${}_result", method.name)).collect();
    let Some(answers) = oracle(&requests) else { return };
    for (method, answer) in METHODS.iter().zip(answers) {
        let success = method.success.map(|of| format!("0 {} success", type_text(of)));
        let exceptions = method.exceptions.iter().map(|(id, name)| format!("{id} {name}"));
        let expected: Vec<String> = success.into_iter().chain(exceptions).collect();
        let fields = answer.trim_start_matches("struct {").trim_end_matches('}');
        // Storm's names of the exceptions are nowhere on the wire.
        let nameless = |field: &str| {
            let words = if field.starts_with("0 ") { 3 } else { 2 };
            field.split(' ').take(words).collect::<Vec<_>>().join(" ")
        };
        let fields: Vec<String> = fields.split(", ").filter(|field| !field.is_empty()).map(nameless).collect();
        assert_eq!(fields, expected, "{}", method.name);
    }
}

#[test]
fn storm_reads_every_record_that_is_written_and_writes_the_same() {
    let written: Vec<(&RecordType, Vec<u8>)> = records::all()
        .flat_map(|of| {
            full_members(of.schema).into_iter().map(move |tree| (of, (of.rewrite)(&bytes_of(&tree)).unwrap()))
        })
        .collect();
    let request = |what: &str, (of, bare): &(&RecordType, Vec<u8>)| {
        format!("{what}\t{}\t{}", of.schema.name, hex(&payload::gzip(bare)))
    };
    let reads = written.iter().map(|of| request("read", of));
    let rewrites = written.iter().map(|of| request("rewrite", of));
    let Some(answers) = oracle(&reads.chain(rewrites).collect::<Vec<_>>()) else { return };
    let (read, rewritten) = answers.split_at(written.len());
    for (((of, bare), read), rewritten) in written.iter().zip(read).zip(rewritten) {
        let read: Value = serde_json::from_str(read).unwrap();
        let mut ours = render::bare_record(of.schema, bare).unwrap();
        let is_storms = !drop_ours(&mut ours);
        assert_eq!(read, ours, "{}", of.schema.name);
        let back = payload::bare(&oracle::unhex(rewritten)).unwrap().into_owned();
        assert_eq!(render::bare_record(of.schema, &back).unwrap(), ours, "{}", of.schema.name);
        // Each container has one element, so that even the bytes are equal.
        if is_storms {
            assert_eq!(back, *bare, "{}", of.schema.name);
        }
    }
}

/// Takes away what Storm's readers skip; whether there was any.
fn drop_ours(value: &mut Value) -> bool {
    let (mut was_there, inner): (bool, Vec<&mut Value>) = match value {
        Value::Object(fields) => {
            let mut was_there = false;
            OURS.iter().for_each(|(_, _, name)| was_there |= fields.shift_remove(*name).is_some());
            (was_there, fields.values_mut().collect())
        }
        Value::Array(elements) => (false, elements.iter_mut().collect()),
        _ => (false, Vec::new()),
    };
    for value in inner {
        was_there |= drop_ours(value);
    }
    was_there
}

#[test]
fn storm_skips_what_is_not_storms() {
    let cores = Some([("node".to_owned(), 4)].into());
    let assignment =
        Assignment { master_code_dir: "d".into(), version: Some(5), slot_cores: cores, ..Assignment::default() };
    let beat = ClusterWorkerHeartbeat { storm_id: "t".into(), version: Some(5), ..ClusterWorkerHeartbeat::default() };
    let versions_seen = Some([("t".to_owned(), 5)].into());
    let is_out_of_service = Some(true);
    let supervisor =
        SupervisorInfo { hostname: "h".into(), versions_seen, is_out_of_service, ..SupervisorInfo::default() };
    let unreadable = Some([("t".to_owned(), "why".to_owned())].into());
    let cluster = ClusterSummary { unreadable, ..ClusterSummary::default() };
    let requests = [
        format!("read\tAssignment\t{}", hex(&payload::encode(&assignment))),
        format!("read\tClusterWorkerHeartbeat\t{}", hex(&payload::encode(&beat))),
        format!("read\tSupervisorInfo\t{}", hex(&payload::encode(&supervisor))),
        format!("read\tClusterSummary\t{}", hex(&payload::encode(&cluster))),
    ];
    let shown = [
        ("Assignment", render::record(&assignment)),
        ("ClusterWorkerHeartbeat", render::record(&beat)),
        ("SupervisorInfo", render::record(&supervisor)),
        ("ClusterSummary", render::record(&cluster)),
    ];
    for (record, _, name) in OURS {
        assert!(shown.iter().any(|(of, fields)| *of == record && fields.get(name).is_some()), "{record} {name}");
    }
    let Some(answers) = oracle(&requests) else { return };
    let read = [("master_code_dir", json!("d")), ("storm_id", json!("t")), ("hostname", json!("h"))];
    for ((field, value), answer) in read.into_iter().chain([("topologies", json!([]))]).zip(&answers) {
        let mut read: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(read[field], value);
        assert!(!drop_ours(&mut read), "{answer}");
    }
}

/// A message of a method: a call with all arguments, or an answer with all of its result.
fn messages(method: &MethodType) -> [(String, Vec<u8>, &'static Schema); 2] {
    let with_head = |kind, schema: &'static Schema| {
        let mut message = Head { kind, method: method.name, sequence: 5 }.write().into_bytes();
        message.extend(bytes_of(&full(schema)));
        message
    };
    let asked = with_head(MessageKind::Call, method.arguments);
    let (head, input) = Head::read(&asked).unwrap();
    let call = NimbusCall::read(head.method, input).unwrap().unwrap().to_message(5);

    let success = method.success.map(|holds| FieldSchema { id: 0, name: "success", is_required: false, holds });
    let fields: &'static [FieldSchema] = Box::leak(success.into_iter().collect());
    let result: &'static Schema =
        Box::leak(Box::new(Schema { name: "result", is_union: false, keeps_unknown: false, fields }));
    let reply = (method.rewrite_reply)(5, &with_head(MessageKind::Reply, result)).unwrap();
    [
        (format!("Nimbus${}_args", method.name), call, method.arguments),
        (format!("Nimbus${}_result", method.name), reply, result),
    ]
}

#[test]
fn storm_reads_every_call_and_every_answer_that_is_written() {
    let all: Vec<_> =
        METHODS.iter().flat_map(|method| messages(method).map(|message| (method.name, message))).collect();
    let requests: Vec<String> =
        all.iter().map(|(_, (class, message, _))| format!("message\t{class}\t{}", hex(message))).collect();
    let Some(answers) = oracle(&requests) else { return };
    for ((method, (class, message, schema)), answer) in all.iter().zip(answers) {
        let (head, input) = Head::read(message).unwrap();
        let mut ours = render::bare_record(schema, &message[input.position()..]).unwrap();
        drop_ours(&mut ours);
        let words: Vec<&str> = answer.splitn(4, ' ').collect();
        assert_eq!(words[..3], [*method, &(head.kind as u8).to_string(), "5"], "{class}");
        assert_eq!(serde_json::from_str::<Value>(words[3]).unwrap(), ours, "{class}");
    }
}

#[test]
fn storm_reads_the_leaders_record_and_writes_the_same_bytes() {
    let hosts = ["127.0.0.1", "nimbus-1.example", "fe80::1", "ä\u{20ac}"];
    let infos: Vec<NimbusInfo> = hosts
        .into_iter()
        .map(|host| NimbusInfo { address: NimbusAddress::new(host, 6627, 6628).unwrap(), is_leader: host.len() > 9 })
        .collect();
    let asked = infos.iter().map(|info| format!("nimbusInfo\t{}", hex(&info.to_bytes())));
    let addresses = infos.iter().map(|info| format!("address\t{}", info.address));
    let Some(answers) = oracle(&asked.chain(addresses).collect::<Vec<_>>()) else { return };
    let (read, parsed) = answers.split_at(infos.len());
    for ((info, read), parsed) in infos.iter().zip(read).zip(parsed) {
        assert_eq!(*read, format!("{} {} {}", info.address, info.is_leader, hex(&info.to_bytes())));
        assert_eq!(*parsed, info.address.to_string());
    }
}
