//! The data paths of workers, as far as the control plane knows them: handshakes and frames between processes.
//!
//! Each worker ticks once a second: it dials the peers of its assignment that it has no connection to, sends a frame on
//! each connection that it has, and says how far its cores are. Who is accepted is for the machine to say; what must not
//! be accepted is known here by itself. Invariant: a frame counts as accepted when the connection that it came on is open
//! at its receiver.

use std::collections::BTreeMap;

use ringstorm_control::time::Moment;
use ringstorm_supervisor::events::{Exit, ProcessEvent};
use ringstorm_types::assignment::Assignment;
use ringstorm_worker::{CoresEvent, Peer, PeerEvent, StopReason, WorkerEffect, WorkerInput};

use super::process::ProcessId;
use super::{Event, World};
use crate::actor::Input;
use crate::checks::{Violation, generations};

/// What a worker's data path has, and what it has heard of.
#[derive(Debug)]
pub(crate) struct DataPath {
    pub(crate) assignment: Option<Box<Assignment>>,
    pub(crate) is_started: bool,
    pub(crate) is_ready: bool,
    /// The spouts are asked for tuples.
    pub(crate) is_active: bool,
    /// A core that ends no turn any more, and when it ended the last one.
    pub(crate) stalled: Option<(usize, Moment)>,
    /// Of each peer the incarnation to which a connection is open on this side.
    pub(crate) accepted: BTreeMap<u64, u64>,
    /// Of each peer the newest incarnation that this worker has heard of.
    pub(crate) learned: BTreeMap<u64, u64>,
    /// The newest version that this worker has heard of.
    pub(crate) learned_version: i64,
}

/// One worker says to another who it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hello {
    from: ProcessId,
    to: ProcessId,
    version: i64,
    is_answer: bool,
}

impl DataPath {
    pub(crate) fn of(version: i64) -> Self {
        Self {
            assignment: None,
            is_started: false,
            is_ready: false,
            is_active: false,
            stalled: None,
            accepted: BTreeMap::new(),
            learned: BTreeMap::new(),
            learned_version: version,
        }
    }

    fn learn(&mut self, worker: u64, incarnation: u64) {
        let learned = self.learned.entry(worker).or_default();
        *learned = incarnation.max(*learned);
    }

    /// The version that it runs.
    pub(crate) fn version(&self) -> i64 {
        self.assignment.as_ref().map_or(0, |assignment| assignment.version)
    }
}

impl World {
    /// Does what a worker wants.
    pub(crate) fn do_workers(&mut self, id: ProcessId, effect: WorkerEffect) -> Result<(), Violation> {
        let name = self.processes[id.0].name.clone();
        let Some(worker) = self.workers.get_mut(&id) else { return Ok(()) };
        let path = &mut worker.path;
        match effect {
            WorkerEffect::Assign(assignment) => {
                generations::check_assigned(&name, path.learned_version, assignment.version)?;
                path.learned_version = assignment.version;
                for peer in &assignment.workers {
                    path.learn(peer.number, peer.incarnation);
                    if path.accepted.get(&peer.number).is_some_and(|accepted| *accepted < peer.incarnation) {
                        path.accepted.remove(&peer.number);
                    }
                }
                let is_first = path.assignment.is_none();
                path.assignment = Some(assignment);
                if is_first {
                    let delay = self.random.millis(5, 1_000);
                    let input = Box::new(Input::Worker(Box::new(WorkerInput::Cores(CoresEvent::Started))));
                    let life = self.processes[id.0].life;
                    self.queue.push(self.now + delay, Event::CoresStarted { process: id, life, input });
                }
            }
            WorkerEffect::SetActive(is_active) => path.is_active = is_active,
            WorkerEffect::Drain { .. } | WorkerEffect::SetLogLevels(_) => {}
            WorkerEffect::Accept { peer } => {
                let learned = path.learned.get(&peer.worker).copied().unwrap_or(0);
                generations::check_accepted(&name, "a handshake", peer, learned)?;
                path.learn(peer.worker, peer.incarnation);
                path.accepted.insert(peer.worker, peer.incarnation);
                self.coverage.hit("handshake accepted");
            }
            WorkerEffect::Refuse { peer, .. } => self.refuse(id, peer),
            WorkerEffect::Renew { lowest } => {
                path.learn(lowest.worker, lowest.incarnation);
                if path.accepted.get(&lowest.worker).is_some_and(|accepted| *accepted < lowest.incarnation) {
                    path.accepted.remove(&lowest.worker);
                    self.coverage.hit("connection to an old generation closed");
                }
            }
            WorkerEffect::Stop { why } => {
                let how = match why {
                    StopReason::Superseded { newest } => {
                        self.coverage.hit("worker superseded");
                        self.report(id, |port, incarnation| ProcessEvent::Stale { port, incarnation, newest });
                        Exit::Code(3)
                    }
                    StopReason::Asked => Exit::Code(0),
                    _ => Exit::Done,
                };
                self.coverage.hit("worker stopped itself");
                let delay = self.random.millis(5, 1_000);
                self.queue.push(self.now + delay, Event::Exit { process: id, how });
            }
            WorkerEffect::Store(asked) => return self.submit(id, asked),
            WorkerEffect::Note(_) => {}
        }
        Ok(())
    }

