//! Topologies, configurations and listings, sensible and not, as they may come from a client or a tree.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use ringstorm_lifecycle::clean_up::{Listing, Listings};
use ringstorm_lifecycle::conf::Conf;
use ringstorm_lifecycle::validate::values;
use ringstorm_records::records::{
    Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, NullStruct, ShellComponent, SpoutSpec,
    StormTopology, StreamInfo,
};
use serde_json::{Value, json};

/// Ids of components: some sensible, some not, few enough to meet.
fn component_id() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(vec!["a", "b", "count", "B", "$", "\u{ffff}x", "\u{10000}"]),
        1 => select(vec!["__acker", "__system", "", " "]),
    ]
    .prop_map(str::to_owned)
}

fn stream_id() -> impl Strategy<Value = String> {
    prop_oneof![8 => select(vec!["default", "s"]), 1 => select(vec!["__tick", "__s", ""])].prop_map(str::to_owned)
}

fn fields() -> impl Strategy<Value = Vec<String>> {
    vec(select(vec!["x", "y", "z"]).prop_map(str::to_owned), 0..3)
}

fn grouping() -> impl Strategy<Value = Grouping> {
    prop_oneof![
        Just(Grouping::Shuffle(NullStruct::default())),
        Just(Grouping::Direct(NullStruct::default())),
        fields().prop_map(Grouping::Fields),
    ]
}

/// Values of keys that are read somewhere, right ones more often than not.
fn value(key: &'static str) -> BoxedStrategy<Value> {
    let right = match key {
        // Each class with one serializer, because which component goes first is Java's secret.
        "topology.kryo.register" => prop_oneof![Just(json!(["A", {"B": "C"}])), Just(json!(["Z"]))].boxed(),
        "topology.kryo.decorators" => prop_oneof![Just(json!(["D"])), Just(json!(["E", "D"]))].boxed(),
        "topology.metrics.reporters" | "storm.metrics.reporters" | "storm.topology.metrics.system.reporters" => {
            prop_oneof![Just(json!([{"class": "R"}])), Just(json!([{"class": "S"}, {"class": "R"}]))].boxed()
        }
        "topology.metrics.consumer.register" => {
            Just(json!([{"class": "M", "parallelism.hint": 1}, {"class": "M", "parallelism.hint": 2}])).boxed()
        }
        "storm.messaging.netty.authentication" | "topology.worker.nimbus.thrift.client.use.tls" => {
            any::<bool>().prop_map(Value::from).boxed()
        }
        "storm.cgroup.hierarchy.dir" | "storm.zookeeper.auth.scheme" | "topology.users" => Just(json!("text")).boxed(),
        _ => (0..9).prop_map(Value::from).boxed(),
    };
    let wrong = select(vec![json!(-1), json!("x"), json!([3]), json!({}), json!(1.5), json!(1_u64 << 40)]);
    prop_oneof![12 => right, 2 => Just(Value::Null), 1 => wrong].boxed()
}

const KEYS: [&str; 18] = [
    "topology.kryo.register",
    "topology.kryo.decorators",
    "topology.metrics.reporters",
    "storm.metrics.reporters",
    "storm.topology.metrics.system.reporters",
    "topology.metrics.consumer.register",
    "storm.messaging.netty.authentication",
    "topology.worker.nimbus.thrift.client.use.tls",
    "storm.cgroup.hierarchy.dir",
    "storm.zookeeper.auth.scheme",
    "topology.users",
    "topology.workers",
    "topology.tasks",
    "topology.acker.executors",
    "topology.eventlogger.executors",
    "topology.max.task.parallelism",
    "topology.worker.timeout.secs",
    "worker.max.timeout.secs",
];

/// A configuration of a daemon, a topology or a component.
pub(crate) fn conf() -> impl Strategy<Value = Conf> {
    let member = select(KEYS.to_vec()).prop_flat_map(|key| value(key).prop_map(move |value| (key.to_owned(), value)));
    (vec(member, 0..6), any::<bool>()).prop_map(|(members, is_mended)| {
        let conf = Conf::from_iter(members);
        if is_mended { mended_conf(conf) } else { conf }
    })
}

fn common() -> impl Strategy<Value = ComponentCommon> {
    let stream = (fields(), any::<bool>()).prop_map(|(output_fields, direct)| StreamInfo { output_fields, direct });
    let source = (component_id(), stream_id());
    let source = source.prop_map(|(component_id, stream_id)| GlobalStreamId { component_id, stream_id });
    let json = prop_oneof![8 => conf().prop_map(|conf| Value::Object(conf).to_string()), 1 => "[{\\[]".boxed()];
    let parts = (
        btree_map(source, grouping(), 0..3),
        btree_map(stream_id(), stream, 0..3),
        option::of(-1..9),
        option::of(json),
    );
    parts.prop_map(|(inputs, streams, parallelism_hint, json_conf)| ComponentCommon {
        inputs,
        streams,
        parallelism_hint,
        json_conf,
    })
}

