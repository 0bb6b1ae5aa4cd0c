//! Topologies, assignments and beats as they may come, with what Storm's own nimbus fails at for want of a check left out:
//! a mean of executing without a count, an amount under two names.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use ringstorm_records::records::{
    Assignment, Bolt, BoltStats, ClusterWorkerHeartbeat, ComponentCommon, ComponentObject, ExecutorInfo,
    ExecutorSpecificStats, ExecutorStats, GlobalStreamId, Grouping, JavaObject, NodeInfo, NullStruct, SpoutSpec,
    SpoutStats, StormTopology, StreamInfo, WorkerResources,
};
use ringstorm_records::znode::{NodeName, Slot};
use ringstorm_views::gather::Beats;
use serde_json::{Value, json};

const WINDOWS: [&str; 4] = [":all-time", "600", "10800", "86400"];

/// A topology, where it runs, and what its workers say.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) conf: Value,
    pub(crate) topology: StormTopology,
    pub(crate) assignment: Assignment,
    pub(crate) beats: Beats,
    /// Slots in whose beats each executor is.
    pub(crate) complete: BTreeSet<(String, i64)>,
    pub(crate) window: &'static str,
    pub(crate) include_system: bool,
}

pub(crate) fn count() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), 0..100_i64, 0..1_000_000_000_i64]
}

fn mean() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1.0_f64, 0.0..5000.0_f64]
}

/// Amounts by stream, by window.
fn by_window<K: Strategy<Value: Ord + Clone> + Clone, V: Strategy<Value: Clone> + Clone>(
    key: K,
    value: V,
) -> impl Strategy<Value = BTreeMap<String, BTreeMap<K::Value, V::Value>>> {
    let windows = select(WINDOWS.to_vec()).prop_map(str::to_owned);
    let all = btree_map(key.clone(), value.clone(), 1..4)
        .prop_map(|of| WINDOWS.map(|window| (window.to_owned(), of.clone())).into());
    prop_oneof![3 => all, 1 => btree_map(windows, btree_map(key, value, 0..4), 0..4)]
}

fn stream() -> impl Strategy<Value = String> + Clone {
    select(vec!["default", "side", "__ack_ack", "__tick"]).prop_map(str::to_owned)
}

fn source() -> impl Strategy<Value = GlobalStreamId> + Clone {
    let component = select(vec!["spout0", "bolt0", "__system"]);
    (component, stream()).prop_map(|(of, stream_id)| GlobalStreamId { component_id: of.to_owned(), stream_id })
}

/// Means only of what was counted.
fn of_counted<K: Ord + Clone, V>(
    means: BTreeMap<String, BTreeMap<K, f64>>,
    counts: &BTreeMap<String, BTreeMap<K, V>>,
) -> BTreeMap<String, BTreeMap<K, f64>> {
    let mut means = means;
    for (window, of) in &mut means {
        of.retain(|key, _| counts.get(window).is_none_or(|counts| counts.contains_key(key)));
    }
    means
}

fn bolt() -> impl Strategy<Value = ExecutorSpecificStats> {
    let counts = || by_window(source(), count().boxed());
    let means = || by_window(source(), mean().boxed());
    (counts(), counts(), counts(), means(), means()).prop_map(|(acked, failed, executed, execute, process_ms_avg)| {
        let execute_ms_avg = of_counted(execute, &executed);
        ExecutorSpecificStats::Bolt(BoltStats { acked, failed, process_ms_avg, executed, execute_ms_avg })
    })
}

fn spout() -> impl Strategy<Value = ExecutorSpecificStats> {
    let counts = || by_window(stream(), count().boxed());
    (counts(), counts(), by_window(stream(), mean().boxed())).prop_map(|(acked, failed, complete)| {
        let complete_ms_avg = of_counted(complete, &acked);
        ExecutorSpecificStats::Spout(SpoutStats { acked, failed, complete_ms_avg })
    })
}

