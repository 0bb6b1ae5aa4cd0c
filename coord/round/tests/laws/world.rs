//! A small cluster: supervisors that offer slots, workers that beat in them, a tree with assignments, and one leader after
//! another that makes rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prop_assert;
use proptest::test_runner::TestCaseError;
use ringstorm_control::time::{Moment, Now};
use ringstorm_records::records::{Assignment, StormBase, SupervisorInfo, TopologyStatus};
use ringstorm_records::znode::NodeName;
use ringstorm_round::{Beat, Beats, Executors, Outcome, Round, Stored, Supervisors, TopologyInRound, round};
use ringstorm_scheduler::{Cluster, DefaultScheduler, Scheduler, WorkerSlot};
use ringstorm_types::{ComponentId, ExecutorId, TaskId};

use super::checks;

/// What happens to the world.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    SupervisorDies(usize),
    SupervisorReturns(usize),
    HostDies(usize),
    WorkerDies(usize),
    PortWithdrawn(usize),
    RecordOfSupervisorDamaged(usize),
    Rebalanced(usize, i32),
    Killed(usize),
    BaseDamaged(usize),
    CodeLost(usize),
    AssignmentDamaged(usize),
    AssignmentDeleted(usize),
    WorkersCutOff(usize),
    SnapshotTaken,
    SnapshotRestored,
    ReadingsFail,
    LeaderDiesAfterWrites(usize),
    SchedulerGoesWild,
    Nothing,
}

/// A host with its supervisor.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) name: NodeName,
    all_ports: BTreeSet<u16>,
    pub(crate) ports: BTreeSet<u16>,
    cpus: i64,
    pub(crate) is_up: bool,
    pub(crate) has_supervisor: bool,
    is_damaged: bool,
}

/// A worker process.
#[derive(Clone, Debug)]
struct Process {
    created: i64,
    beats: i32,
    runs: i64,
    is_alive: bool,
    is_cut_off: bool,
}

/// Takes everything from everybody, and deals it out in another order.
struct Wild;

impl Scheduler for Wild {
    fn schedule(&mut self, cluster: &mut Cluster) {
        for topology in cluster.topologies() {
            let slots: Vec<WorkerSlot> = cluster.slots(topology).keys().cloned().collect();
            slots.iter().for_each(|slot| cluster.free_slot(slot));
        }
        let mut slots: Vec<WorkerSlot> = cluster.available_slots().collect();
        slots.reverse();
        for (topology, slots) in cluster.topologies().zip(slots.chunks(2)) {
            let executors: Vec<ExecutorId> = cluster.unassigned_executors(topology).collect();
            for (slot, executors) in slots.iter().zip(executors.chunks(executors.len().div_ceil(2).max(1))) {
                cluster.assign(topology, slot, executors.to_vec()).unwrap();
            }
        }
    }
}

/// A topology, and what of it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Submitted {
    pub(crate) base: StormBase,
    pub(crate) executors: Executors,
    pub(crate) assignment: Option<Assignment>,
    pub(crate) is_assignment_damaged: bool,
    pub(crate) is_base_damaged: bool,
    pub(crate) is_code_lost: bool,
    pub(crate) is_from_scratch: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    now: Duration,
    transaction: i64,
    pub(crate) hosts: Vec<Host>,
    pub(crate) topologies: BTreeMap<NodeName, Submitted>,
    snapshot: BTreeMap<NodeName, Option<Assignment>>,
    processes: BTreeMap<(NodeName, WorkerSlot), Process>,
    pub(crate) supervisors: Supervisors,
    pub(crate) beats: Beats,
    /// The versions that this leader wrote.
    written: BTreeMap<NodeName, i64>,
    readings_fail: bool,
    is_wild: bool,
    dies_after: Option<usize>,
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

/// Executors of one task each.
pub(crate) fn executors(count: i32) -> Executors {
    let executor = |task| ExecutorId { first: TaskId(task), last: TaskId(task) };
    let components = (1..=count).map(|task| (executor(task), ComponentId::from_static("bolt"))).collect();
    Executors { components, ..Executors::default() }
}

