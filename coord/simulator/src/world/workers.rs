//! Worker processes: how their supervisors start and end them, and what those hear of them.
//!
//! Invariants: a process that has ended is told once to the supervisor that is up then; one that starts later finds what
//! still runs.

use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_nimbus::interface::Content;
use ringstorm_records::znode::{Node, NodeName, Slot};
use ringstorm_store::path::ZnodePath;
use ringstorm_supervisor::events::{
    CodeEvent, Exit, FetchFailure, ProcessEvent, StartFailure, StartWorker, StopHow, WorkerTimeouts,
};
use ringstorm_supervisor::supervisor::FoundWorker;
use ringstorm_supervisor::{SupervisorEffect, SupervisorInput};
use ringstorm_worker::WorkerInput;
use ringstorm_worker::assigning::slot_number;

use super::data_path::DataPath;
use super::disk::Code;
use super::process::{HostId, ProcessId};
use super::{Event, World};
use crate::actor::{Input, Role};
use crate::checks::{Violation, incarnations};
use crate::daemons::worker;

/// A worker process that was started.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    pub(crate) supervisor: ProcessId,
    pub(crate) port: u16,
    pub(crate) incarnation: u64,
    pub(crate) pid: u32,
    pub(crate) topology: String,
    pub(crate) slot: Slot,
    /// The number of its slot.
    pub(crate) number: u64,
    pub(crate) is_alive: bool,
    pub(crate) path: DataPath,
}

impl World {
    /// Does what a supervisor wants.
    pub(crate) fn do_supervisors(&mut self, id: ProcessId, effect: SupervisorEffect) -> Result<(), Violation> {
        match effect {
            SupervisorEffect::SaveState(state) => {
                let process = &mut self.processes[id.0];
                incarnations::check_saved(&process.name, &process.disk.local_state, &state)?;
                process.disk.local_state = state;
                Ok(())
            }
            SupervisorEffect::StartWorker(start) => self.start_worker(id, start),
            SupervisorEffect::StopWorker { port, incarnation, how, .. } => {
                self.stop_worker(id, port, incarnation, how);
                Ok(())
            }
            SupervisorEffect::FetchCode { topology } => {
                let delay = self.random.millis(2, 800);
                let life = self.processes[id.0].life;
                self.queue.push(self.now + delay, Event::Fetched { process: id, life, topology });
                Ok(())
            }
            SupervisorEffect::RemoveCode { topology } => {
                self.processes[id.0].disk.code.remove(&topology);
                self.tell_supervisor(id, SupervisorInput::Code(CodeEvent::Removed { topology }), 1, 50);
                Ok(())
            }
            SupervisorEffect::Stop { .. } => {
                self.coverage.hit("supervisor stopped itself");
                self.crash(id)
            }
            SupervisorEffect::Store(asked) => self.submit(id, asked),
            SupervisorEffect::Report { .. } | SupervisorEffect::Note(_) => Ok(()),
        }
    }

    fn tell_supervisor(&mut self, id: ProcessId, input: SupervisorInput, from_ms: u64, to_ms: u64) {
        let delay = self.random.millis(from_ms, to_ms);
        let life = self.processes[id.0].life;
        let input = Box::new(Input::Supervisor(Box::new(input)));
        self.queue.push(self.now + delay, Event::Give { process: id, life, input });
    }

    /// A supervisor gets the code of a topology from a nimbus, or not.
    pub(crate) fn code_fetched(&mut self, id: ProcessId, life: u64, topology: String) -> Result<(), Violation> {
        if self.processes[id.0].life != life {
            return Ok(());
        }
        let event = match self.code_for(id, &topology) {
            Some(code) => {
                let timeouts = code.timeouts;
                self.processes[id.0].disk.code.insert(topology.clone(), code);
                CodeEvent::Fetched { topology, timeouts }
            }
            None => {
                self.coverage.hit("code not fetched by a supervisor");
                CodeEvent::Failed { topology, why: "no nimbus gives it".to_owned(), cause: FetchFailure::Unreachable }
            }
        };
        self.give(id, Input::Supervisor(Box::new(SupervisorInput::Code(event))))
    }

