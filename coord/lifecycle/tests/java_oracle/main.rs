//! Apache Storm's own nimbus makes the same of configurations, topologies, bases and actions, whatever they are.
//!
//! Needs Java 17 or later (a development kit) and Maven, which fetches Storm 2.8.2's server library once. Without them
//! the tests are skipped and say so; with `RINGSTORM_REQUIRE_JAVA=1` that is a failure.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod bases;
#[path = "../../../records/tests/java_oracle/oracle.rs"]
mod oracle;
#[path = "../laws/samples.rs"]
#[allow(dead_code, reason = "the laws need more of it")]
mod samples;

use std::collections::{BTreeMap, BTreeSet};

use oracle::{hex, oracle, unhex};
use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ringstorm_lifecycle::conf::{self, Conf, normalize_conf, normalize_topology};
use ringstorm_lifecycle::executors::{Tasks, first_executors};
use ringstorm_lifecycle::system::system_topology;
use ringstorm_lifecycle::{id, validate};
use ringstorm_records::records::{Bolt, ComponentObject, JavaObject, StormBase, StormTopology};
use ringstorm_records::thrift::Record;
use serde_json::json;

/// Where the oracle's program lies, from this package.
const ORACLE: &str = "tests/java";

/// Random cases of each kind.
const CASES: usize = 400;

fn random<S: Strategy>(count: usize, strategy: S) -> Vec<S::Value> {
    let mut runner = TestRunner::default();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

fn record<R: Record>(answer: &str) -> R {
    R::from_bytes(&unhex(answer)).unwrap()
}

fn parsed(json: &str) -> Conf {
    conf::parse(json, "Storm's").unwrap()
}

/// The message of an exception of Storm's; `None` for any other answer.
fn exception(answer: &str) -> Option<&str> {
    answer.strip_prefix("exception\t")?.split_once('\t').map(|(_, message)| message)
}

/// Without code, and with configurations as maps, which have no order.
fn comparable(mut topology: StormTopology) -> (StormTopology, BTreeMap<String, Conf>) {
    let mut confs = BTreeMap::new();
    for (id, Bolt { bolt_object, common }) in &mut topology.bolts {
        *bolt_object = ComponentObject::JavaObject(JavaObject::default());
        confs.extend(common.json_conf.take().map(|json| (id.clone(), parsed(&json))));
    }
    for (id, spout) in &mut topology.spouts {
        confs.extend(spout.common.json_conf.take().map(|json| (id.clone(), parsed(&json))));
    }
    (topology, confs)
}

/// A daemon's configuration with what Storm takes for granted there.
fn daemon(given: &Conf) -> Conf {
    let defaults = json!({
        "storm.messaging.netty.authentication": false, "topology.worker.nimbus.thrift.client.use.tls": false,
        "worker.max.timeout.secs": 5, "topology.workers": 1, "topology.message.timeout.secs": 30,
    });
    let mut conf = defaults.as_object().unwrap().clone();
    conf.extend(given.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), value.clone())));
    conf
}

/// Decorators come in the order of Java's hashes, and reporters of the cluster again where the topology has them; the
/// latter also get into the list under the older key, which Storm takes for the one under the newer.
fn sorted(mut conf: Conf) -> Conf {
    conf.shift_remove("storm.metrics.reporters");
    if let Some(list) = conf.get_mut("topology.metrics.reporters").and_then(|value| value.as_array_mut()) {
        let mut once = BTreeSet::new();
        list.retain(|reporter| once.insert(reporter.to_string()));
    }
    if let Some(list) = conf.get_mut("topology.kryo.decorators").and_then(|value| value.as_array_mut()) {
        list.sort_by_key(|name| name.to_string());
    }
    conf
}

fn has_right_values(topology: &StormTopology) -> bool {
    let confs =
        topology.bolts.values().map(|bolt| &bolt.common).chain(topology.spouts.values().map(|spout| &spout.common));
    confs
        .map(|common| conf::of_component("any", common))
        .all(|conf| conf.is_ok_and(|conf| validate::values(&conf).is_empty()))
}

