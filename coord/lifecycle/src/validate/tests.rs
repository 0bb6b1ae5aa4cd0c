//! Each reason against a topology.

use std::collections::BTreeMap;

use ringstorm_records::records::{
    Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, NullStruct, ShellComponent, SpoutSpec,
    StateSpoutSpec, StreamInfo,
};
use ringstorm_records::thrift::Record;
use serde_json::{Value, json};

use super::*;

fn shell() -> ComponentObject {
    ComponentObject::Shell(ShellComponent::default())
}

fn common(streams: &[(&str, &[&str])], inputs: &[(&str, &str, Grouping)]) -> ComponentCommon {
    let names = |fields: &[&str]| fields.iter().map(|field| (*field).to_owned()).collect();
    let stream = |(name, fields): &(&str, &[&str])| {
        ((*name).to_owned(), StreamInfo { output_fields: names(fields), direct: name.starts_with("direct") })
    };
    let input = |(component, stream, grouping): &(&str, &str, Grouping)| {
        let source = GlobalStreamId { component_id: (*component).to_owned(), stream_id: (*stream).to_owned() };
        (source, grouping.clone())
    };
    ComponentCommon {
        streams: streams.iter().map(stream).collect(),
        inputs: inputs.iter().map(input).collect(),
        json_conf: Some("{\"topology.tasks\":1}".to_owned()),
        ..ComponentCommon::default()
    }
}

fn fields(names: &[&str]) -> Grouping {
    Grouping::Fields(names.iter().map(|name| (*name).to_owned()).collect())
}

fn shuffle() -> Grouping {
    Grouping::Shuffle(NullStruct::default())
}

fn direct() -> Grouping {
    Grouping::Direct(NullStruct::default())
}

fn bolts<const COUNT: usize>(bolts: [(&str, ComponentCommon); COUNT]) -> StormTopology {
    let spout = SpoutSpec { spout_object: shell(), common: common(&[("default", &["word"]), ("direct", &["x"])], &[]) };
    let bolt = |common| Bolt { bolt_object: shell(), common };
    StormTopology {
        spouts: [("words".to_owned(), spout)].into(),
        bolts: bolts.into_iter().map(|(id, common)| (id.to_owned(), bolt(common))).collect(),
        ..StormTopology::default()
    }
}

fn reasons(topology: &StormTopology) -> Vec<String> {
    structure(&Conf::new(), topology)
}

#[test]
fn groupings_that_make_sense_pass() {
    let inputs = [
        ("words", "default", fields(&["word"])),
        ("words", "direct", direct()),
        ("__acker", "__metrics", shuffle()),
        ("__system", "__tick", Grouping::All(NullStruct::default())),
        ("b", "default", fields(&[])),
    ];
    let none: Vec<String> = Vec::new();
    assert_eq!(reasons(&bolts([("b", common(&[("default", &[])], &inputs))])), none);
    assert_eq!(reasons(&StormTopology::default()), none);
}

#[test]
fn every_wrong_input_is_told_in_storms_words() {
    // A struct under a number that no member has.
    let unknown = Grouping::from_bytes(&[12, 0, 99, 0, 0]).unwrap();
    let inputs = [
        ("nobody", "default", shuffle()),
        ("words", "nothing", shuffle()),
        ("words", "default", fields(&["x", "word", "y"])),
        ("words", "direct", shuffle()),
        ("b", "a", direct()),
        ("b", "b", unknown),
    ];
    let topology = bolts([("b", common(&[("a", &["f", "f"]), ("b", &[])], &inputs))]);
    assert_eq!(
        reasons(&topology),
        [
            "Component: [b] declares fields of stream: [a] more than once: [f]",
            "Component: [b] subscribes from stream: [a] of component [b] with a direct grouping, but the stream is not direct",
            "Component: [b] subscribes from stream: [b] of component [b] with a grouping that this version does not know",
            "Component: [b] subscribes from non-existent component [nobody]",
            "Component: [b] subscribes from stream: [default] of component [words] + with non-existent fields: [x, y]",
            "Component: [b] subscribes from stream: [direct] of component [words] without a direct grouping, but the \
             stream is direct",
            "Component: [b] subscribes from non-existent stream: [nothing] of component [words]",
        ]
    );
}

#[test]
fn every_wrong_id_is_told_in_storms_words() {
    let mut topology =
        bolts([("words", common(&[], &[])), ("__b", common(&[("__s", &[])], &[])), (" ", common(&[], &[]))]);
    let spout = StateSpoutSpec { state_spout_object: shell(), common: common(&[], &[]) };
    topology.state_spouts.insert("state".to_owned(), spout);
    topology.spouts.get_mut("words").unwrap().common.inputs = common(&[], &[("words", "default", shuffle())]).inputs;
    let found = reasons(&topology);
    for reason in [
        "__b is not a valid component id.",
        "__s is not a valid stream id.",
        "a component id is \" \", which is blank; give it a name with at least one visible character",
        "Duplicate component ids: [words]",
        "May not declare inputs for a spout: [words]",
        "State spouts do not exist any more; use spouts: [state]",
    ] {
        assert_eq!(found.iter().filter(|found| *found == reason).count(), 1, "{reason}: {found:?}");
    }
}

