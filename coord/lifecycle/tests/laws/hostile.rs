//! Submissions of the largest size that a client may send, made to cost as much as possible.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ringstorm_lifecycle::conf::Conf;
use ringstorm_lifecycle::rebalance;
use ringstorm_lifecycle::submission::accept;
use ringstorm_records::records::{
    Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, RebalanceOptions, ShellComponent, StormTopology,
    StreamInfo,
};
use serde_json::{Value, json};

use crate::submission;

/// Nimbus takes messages of at most this many bytes.
const BYTES: usize = 1 << 20;

fn topology(bolts: impl IntoIterator<Item = (String, ComponentCommon)>) -> StormTopology {
    let bolt = |common| Bolt { bolt_object: ComponentObject::Shell(ShellComponent::default()), common };
    let bolts = bolts.into_iter().map(|(id, common)| (id, bolt(common))).collect();
    StormTopology { bolts, ..StormTopology::default() }
}

fn is_refused_in_time(own: &Value, topology: &StormTopology) -> String {
    let json = own.to_string();
    let start = Instant::now();
    let refusal = accept(&Conf::new(), &submission(&json, topology)).unwrap_err().to_string();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(refusal.len() < BYTES, "{} bytes", refusal.len());
    refusal
}

#[test]
fn many_wrong_inputs_of_a_long_name_cost_little() {
    let source = |number: usize| GlobalStreamId { component_id: number.to_string(), stream_id: String::new() };
    let inputs = (0..BYTES / 60).map(|number| (source(number), Grouping::Fields(Vec::new()))).collect();
    let common = ComponentCommon { inputs, ..ComponentCommon::default() };
    let refusal = is_refused_in_time(&json!({}), &topology([("x".repeat(BYTES / 2), common)]));
    assert!(refusal.contains("more reasons"));
}

#[test]
fn many_groupings_of_a_wide_stream_cost_little() {
    let output_fields: Vec<String> = (0..BYTES / 40).map(|number| number.to_string()).collect();
    let streams = [("default".to_owned(), StreamInfo { output_fields, direct: false })].into();
    let source = GlobalStreamId { component_id: "wide".to_owned(), stream_id: "default".to_owned() };
    let inputs: BTreeMap<_, _> = [(source, Grouping::Fields(vec!["nothing".to_owned()]))].into();
    let reader = ComponentCommon { inputs, ..ComponentCommon::default() };
    let readers = (0..BYTES / 200).map(|number| (format!("b{number}"), reader.clone()));
    let wide = ComponentCommon { streams, ..ComponentCommon::default() };
    is_refused_in_time(&json!({}), &topology(readers.chain([("wide".to_owned(), wide)])));
}

#[test]
fn many_consumers_of_many_components_cost_little() {
    let consumers: Vec<Value> = (0..BYTES / 100).map(|_| json!({"class": "C", "parallelism.hint": 1})).collect();
    let bolts = (0..BYTES / 200).map(|number| (format!("b{number}"), ComponentCommon::default()));
    let refusal = is_refused_in_time(&json!({"topology.metrics.consumer.register": consumers}), &topology(bolts));
    assert!(refusal.contains("too many for a topology of"), "{refusal}");
}

#[test]
fn tasks_without_number_and_users_without_end_cost_little() {
    let users: Vec<String> = (0..BYTES / 10).map(|number| number.to_string()).collect();
    let own = json!({"topology.users": users, "topology.tasks": i32::MAX});
    let refusal = is_refused_in_time(&own, &topology([("a".to_owned(), ComponentCommon::default())]));
    assert!(refusal.contains("is not a whole number from 1 to 1000000"), "{refusal}");
    let huge = ComponentCommon { parallelism_hint: Some(i32::MAX), ..ComponentCommon::default() };
    let refusal = is_refused_in_time(&json!({"topology.users": users}), &topology([("a".to_owned(), huge)]));
    assert!(refusal.contains("more than the 1000000 that are possible"), "{refusal}");
}

#[test]
fn many_unknown_components_in_a_rebalance_cost_little() {
    let known = topology((0..BYTES / 100).map(|number| (format!("b{number}"), ComponentCommon::default())));
    let num_executors = (0..BYTES / 20).map(|number| (number.to_string(), 0)).collect();
    let options = RebalanceOptions { num_executors: Some(num_executors), ..RebalanceOptions::default() };
    let start = Instant::now();
    let refusal = rebalance::check("words", &known, &Conf::new(), &options, None).unwrap_err().to_string();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(refusal.len() < BYTES);
}