    fn refuse(&mut self, id: ProcessId, peer: Peer) {
        self.coverage.hit("handshake refused");
        let Some(worker) = self.workers.get(&id) else { return };
        let newest = worker.path.learned.get(&peer.worker).copied().unwrap_or(0);
        if newest <= peer.incarnation {
            return;
        }
        self.coverage.hit("handshake of an old generation refused");
        let topology = worker.topology.clone();
        let refused = self.workers.iter().find(|(_, other)| {
            other.number == peer.worker && other.incarnation == peer.incarnation && other.topology == topology
        });
        let Some((&refused, _)) = refused else { return };
        if self.reaches(id, refused) && self.network.carries_between(id, refused) {
            let event = WorkerInput::Peer(PeerEvent::RefusedAsStale { newest });
            self.give_later(refused, Input::Worker(Box::new(event)));
        }
    }

    fn give_later(&mut self, id: ProcessId, input: Input) {
        let delay = self.delay();
        let life = self.processes[id.0].life;
        self.queue.push(self.now + delay, Event::Give { process: id, life, input: Box::new(input) });
    }

    /// The cores of a worker run.
    pub(crate) fn cores_started(&mut self, id: ProcessId, life: u64, input: Input) -> Result<(), Violation> {
        if self.processes[id.0].life != life {
            return Ok(());
        }
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.path.is_started = true;
        }
        self.report(id, |port, incarnation| ProcessEvent::Ready { port, incarnation });
        self.give(id, input)
    }

    /// A second has passed for a worker.
    pub(crate) fn tick(&mut self, id: ProcessId, life: u64) -> Result<(), Violation> {
        let process = &self.processes[id.0];
        if process.life != life {
            return Ok(());
        }
        let delay = self.random.millis(800, 1_200);
        self.queue.push(self.now + delay, Event::Tick { process: id, life });
        let process = &self.processes[id.0];
        if process.frozen.is_some() {
            return Ok(());
        }
        let moment = process.clock.now(self.now).moment;
        self.report(id, |port, incarnation| ProcessEvent::Beat { port, incarnation });
        let Some(worker) = self.workers.get(&id) else { return Ok(()) };
        let turns = worker.path.assignment.as_ref().and_then(|assignment| {
            let own = assignment.workers.iter().find(|peer| peer.number == worker.number)?;
            let mut turns = vec![moment; own.cores.get()];
            if let Some((core, last)) = worker.path.stalled
                && let Some(turn) = turns.get_mut(core)
            {
                *turn = last;
            }
            worker.path.is_started.then_some(turns)
        });
        if let Some(turns) = turns {
            let progress = WorkerInput::Cores(CoresEvent::Progress(turns));
            self.give(id, Input::Worker(Box::new(progress)))?;
        }
        if self.processes[id.0].life != life {
            return Ok(());
        }
        self.notice_lost_peers(id)?;
        self.dial(id);
        self.send_frames(id);
        self.notice_ready(id)
    }

    fn dial(&mut self, id: ProcessId) {
        let Some(worker) = self.workers.get(&id).filter(|worker| worker.path.is_started) else { return };
        let Some(assignment) = &worker.path.assignment else { return };
        let (version, topology) = (assignment.version, worker.topology.clone());
        let missing = assignment
            .workers
            .iter()
            .filter(|peer| peer.number != worker.number && !worker.path.accepted.contains_key(&peer.number));
        let addresses: Vec<String> = missing.map(|peer| peer.address.clone()).collect();
        for address in addresses {
            let Some(to) = self.worker_at(&address) else { continue };
            if self.workers.get(&to).is_some_and(|other| other.topology == topology) {
                let delay = self.delay();
                self.queue.push(self.now + delay, Event::Hello(Hello { from: id, to, version, is_answer: false }));
            }
        }
    }

    /// A worker hears who another one is.
    pub(crate) fn hello(&mut self, hello: Hello) -> Result<(), Violation> {
        let Hello { from, to, version, is_answer } = hello;
        let is_there =
            self.reaches(from, to) && self.network.carries_between(from, to) && self.network.carries_between(to, from);
        let (Some(sender), true) = (self.workers.get(&from), is_there && self.processes[from.0].is_up()) else {
            return Ok(());
        };
        let peer = Peer { worker: sender.number, incarnation: sender.incarnation };
        let event = WorkerInput::Peer(PeerEvent::Offered { peer, version });
        self.give(to, Input::Worker(Box::new(event)))?;
        let Some(worker) = self.workers.get_mut(&to) else { return Ok(()) };
        worker.path.learn(peer.worker, peer.incarnation);
        worker.path.learned_version = worker.path.learned_version.max(version);
        if !is_answer && worker.path.accepted.get(&peer.worker) == Some(&peer.incarnation) {
            let version = worker.path.version();
            let delay = self.delay();
            let answer = Hello { from: to, to: from, version, is_answer: true };
            self.queue.push(self.now + delay, Event::Hello(answer));
        }
        Ok(())
    }

    fn notice_lost_peers(&mut self, id: ProcessId) -> Result<(), Violation> {
        let Some(worker) = self.workers.get(&id) else { return Ok(()) };
        let accepted: Vec<(u64, u64)> = worker.path.accepted.iter().map(|(peer, it)| (*peer, *it)).collect();
        for (peer, incarnation) in accepted {
            let is_there = self.process_of_peer(id, peer, incarnation).is_some_and(|other| {
                self.network.carries_between(id, other) && self.network.carries_between(other, id)
            });
            if !is_there {
                if let Some(worker) = self.workers.get_mut(&id) {
                    worker.path.accepted.remove(&peer);
                }
                let event = PeerEvent::Lost { peer: Peer { worker: peer, incarnation } };
                self.give(id, Input::Worker(Box::new(WorkerInput::Peer(event))))?;
            }
        }
        Ok(())
    }

    /// The process of another worker of the same topology, if it lives.
    fn process_of_peer(&self, id: ProcessId, peer: u64, incarnation: u64) -> Option<ProcessId> {
        let topology = &self.workers.get(&id)?.topology;
        let found = self.workers.iter().find(|(_, other)| {
            other.number == peer && other.incarnation == incarnation && other.topology == *topology && other.is_alive
        });
        found.map(|(id, _)| *id)
    }

    fn send_frames(&mut self, id: ProcessId) {
        let Some(worker) = self.workers.get(&id) else { return };
        let accepted: Vec<(u64, u64)> = worker.path.accepted.iter().map(|(peer, it)| (*peer, *it)).collect();
        for (peer, incarnation) in accepted {
            if let Some(to) = self.process_of_peer(id, peer, incarnation) {
                let delay = self.delay();
                self.queue.push(self.now + delay, Event::Frame { from: id, to });
            }
        }
    }

    /// A frame arrives at a worker.
    pub(crate) fn frame(&mut self, from: ProcessId, to: ProcessId) -> Result<(), Violation> {
        if !self.reaches(from, to) || !self.network.carries_between(from, to) {
            return Ok(());
        }
        let (Some(sender), Some(receiver)) = (self.workers.get(&from), self.workers.get(&to)) else { return Ok(()) };
        let peer = Peer { worker: sender.number, incarnation: sender.incarnation };
        if receiver.path.accepted.get(&peer.worker) != Some(&peer.incarnation) {
            return Ok(());
        }
        let learned = receiver.path.learned.get(&peer.worker).copied().unwrap_or(0);
        self.coverage.hit("frame accepted");
        generations::check_accepted(&self.processes[to.0].name, "a frame", peer, learned)
    }

    fn notice_ready(&mut self, id: ProcessId) -> Result<(), Violation> {
        let Some(worker) = self.workers.get_mut(&id) else { return Ok(()) };
        let Some(assignment) = &worker.path.assignment else { return Ok(()) };
        let own = worker.number;
        let mut peers = assignment.workers.iter().filter(|peer| peer.number != own);
        let is_ready = worker.path.is_started && peers.all(|peer| worker.path.accepted.contains_key(&peer.number));
        if !is_ready || worker.path.is_ready {
            return Ok(());
        }
        worker.path.is_ready = true;
        self.give(id, Input::Worker(Box::new(WorkerInput::Cores(CoresEvent::Ready))))
    }
}