/// A topology that may be wrong in many ways, or in none.
pub(crate) fn topology() -> impl Strategy<Value = StormTopology> {
    let components = || btree_map(component_id(), common(), 0..3);
    (components(), components(), any::<bool>()).prop_map(|(spouts, bolts, is_mended)| {
        let topology = of_components(spouts, bolts);
        if is_mended { mended(topology) } else { topology }
    })
}

/// The topology without what is wrong with it.
fn mended(mut topology: StormTopology) -> StormTopology {
    let is_right = |id: &str| !id.starts_with("__") && !id.trim().is_empty();
    topology.bolts.retain(|id, _| is_right(id));
    let bolts: BTreeSet<String> = topology.bolts.keys().cloned().collect();
    topology.spouts.retain(|id, _| is_right(id) && !bolts.contains(id));
    let spouts = topology.spouts.values_mut().map(|spout| &mut spout.common);
    let mut streams = BTreeMap::new();
    for common in spouts.chain(topology.bolts.values_mut().map(|bolt| &mut bolt.common)) {
        common.streams.retain(|id, _| is_right(id));
        for info in common.streams.values_mut() {
            info.output_fields.sort();
            info.output_fields.dedup();
        }
        common.parallelism_hint = common.parallelism_hint.map(|hint| hint.max(1));
        let conf = common.json_conf.take().and_then(|json| serde_json::from_str::<Conf>(&json).ok());
        common.json_conf = conf.map(|conf| Value::Object(mended_conf(conf)).to_string());
    }
    for (id, spout) in &mut topology.spouts {
        spout.common.inputs.clear();
        streams.insert(id.clone(), spout.common.streams.clone());
    }
    streams.extend(topology.bolts.iter().map(|(id, bolt)| (id.clone(), bolt.common.streams.clone())));
    for bolt in topology.bolts.values_mut() {
        bolt.common.inputs.retain(|source, grouping| {
            let Some(info) = streams.get(&source.component_id).and_then(|of| of.get(&source.stream_id)) else {
                return false;
            };
            match (info.direct, &mut *grouping) {
                (true, _) => *grouping = Grouping::Direct(NullStruct::default()),
                (false, Grouping::Fields(fields)) => fields.retain(|field| info.output_fields.contains(field)),
                (false, other) => *other = Grouping::Shuffle(NullStruct::default()),
            }
            true
        });
    }
    topology
}

/// The configuration without values that are wrong.
fn mended_conf(mut conf: Conf) -> Conf {
    conf.retain(|key, value| values(&Conf::from_iter([(key.clone(), value.clone())])).is_empty());
    conf
}

fn of_components(spouts: BTreeMap<String, ComponentCommon>, bolts: BTreeMap<String, ComponentCommon>) -> StormTopology {
    let object = || ComponentObject::Shell(ShellComponent::default());
    let spouts = spouts.into_iter().map(|(id, common)| (id, SpoutSpec { spout_object: object(), common }));
    let bolts = bolts.into_iter().map(|(id, common)| (id, Bolt { bolt_object: object(), common }));
    StormTopology { spouts: spouts.collect(), bolts: bolts.collect(), ..StormTopology::default() }
}

/// Components as an engine knows them: the parallelism hint and the number of tasks of each.
pub(crate) type Shape = BTreeMap<String, (Option<u32>, Option<u32>)>;

/// Components that both an engine and nimbus accept.
pub(crate) fn shape() -> impl Strategy<Value = Shape> {
    let id = select(vec!["a", "b", "count", "B", "$", "\u{fffd}x", "\u{10000}", "_"]).prop_map(str::to_owned);
    btree_map(id, (option::of(1_u32..9), option::of(1_u32..20)), 1..6)
}

/// The topology of a shape.
pub(crate) fn of_shape(shape: &Shape) -> StormTopology {
    let common = |(hint, tasks): &(Option<u32>, Option<u32>)| ComponentCommon {
        parallelism_hint: hint.map(|hint| hint as i32),
        json_conf: tasks.map(|tasks| json!({"topology.tasks": tasks}).to_string()),
        ..ComponentCommon::default()
    };
    of_components([].into(), shape.iter().map(|(id, of)| (id.clone(), common(of))).collect())
}

fn ids() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set(select(vec!["a-1-1", "b-2-2", "c-3-3", "d-4-4"]).prop_map(str::to_owned), 0..4)
}

fn listing() -> impl Strategy<Value = Listing> {
    prop_oneof![60 => ids().prop_map(Ok), 1 => Just(Err("connection lost".to_owned()))]
}

/// Listings, now and then one that failed.
pub(crate) fn listings() -> impl Strategy<Value = Listings> {
    let many = || (listing(), listing(), listing(), listing(), listing());
    let listings = (many(), many()).prop_map(|(first, second)| Listings {
        bases: first.0,
        assignments: first.1,
        heartbeats: first.2,
        errors: first.3,
        blobs: first.4,
        backpressure: second.0,
        worker_keys: second.1,
        credentials: second.2,
        log_configs: second.3,
        profiler_configs: second.4,
    });
    listings.boxed()
}

/// Ids of submissions under way.
pub(crate) fn submitting() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set(select(vec!["a-1-1", "b-2-2", "c-3-3", "d-4-4"]).prop_map(str::to_owned), 0..2)
}
