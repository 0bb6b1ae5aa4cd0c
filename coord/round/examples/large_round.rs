//! Prints how long a round takes in a large cluster, from what was read to the records that are written: when nothing runs
//! yet, when nothing has changed, and when one node or half of them were lost.
//!
//! Run it with `cargo run --release -p ringstorm-round --example large_round`. The cluster: 1,000 nodes with ten slots
//! each, 1,000 topologies with ten workers and 100 executors each (100,000 in all). Beside each round stands what it costs
//! to make the written records into the bytes of znodes, and to tell the failure detector one reading of all 10,000 beats.
//! Each figure is the best and the worst of several rounds. What of it the scheduler alone takes, the example `round` of
//! `ringstorm-scheduler` says.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ringstorm_control::time::{Moment, Now};
use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, StormBase, SupervisorInfo, TopologyStatus};
use ringstorm_records::thrift::UnknownFields;
use ringstorm_records::znode::NodeName;
use ringstorm_round::{Beat, Beats, Executors, Outcome, Round, Stored, Supervisors, TopologyInRound, round};
use ringstorm_scheduler::{DefaultScheduler, WorkerSlot};
use ringstorm_types::{ComponentId, ExecutorId, TaskId};

const NODES: usize = 1_000;
const SLOTS_PER_NODE: u16 = 10;
const TOPOLOGIES: usize = 1_000;
const WORKERS_PER_TOPOLOGY: i32 = 9;
const EXECUTORS_PER_TOPOLOGY: i32 = 100;
const ROUNDS: usize = 5;

fn main() {
    let mut cluster = Cluster::new();
    let placed = cluster.measure("cold start");
    assert_eq!(placed.writes.len(), TOPOLOGIES);
    cluster.write(&placed);
    cluster.read_beats("a reading of all beats", |_| true);
    let same = cluster.measure("nothing changed");
    assert!(same.writes.is_empty(), "a round without a reason writes nothing");

    cluster.lose(NODES - 1);
    let moved = cluster.measure("one node lost");
    assert!(moved.reports.values().all(|report| report.unassigned.is_empty()), "there is room for all");
    cluster.write(&moved);
    cluster.lose(NODES / 2);
    cluster.measure("half of the nodes lost");
}

struct Cluster {
    now: Moment,
    nodes: usize,
    supervisors: Supervisors,
    beats: Beats,
    base: StormBase,
    executors: Executors,
    assignments: BTreeMap<NodeName, Option<Assignment>>,
}

impl Cluster {
    fn new() -> Self {
        let components = ["spout", "split", "count", "sink"].map(ComponentId::from_static);
        let executor = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
        let of = |task: i32| (executor(task), components[task as usize % components.len()].clone());
        let base = StormBase {
            name: "topology".into(),
            status: TopologyStatus::Active,
            num_workers: WORKERS_PER_TOPOLOGY,
            component_executors: None,
            launch_time_secs: Some(1_700_000_000),
            owner: Some("owner".into()),
            topology_action_options: None,
            prev_status: None,
            component_debug: None,
            principal: None,
            topology_version: None,
            unknown: UnknownFields::default(),
        };
        let topology = |number: usize| name(&format!("topology-{number}-{}-1700000000", hash(number) % 10_000));
        let mut cluster = Self {
            now: Moment::default(),
            nodes: NODES,
            supervisors: Supervisors::default(),
            beats: Beats::default(),
            base,
            executors: Executors { components: (1..=EXECUTORS_PER_TOPOLOGY).map(of).collect(), ..Executors::default() },
            assignments: (0..TOPOLOGIES).map(|number| (topology(number), None)).collect(),
        };
        cluster.read_supervisors();
        cluster
    }

