//! Each rule with a topology that breaks it and it alone, and topologies that break many.

use std::time::Instant;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::config::{Config, ConfigError, KeyClass, Origin, keys};
use crate::id::{ComponentId, StreamId};
use crate::testing::{emitting, graph, id, input, topologies, word_count};
use crate::topology::{Component, Execution, Grouping, Output, Reads};

/// A rule: how to break it in the word count, and what the one violation must say.
type Rule = (&'static str, fn(&mut Topology), &'static [&'static str]);

fn component<'a>(topology: &'a mut Topology, name: &str) -> &'a mut Component {
    topology.components.get_mut(name).unwrap()
}

fn output<'a>(topology: &'a mut Topology, name: &str) -> &'a mut Output {
    component(topology, name).outputs.get_mut("default").unwrap()
}

fn typed(topology: &mut Topology, layout: u64) {
    let output = output(topology, "split");
    (output.layout, output.layout_name, output.kinds) = (layout, "Word".to_owned(), vec!["string".to_owned()]);
}

fn reads(topology: &mut Topology, layout: u64, fields: &[&str]) {
    component(topology, "count").reads.push(Reads {
        component: None,
        stream: None,
        layout,
        fields: fields.iter().map(|field| ((*field).to_owned(), "u32".to_owned())).collect(),
        type_name: "Sentence".to_owned(),
    });
}

