//! The whole description of one topology, and what must not be in any.

use std::num::NonZeroUsize;

use serde_json::json;

use super::*;
use crate::config::{Origin, keys};
use crate::numbering::number;
use crate::placement::{local_acker_count, place};
use crate::testing::{graph, id, input, word_count};
use crate::topology::{Execution, Grouping};
use crate::validate::validate;

/// The plan of a topology on two cores, as text and as JSON.
fn described(topology: &Topology, config: &Config) -> (String, Value) {
    let cores = NonZeroUsize::new(2).unwrap();
    let warnings = validate(topology, config).unwrap();
    let numbering = number(topology, config, local_acker_count(topology, config, cores).unwrap()).unwrap();
    let placement = place(&numbering, topology, cores);
    let plan = Plan {
        name: "word-count",
        topology,
        config,
        numbering: &numbering,
        placement: &placement,
        warnings: &warnings,
    };
    (plan.to_string(), plan.to_json())
}

fn rich() -> (Topology, Config) {
    let mut topology = word_count();
    let split = topology.components.get_mut("split").unwrap();
    let output = split.outputs.get_mut("default").unwrap();
    (output.layout, output.layout_name) = (0x1234, "Word".to_owned());
    let count = topology.components.get_mut("count").unwrap();
    (count.execution, count.task_count) = (Execution::Blocking, Some(3));
    count.inputs.push(input("count", Grouping::All));
    count.config.set(keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS, 0.5, Origin::component(&id("count")));
    let mut config = Config::new();
    config.set(keys::TOPOLOGY_MAX_SPOUT_PENDING, 10, Origin::COMMAND_LINE);
    config.set(keys::TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS, false, Origin::file("storm.json"));
    config.set("storm.zookeeper.topology.auth.payload.of.mine", "swordfish", Origin::TOPOLOGY);
    (topology, config)
}

#[test]
fn the_text_names_everything() {
    let (topology, config) = rich();
    let expected = "\
Topology word-count: 3 components, 6 tasks in 5 executors, 1 acker, 2 cores

spout words: 1 task in 1 executor
  emits  default (sentence), dynamic
  runs   [7,7] on core 0

bolt split: 2 tasks in 2 executors
  reads  default of words, grouped by shuffle
  emits  default (word), Word
  runs   [5,5] on core 1, [6,6] on core 0

bolt count: 3 tasks in 2 executors
  reads  default of split, grouped by fields word
  reads  default of count, grouped by all
  emits  default (word, count), dynamic
  runs   [2,3] on its own thread, [4,4] on its own thread, blocking
  topology.tick.tuple.freq.secs = 0.5 (set by component \"count\")

bolt __acker: 1 task in 1 executor
  runs   [1,1] on core 0

core 0: __acker [1,1], split [6,6], words [7,7]
core 1: split [5,5]
own threads: count [2,3], count [4,4]

cycle count, count

settings
  storm.zookeeper.topology.auth.payload.of.mine = \"(hidden)\" (set by the topology's own configuration)
  topology.enable.message.timeouts = false (set by file \"storm.json\")
  topology.max.spout.pending = 10 (set by the command line)

warnings
  spout \"words\" can stall: ";
    let (text, _) = described(&topology, &config);
    assert!(text.starts_with(expected), "{text}");
    assert!(!text.contains("swordfish"));
}

#[test]
fn the_json_holds_the_same() {
    let (topology, config) = rich();
    let (_, plan) = described(&topology, &config);
    assert_eq!(plan["topology"], "word-count");
    assert_eq!(
        plan["components"][1],
        json!({
            "id": "split",
            "kind": "bolt",
            "execution": "on core",
            "tasks": [5, 6],
            "executors": [{ "id": "[5,5]", "core": 1 }, { "id": "[6,6]", "core": 0 }],
            "inputs": [{ "component": "words", "stream": "default", "grouping": "shuffle" }],
            "outputs": [{
                "stream": "default", "fields": ["word"], "direct": false, "type": "Word", "layout": "0000000000001234"
            }],
            "config": {},
        })
    );
    let count = &plan["components"][2];
    assert_eq!(count["execution"], "blocking");
    assert_eq!(count["executors"][0], json!({ "id": "[2,3]", "core": null }));
    assert_eq!(count["inputs"][0]["fields"], json!(["word"]));
    assert_eq!(count["config"][keys::TOPOLOGY_TICK_TUPLE_FREQ_SECS]["value"], 0.5);
    assert_eq!(plan["ackers"], json!({ "tasks": [1], "executors": [{ "id": "[1,1]", "core": 0 }] }));
    assert_eq!(plan["cores"][1], json!({ "core": 1, "executors": ["[5,5]"] }));
    assert_eq!(plan["own_threads"], json!(["[2,3]", "[4,4]"]));
    assert_eq!(plan["cycles"], json!([["count"]]));
    let pending = &plan["config"][keys::TOPOLOGY_MAX_SPOUT_PENDING];
    assert_eq!(*pending, json!({ "value": 10, "set_by": "the command line" }));
    assert_eq!(plan["warnings"].as_array().unwrap().len(), 1);
    assert!(!plan.to_string().contains("swordfish"));
}

#[test]
fn large_topologies_are_cut_short_in_text_only() {
    let mut topology = graph(&[("a", "b")]);
    topology.components.get_mut("b").unwrap().parallelism_hint = Some(100);
    let (text, json) = described(&topology, &Config::new());
    assert!(text.contains("[14,14] on core 0 and 88 more"), "{text}");
    assert_eq!(json["components"][1]["executors"].as_array().unwrap().len(), 100);
}

#[test]
fn names_cannot_send_codes_to_a_terminal() {
    let mut topology = word_count();
    topology.components.get_mut("count").unwrap().inputs[0].grouping = Grouping::Custom("\u{1b}[2J".to_owned());
    topology.components.get_mut("count").unwrap().outputs.get_mut("default").unwrap().fields[0] = "a\nb".to_owned();
    let mut config = Config::new();
    config.set("mine\r", "\u{1b}[2J", Origin::TOPOLOGY);
    let (text, _) = described(&topology, &config);
    assert!(text.chars().all(|character| character == '\n' || !character.is_control()));
    assert!(text.contains("grouped by \\u{1b}[2J") && text.contains("(a\\nb, count)"), "{text}");
}
