//! Whatever lies in the tree, each question has an answer or one clear reason, soon, and nothing panics.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use ringstorm_records::records::{
    Assignment, BoltStats, ClusterWorkerHeartbeat, ExecutorInfo, ExecutorSpecificStats, ExecutorStats, GlobalStreamId,
    NodeInfo, SpoutStats, SupervisorInfo, WorkerResources,
};
use ringstorm_records::znode::{Node, Slot};

use crate::life::{Every, ID};
use crate::world::{World, name};

fn task() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..7_i64, 1 => select(vec![i64::MIN, -1, i64::from(i32::MAX), i64::MAX])]
}

fn assignment() -> impl Strategy<Value = Assignment> {
    let tasks = prop_oneof![3 => vec(task(), 2), 1 => vec(task(), 0..4)];
    let port = select(vec![6700, 6701, 0, -1, 65_536, i64::MAX]);
    let node = select(vec!["supervisor", "other", "", "a/b"]).prop_map(str::to_owned);
    let slot =
        (node.clone(), proptest::collection::btree_set(port, 0..3)).prop_map(|(node, port)| NodeInfo { node, port });
    let amount = || option::of(select(vec![0.0, 1.5, f64::NAN, f64::INFINITY, -1.0]));
    let resources = (amount(), amount()).prop_map(|(mem_on_heap, cpu)| WorkerResources {
        mem_on_heap,
        cpu,
        ..WorkerResources::default()
    });
    let hosts = btree_map(node, Just("host".to_owned()), 0..3);
    (btree_map(tasks, slot.clone(), 0..6), btree_map(slot, resources, 0..3), hosts).prop_map(
        |(executor_node_port, worker_resources, node_host)| Assignment {
            executor_node_port,
            worker_resources,
            node_host,
            ..Assignment::default()
        },
    )
}

fn windows<K: Strategy<Value: Ord>, V: Strategy>(
    key: K,
    value: V,
) -> impl Strategy<Value = BTreeMap<String, BTreeMap<K::Value, V::Value>>> {
    let window = select(vec!["600", ":all-time", "", "what"]).prop_map(str::to_owned);
    btree_map(window, btree_map(key, value, 0..3), 0..3)
}

fn stream() -> impl Strategy<Value = String> {
    select(vec!["default", "__ack_ack", ""]).prop_map(str::to_owned)
}

fn source() -> impl Strategy<Value = GlobalStreamId> {
    stream().prop_map(|stream_id| GlobalStreamId { component_id: "words".to_owned(), stream_id })
}

fn count() -> impl Strategy<Value = i64> {
    select(vec![0, 1, -1, i64::MIN, i64::MAX])
}

fn mean() -> impl Strategy<Value = f64> {
    select(vec![0.0, 1.5, -1.0, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
}

fn stats() -> impl Strategy<Value = ExecutorStats> {
    let bolt = (windows(source(), count()), windows(source(), mean())).prop_map(|(counts, means)| {
        ExecutorSpecificStats::Bolt(BoltStats {
            acked: counts.clone(),
            failed: counts.clone(),
            process_ms_avg: means.clone(),
            executed: counts,
            execute_ms_avg: means,
        })
    });
    let spout = (windows(stream(), count()), windows(stream(), mean())).prop_map(|(acked, complete_ms_avg)| {
        ExecutorSpecificStats::Spout(SpoutStats { failed: acked.clone(), acked, complete_ms_avg })
    });
    (windows(stream(), count()), prop_oneof![bolt, spout]).prop_map(|(emitted, specific)| ExecutorStats {
        transferred: emitted.clone(),
        emitted,
        specific,
        rate: f64::NAN,
    })
}

fn beat() -> impl Strategy<Value = ClusterWorkerHeartbeat> {
    let info = (-1..7_i32, -1..7_i32).prop_map(|(task_start, task_end)| ExecutorInfo { task_start, task_end });
    let uptime = select(vec![0, 100, -1, i32::MIN, i32::MAX]);
    (btree_map(info, stats(), 0..5), uptime).prop_map(|(executor_stats, uptime_secs)| ClusterWorkerHeartbeat {
        storm_id: "another".to_owned(),
        executor_stats,
        uptime_secs,
        ..ClusterWorkerHeartbeat::default()
    })
}

proptest! {
    #[test]
    fn whatever_lies_in_the_tree_each_question_ends(
        assignment in assignment(), beats in vec(beat(), 2), now_secs in select(vec![0, 2000, i32::MIN, i32::MAX]),
    ) {
        let mut world = World::new();
        world.submit(ID, 2, "supervisor", 6700..6702);
        world.put(&Node::Assignment { topology: name(ID) }, &assignment);
        let info = SupervisorInfo { hostname: "host".to_owned(), ..SupervisorInfo::default() };
        world.put(&Node::Supervisor { supervisor: name("supervisor") }, &info);
        for (port, beat) in [6700, 6701].into_iter().zip(&beats) {
            let slot = Slot { supervisor: name("supervisor"), port };
            world.put(&Node::WorkerBeat { topology: name(ID), slot }, beat);
        }
        let answers = (Every { world: &mut world, id: ID, name: "words", now_secs }).ask();
        // Nothing of this is a reason to say that the topology is not there.
        for (method, trouble) in answers {
            prop_assert!(trouble.is_none(), "{}: {:?}", method, trouble);
        }
    }
}