const RULES: &[Rule] = &[
    (
        "no spout",
        |topology| {
            component(topology, "words").kind = crate::topology::ComponentKind::Bolt;
            component(topology, "words").inputs.push(input("count", Grouping::Shuffle));
        },
        &["no spout", "add at least one"],
    ),
    (
        "reserved component",
        |topology| drop(topology.components.insert(id("__mine"), emitting(Component::spout(), 1, &["x"]))),
        &["\"__mine\"", "reserved", "rename it"],
    ),
    (
        "reserved stream",
        |topology| {
            let outputs = &mut component(topology, "split").outputs;
            outputs.insert(StreamId::from_static("__tick"), Output::dynamic(["x"]));
        },
        &["\"split\"", "\"__tick\"", "reserved", "rename the stream"],
    ),
    (
        "unknown component",
        |topology| component(topology, "split").inputs[0].component = id("wrods"),
        &["bolt \"split\"", "\"wrods\", which does not exist", "Did you mean \"words\"?", "\"count\", \"split\""],
    ),
    (
        "unknown component like no other",
        |topology| component(topology, "split").inputs[0].component = id("ghost"),
        &["\"ghost\", which does not exist. Existing components: \"count\", \"split\", \"words\"."],
    ),
    (
        "unknown stream",
        |topology| component(topology, "split").inputs[0].stream = StreamId::from_static("ghost"),
        &["stream \"ghost\" of component \"words\"", "Existing streams of \"words\": \"default\"."],
    ),
    (
        "stream of a component that declares none",
        |topology| component(topology, "words").outputs.clear(),
        &["stream \"default\" of component \"words\"", "There are no streams of \"words\"."],
    ),
    (
        "unknown field",
        |topology| component(topology, "count").inputs[0].grouping = Grouping::Fields(vec!["wrod".to_owned()]),
        &["bolt \"count\"", "by field \"wrod\"", "Did you mean \"word\"?", "Existing fields of the stream: \"word\"."],
    ),
    (
        "unknown field of a partial key",
        |topology| component(topology, "count").inputs[0].grouping = Grouping::PartialKey(vec!["ghost".to_owned()]),
        &["by field \"ghost\"", "Existing fields of the stream: \"word\"."],
    ),
    (
        "partial key of a stream without fields",
        |topology| {
            output(topology, "split").fields.clear();
            component(topology, "count").inputs[0].grouping = Grouping::PartialKey(Vec::new());
        },
        &["by partial key", "no fields", "declare a field"],
    ),
    (
        "fields grouping without fields",
        |topology| component(topology, "count").inputs[0].grouping = Grouping::Fields(Vec::new()),
        &[
            "bolt \"count\" groups stream \"default\" of component \"split\" by fields, but names none",
            "global grouping",
        ],
    ),
    (
        "direct grouping of a plain stream",
        |topology| component(topology, "split").inputs[0].grouping = Grouping::Direct,
        &["bolt \"split\"", "not a direct stream", "declare the stream as direct"],
    ),
    (
        "plain grouping of a direct stream",
        |topology| output(topology, "words").direct = true,
        &["a shuffle grouping", "is a direct stream", "use a direct grouping"],
    ),
    (
        "bolt without inputs",
        |topology| component(topology, "count").inputs.clear(),
        &["bolt \"count\" subscribes to nothing", "add a grouping"],
    ),
    (
        "spout with inputs",
        |topology| component(topology, "words").inputs.push(input("split", Grouping::Shuffle)),
        &["spout \"words\" subscribes to component \"split\"", "make it a bolt"],
    ),
    (
        "duplicate field",
        |topology| output(topology, "count").fields = ["a", "b", "a", "a"].map(str::to_owned).to_vec(),
        &["\"count\"", "field \"a\" more than once", "\"default\"", "rename one"],
    ),
    (
        "parallelism 0",
        |topology| component(topology, "count").parallelism_hint = Some(0),
        &["\"count\" has parallelism 0", "at least 1"],
    ),
    ("0 tasks", |topology| component(topology, "count").task_count = Some(0), &["\"count\" has 0 tasks", "at least 1"]),
    (
        "more executors than tasks",
        |topology| {
            component(topology, "count").parallelism_hint = Some(8);
            component(topology, "count").task_count = Some(4);
        },
        &["\"count\" asks for 8 executors", "only 4 tasks", "raise its tasks to 8"],
    ),
    (
        "more executors than configured tasks",
        |topology| component(topology, "count").config.set(keys::TOPOLOGY_TASKS, 1, Origin::TOPOLOGY),
        &["asks for 2 executors", "only 1 task;"],
    ),
    (
        "two numbers of tasks",
        |topology| {
            component(topology, "count").task_count = Some(4);
            component(topology, "count").config.set(keys::TOPOLOGY_TASKS, 6, Origin::TOPOLOGY);
        },
        &["given 4 tasks", "6 by topology.tasks", "keep one"],
    ),
    (
        "negative tasks",
        |topology| component(topology, "count").config.set(keys::TOPOLOGY_TASKS, -1, Origin::component(&id("count"))),
        &["topology.tasks is -1 (set by component \"count\")", "a whole number from 1 to 1000000"],
    ),
    (
        "concurrency 0",
        |topology| component(topology, "count").execution = Execution::Async { concurrency: 0 },
        &["\"count\" has concurrency 0", "at least 1"],
    ),
    (
        "too many tasks",
        |topology| component(topology, "count").parallelism_hint = Some(999_998),
        &["1000001 tasks", "1000000 that are possible", "above all of \"count\""],
    ),
    (
        "wrong tuple type",
        |topology| {
            typed(topology, 7);
            reads(topology, 8, &["number"]);
        },
        &[
            "bolt \"count\" reads Sentence (number: u32)",
            "component \"split\" carries Word (word: string)",
            "change the type",
        ],
    ),
    (
        "field read by name from a typed stream",
        |topology| {
            typed(topology, 7);
            reads(topology, 0, &["wort"]);
        },
        &["bolt \"count\" reads field \"wort\"", "Did you mean \"word\"?"],
    ),
    (
        "type read from a dynamic stream that lacks a field",
        |topology| reads(topology, 8, &["number"]),
        &["bolt \"count\" reads field \"number\"", "Existing fields of the stream: \"word\"."],
    ),
    (
        "type read from a dynamic stream whose fields are in another order",
        |topology| {
            output(topology, "split").fields = vec!["word".to_owned(), "length".to_owned()];
            reads(topology, 8, &["length", "word"]);
        },
        &["reads Sentence (length: u32, word: u32)", "carries dynamic tuples (word, length)", "in the same order"],
    ),
    (
        "type read from a dynamic stream that has more fields",
        |topology| {
            output(topology, "split").fields = vec!["word".to_owned(), "length".to_owned()];
            reads(topology, 8, &["word"]);
        },
        &["reads Sentence (word: u32)", "carries dynamic tuples (word, length)", "by name or by index"],
    ),
    (
        "reads without subscription",
        |topology| {
            reads(topology, 8, &["word"]);
            component(topology, "count").reads[0].component = Some(id("words"));
        },
        &["bolt \"count\" reads component \"words\", but does not subscribe", "add a grouping"],
    ),
    (
        "misspelled key of a component",
        |topology| component(topology, "count").config.set("topology.task", 1, Origin::component(&id("count"))),
        &["\"topology.task\" (set by component \"count\")", "did you mean \"topology.tasks\"?"],
    ),
];