/// Storm's map of all components has one of two with one id.
fn has_unique_ids(topology: &StormTopology) -> bool {
    topology.bolts.keys().all(|id| !topology.spouts.contains_key(id))
}

#[test]
fn configurations_are_normalized_alike() {
    let all = random(3 * CASES, (samples::conf(), samples::conf(), samples::topology()));
    let all: Vec<(Conf, Conf, StormTopology)> = all
        .into_iter()
        .map(|(under, own, topology)| (daemon(&under), own, topology))
        .filter(|(under, own, topology)| {
            // What Storm's nimbus would not get as far as this with, or fails at for want of a null check.
            let is_right = validate::values(under).is_empty() && validate::values(own).is_empty();
            let has_nulls = own.values().any(serde_json::Value::is_null);
            is_right && !has_nulls && has_right_values(topology) && has_unique_ids(topology)
        })
        .collect();
    assert!(all.len() > CASES / 4, "only {} cases are right", all.len());
    let request = |(under, own, topology): &(Conf, Conf, StormTopology)| {
        format!("conf\t{}\t{}\t{}", conf::to_json(under), conf::to_json(own), hex(&topology.to_bytes()))
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    for ((under, own, topology), answer) in all.iter().zip(answers) {
        let ours = normalize_conf(under, own, topology);
        match exception(&answer) {
            None => assert_eq!(ours.map(sorted), Ok(sorted(parsed(&answer))), "{under:?} {own:?} {topology:?}"),
            Some(message) => panic!("{message}: {under:?} {own:?} {topology:?}"),
        }
    }
}

#[test]
fn tasks_are_counted_alike() {
    let mut all = random(CASES, (samples::conf(), samples::topology()));
    all.retain(|(_, topology)| has_unique_ids(topology));
    let request = |(total, topology): &(Conf, StormTopology)| {
        format!("tasks\t{}\t{}", conf::to_json(total), hex(&topology.to_bytes()))
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    let mut accepted = 0;
    for ((total, topology), answer) in all.iter().zip(answers) {
        let ours = normalize_topology(total, topology);
        if exception(&answer).is_none() {
            accepted += 1;
            assert_eq!(ours.map(comparable), Ok(comparable(record(&answer))), "{total:?} {topology:?}");
        } else {
            assert!(ours.is_err(), "{answer}: {total:?} {topology:?}");
        }
    }
    assert!(accepted > CASES / 4);
}

#[test]
fn values_are_refused_alike() {
    let all: Vec<Conf> = random(CASES, samples::conf());
    let request = |own: &Conf| format!("values\t{}", conf::to_json(own));
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    // Storm names the constant of the key, shows the value as Java does, and puts a stray "null" in front of some.
    let words = |text: &str| {
        let text = text.strip_prefix("null").unwrap_or(text);
        let text = text.split(" Object: ").next().unwrap().split(". (").next().unwrap();
        text.to_ascii_uppercase().replace('.', "_")
    };
    for (own, answer) in all.iter().zip(answers) {
        let ours = validate::values(own);
        match exception(&answer) {
            Some(message) => {
                let ours: Vec<String> = ours.iter().map(|reason| words(reason)).collect();
                assert!(ours.contains(&words(message)), "{message}: {ours:?}");
            }
            None => assert!(ours.iter().all(|reason| reason.contains("which is not")), "{own:?}: {ours:?}"),
        }
    }
}

#[test]
fn system_topologies_and_reasons_against_them_are_alike() {
    let all = random(2 * CASES, (samples::conf(), samples::topology()));
    let all: Vec<(Conf, StormTopology)> = all
        .into_iter()
        .map(|(total, topology)| (daemon(&total), topology))
        .filter(|(total, _)| validate::values(total).is_empty())
        .filter_map(|(total, topology)| Some((total.clone(), normalize_topology(&total, &topology).ok()?)))
        .collect();
    let request = |(total, topology): &(Conf, StormTopology)| {
        format!("system\t{}\t{}", conf::to_json(total), hex(&topology.to_bytes()))
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    let mut accepted = 0;
    for ((total, topology), answer) in all.iter().zip(answers) {
        let reasons = validate::structure(total, topology);
        match exception(&answer) {
            None => {
                accepted += 1;
                assert_eq!(system_topology(total, topology).map(comparable), Ok(comparable(record(&answer))));
                let is_ours = |reason: &String| {
                    let words =
                        ["direct", "non-existent fields", "must not be less than 0", "more than once", "is blank"];
                    words.iter().any(|words| reason.contains(words))
                };
                assert!(reasons.iter().all(is_ours), "{reasons:?}");
            }
            Some(message) => {
                // Which fields are not there is more here, and ids have no order in Storm.
                let message = message.split("fields: [").next().unwrap().split("ids: [").next().unwrap();
                assert!(reasons.iter().any(|reason| reason.starts_with(message)), "{message}: {reasons:?}");
            }
        }
    }
    assert!(accepted > CASES / 4, "{accepted}");
}

#[test]
fn executors_are_alike() {
    let counts = btree_map(select(vec!["a", "b", "count", "B", "__acker", "nobody"]), 0..9, 0..6);
    let all: Vec<(Conf, StormTopology, StormBase)> =
        random(CASES, (samples::conf(), samples::shape(), option::of(counts), bases::base()))
            .into_iter()
            .filter_map(|(total, shape, counts, mut base)| {
                let total = daemon(&total);
                let topology = normalize_topology(&total, &samples::of_shape(&shape)).ok()?;
                let first = first_executors(&system_topology(&total, &topology).ok()?);
                let given = counts.map(|counts| counts.into_iter().map(|(id, count)| (id.to_owned(), count)).collect());
                base.component_executors = Some(given.unwrap_or(first));
                Some((total, topology, base))
            })
            .collect();
    let request = |(total, topology, base): &(Conf, StormTopology, StormBase)| {
        let (topology, base) = (hex(&topology.to_bytes()), hex(&base.to_bytes()));
        format!("executors\t{}\t{topology}\t{base}", conf::to_json(total))
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    for ((total, topology, base), answer) in all.iter().zip(answers) {
        assert_eq!(exception(&answer), None, "{total:?}");
        let tasks = Tasks::number(&system_topology(total, topology).unwrap()).unwrap();
        let executors = tasks.executors(base.component_executors.as_ref().unwrap());
        let ours: BTreeSet<String> = executors.keys().map(|of| format!("{}-{}", of.first, of.last)).collect();
        let storms: BTreeSet<String> = answer.split('\t').filter(|of| !of.is_empty()).map(str::to_owned).collect();
        assert_eq!(ours, storms);
    }
    assert!(all.len() > CASES / 4);
}

#[test]
fn names_are_refused_in_the_same_words_and_never_taken_where_storm_refuses() {
    let mut names = random(CASES, "[ -~äß日\u{1}]{0,6}");
    names.extend(["words", "a b", "a.b", "#", "a\\b"].map(str::to_owned));
    names.retain(|name| !name.contains(['\t', '\n', '\r']));
    let requests = names.iter().flat_map(|name| [format!("name\t{name}"), format!("key\t{name}-1-1-stormjar.jar")]);
    let Some(answers) = oracle(&requests.collect::<Vec<_>>()) else { return };
    for (name, answers) in names.iter().zip(answers.chunks(2)) {
        let ours = id::check_name(name);
        match exception(&answers[0]) {
            Some(message) => assert!(ours.unwrap_err().to_string().starts_with(message), "{message}"),
            None if answers[1] == "false" => assert!(ours.is_err(), "{name:?}"),
            None => {
                let is_stricter_here = name.trim().is_empty() || name.chars().any(char::is_control);
                assert_eq!(ours.is_err(), is_stricter_here, "{name:?}");
            }
        }
    }
}