pub(crate) fn base(name: &str, worker_count: i32) -> StormBase {
    StormBase {
        name: name.into(),
        status: TopologyStatus::Active,
        num_workers: worker_count,
        component_executors: None,
        launch_time_secs: Some(1),
        owner: Some("owner".into()),
        topology_action_options: None,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: None,
        unknown: Default::default(),
    }
}

impl World {
    /// Supervisors by numbers of slots and of CPUs, topologies by numbers of workers and executors.
    pub(crate) fn new(supervisors: &[(u16, i64)], topologies: &[(i32, i32)]) -> Self {
        let host = |(index, (slots, cpus)): (usize, &(u16, i64))| Host {
            name: name(&format!("s{index}")),
            all_ports: (6700..6700 + slots).collect(),
            ports: (6700..6700 + slots).collect(),
            cpus: *cpus,
            is_up: true,
            has_supervisor: true,
            is_damaged: false,
        };
        let topology = |(index, (workers, count)): (usize, &(i32, i32))| {
            let submitted = Submitted {
                base: base(&format!("t{index}"), *workers),
                executors: executors(*count),
                assignment: None,
                is_assignment_damaged: false,
                is_base_damaged: false,
                is_code_lost: false,
                is_from_scratch: false,
            };
            (name(&format!("t{index}-1-1")), submitted)
        };
        Self {
            now: Duration::from_secs(1_000),
            transaction: 0,
            hosts: supervisors.iter().enumerate().map(host).collect(),
            topologies: topologies.iter().enumerate().map(topology).collect(),
            snapshot: BTreeMap::new(),
            processes: BTreeMap::new(),
            supervisors: Supervisors::default(),
            beats: Beats::default(),
            written: BTreeMap::new(),
            readings_fail: false,
            is_wild: false,
            dies_after: None,
        }
    }

    pub(crate) fn happens(&mut self, event: &Event) {
        let host_count = self.hosts.len();
        let ids: Vec<NodeName> = self.topologies.keys().cloned().collect();
        let id = |index: &usize| ids[index % ids.len()].clone();
        match event {
            Event::SupervisorDies(index) => self.hosts[index % host_count].has_supervisor = false,
            Event::SupervisorReturns(index) => {
                let host = &mut self.hosts[index % host_count];
                (host.is_up, host.has_supervisor, host.is_damaged) = (true, true, false);
                host.ports = host.all_ports.clone();
            }
            Event::HostDies(index) => {
                let host = &mut self.hosts[index % host_count];
                (host.is_up, host.has_supervisor) = (false, false);
                let name = host.name.clone();
                let on_it = self.processes.iter_mut().filter(|((_, slot), _)| slot.node_id.as_str() == name.as_str());
                on_it.for_each(|(_, process)| process.is_alive = false);
            }
            Event::WorkerDies(index) => {
                let count = self.processes.len();
                if count > 0 {
                    self.processes.values_mut().nth(index % count).unwrap().is_alive = false;
                }
            }
            Event::PortWithdrawn(index) => drop(self.hosts[index % host_count].ports.pop_first()),
            Event::RecordOfSupervisorDamaged(index) => self.hosts[index % host_count].is_damaged = true,
            Event::Rebalanced(index, workers) => {
                let of = self.topologies.get_mut(&id(index)).unwrap();
                of.base.num_workers = *workers;
                of.is_from_scratch = true;
            }
            Event::Killed(index) => self.topologies.get_mut(&id(index)).unwrap().base.status = TopologyStatus::Killed,
            Event::BaseDamaged(index) => self.topologies.get_mut(&id(index)).unwrap().is_base_damaged = true,
            Event::CodeLost(index) => self.topologies.get_mut(&id(index)).unwrap().is_code_lost = true,
            Event::AssignmentDamaged(index) => {
                let of = self.topologies.get_mut(&id(index)).unwrap();
                of.is_assignment_damaged = of.assignment.is_some();
            }
            Event::AssignmentDeleted(index) => {
                let of = self.topologies.get_mut(&id(index)).unwrap();
                (of.assignment, of.is_assignment_damaged) = (None, false);
            }
            Event::WorkersCutOff(index) => {
                let id = id(index);
                let of_it = self.processes.iter_mut().filter(|((topology, _), _)| *topology == id);
                of_it.for_each(|(_, process)| process.is_cut_off = true);
            }
            Event::SnapshotTaken => {
                let readable = |of: &Submitted| of.assignment.clone().filter(|_| !of.is_assignment_damaged);
                self.snapshot = self.topologies.iter().map(|(id, of)| (id.clone(), readable(of))).collect();
            }
            Event::SnapshotRestored => {
                for (id, assignment) in self.snapshot.clone() {
                    let of = self.topologies.get_mut(&id).unwrap();
                    (of.assignment, of.is_assignment_damaged) = (assignment, false);
                }
                self.new_leader();
            }
            Event::ReadingsFail => self.readings_fail = true,
            Event::SchedulerGoesWild => self.is_wild = true,
            Event::LeaderDiesAfterWrites(count) => self.dies_after = Some(*count),
            Event::Nothing => {}
        }
    }

