//! The life of the topology `words`, decided here step by step, is what a real Storm wrote at each step: its stored
//! configuration, code, system topology, base, and executors.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ringstorm_lifecycle::clean_up::{self, IdleSince, Listings};
use ringstorm_lifecycle::conf::{self, Conf};
use ringstorm_lifecycle::executors::Tasks;
use ringstorm_lifecycle::id::{TopologyBlob, check_free, find, name_of};
use ringstorm_lifecycle::submission::{Accepted, Submission, accept};
use ringstorm_lifecycle::system::{message_timeout_secs, system_topology};
use ringstorm_lifecycle::transition::{Action, DelayedAction, Effect, transition};
use ringstorm_lifecycle::{Refusal, rebalance};
use ringstorm_records::nimbus::{
    GetNimbusConf, GetTopology, GetTopologyConf, GetUserTopology, KillTopologyWithOpts, Method, Rebalance,
    SubmitTopology, read_reply,
};
use ringstorm_records::payload;
use ringstorm_records::records::{
    Assignment, Bolt, ComponentObject, JavaObject, StormBase, StormTopology, TopologyInitialStatus, TopologyStatus,
};
use ringstorm_records::thrift::message::{Head, body};
use ringstorm_records::znode::{Node, Root};
use serde_json::Value;

const ID: &str = "words-1-1795972824";
const SECRET: &str = "a secret of this test";

