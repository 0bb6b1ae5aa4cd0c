//! In the situation of a real Storm's cluster a round gives the assignment that Storm wrote, but for the two fields that
//! are not Storm's; and where Storm wrote nothing, it writes nothing.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ringstorm_control::time::{Moment, Now};
use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, ClusterWorkerHeartbeat, StormBase, SupervisorInfo};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::{Node, NodeName, Root};
use ringstorm_round::{Beat, Beats, Executors, LeftAlone, Outcome, Round, Stored, Supervisors, TopologyInRound, round};
use ringstorm_scheduler::DefaultScheduler;
use ringstorm_types::numbering::split_into_executors;
use ringstorm_types::{ComponentId, TaskId};
use serde_json::Value;

/// The components of the recorded topology in the order of their tasks, and how many tasks they have.
const TASKS: [(&str, i32); 4] = [("__acker", 2), ("count", 3), ("sink", 1), ("words", 4)];

/// The nodes of a recorded situation.
struct Situation(BTreeMap<Node, Vec<u8>>);

impl Situation {
    fn read(file: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/tests/golden");
        let text = std::fs::read_to_string(folder.join(format!("{file}.znodes.jsonl"))).unwrap();
        let root = Root::new("/storm").unwrap();
        let nodes = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let hex = line["data_hex"].as_str().unwrap();
            let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            (root.node(line["path"].as_str().unwrap()).unwrap(), bytes.collect())
        });
        Self(nodes.collect())
    }

    fn records<R: Record, T>(&self, choose: impl Fn(&Node) -> Option<T>) -> Vec<(T, R)> {
        let chosen = self.0.iter().filter_map(|(node, bytes)| Some((choose(node)?, bytes)));
        chosen.map(|(of, bytes)| (of, payload::decode(bytes).unwrap())).collect()
    }

    fn supervisors(&self) -> Supervisors {
        let records = self.records(|node| match node {
            Node::Supervisor { supervisor } => Some(supervisor.clone()),
            _ => None,
        });
        let nodes = records.into_iter().map(|(name, record): (_, SupervisorInfo)| (name, Some(record))).collect();
        let mut supervisors = Supervisors::default();
        supervisors.read(Moment::default(), &nodes);
        supervisors
    }

    fn base(&self) -> Option<(NodeName, StormBase)> {
        let mut bases = self.records(|node| match node {
            Node::Storm { topology } => Some(topology.clone()),
            _ => None,
        });
        bases.pop()
    }

    fn assignment(&self) -> Option<Assignment> {
        let mut assignments = self.records(|node| matches!(node, Node::Assignment { .. }).then_some(()));
        assignments.pop().map(|(_, assignment)| assignment)
    }

    /// What a reader of beats has heard since it was told this assignment.
    fn beats(&self, topology: &NodeName, stored: Option<&Assignment>) -> Beats {
        let mut beats = Beats::default();
        if let Some(stored) = stored {
            beats.assigned(Moment::default(), topology, stored);
        }
        let found = self.records(|node| match node {
            Node::WorkerBeat { slot, .. } => Some(slot.clone()),
            _ => None,
        });
        let found: Vec<Beat> =
            found.iter().map(|(slot, beat): &(_, ClusterWorkerHeartbeat)| Beat::of(slot, beat, 1, 1)).collect();
        let moment = Moment(Duration::from_secs(5));
        beats.read(moment, moment, topology, Some(&found));
        beats
    }
}

/// The executors that the base asks for.
fn executors(base: &StormBase) -> Executors {
    let counts = base.component_executors.as_ref().unwrap();
    let mut first = 1;
    let mut executors = Executors::default();
    for (name, task_count) in TASKS {
        let tasks: Vec<TaskId> = (first..first + task_count).map(TaskId).collect();
        first += task_count;
        let ids = split_into_executors(&tasks, counts[name] as u32);
        executors.components.extend(ids.into_iter().map(|id| (id, ComponentId::from_static(name))));
    }
    executors
}

/// A round in a situation with this assignment stored.
fn round_in(situation: &Situation, stored: Option<&Assignment>, now_secs: i64, is_from_scratch: bool) -> Outcome {
    let (id, base) = situation.base().unwrap();
    let executors = executors(&base);
    let topology = TopologyInRound {
        base: Stored::Found(&base),
        executors: Ok(&executors),
        assignment: stored.map_or(Stored::Absent, Stored::Found),
        worker_timeout: None,
        version_floor: 0,
        is_from_scratch,
    };
    let input = Round {
        now: Now { moment: Moment::default(), wall: Duration::from_secs(now_secs as u64) },
        supervisors: &situation.supervisors(),
        beats: &situation.beats(&id, stored),
        topologies: &[(id, topology)].into(),
        lowest_version: 0,
        master_code_dir: "/var/lib/storm",
    };
    round(&input, &mut DefaultScheduler)
}

/// What Storm wrote, with what is declared to be otherwise: the version, and the cores of slots (four CPUs, four slots).
fn expected(situation: &Situation, version: i64) -> Assignment {
    let storms = situation.assignment().unwrap();
    let cores = storms.node_host.keys().map(|node| (node.clone(), 1)).collect();
    Assignment { version: Some(version), slot_cores: Some(cores), ..storms }
}

fn placed_at(assignment: &Assignment) -> i64 {
    *assignment.executor_start_time_secs.values().next().unwrap()
}

#[test]
fn a_topology_that_was_submitted_is_placed_as_storm_placed_it() {
    let situation = Situation::read("01-submitted");
    let expected = expected(&situation, 1);
    let outcome = round_in(&situation, None, placed_at(&expected), false);
    assert_eq!(outcome.writes.len(), 1);
    assert_eq!(outcome.writes[0].assignment, expected);
    let report = outcome.reports.values().next().unwrap();
    assert_eq!((report.shortage, report.worker_count, report.version), (None, 2, Some(1)));
}

#[test]
fn where_storm_wrote_nothing_nothing_is_written() {
    for file in ["02-running", "06-inactive", "08-log-level", "09-rebalancing", "10-rebalanced"] {
        let situation = Situation::read(file);
        let stored = expected(&situation, 3);
        let outcome = round_in(&situation, Some(&stored), placed_at(&stored) + 100, false);
        assert_eq!(outcome.writes, [], "{file}");
        assert_eq!(outcome.cluster.shortages(), [], "{file}");
    }
    let situation = Situation::read("12-killed");
    let stored = expected(&situation, 3);
    let outcome = round_in(&situation, Some(&stored), placed_at(&stored) + 100, false);
    assert_eq!(outcome.writes, []);
    let report = outcome.reports.values().next().unwrap();
    assert_eq!((report.left_alone.clone(), report.version), (Some(LeftAlone::Killed), Some(3)));
}

#[test]
fn a_rebalance_places_from_scratch_as_storm_did() {
    let before = Situation::read("09-rebalancing");
    let stored = expected(&before, 3);
    let after = Situation::read("10-rebalanced");
    let expected = expected(&after, 4);
    let outcome = round_in(&after, Some(&stored), placed_at(&expected), true);
    assert_eq!(outcome.writes.len(), 1);
    assert_eq!(outcome.writes[0].assignment, expected);
}

#[test]
fn what_apache_storm_assigned_gets_a_version_and_stays_where_it_is() {
    let situation = Situation::read("02-running");
    let storms = situation.assignment().unwrap();
    let outcome = round_in(&situation, Some(&storms), placed_at(&storms) + 100, false);
    assert_eq!(outcome.writes.len(), 1);
    assert_eq!(outcome.writes[0].assignment, expected(&situation, 1));
}
