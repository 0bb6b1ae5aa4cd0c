//! One topology's life, as it was recorded of a real Storm, lived by the machines; the whole tree is compared at each
//! stage.
//!
//! What clients send is what Storm's sent, what cores count and which errors they report what Storm's did. The time of day
//! stands where it decides names. Not compared is what depends on when something was looked at ([`mask`]), and what is
//! declared to be different ([`tree::declared`](crate::tree::declared), [`differs`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ringstorm_ensemble::Ensemble;
use ringstorm_nimbus::interface::{Reply, Request};
use ringstorm_records::nimbus::{KillTopologyWithOpts, Rebalance};
use ringstorm_records::records::{ClusterWorkerHeartbeat, ErrorInfo, LogConfig};
use ringstorm_records::znode::{ComponentName, ErrorNumber, Node, NodeName, Slot};
use ringstorm_worker::{CoresEvent, WorkerInput};
use serde_json::{Value, json};

use crate::nimbus::NimbusHost;
use crate::storms_classes;
use crate::supervisor::SupervisorHost;
use crate::tree::{Nodes, Seen, Stage, declared, differing, seen, sort};
use crate::world::{LIMIT, LONG, World, decoded, golden, name, nimbus_settings, recorded, submission};

/// When Storm's nimbus started.
const STARTED: u64 = 1_795_972_811;
/// When the topology was submitted, which stands in its id.
const SUBMITTED: u64 = 1_795_972_824;
/// The number of the nimbus's first place in the queue, less one.
const RANDOM: u128 = 0x7643_c81e_fe9e_424d_98c4_6772_24b7_98e9;

fn topology() -> NodeName {
    name("words-1-1795972824")
}

fn count() -> ComponentName {
    ComponentName::new("count").unwrap()
}

fn newest_error<'a>(nodes: impl Iterator<Item = &'a Node>) -> Option<i32> {
    let numbers = nodes.filter_map(|node| match node {
        Node::Error { number: ErrorNumber(number), .. } => Some(*number),
        _ => None,
    });
    numbers.max()
}

fn error(number: i32) -> Node {
    Node::Error { topology: topology(), component: count(), number: ErrorNumber(number) }
}

/// The cluster.
struct Life {
    world: Arc<World>,
    nimbus: NimbusHost,
    host: SupervisorHost,
    /// Every tree that was compared.
    trees: Vec<Nodes>,
    /// How many errors were reported, and the newest of Storm's among them.
    reported: (usize, i32),
    assignment_version: i64,
}

impl Life {
    /// Waits for an assignment of a higher version: that of the tree from now on.
    fn see_version_above(&mut self, before: i64) {
        let version = || self.world.assignment(&topology())?.version.filter(|version| *version > before);
        self.assignment_version = self.world.eventually("another assignment", version);
    }

    /// Compares the tree with Storm's until they are the same. What is gone in Storm and stays here, or the other way
    /// round, is said by `change`.
    fn compare(&mut self, file: &str, change: impl Fn(&mut BTreeMap<Node, Seen>)) {
        let stage = Stage::read(&golden(), file);
        let mut storms = seen(&stage.0);
        for (node, seen) in &mut storms {
            declared(node, seen, self.assignment_version);
            differs(node, seen, self.assignment_version);
        }
        change(&mut storms);
        storms.iter_mut().for_each(|(node, seen)| mask(node, seen));
        let mut last = None;
        let same = self.world.within(LIMIT, || {
            let nodes = self.world.dump()?;
            let mut ours = renumbered(seen(&nodes), newest_error(storms.keys()));
            ours.iter_mut().for_each(|(node, seen)| mask(node, seen));
            let differing = differing(&ours, &storms);
            let is_same = differing.is_empty();
            last = Some(differing);
            is_same.then_some(nodes)
        });
        match same {
            Some(nodes) => self.trees.push(nodes),
            None => panic!("{file}: ours and Storm's differ in {last:#?}\n{}", self.world.noted()),
        }
    }