#[test]
fn each_rule_is_reported_alone_and_in_words_that_help() {
    for (rule, break_it, words) in RULES {
        let mut topology = word_count();
        break_it(&mut topology);
        let violations = validate(&topology, &Config::new()).expect_err(rule);
        assert_eq!(violations.0.len(), 1, "{rule}: {violations}");
        for word in *words {
            assert!(violations.to_string().contains(word), "{rule}: {word:?} is missing in: {violations}");
        }
    }
}

#[test]
fn every_violation_is_reported_at_once() {
    let mut topology = word_count();
    component(&mut topology, "words").parallelism_hint = Some(0);
    component(&mut topology, "words").config.set("topology.max.spout.pending", -1, Origin::TOPOLOGY);
    component(&mut topology, "split").inputs[0].component = id("ghost");
    component(&mut topology, "count").inputs[0].grouping =
        Grouping::Fields(vec!["ghost".to_owned(), "word".to_owned(), "phantom".to_owned()]);
    topology.components.insert(id("__mine"), Component::bolt());
    let mut config = Config::new();
    config.set("topology.workers", "two", Origin::COMMAND_LINE);
    config.set("topology.debgu", true, Origin::COMMAND_LINE);
    let violations = validate(&topology, &config).unwrap_err();
    assert_eq!(violations.0.len(), 9, "{violations}");
    assert_eq!(violations.to_string().lines().count(), 9);
    assert!(violations.0.iter().any(|violation| matches!(violation, Violation::Config(ConfigError::BadValue { .. }))));
}

/// The numbers of streams have 16 bits.
#[test]
fn more_streams_than_can_be_numbered_are_refused() {
    let with_streams = |count: usize| {
        let mut topology = word_count();
        let outputs = &mut component(&mut topology, "words").outputs;
        for number in outputs.len()..count {
            outputs.insert(StreamId::new(format!("s{number}")).unwrap(), Output::dynamic(["x"]));
        }
        topology
    };
    assert_eq!(validate(&with_streams(65_535), &Config::new()), Ok(Vec::new()));
    let violations = validate(&with_streams(65_536), &Config::new()).unwrap_err();
    assert_eq!(violations.0, [Violation::TooManyStreams { component: id("words"), streams: 65_536 }]);
    let text = violations.to_string();
    assert!(text.contains("65536 streams") && text.contains("65535"), "{text}");
}

#[test]
fn more_inputs_than_can_be_counted_apart_are_refused_and_a_stream_counts_once() {
    let mut topology = word_count();
    for (name, first) in [("words", 0), ("split", 40_000)] {
        let outputs = &mut component(&mut topology, name).outputs;
        for number in first..first + 32_767 {
            outputs.insert(StreamId::new(format!("s{number}")).unwrap(), Output::dynamic(["x"]));
        }
    }
    let streams = |topology: &Topology, name: &str| -> Vec<crate::topology::Input> {
        let streams = topology.components[name].outputs.keys().cloned();
        streams.map(|stream| crate::topology::Input { stream, ..input(name, Grouping::Shuffle) }).collect()
    };
    let mut inputs = streams(&topology, "words");
    inputs.extend(streams(&topology, "split"));
    assert_eq!(inputs.len(), 65_536);
    component(&mut topology, "count").inputs = inputs[1..].to_vec();
    component(&mut topology, "count").inputs.extend_from_slice(&inputs[1..100]);
    assert_eq!(validate(&topology, &Config::new()).map(|warnings| warnings.len()), Ok(99));
    component(&mut topology, "count").inputs.push(inputs[0].clone());
    let violations = validate(&topology, &Config::new()).unwrap_err();
    assert_eq!(violations.0, [Violation::TooManyInputs { bolt: id("count"), streams: 65_536 }]);
    let text = violations.to_string();
    assert!(text.contains("bolt \"count\"") && text.contains("65536 streams") && text.contains("65535"), "{text}");
}