fn lines(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/tests/golden").join(file);
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bytes(line: &Value, field: &str) -> Vec<u8> {
    let hex = line[field].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn line_of<M: Method>(file: &str) -> Value {
    lines(file).into_iter().find(|line| line["method"] == M::NAME).unwrap()
}

fn call<M: Method>(file: &str) -> M {
    let message = bytes(&line_of::<M>(file), "call_hex");
    body(Head::read(&message).unwrap().1).unwrap()
}

fn reply<M: Method>(file: &str) -> M::Success {
    let message = bytes(&line_of::<M>(file), "reply_hex");
    let sequence = Head::read(&message).unwrap().0.sequence;
    read_reply::<M>(sequence, &message).unwrap()
}

fn nodes(file: &str) -> Vec<(Node, Vec<u8>)> {
    let root = Root::new("/storm").unwrap();
    let node = |line: &Value| (root.node(line["path"].as_str().unwrap()).unwrap(), bytes(line, "data_hex"));
    lines(file).iter().map(node).collect()
}

fn stored_base(file: &str) -> StormBase {
    let found = nodes(file).into_iter().find(|(node, _)| matches!(node, Node::Storm { .. }));
    payload::decode(&found.unwrap().1).unwrap()
}

fn stored_executors(file: &str) -> BTreeSet<Vec<i64>> {
    let found = nodes(file).into_iter().find(|(node, _)| matches!(node, Node::Assignment { .. }));
    let assignment: Assignment = payload::decode(&found.unwrap().1).unwrap();
    assignment.executor_node_port.into_keys().collect()
}

fn parsed(json: &str) -> Conf {
    conf::parse(json, "It").unwrap()
}

fn daemon() -> Conf {
    parsed(&reply::<GetNimbusConf>("14-read-methods.thrift.jsonl"))
}

fn accepted() -> Accepted {
    let sent: SubmitTopology = call("01-submit.thrift.jsonl");
    let submission = Submission {
        name: &sent.name.unwrap(),
        json_conf: &sent.json_conf.unwrap(),
        topology: &sent.topology.unwrap(),
        initial_status: TopologyInitialStatus::Active,
        principal: None,
        nimbus_user: "root",
        number: 1,
        now_secs: 1_795_972_824,
        worker_secret: SECRET,
    };
    accept(&daemon(), &submission).unwrap()
}

/// A topology without the objects that Storm serializes for the system's components, whose configurations are parsed.
fn comparable(mut topology: StormTopology) -> (StormTopology, BTreeMap<String, Conf>) {
    let mut confs = BTreeMap::new();
    for (id, Bolt { bolt_object, common }) in &mut topology.bolts {
        if id.starts_with("__") {
            *bolt_object = ComponentObject::JavaObject(JavaObject::default());
        }
        confs.insert(id.clone(), parsed(&common.json_conf.take().unwrap()));
    }
    for (id, spout) in &mut topology.spouts {
        confs.insert(id.clone(), parsed(&spout.common.json_conf.take().unwrap()));
    }
    (topology, confs)
}

fn executors(base: &StormBase) -> BTreeSet<Vec<i64>> {
    let Accepted { conf, topology, .. } = accepted();
    let tasks = Tasks::number(&system_topology(&conf, &topology).unwrap()).unwrap();
    let executors = tasks.executors(base.component_executors.as_ref().unwrap());
    executors.into_keys().map(|id| vec![i64::from(id.first.0), i64::from(id.last.0)]).collect()
}

#[test]
fn the_id_is_storms() {
    assert_eq!(accepted().id, ID);
    assert_eq!(name_of(ID), Some("words"));
    let blobs = nodes("02-running.znodes.jsonl").into_iter().filter_map(|(node, _)| match node {
        Node::Blob { key } => Some(TopologyBlob::of_key(key.as_str()).map(|(id, blob)| (id.to_owned(), blob)).unwrap()),
        _ => None,
    });
    let of_words = TopologyBlob::ALL.map(|blob| (ID.to_owned(), blob));
    assert_eq!(blobs.collect::<BTreeSet<_>>(), of_words.into());
}

#[test]
fn the_stored_configuration_is_storms_but_for_the_secret() {
    let stored = parsed(&reply::<GetTopologyConf>("14-read-methods.thrift.jsonl"));
    let mut ours = accepted().conf;
    assert_eq!(conf::decode(&conf::encode(&ours)), Ok(ours.clone()));
    assert_eq!(conf::redacted(&ours)[conf::WORKER_SECRET], "(hidden)");
    assert_eq!(ours.shift_remove(conf::WORKER_SECRET), Some(SECRET.into()));
    assert_eq!(ours, stored);
    assert_eq!(conf::redacted(&stored), stored);
}

#[test]
fn the_stored_topology_and_its_system_topology_are_storms() {
    let Accepted { conf, topology, .. } = accepted();
    let users = reply::<GetUserTopology>("14-read-methods.thrift.jsonl");
    assert_eq!(comparable(topology.clone()), comparable(users));
    let system = reply::<GetTopology>("14-read-methods.thrift.jsonl");
    assert_eq!(comparable(system_topology(&conf, &topology).unwrap()), comparable(system.clone()));
    // Whoever numbers Storm's own record gets the same tasks.
    let tasks = Tasks::number(&system).unwrap();
    let shown: Vec<_> = tasks.components().map(|(id, tasks)| (id.to_string(), tasks)).collect();
    let expected = [("__acker", 1..3), ("__system", 3..3), ("count", 3..6), ("sink", 6..7), ("words", 7..11)];
    assert_eq!(shown, expected.map(|(id, tasks)| (id.to_owned(), tasks)));
}

#[test]
fn every_base_and_every_executor_is_storms() {
    let file = |stage: &str| stored_base(&format!("{stage}.znodes.jsonl"));
    let timeout = message_timeout_secs(&accepted().conf).unwrap();
    let step = |base: &StormBase, action: Action| transition(ID, base, &action, timeout).unwrap();
    let to = |base: &StormBase, action| step(base, action).base.unwrap();

    let submitted = accepted().base;
    assert_eq!(submitted, file("01-submitted"));
    assert_eq!(submitted, file("02-running"));
    assert_eq!(executors(&submitted), stored_executors("02-running.znodes.jsonl"));

    let inactive = to(&submitted, Action::Deactivate);
    assert_eq!(inactive, file("06-inactive"));
    let active = to(&inactive, Action::Activate);
    assert_eq!(active, submitted);

    let asked: Rebalance = call("09-rebalance.thrift.jsonl");
    let Accepted { topology, conf, .. } = accepted();
    let options = rebalance::check("words", &topology, &conf, &asked.options.unwrap(), None).unwrap();
    let rebalancing = step(&active, Action::Rebalance(options));
    assert_eq!(rebalancing.effect, Effect::Wait { action: DelayedAction::DoRebalance, secs: 8 });
    let rebalancing = rebalancing.base.unwrap();
    assert_eq!(rebalancing, file("09-rebalancing"));
    assert_eq!(executors(&rebalancing), stored_executors("09-rebalancing.znodes.jsonl"));
    let counted = step(&rebalancing, Action::DoRebalance);
    assert!(matches!(counted.effect, Effect::Rebalance(_)));
    let rebalanced = to(&counted.base.unwrap(), Action::FinishRebalance);
    assert_eq!(rebalanced, file("10-rebalanced"));
    assert_eq!(executors(&rebalanced), stored_executors("10-rebalanced.znodes.jsonl"));

    let asked: KillTopologyWithOpts = call("12-kill.thrift.jsonl");
    let killed = step(&rebalanced, Action::Kill { wait_secs: asked.options.unwrap().wait_secs });
    assert_eq!(killed.effect, Effect::Wait { action: DelayedAction::Remove, secs: 8 });
    let killed = killed.base.unwrap();
    assert_eq!(killed, file("12-killed"));
    assert_eq!(step(&killed, Action::Remove).effect, Effect::Remove);
}

#[test]
fn a_killed_topology_still_has_its_name_and_an_unknown_one_is_refused_in_storms_words() {
    let base = stored_base("12-killed.znodes.jsonl");
    assert_eq!(base.status, TopologyStatus::Killed);
    let bases = || [(ID, &base)];
    assert_eq!(find("words", bases()), Ok(ID));
    assert_eq!(check_free("words", bases()).unwrap_err(), Refusal::AlreadyAlive("words is already alive".to_owned()));
    let killed: KillTopologyWithOpts = call("04-kill-unknown.thrift.jsonl");
    let message = bytes(&line_of::<KillTopologyWithOpts>("04-kill-unknown.thrift.jsonl"), "reply_hex");
    let sequence = Head::read(&message).unwrap().0.sequence;
    let storms = read_reply::<KillTopologyWithOpts>(sequence, &message).unwrap_err();
    let refusal = find(&killed.name.unwrap(), bases()).unwrap_err();
    assert_eq!(refusal.exception().unwrap().to_string(), storms.to_string());
}

#[test]
fn what_a_killed_topology_left_behind_goes_after_the_delay() {
    let mut listings = Listings {
        bases: Ok([].into()),
        assignments: Ok([].into()),
        heartbeats: Ok([].into()),
        errors: Ok([].into()),
        blobs: Ok([].into()),
        backpressure: Ok([].into()),
        worker_keys: Ok([].into()),
        credentials: Ok([].into()),
        log_configs: Ok([].into()),
        profiler_configs: Ok([].into()),
    };
    for (node, _) in nodes("13-gone.znodes.jsonl") {
        let (listing, id) = match &node {
            Node::Storm { topology } => (&mut listings.bases, topology.as_str()),
            Node::Assignment { topology } => (&mut listings.assignments, topology.as_str()),
            Node::TopologyWorkerBeats { topology } => (&mut listings.heartbeats, topology.as_str()),
            Node::TopologyErrors { topology } => (&mut listings.errors, topology.as_str()),
            Node::Blob { key } => (&mut listings.blobs, TopologyBlob::of_key(key.as_str()).unwrap().0),
            _ => continue,
        };
        listing.as_mut().unwrap().insert(id.to_owned());
    }
    let words: BTreeSet<String> = [ID.to_owned()].into();
    for listing in [&listings.heartbeats, &listings.errors, &listings.blobs] {
        assert_eq!(listing.as_ref(), Ok(&words));
    }
    let delay = clean_up::deletion_delay_ms(&daemon()).unwrap();
    assert_eq!(delay, clean_up::DEFAULT_DELETION_DELAY_MS);
    let round = |idle: &IdleSince, now| clean_up::clean_up(&listings, &[].into(), idle, now, delay).unwrap();
    let first = round(&IdleSince::default(), 1000);
    assert!(first.remove.is_empty());
    assert!(round(&first.idle_since, 1000 + delay - 1).remove.is_empty());
    assert_eq!(round(&first.idle_since, 1000 + delay).remove, words);
}