    /// Lets cores count what Storm's had counted, and report the errors that Storm's had.
    fn work(&mut self, file: &str) {
        let stage = Stage::read(&golden(), file);
        for (node, (bytes, _)) in &stage.0 {
            if let Node::WorkerBeat { slot: Slot { port, .. }, .. } = node {
                let beat: ClusterWorkerHeartbeat = decoded(bytes);
                if !beat.executor_stats.is_empty() {
                    self.host.tell_worker(*port, WorkerInput::Cores(CoresEvent::Statistics(beat.executor_stats)));
                }
            }
        }
        self.report(&stage);
    }

    /// One error after another, so that they come in Storm's order.
    fn report(&mut self, stage: &Stage) {
        let Some(newest) = newest_error(stage.0.keys()) else { return };
        for number in (newest - 9).max(self.reported.1 + 1)..=newest {
            let info: ErrorInfo = stage.record(&error(number));
            let event = CoresEvent::Error {
                component: "count".into(),
                task: 3,
                text: info.error.clone(),
                time: Duration::from_secs(u64::try_from(info.error_time_secs).unwrap()),
            };
            let port = u16::try_from(info.port.unwrap()).unwrap();
            self.host.tell_worker(port, WorkerInput::Cores(event));
            let own = i32::try_from(self.reported.0).unwrap();
            self.world.eventually("an error is reported", || self.world.read::<ErrorInfo>(&error(own)));
            self.reported = (self.reported.0 + 1, number);
        }
    }

    fn done(&mut self, request: Request) {
        assert_eq!(self.nimbus.request(request), Ok(Reply::Done), "{}", self.world.noted());
    }

    /// Somebody sets levels of loggers; nimbus takes no such request yet.
    fn set_log_config(&self, file: &str) {
        let node = Node::LogConfig { topology: topology() };
        let levels: LogConfig = Stage::read(&golden(), file).record(&node);
        self.world.create(&node, ringstorm_records::payload::encode(&levels));
    }
}

/// Our errors under Storm's numbers: the newest is the newest.
fn renumbered(nodes: BTreeMap<Node, Seen>, newest: Option<i32>) -> BTreeMap<Node, Seen> {
    let shift = newest.unwrap_or(0) - newest_error(nodes.keys()).unwrap_or(0);
    let renumber = |(node, seen)| match node {
        Node::Error { number: ErrorNumber(number), .. } => (error(number + shift), seen),
        node => (node, seen),
    };
    nodes.into_iter().map(renumber).collect()
}

/// What is declared to be different, and only seen when the machines write.
fn differs(node: &Node, seen: &mut Seen, assignment_version: i64) {
    match node {
        Node::Assignment { .. } => seen.holds["slot cores"] = json!({ crate::supervisor::ID: 1 }),
        Node::WorkerBeat { .. } => {
            seen.holds["assignment version"] = json!(assignment_version);
            // Every tuple is counted, also in the system's executor, which counts nothing.
            let executors = seen.holds["executor_stats"].as_array_mut().unwrap();
            let system = executors.iter_mut().filter(|entry| entry["key"]["task_start"] == -1);
            system.for_each(|entry| entry["value"]["rate"] = json!(1.0));
        }
        _ => {}
    }
}

/// Takes away what depends on the moment: times, and how often what comes by a timer was written.
fn mask(node: &Node, seen: &mut Seen) {
    let clear = |holds: &mut Value, fields: &[&str]| fields.iter().for_each(|field| holds[*field] = json!(0));
    match node {
        Node::Supervisor { .. } => {
            clear(&mut seen.holds, &["time_secs", "uptime_secs"]);
            seen.version = 0;
        }
        Node::WorkerBeat { .. } => {
            clear(&mut seen.holds, &["time_secs", "uptime_secs"]);
            seen.version = 0;
        }
        Node::Assignment { .. } => {
            let starts = seen.holds["executor_start_time_secs"].as_array_mut().unwrap();
            starts.iter_mut().for_each(|entry| entry["value"] = json!(0));
        }
        Node::LastError { .. } => {
            // It was recorded a moment after the others, and is of a later error.
            clear(&mut seen.holds, &["error", "error_time_secs"]);
            seen.version = 0;
        }
        _ => {}
    }
    // What was cleared counted in the order.
    sort(&mut seen.holds);
}