    fn new_leader(&mut self) {
        self.supervisors = Supervisors::default();
        self.beats = Beats::default();
        self.written.clear();
    }

    /// All is well from now on.
    pub(crate) fn mend(&mut self) {
        for host in &mut self.hosts {
            (host.is_up, host.has_supervisor, host.is_damaged) = (true, true, false);
            host.ports = host.all_ports.clone();
        }
        for of in self.topologies.values_mut() {
            (of.is_base_damaged, of.is_code_lost) = (false, false);
            if of.is_assignment_damaged {
                (of.assignment, of.is_assignment_damaged) = (None, false);
            }
        }
        self.processes.values_mut().for_each(|process| process.is_cut_off = false);
        (self.readings_fail, self.dies_after) = (false, None);
    }

    /// Time goes by: processes follow the assignments, beat, and are read, once in three seconds.
    pub(crate) fn passes(&mut self, secs: u64) {
        let end = self.now + Duration::from_secs(secs);
        loop {
            self.processes_follow();
            self.read();
            self.readings_fail = false;
            if self.now >= end {
                return;
            }
            self.now = end.min(self.now + Duration::from_secs(3));
        }
    }

    /// Supervisors start and stop processes, and those that live beat.
    fn processes_follow(&mut self) {
        let mut wanted: BTreeMap<(NodeName, WorkerSlot), i64> = BTreeMap::new();
        for (id, of) in &self.topologies {
            let Some(assignment) = of.assignment.as_ref().filter(|_| !of.is_assignment_damaged) else { continue };
            for info in assignment.executor_node_port.values() {
                let port = u16::try_from(*info.port.first().unwrap()).unwrap();
                let slot = WorkerSlot { node_id: info.node.as_str().into(), port };
                wanted.insert((id.clone(), slot), assignment.version.unwrap_or(0));
            }
        }
        let hosts: BTreeMap<&str, &Host> = self.hosts.iter().map(|host| (host.name.as_str(), host)).collect();
        let keeper = |slot: &WorkerSlot| hosts[slot.node_id.as_str()];
        for (key, process) in &mut self.processes {
            let has_supervisor = keeper(&key.1).has_supervisor;
            process.is_alive &= !has_supervisor || wanted.contains_key(key);
            if !process.is_cut_off
                && let Some(version) = wanted.get(key)
            {
                process.runs = process.runs.max(*version);
            }
        }
        for (key, version) in wanted {
            let host = keeper(&key.1);
            let is_alive = self.processes.get(&key).is_some_and(|process| process.is_alive);
            if !is_alive && host.is_up && host.has_supervisor && host.ports.contains(&key.1.port) {
                self.transaction += 1;
                let before = self.processes.get(&key).map(|process| (process.created, process.beats));
                let (created, beats) = before.unwrap_or((self.transaction, 0));
                let new = Process { created, beats: beats + 1, runs: version, is_alive: true, is_cut_off: false };
                self.processes.insert(key, new);
            }
        }
        for process in self.processes.values_mut().filter(|process| process.is_alive && !process.is_cut_off) {
            process.beats += 1;
        }
    }