fn stats(is_spout: bool) -> impl Strategy<Value = ExecutorStats> {
    let specific = if is_spout { spout().boxed() } else { bolt().boxed() };
    let counts = || by_window(stream(), count().boxed());
    (counts(), counts(), specific).prop_map(|(emitted, transferred, specific)| ExecutorStats {
        emitted,
        transferred,
        specific,
        rate: 20.0,
    })
}

/// Amounts of resources, set or not.
pub(crate) fn resources(prefix: &'static str) -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let keys = ["cpu.pcore.percent", "resources.onheap.memory.mb", "resources.offheap.memory.mb"];
    let amount = || option::of(prop_oneof![(0..500_i64).prop_map(Value::from), (0.0..500.0_f64).prop_map(Value::from)]);
    vec(amount(), 3).prop_map(move |amounts| {
        let set = keys.into_iter().zip(amounts).filter_map(|(key, of)| Some((format!("{prefix}{key}"), of?)));
        set.collect()
    })
}

/// Amounts by names of Storm's own and of a user's.
fn named() -> impl Strategy<Value = Value> {
    let names =
        ["cpu.pcore.percent", "onheap.memory.mb", "gpu.count", "topology.component.resources.offheap.memory.mb"];
    btree_map(select(names.to_vec()), 0..500_i64, 0..3).prop_map(|of| json!(of))
}

fn component_conf(tasks: i32) -> impl Strategy<Value = String> {
    (resources("topology.component."), option::weighted(0.3, named())).prop_map(move |(mut conf, map)| {
        // Storm fails where a component sets one amount under both of its names.
        let is_in_map = |key: &str| map.as_ref().is_some_and(|map| map.get(key).is_some());
        if is_in_map("cpu.pcore.percent") {
            conf.remove("topology.component.cpu.pcore.percent");
        }
        if is_in_map("onheap.memory.mb") {
            conf.remove("topology.component.resources.onheap.memory.mb");
        }
        conf.insert("topology.tasks".to_owned(), tasks.into());
        conf.extend(map.map(|map| ("topology.component.resources.map".to_owned(), map)));
        Value::Object(conf).to_string()
    })
}

fn common(inputs: BTreeMap<GlobalStreamId, Grouping>) -> impl Strategy<Value = ComponentCommon> {
    (1..5_i32, 1..5_i32).prop_flat_map(|(tasks, executors)| (component_conf(tasks), Just(executors))).prop_map(
        move |(json_conf, executors)| ComponentCommon {
            inputs: inputs.clone(),
            streams: ["default", "side"]
                .map(|id| (id.to_owned(), StreamInfo { output_fields: vec!["x".to_owned()], direct: false }))
                .into(),
            parallelism_hint: Some(executors),
            json_conf: Some(json_conf),
        },
    )
}

pub(crate) fn topology() -> impl Strategy<Value = StormTopology> {
    let object = || ComponentObject::JavaObject(JavaObject::default());
    let source = GlobalStreamId { component_id: "spout0".to_owned(), stream_id: "default".to_owned() };
    let input: BTreeMap<_, _> = [(source, Grouping::Shuffle(NullStruct::default()))].into();
    (vec(common(BTreeMap::new()), 1..3), vec(common(input), 1..3)).prop_map(move |(spouts, bolts)| StormTopology {
        spouts: spouts
            .into_iter()
            .enumerate()
            .map(|(at, common)| (format!("spout{at}"), SpoutSpec { spout_object: object(), common }))
            .collect(),
        bolts: bolts
            .into_iter()
            .enumerate()
            .map(|(at, common)| (format!("bolt{at}"), Bolt { bolt_object: object(), common }))
            .collect(),
        ..StormTopology::default()
    })
}