#[test]
fn the_machines_hold_storms_tree_through_a_topologys_life() {
    let Some(ensemble) = Ensemble::start_or_skip(3) else { return };
    let world = World::new(ensemble.addresses());
    world.clock.stand(STARTED);
    let nimbus = NimbusHost::start(&world, 6627, RANDOM, nimbus_settings(), LONG);
    let host = SupervisorHost::start(&world, LONG);
    let mut life = Life { world, nimbus, host, trees: Vec::new(), reported: (0, -1), assignment_version: 0 };
    let same = |_: &mut BTreeMap<Node, Seen>| {};
    life.compare("00-no-topology", same);

    life.host.hold_code(true);
    life.world.warm_up();
    life.world.clock.stand(SUBMITTED);
    let submitted = life.nimbus.request(submission("words", 2));
    assert_eq!(submitted, Ok(Reply::Submitted { topology: topology() }));
    life.see_version_above(0);
    assert_eq!(u64::try_from(life.assignment_version), Ok(SUBMITTED), "the second that it was made in");
    life.compare("01-submitted", same);

    life.host.hold_code(false);
    life.world.eventually("both workers live", || (life.host.living().len() == 2).then_some(()));
    life.work("02-running");
    life.compare("02-running", same);

    life.done(Request::Deactivate { name: "words".into() });
    life.work("06-inactive");
    life.compare("06-inactive", same);

    life.done(Request::Activate { name: "words".into() });
    life.set_log_config("08-log-level");
    life.work("08-log-level");
    life.compare("08-log-level", same);

    let Rebalance { name: of, options } = recorded("09-rebalance");
    life.done(Request::Rebalance { name: of.unwrap(), options: options.unwrap() });
    life.compare("09-rebalancing", same);

    // The old workers report until they end; the cores of the new one have not started when the tree is looked at.
    life.host.machinery.starts_cores.store(false, Ordering::SeqCst);
    life.report(&Stage::read(&golden(), "10-rebalanced"));
    life.world.eventually("the rebalance", || life.world.base(&topology()).filter(|base| base.num_workers == 1));
    life.see_version_above(life.assignment_version);
    life.compare("10-rebalanced", same);

    let KillTopologyWithOpts { name: of, options } = recorded("12-kill");
    life.work("12-killed");
    life.done(Request::Kill { name: of.unwrap(), options: options.unwrap() });
    life.compare("12-killed", same);

    // What is gone in Storm and is declared to stay here: the errors of workers that are gone.
    let kept: Vec<_> = Stage::read(&golden(), "12-killed")
        .0
        .into_iter()
        .filter_map(|(node, (_, mut seen))| {
            declared(&node, &mut seen, 0);
            matches!(node, Node::Error { .. }).then_some((node, seen))
        })
        .collect();
    life.compare("13-gone", |storms| {
        storms.extend(kept.clone());
        // A beat of Storm's came after its worker had removed it; here the last one is over before.
        storms.retain(|node, _| !matches!(node, Node::WorkerBeat { .. }));
    });

    // The clean-up leaves an idle cluster, in which Storm's folder of blobs' numbers stays.
    let numbers = Stage::read(&golden(), "13-gone").0.remove_entry(&Node::BlobSequences {}).unwrap();
    life.compare("00-no-topology", |storms| drop(storms.insert(numbers.0.clone(), numbers.1.1.clone())));

    storms_classes::assert_read(&life.trees);
}
