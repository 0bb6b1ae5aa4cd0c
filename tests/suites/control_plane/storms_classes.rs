//! Apache Storm's own classes read what the machines have written.

use ringstorm_records::payload::{self, PayloadKind};
use ringstorm_records::render;
use serde_json::Value;

use crate::oracle::{hex, oracle};
use crate::tree::{Nodes, sort};

/// The fields that are not Storm's, by their names; its readers skip them.
const OURS: [&str; 2] = ["assignment version", "slot cores"];

/// Asserts that Storm reads the same from every node of these trees as Ringstorm; passed over, loudly, where there is no
/// Java.
pub(crate) fn assert_read(trees: &[Nodes]) {
    let (mut requests, mut expected) = (Vec::new(), Vec::new());
    for (node, (bytes, seen)) in trees.iter().flatten() {
        match node.payload() {
            PayloadKind::Record(of) if *bytes != payload::CONTAINER => {
                requests.push(format!("read\t{}\t{}", of.schema.name, hex(bytes)));
                let mut shown = render::node(node, bytes).unwrap();
                let fields = shown.as_object_mut().unwrap();
                OURS.iter().for_each(|name| drop(fields.shift_remove(*name)));
                comparable(&mut shown);
                expected.push((node, shown));
            }
            PayloadKind::NimbusInfo => {
                let address = format!("{}:{}:{}", text(&seen.holds["host"]), seen.holds["port"], seen.holds["tlsPort"]);
                let answer = format!("{address} {} {}", seen.holds["isLeader"], hex(bytes));
                requests.push(format!("nimbusInfo\t{}", hex(bytes)));
                expected.push((node, Value::String(answer)));
            }
            PayloadKind::Address => {
                let address = text(&seen.holds);
                requests.push(format!("address\t{address}"));
                expected.push((node, Value::String(address.to_owned())));
            }
            _ => {}
        }
    }
    let Some(answers) = oracle(&requests) else { return };
    assert!(answers.len() > trees.len());
    for ((node, expected), answer) in expected.iter().zip(answers) {
        let mut answer = match expected {
            Value::String(_) => Value::String(answer),
            _ => serde_json::from_str(&answer).unwrap(),
        };
        comparable(&mut answer);
        assert_eq!(answer, *expected, "{node:?}");
    }
}

/// Without the order of maps, without the kind of empty ones, and without the last digits of broken numbers, which a
/// reader of JSON may lose.
fn comparable(value: &mut Value) {
    simplify(value);
    sort(value);
}

fn simplify(value: &mut Value) {
    match value {
        Value::Object(fields) if fields.is_empty() => *value = Value::Array(Vec::new()),
        Value::Number(number) if number.is_f64() => {
            *value = Value::String(format!("{:.12e}", number.as_f64().unwrap()));
        }
        Value::Array(elements) => elements.iter_mut().for_each(simplify),
        Value::Object(fields) => fields.values_mut().for_each(simplify),
        _ => {}
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