#[test]
fn sound_topologies_pass_without_warnings() {
    let mut topology = word_count();
    assert_eq!(validate(&topology, &Config::new()), Ok(Vec::new()));
    // Without fields the text of the first value is the key, as in Storm.
    component(&mut topology, "count").inputs[0].grouping = Grouping::PartialKey(Vec::new());
    component(&mut topology, "count").inputs.push(input("count", Grouping::All));
    typed(&mut topology, 7);
    component(&mut topology, "count").reads.push(Reads {
        component: Some(id("split")),
        stream: None,
        layout: 7,
        fields: vec![("other".to_owned(), "u32".to_owned())],
        type_name: "Word".to_owned(),
    });
    assert_eq!(validate(&topology, &Config::new()), Ok(Vec::new()));
}

#[test]
fn two_subscriptions_to_one_stream_are_warned_about_once() {
    let mut topology = word_count();
    let inputs = &mut component(&mut topology, "count").inputs;
    inputs.extend([input("split", Grouping::All), input("split", Grouping::Global), input("words", Grouping::All)]);
    let warnings = validate(&topology, &Config::new()).unwrap();
    let [warning @ Warning::SubscribedTwice { .. }] = &warnings[..] else { panic!("{warnings:?}") };
    let text = warning.to_string();
    for words in ["bolt \"count\" subscribes to stream \"default\" of component \"split\" more than once", "keep one"] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn time_outs_off_with_a_pending_limit_is_warned_about_with_both_settings() {
    let mut config = Config::new();
    config.set("topology.enable.message.timeouts", false, Origin::TOPOLOGY);
    let mut topology = word_count();
    assert_eq!(validate(&topology, &config), Ok(Vec::new()));
    component(&mut topology, "words").config.set("topology.max.spout.pending", 10, Origin::TOPOLOGY);
    let warnings = validate(&topology, &config).unwrap();
    assert_eq!(warnings, [Warning::PendingNeverTimesOut { spout: id("words"), max_spout_pending: 10 }]);
    let text = warnings[0].to_string();
    assert!(text.contains("topology.enable.message.timeouts") && text.contains("topology.max.spout.pending"), "{text}");
}

#[test]
fn a_cut_parallelism_and_settings_without_effect_are_warned_about() {
    let mut config = Config::new();
    config.set("topology.max.task.parallelism", 1, Origin::COMMAND_LINE);
    config.set("topology.kryo.register", json!([]), Origin::COMMAND_LINE);
    let warnings = validate(&word_count(), &config).unwrap();
    let capped = |name| Warning::ParallelismCapped { component: id(name), asked: 2, limit: 1 };
    assert_eq!(warnings[..2], [capped("count"), capped("split")]);
    assert!(matches!(&warnings[2], Warning::WithoutEffect(note) if note.class == KeyClass::JavaOnly));
    assert!(warnings[0].to_string().contains("topology.max.task.parallelism is 1"));
}

#[test]
fn thousands_of_violations_are_found_in_a_moment() {
    let names: Vec<String> = (0..3000).map(|index| format!("component-{index:04}")).collect();
    let edges: Vec<(&str, &str)> = names.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let mut topology = graph(&edges);
    for component in topology.components.values_mut().skip(1) {
        component.inputs[0].component = ComponentId::from_static("a-component-that-is-nowhere");
    }
    let start = Instant::now();
    assert_eq!(validate(&topology, &Config::new()).unwrap_err().0.len(), 2999);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn what_passes_can_be_numbered(topology in topologies()) {
        let warnings = validate(&topology, &Config::new()).unwrap();
        prop_assert!(warnings.iter().all(|warning| matches!(warning, Warning::SubscribedTwice { .. })), "{:?}", warnings);
        prop_assert!(crate::numbering::number(&topology, &Config::new(), 1).is_ok());
    }
}