/// The configuration of a topology, with what Storm takes for granted in it.
pub(crate) fn conf() -> impl Strategy<Value = Value> {
    let own = (resources("topology.acker."), resources("topology.metrics.consumer."), option::weighted(0.3, named()));
    (own, resources("topology.component."), 0..3_i32, any::<bool>()).prop_map(
        |((ackers, consumers, map), components, acker_count, has_consumer)| {
            let mut conf = json!({
                "topology.name": "words", "topology.workers": 1, "topology.message.timeout.secs": 30,
                "topology.acker.executors": acker_count, "topology.eventlogger.executors": 0,
                "topology.component.resources.onheap.memory.mb": 128.0,
                "topology.component.resources.offheap.memory.mb": 0.0,
                "topology.component.cpu.pcore.percent": 10.0,
            });
            let of = conf.as_object_mut().unwrap();
            of.extend(ackers.into_iter().chain(consumers).chain(components));
            of.extend(map.map(|map| ("topology.component.resources.map".to_owned(), map)));
            if has_consumer {
                let consumers = json!([{"class": "M", "parallelism.hint": 1}]);
                of.insert("topology.metrics.consumer.register".to_owned(), consumers);
            }
            conf
        },
    )
}

pub(crate) fn worker_resources() -> impl Strategy<Value = WorkerResources> {
    (0.0..1000.0_f64, 0.0..1000.0_f64, 0.0..400.0_f64, option::of(0.0..9.0_f64)).prop_map(|(on, off, cpu, gpu)| {
        let own = [("onheap.memory.mb", on), ("offheap.memory.mb", off), ("cpu.pcore.percent", cpu)];
        let all = own.into_iter().chain(gpu.map(|gpu| ("gpu.count", gpu)));
        WorkerResources {
            mem_on_heap: Some(on),
            mem_off_heap: Some(off),
            cpu: Some(cpu),
            shared_mem_on_heap: Some(0.0),
            shared_mem_off_heap: Some(0.0),
            resources: Some(all.map(|(name, amount)| (name.to_owned(), amount)).collect()),
            shared_resources: Some(BTreeMap::new()),
        }
    })
}

/// A case over these executors, each with whether it is a spout's.
pub(crate) fn placed(
    conf: Value,
    topology: StormTopology,
    executors: Vec<(ExecutorInfo, bool)>,
) -> impl Strategy<Value = Case> {
    let each: Vec<_> = executors
        .iter()
        .map(|(_, is_spout)| (select(vec!["a", "b"]), 6700..6702_i64, stats(*is_spout), 0..10_u8))
        .collect();
    let slots = vec((0..1500_i32, worker_resources(), 0..8_u8, any::<bool>()), 4);
    let asked = (select(WINDOWS.to_vec()), any::<bool>());
    (each, slots, asked).prop_map(move |(each, slots, (window, include_system))| {
        let mut case = Case {
            conf: conf.clone(),
            topology: topology.clone(),
            assignment: Assignment {
                node_host: [("a", "host-a"), ("b", "host-b")].map(|(id, of)| (id.to_owned(), of.to_owned())).into(),
                ..Assignment::default()
            },
            beats: Beats::new(),
            complete: BTreeSet::new(),
            window,
            include_system,
        };
        let mut missing = BTreeSet::new();
        for ((executor, _), (node, port, stats, is_missing)) in executors.iter().zip(each) {
            let info = NodeInfo { node: node.to_owned(), port: [port].into() };
            let tasks = vec![i64::from(executor.task_start), i64::from(executor.task_end)];
            case.assignment.executor_node_port.insert(tasks, info.clone());
            let (uptime_secs, resources, silent, has_resources) =
                slots[usize::from(node == "b") * 2 + usize::from(port == 6701)].clone();
            if has_resources {
                case.assignment.worker_resources.insert(info, resources);
            }
            let slot = Slot { supervisor: NodeName::new(node).unwrap(), port: u16::try_from(port).unwrap() };
            if silent == 0 || is_missing == 0 {
                missing.insert((node.to_owned(), port));
                continue;
            }
            case.complete.insert((node.to_owned(), port));
            let beat = case.beats.entry(slot).or_insert_with(|| ClusterWorkerHeartbeat {
                storm_id: "words-1-1".to_owned(),
                uptime_secs,
                ..ClusterWorkerHeartbeat::default()
            });
            beat.executor_stats.insert(executor.clone(), stats);
        }
        case.complete.retain(|slot| !missing.contains(slot));
        case
    })
}