    /// The code of a topology, from any nimbus that has all of it and is reached.
    fn code_for(&self, id: ProcessId, topology: &str) -> Option<Code> {
        let key = |blob: TopologyBlob| NodeName::new(&blob.key(topology)).ok();
        (0..self.processes.len()).map(ProcessId).find_map(|other| {
            let process = &self.processes[other.0];
            if process.role != Role::Nimbus || !self.reaches(id, other) {
                return None;
            }
            process.disk.blobs.get(&key(TopologyBlob::Jar)?)?;
            let code = process.disk.blobs.get(&key(TopologyBlob::Code)?)?;
            let conf = process.disk.blobs.get(&key(TopologyBlob::Conf)?)?;
            match (&code.content, &conf.content) {
                (Content::Code(topology), Content::Conf(conf)) => {
                    Some(Code { timeouts: WorkerTimeouts::default(), topology: topology.clone(), conf: conf.clone() })
                }
                _ => None,
            }
        })
    }

    fn start_worker(&mut self, id: ProcessId, start: StartWorker) -> Result<(), Violation> {
        let (name, host) = (self.processes[id.0].name.clone(), self.processes[id.0].host);
        let state = self.processes[id.0].disk.local_state.clone();
        let supervisor = state.supervisor.clone().unwrap_or_default();
        let Ok(supervisor) = NodeName::new(&supervisor) else {
            return Err(Violation::new("a supervisor has an id", format!("{name} starts a worker and has none")));
        };
        self.check_admitted(id, &supervisor)?;
        let of_host = self.workers.values().filter(|worker| self.processes[worker.supervisor.0].host == host);
        let of_slot = of_host.filter(|worker| worker.port == start.port);
        let all: Vec<(u64, bool)> = of_slot.map(|worker| (worker.incarnation, worker.is_alive)).collect();
        incarnations::check_start(&name, &state, &start, &all)?;
        let (port, incarnation) = (start.port, start.incarnation);
        if self.random.chance(self.weather.failing_starts_per_mille) {
            self.coverage.hit("fault: start of a worker failed");
            let kinds = [
                StartFailure::PortTaken,
                StartFailure::ResourcesExhausted,
                StartFailure::AddressUnusable,
                StartFailure::Other,
            ];
            let kind = kinds[self.random.below(kinds.len())];
            let event = ProcessEvent::StartFailed { port, incarnation, kind, why: "by chance".to_owned() };
            self.tell_supervisor(id, SupervisorInput::Process(event), 1, 300);
            return Ok(());
        }
        self.coverage.hit("worker started");
        let delay = if self.random.chance(self.weather.slow_starts_per_mille) {
            self.coverage.hit("fault: slow start of a worker");
            self.random.millis(2_000, 60_000)
        } else {
            self.random.millis(10, 800)
        };
        let code = self.processes[id.0].disk.code.get(&start.topology).cloned();
        let slot = Slot { supervisor: supervisor.clone(), port };
        let pid = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        let worker_name = format!("worker-{pid}-{supervisor}:{port}");
        let process = WorkerProcess {
            supervisor: id,
            port,
            incarnation,
            pid,
            topology: start.topology.clone(),
            number: slot_number(&slot),
            slot,
            is_alive: true,
            path: DataPath::of(start.version),
        };
        let host_name = super::host_name(host);
        let factory = worker(self.cluster.clone(), supervisor, host_name, start, code, self.planted);
        let worker = self.add(&worker_name, Role::Worker, host, delay, factory);
        self.processes[worker.0].is_restarted = false;
        self.workers.insert(worker, process);
        self.tell_supervisor(id, SupervisorInput::Process(ProcessEvent::Started { port, incarnation, pid }), 1, 30);
        Ok(())
    }