    fn read(&mut self) {
        let now = Moment(self.now);
        let record = |host: &Host| {
            let of = SupervisorInfo {
                hostname: format!("host-of-{}", host.name),
                meta: Some(host.ports.iter().copied().map(i64::from).collect()),
                resources_map: Some([("cpu.pcore.percent".to_owned(), host.cpus as f64 * 100.0)].into()),
                uptime_secs: Some(100),
                ..SupervisorInfo::default()
            };
            (host.name.clone(), (!host.is_damaged).then_some(of))
        };
        let there = self.hosts.iter().filter(|host| host.has_supervisor);
        self.supervisors.read(now, &there.map(record).collect());
        for (id, of) in &self.topologies {
            match &of.assignment {
                Some(assignment) if !of.is_assignment_damaged => self.beats.assigned(now, id, assignment),
                Some(_) => {}
                None => self.beats.unassigned(id),
            }
            let beats: Vec<Beat> = self
                .processes
                .iter()
                .filter(|((topology, _), _)| topology == id)
                .map(|((_, slot), process)| Beat {
                    slot: slot.clone(),
                    created: process.created,
                    version: process.beats,
                    runs: Some(process.runs),
                })
                .collect();
            self.beats.read(now, now, id, (!self.readings_fail).then_some(&beats));
        }
    }

    /// The leader makes a round and writes what it gives, or a part of it before it dies.
    pub(crate) fn round(&mut self) -> Result<Outcome, TestCaseError> {
        let damaged = |is_damaged: bool| is_damaged.then(|| "damaged".to_owned());
        let topologies = self.topologies.iter().map(|(id, of)| {
            let assignment = match (&of.assignment, damaged(of.is_assignment_damaged)) {
                (None, _) => Stored::Absent,
                (Some(_), Some(why)) => Stored::Unreadable(why),
                (Some(assignment), None) => Stored::Found(assignment),
            };
            let of = TopologyInRound {
                base: damaged(of.is_base_damaged).map_or(Stored::Found(&of.base), Stored::Unreadable),
                executors: damaged(of.is_code_lost).map_or(Ok(&of.executors), Err),
                assignment,
                worker_timeout: None,
                version_floor: self.written.get(id).copied().unwrap_or(0),
                is_from_scratch: of.is_from_scratch,
            };
            (id.clone(), of)
        });
        let topologies = topologies.collect();
        let input = Round {
            now: Now { moment: Moment(self.now), wall: self.now },
            supervisors: &self.supervisors,
            beats: &self.beats,
            topologies: &topologies,
            lowest_version: 0,
            master_code_dir: "/var/lib/storm",
        };
        let scheduler: &mut dyn Scheduler = if self.is_wild { &mut Wild } else { &mut DefaultScheduler };
        let outcome = round(&input, scheduler);
        self.is_wild = false;
        checks::round(self, &outcome)?;

        let done = self.dies_after.unwrap_or(usize::MAX).min(outcome.writes.len());
        for write in &outcome.writes[..done] {
            let of = self.topologies.get_mut(&write.topology).unwrap();
            checks::write(&self.beats, &write.topology, of, &write.assignment)?;
            of.assignment = Some(write.assignment.clone());
            let version = write.assignment.version.unwrap();
            prop_assert!(self.written.insert(write.topology.clone(), version).is_none_or(|before| before < version));
            checks::no_slot_is_given_twice(self)?;
        }
        match self.dies_after.take() {
            Some(_) => self.new_leader(),
            None => self.topologies.values_mut().for_each(|of| of.is_from_scratch = false),
        }
        Ok(outcome)
    }
}
