//! Over the tree that a real Storm had while it was asked, the answers are its own, field by field.
//!
//! The recorded trees are from shortly before and after: bases, assignments and daemons are of the one, the workers' beats,
//! which are written once a minute, of the other. Errors and the supervisor's uptime change by the second, and are put into
//! the tree as the answers tell of them.

use std::path::Path;
use std::sync::Arc;

use ringstorm_lifecycle::conf::{self, Conf};
use ringstorm_records::nimbus::*;
use ringstorm_records::payload;
use ringstorm_records::records::{
    Bolt, ComponentObject, ErrorInfo, JavaObject, StormTopology, SupervisorInfo, TopologyInfo,
};
use ringstorm_records::thrift::message::{Head, body};
use ringstorm_records::znode::{ComponentName, ErrorNumber, LastError, Node, Root};
use ringstorm_views::{Definition, NoAnswer, Read};
use serde_json::Value;

use crate::same::assert_same;
use crate::world::{World, name};

const ID: &str = "words-1-1795972824";
const SUPERVISOR: &str = "4be0d7ae-239e-41c3-92a6-dc234ddd1267-127.0.0.1";
const LAUNCHED_SECS: i32 = 1_795_972_824;

fn lines(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/tests/golden").join(file);
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bytes(line: &Value, field: &str) -> Vec<u8> {
    let hex = line[field].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A recorded call and its answer.
fn recorded<M: Method>() -> (M, M::Success) {
    let lines = lines("14-read-methods.thrift.jsonl");
    let line = lines.iter().find(|line| line["method"] == M::NAME).unwrap();
    let (call, reply) = (bytes(line, "call_hex"), bytes(line, "reply_hex"));
    let sequence = Head::read(&reply).unwrap().0.sequence;
    (body(Head::read(&call).unwrap().1).unwrap(), read_reply::<M>(sequence, &reply).unwrap())
}

fn parsed(json: &str) -> Conf {
    conf::parse(json, "It").unwrap()
}

#[track_caller]
fn assert_same_conf(ours: &str, theirs: &str) {
    let (ours, theirs) = (parsed(ours), parsed(theirs));
    let keys = ours.keys().chain(theirs.keys());
    let differing: Vec<_> = keys.filter(|key| ours.get(*key) != theirs.get(*key)).collect();
    assert_eq!(differing, [""; 0]);
}

/// The recorded tree and blobs.
fn world() -> World {
    let mut world = World::new();
    let root = Root::new("/storm").unwrap();
    for (file, of_beats) in [("02-running.znodes.jsonl", false), ("06-inactive.znodes.jsonl", true)] {
        for line in lines(file) {
            let path = line["path"].as_str().unwrap();
            let is_beat = matches!(root.node(path), Some(Node::WorkerBeat { .. }));
            if is_beat == of_beats {
                world.put_bytes(path, &bytes(&line, "data_hex"));
            }
        }
    }
    world.daemon = parsed(&recorded::<GetNimbusConf>().1);
    let topology_conf = parsed(&recorded::<GetTopologyConf>().1);
    let code = recorded::<GetUserTopology>().1;
    let definition = Definition::new(&world.daemon, Arc::new(topology_conf), Arc::new(code)).unwrap();
    world.here.definitions.insert(ID.to_owned(), Ok(Arc::new(definition)));
    world
}

impl World {
    /// The errors of the component that has them, oldest last, in the place of those that were recorded.
    fn put_errors(&mut self, errors: &[ErrorInfo]) {
        let component = ComponentName::new("count").unwrap();
        let error = |number| Node::Error { topology: name(ID), component: component.clone(), number };
        (136..146).for_each(|number| self.remove(&error(ErrorNumber(number))));
        for (number, info) in errors.iter().rev().enumerate() {
            self.put(&error(ErrorNumber(i32::try_from(number).unwrap())), info);
        }
    }

    fn put_last_error(&mut self, info: &ErrorInfo) {
        let last_error = LastError(ComponentName::new("count").unwrap());
        self.put(&Node::LastError { topology: name(ID), last_error }, info);
    }

    fn put_supervisor_uptime(&mut self, uptime_secs: i32) {
        let node = Node::Supervisor { supervisor: name(SUPERVISOR) };
        let line = lines("02-running.znodes.jsonl");
        let path = self.cluster.path(&node);
        let line = line.iter().find(|line| line["path"] == path.as_str()).unwrap();
        let mut info: SupervisorInfo = payload::decode(&bytes(line, "data_hex")).unwrap();
        info.uptime_secs = Some(i64::from(uptime_secs));
        self.put(&node, &info);
    }
}

#[test]
fn lists_of_the_cluster_are_storms() {
    let mut world = world();
    let (call, storms) = recorded::<GetClusterInfo>();
    let now = LAUNCHED_SECS + storms.topologies[0].uptime_secs;
    world.put_supervisor_uptime(storms.supervisors[0].uptime_secs);
    assert_same(&world.told(call, now), &storms);

    let (call, storms) = recorded::<GetTopologySummaries>();
    assert_eq!(world.told(call, now), storms);
    let (call, storms) = recorded::<GetTopologySummaryByName>();
    assert_eq!(world.told(call, now), storms);
    assert_eq!(world.told(GetTopologySummary { id: Some(ID.to_owned()) }, now), storms);

    let (call, storms) = recorded::<GetOwnerResourceSummaries>();
    assert_eq!(world.told(call, now), storms);
    let (call, storms) = recorded::<GetLeader>();
    assert_eq!(world.told(call, 1_795_972_811 + storms.uptime_secs), storms);
    let (call, mut storms) = recorded::<GetSupervisorPageInfo>();
    storms.worker_summaries.as_mut().unwrap().sort_by_key(|worker| worker.port);
    assert_same(&world.told(call, now), &storms);
    let (call, storms) = recorded::<GetSupervisorAssignments>();
    assert_same(&world.told(call, now), &storms);
}

fn sorted(mut info: TopologyInfo) -> TopologyInfo {
    info.executors.sort_by(|left, right| left.executor_info.cmp(&right.executor_info));
    info
}

/// A method with all errors.
fn compare_with_errors<M: Read<Success = TopologyInfo>>() {
    let (call, storms) = recorded::<M>();
    let mut world = world();
    world.put_errors(&storms.errors["count"]);
    assert_same(&world.told(call, LAUNCHED_SECS + storms.uptime_secs), &sorted(storms));
}

/// A method with the last error of each component.
fn compare_with_last_error<M: Read<Success = TopologyInfo>>() {
    let (call, storms) = recorded::<M>();
    let mut world = world();
    let [last] = storms.errors["count"].as_slice() else { panic!("one is asked for") };
    world.put_last_error(last);
    assert_same(&world.told(call, LAUNCHED_SECS + storms.uptime_secs), &sorted(storms));
}

#[test]
fn a_topology_with_its_executors_and_errors_is_storms() {
    compare_with_errors::<GetTopologyInfo>();
    compare_with_errors::<GetTopologyInfoByName>();
    compare_with_last_error::<GetTopologyInfoWithOpts>();
    compare_with_last_error::<GetTopologyInfoByNameWithOpts>();
}

#[test]
fn the_page_of_a_topology_is_storms() {
    let mut world = world();
    let (call, mut storms) = recorded::<GetTopologyPageInfo>();
    let bolts = storms.id_to_bolt_agg_stats.as_ref().unwrap();
    world.put_last_error(bolts["count"].last_error.as_ref().unwrap());
    storms.workers.as_mut().unwrap().sort_by_key(|worker| worker.port);
    let mut ours = world.told(call, LAUNCHED_SECS + storms.uptime_secs.unwrap());
    assert_same_conf(&ours.topology_conf.take().unwrap(), &storms.topology_conf.take().unwrap());
    assert_same(&ours, &storms);
}

#[test]
fn the_page_of_a_component_is_storms() {
    let mut world = world();
    let (call, mut storms) = recorded::<GetComponentPageInfo>();
    world.put_errors(storms.errors.as_ref().unwrap());
    storms.exec_stats.as_mut().unwrap().sort_by_key(|of| of.exec_summary.as_ref().unwrap().executor_info.clone());
    assert_same(&world.told(call, 0), &storms);
}

/// Without the objects that Storm serializes for the system's components, and configurations as maps.
fn comparable(mut topology: StormTopology) -> (StormTopology, Vec<(String, Conf)>) {
    let mut confs = Vec::new();
    for (id, Bolt { bolt_object, common }) in &mut topology.bolts {
        if id.starts_with("__") {
            *bolt_object = ComponentObject::JavaObject(JavaObject::default());
        }
        confs.push((id.clone(), parsed(&common.json_conf.take().unwrap())));
    }
    for (id, spout) in &mut topology.spouts {
        confs.push((id.clone(), parsed(&spout.common.json_conf.take().unwrap())));
    }
    (topology, confs)
}

#[test]
fn code_and_configurations_are_storms() {
    let mut world = world();
    let (call, storms) = recorded::<GetTopologyConf>();
    assert_same_conf(&world.told(call, 0), &storms);
    let (call, storms) = recorded::<GetNimbusConf>();
    assert_same_conf(&world.told(call, 0), &storms);
    let (call, storms) = recorded::<GetTopology>();
    assert_eq!(comparable(world.told(call, 0)), comparable(storms));
    let (call, storms) = recorded::<GetUserTopology>();
    assert_eq!(world.told(call, 0), storms);
}

#[test]
fn what_there_is_little_of_is_storms() {
    fn same<M: Read>(world: &mut World)
    where
        M::Success: PartialEq + std::fmt::Debug,
    {
        let (call, storms) = recorded::<M>();
        assert_eq!(world.told(call, 0), storms, "{}", M::NAME);
    }
    let mut world = world();
    same::<GetTopologyHistory>(&mut world);
    same::<GetLogConfig>(&mut world);
    same::<GetComponentPendingProfileActions>(&mut world);
    same::<IsTopologyNameAllowed>(&mut world);
    let key = Some(format!("{ID}-stormjar.jar"));
    assert_eq!(world.told(GetBlobReplication { key }, 0), 1);
    let unknown = world.ask(GetTopologyInfo { id: Some("nobody-1-1".to_owned()) }, 0);
    assert_eq!(unknown, Err(NoAnswer::NotAlive("nobody-1-1".to_owned())));
}