    /// A supervisor acts only if at some time of this life its node was its own.
    fn check_admitted(&mut self, id: ProcessId, supervisor: &NodeName) -> Result<(), Violation> {
        if self.processes[id.0].was_admitted {
            return Ok(());
        }
        let path = ZnodePath::of(&self.root, &Node::Supervisor { supervisor: supervisor.clone() });
        let owner = self.zookeeper.ensemble.look(&path).and_then(|(_, stat)| stat.owner);
        let owner = owner.and_then(|session| self.zookeeper.process_of(session));
        if owner.is_some_and(|owner| owner != id) {
            let message = format!(
                "{} starts a worker under {supervisor}, which {} holds",
                self.processes[id.0].name,
                owner.map_or("", |owner| self.processes[owner.0].name.as_str())
            );
            return Err(Violation::new("an id that another live session holds is not used", message));
        }
        Ok(())
    }

    fn stop_worker(&mut self, id: ProcessId, port: u16, incarnation: u64, how: StopHow) {
        let found = self.workers.iter().find(|(_, worker)| {
            worker.supervisor == id && worker.port == port && worker.incarnation == incarnation && worker.is_alive
        });
        let Some((&worker, _)) = found else {
            let event = ProcessEvent::Exited { port, incarnation, how: Exit::Unknown };
            return self.tell_supervisor(id, SupervisorInput::Process(event), 1, 30);
        };
        let delay = self.random.millis(1, 50);
        let how = match how {
            // It ends by itself, when it is told; one that is frozen is told when it thaws.
            StopHow::Ask if self.processes[worker.0].is_up() => {
                let life = self.processes[worker.0].life;
                let input = Box::new(Input::Worker(Box::new(WorkerInput::End)));
                return self.queue.push(self.now + delay, Event::Give { process: worker, life, input });
            }
            StopHow::Ask => Exit::Signal(15),
            StopHow::Kill => Exit::Signal(9),
        };
        self.queue.push(self.now + delay, Event::Exit { process: worker, how });
    }

    /// A worker process ends, if it is still there.
    pub(crate) fn exit_worker(&mut self, id: ProcessId, how: Exit) -> Result<(), Violation> {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.is_alive) else { return Ok(()) };
        worker.is_alive = false;
        let (supervisor, port, incarnation) = (worker.supervisor, worker.port, worker.incarnation);
        self.trace.line(self.now, &self.processes[id.0].name, || format!("== ends: {how}"));
        self.crash(id)?;
        if self.processes[supervisor.0].is_up() {
            let event = ProcessEvent::Exited { port, incarnation, how };
            self.tell_supervisor(supervisor, SupervisorInput::Process(event), 1, 30);
        }
        Ok(())
    }

    /// The workers that a supervisor started and that are still there.
    pub(crate) fn found_workers(&self, id: ProcessId) -> Vec<FoundWorker> {
        let alive = self.workers.values().filter(|worker| worker.supervisor == id && worker.is_alive);
        let found = alive.map(|worker| FoundWorker {
            port: worker.port,
            incarnation: worker.incarnation,
            pid: worker.pid,
            topology: worker.topology.clone(),
        });
        found.collect()
    }

    /// Tells the supervisor of a worker something, if it is up.
    pub(crate) fn report(&mut self, worker: ProcessId, event: impl FnOnce(u16, u64) -> ProcessEvent) {
        let Some(found) = self.workers.get(&worker) else { return };
        let (supervisor, event) = (found.supervisor, event(found.port, found.incarnation));
        if self.processes[supervisor.0].is_up() {
            self.tell_supervisor(supervisor, SupervisorInput::Process(event), 1, 20);
        }
    }

    /// The worker that is reached at an address, if one lives there.
    pub(crate) fn worker_at(&self, address: &str) -> Option<ProcessId> {
        let (host, port) = address.rsplit_once(':')?;
        let (host, port) = (host_of(host)?, port.parse::<u16>().ok()?);
        let mut found = self.workers.iter().filter(|(id, worker)| {
            worker.is_alive && worker.port == port && self.processes[id.0].host == host && self.processes[id.0].is_up()
        });
        found.next().map(|(id, _)| *id)
    }
}

fn host_of(name: &str) -> Option<HostId> {
    name.strip_prefix("host-")?.parse().ok().map(HostId)
}