#[test]
fn executors_and_configurations_of_components_are_looked_at() {
    let of = |hint, json: &str| ComponentCommon {
        parallelism_hint: Some(hint),
        json_conf: Some(json.to_owned()),
        ..ComponentCommon::default()
    };
    let topology = bolts([
        ("a", of(0, "{\"topology.tasks\":2}")),
        ("b", of(-1, "{\"topology.tasks\":-1}")),
        ("c", of(0, "{\"topology.tasks\":0}")),
        ("d", of(1, "{")),
        ("e", of(1, "{\"topology.tasks\":\"many\"}")),
    ]);
    let found = reasons(&topology);
    assert_eq!(
        found[..3],
        [
            "Number of executors must be greater than 0 when number of tasks is greater than 0: [a]",
            "Number of executors must not be less than 0: [b]",
            "The configuration of component [d] is not JSON: EOF while parsing an object at line 1 column 1",
        ]
    );
    assert_eq!(found[3], "topology.tasks is \"many\", which is not a whole number of 32 bits");
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn limits_are_told_in_storms_words() {
    let conf = |value: Value| value.as_object().unwrap().clone();
    let topology = bolts([("a", ComponentCommon { parallelism_hint: Some(4), ..ComponentCommon::default() })]);
    let daemon = conf(json!({SLOTS_PER_TOPOLOGY: 2, EXECUTORS_PER_TOPOLOGY: 5}));
    let none: Vec<String> = Vec::new();
    assert_eq!(size(&daemon, &conf(json!({"topology.workers": 2})), &topology), none);
    let daemon = conf(json!({SLOTS_PER_TOPOLOGY: 2, EXECUTORS_PER_TOPOLOGY: 4}));
    assert_eq!(
        size(&daemon, &conf(json!({"topology.workers": 3})), &topology),
        [
            "Failed to submit topology. Topology requests more than 2 workers.",
            "Failed to submit topology. Topology requests more than 4 executors.",
        ]
    );
    assert_eq!(size(&Conf::new(), &conf(json!({"topology.workers": 1_000_000})), &topology), none);
}

#[test]
fn values_are_checked_by_storms_rules_and_by_ringstorms() {
    let of = |key: &str, value: Value| values(&Conf::from_iter([(key.to_owned(), value)]));
    for (key, value, words) in [
        ("topology.workers", json!("2"), "Field topology.workers must be an Integer within type range."),
        ("topology.workers", json!(0), "Field topology.workers must be a Positive Number"),
        ("topology.workers", json!(3_000_000_000_u64), "Field topology.workers must be an Integer within type range."),
        (
            "topology.debug",
            json!("yes"),
            "Field topology.debug must be of type class java.lang.Boolean. Object: \"yes\" actual type: class java.lang.String",
        ),
        (
            "topology.kryo.decorators",
            json!(3),
            "Field topology.kryo.decorators must be an Iterable but was a class java.lang.Integer",
        ),
        (
            "topology.kryo.decorators",
            json!(["a", 3]),
            "Each element of the list topology.kryo.decorators must be a java.lang.String. (3)",
        ),
        (
            "topology.kryo.register",
            json!({}),
            "Field topology.kryo.register must be an Iterable containing only Strings or Maps of Strings",
        ),
        (
            "topology.kryo.register",
            json!([3]),
            "Each element of the list topology.kryo.register must be a String or a Map of Strings",
        ),
        ("topology.isolate.machines", json!(-1), "Field topology.isolate.machines must be a Positive Number"),
        (
            "topology.acker.executors",
            json!(2_000_000),
            "topology.acker.executors is 2000000 (set by the topology's own configuration), which is not a whole number from 0 \
             to 1000000; set it to a whole number from 0 to 1000000, or leave it out",
        ),
    ] {
        assert_eq!(of(key, value), [words]);
    }
    for (key, value) in [
        ("mine", json!({"any": ["thing"]})),
        ("topology.workers", json!(2)),
        ("topology.max.spout.pending", Value::Null),
        ("topology.kryo.register", json!(["A", {"B": "C"}])),
        ("topology.environment", json!({"A": "B"})),
    ] {
        assert_eq!(of(key, value), Vec::<String>::new(), "{key}");
    }
}

#[test]
fn every_check_of_the_table_is_known() {
    let table = include_str!("storm_values.txt");
    let words =
        table.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')).flat_map(str::split_whitespace);
    let known = "not-null text flag number map int long positive not-negative texts text-or-texts map-of-texts \
                 map-of-numbers kryo objects consumers one-of:S0,S1,S2,S3";
    let unknown: BTreeMap<&str, ()> =
        words.filter(|word| !known.split_whitespace().any(|known| known == *word)).map(|word| (word, ())).collect();
    assert_eq!(unknown, BTreeMap::new());
}