    /// Times rounds from this state; what comes of one of them.
    fn measure(&self, what: &str) -> Outcome {
        let (mut rounds, mut encodings, mut outcome) = (Vec::new(), Vec::new(), None);
        for _ in 0..ROUNDS {
            let topology = |assignment| TopologyInRound {
                base: Stored::Found(&self.base),
                executors: Ok(&self.executors),
                assignment: Option::map_or(assignment, Stored::Absent, Stored::Found),
                worker_timeout: None,
                version_floor: 0,
                is_from_scratch: false,
            };
            let start = Instant::now();
            let topologies = self.assignments.iter().map(|(id, of)| (id.clone(), topology(of.as_ref()))).collect();
            let input = Round {
                now: Now { moment: self.now, wall: Duration::from_secs(1_700_000_100) },
                supervisors: &self.supervisors,
                beats: &self.beats,
                topologies: &topologies,
                lowest_version: 0,
                master_code_dir: "/var/lib/storm",
            };
            let made = round(&input, &mut DefaultScheduler);
            rounds.push(start.elapsed());
            let start = Instant::now();
            let bytes: usize = made.writes.iter().map(|write| payload::encode(&write.assignment).len()).sum();
            encodings.push(start.elapsed());
            outcome = Some((made, bytes));
        }
        let (outcome, bytes) = outcome.expect("there is at least one round");
        let (round, encoding) = (range(rounds), range(encodings));
        let writes = outcome.writes.len();
        println!("{what:<24} {round} ms; {writes:4} records, {bytes:8} bytes in znodes: {encoding} ms");
        outcome
    }

    fn write(&mut self, outcome: &Outcome) {
        for write in &outcome.writes {
            self.assignments.insert(write.topology.clone(), Some(write.assignment.clone()));
        }
    }

    /// Only so many nodes are left, and their workers beat on.
    fn lose(&mut self, left: usize) {
        self.nodes = left;
        let lost: Vec<_> = (left..NODES).map(node).collect();
        for _ in 0..4 {
            self.now = self.now + Duration::from_secs(3);
            self.read_beats("", |slot| !lost.iter().any(|lost| lost == slot.node_id.as_str()));
        }
        self.read_supervisors();
    }

    fn read_supervisors(&mut self) {
        let record = |number: usize| SupervisorInfo {
            hostname: format!("192.168.{}.{}", number / 250, number % 250),
            meta: Some((0..SLOTS_PER_NODE).map(|slot| i64::from(6700 + slot)).collect()),
            ..SupervisorInfo::default()
        };
        let nodes = (0..self.nodes).map(|number| (name(&node(number)), Some(record(number)))).collect();
        self.supervisors.read(self.now, &nodes);
    }

    /// Reads all beats; the nodes of workers that do not live stay as they were.
    fn read_beats(&mut self, what: &str, lives: impl Fn(&WorkerSlot) -> bool) {
        let mut readings = Vec::new();
        for (id, assignment) in &self.assignments {
            let Some(assignment) = assignment else { continue };
            self.beats.assigned(Moment::default(), id, assignment);
            let beat = |info: &ringstorm_records::records::NodeInfo| {
                let port = info.port.first().copied().unwrap_or_default();
                let slot = WorkerSlot { node_id: info.node.as_str().into(), port: port as u16 };
                let version = if lives(&slot) { self.now.0.as_secs() as i32 } else { 0 };
                Beat { slot, created: 1, version, runs: assignment.version }
            };
            readings.push((id, assignment.worker_resources.keys().map(beat).collect::<Vec<_>>()));
        }
        let start = Instant::now();
        for (id, beats) in readings {
            self.beats.read(self.now, self.now, id, Some(&beats));
        }
        if !what.is_empty() {
            println!("{what:<24} {} ms", range(vec![start.elapsed()]));
        }
    }
}

fn range(mut times: Vec<Duration>) -> String {
    times.sort();
    let milliseconds = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    format!("{:7.1} to {:7.1}", milliseconds(times.first()), milliseconds(times.last()))
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).expect("it has letters, digits and dashes only")
}

/// An id as long as real ones, which are random.
fn node(number: usize) -> String {
    format!("{:016x}-{number:04}-192.168.{}.{}", hash(number), number / 250, number % 250)
}

fn hash(number: usize) -> u64 {
    (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}
