//! What goes wrong, by chance, until everything heals.
//!
//! Each run has a choice of faults, so that some runs have few of them often and others many. Invariants: what a fault
//! changed is undone when all heals, but for what people did to the tree; every fault is counted when it happens.

use std::time::Duration;

use ringstorm_store::operation::Operation;
use ringstorm_supervisor::events::Exit;

use super::process::{Doubtful, HostId, LinkState, ProcessId};
use super::zookeeper::MEMBERS;
use super::{Event, World};
use crate::actor::{At, Role};
use crate::checks::Violation;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A process dies and starts again.
    Crash,
    /// A process dies after some of the effects of its next input.
    CrashWithin,
    /// A process's next write is lost with its connection.
    WriteLost,
    /// The answer to a process's next write is lost with its connection.
    AnswerLost,
    /// A connection to the tree is lost.
    Cut,
    /// A session ends at once.
    SessionEnded,
    /// A process stands still for a while.
    Freeze,
    /// Two hosts do not reach each other.
    Part,
    /// One host does not reach another.
    PartOneWay,
    /// Two workers do not reach each other.
    PartWorkers,
    /// A host does not reach the ensemble.
    PartFromTree,
    /// A host is gone with everything on it, and comes back later.
    HostLost,
    /// A member of the ensemble falls behind.
    MemberBehind,
    /// The ensemble has no quorum for a while.
    EnsembleDown,
    /// An older snapshot of the tree is brought back.
    Restored,
    /// Somebody deletes a part of the tree by hand.
    DeletedByHand,
    /// Somebody writes garbage into the tree.
    Garbage,
    /// Somebody deletes the place of the leader in the queue.
    Deposed,
    /// Somebody takes away the right to read and write some folders, for a while.
    Locked,
    /// The time of day jumps on a host's process.
    WallJump,
    /// Messages take long for a while.
    Slow,
    /// Watches are late for a while.
    SlowWatches,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Crash,
        Self::CrashWithin,
        Self::WriteLost,
        Self::AnswerLost,
        Self::Cut,
        Self::SessionEnded,
        Self::Freeze,
        Self::Part,
        Self::PartOneWay,
        Self::PartWorkers,
        Self::PartFromTree,
        Self::HostLost,
        Self::MemberBehind,
        Self::EnsembleDown,
        Self::Restored,
        Self::DeletedByHand,
        Self::Garbage,
        Self::Deposed,
        Self::Locked,
        Self::WallJump,
        Self::Slow,
        Self::SlowWatches,
    ];

    /// How it is called in counts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crash => "fault: crash",
            Self::CrashWithin => "fault: crash planned within the next input",
            Self::WriteLost => "fault: next write to be lost",
            Self::AnswerLost => "fault: answer to the next write to be lost",
            Self::Cut => "fault: connection cut",
            Self::SessionEnded => "fault: session ended",
            Self::Freeze => "fault: freeze",
            Self::Part => "fault: partition",
            Self::PartOneWay => "fault: partition one way",
            Self::PartWorkers => "fault: partition between two workers",
            Self::PartFromTree => "fault: partition from the tree",
            Self::HostLost => "fault: host lost",
            Self::MemberBehind => "fault: member behind",
            Self::EnsembleDown => "fault: ensemble without quorum",
            Self::Restored => "fault: older snapshot restored",
            Self::DeletedByHand => "fault: tree deleted by hand",
            Self::Garbage => "fault: garbage in the tree",
            Self::Deposed => "fault: place of the leader deleted by hand",
            Self::Locked => "fault: folders locked by hand",
            Self::WallJump => "fault: time of day jumps",
            Self::Slow => "fault: slow network",
            Self::SlowWatches => "fault: watches late",
        }
    }
}

/// Which faults a run has, how often, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The kinds.
    pub kinds: Vec<Fault>,
    /// The mean time between two.
    pub gap: Duration,
    /// When they stop.
    pub until: At,
}

/// The end of what a fault did.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mend {
    Member(usize),
    Ensemble,
    Network,
    Weather,
    Host(HostId),
    Locks,
}

impl World {
    /// Plans the faults of a run, and that everything heals at their end.
    pub fn plan_faults(&mut self, faults: Faults) {
        if faults.kinds.contains(&Fault::Restored) {
            let at = self.random.millis(1_000, 20_000);
            self.queue.push(self.now + at, Event::Snapshot);
        }
        let first = self.random.duration(Duration::ZERO, faults.gap * 2);
        self.queue.push(self.now + first, Event::Fault);
        self.queue.push(faults.until, Event::Heal);
        self.faults = Some(faults);
    }

    /// The next fault comes.
    pub(crate) fn fault(&mut self) -> Result<(), Violation> {
        let Some(faults) = self.faults.clone() else { return Ok(()) };
        let next = self.now + self.random.duration(Duration::ZERO, faults.gap * 2);
        if next < faults.until {
            self.queue.push(next, Event::Fault);
        }
        match self.random.pick(&faults.kinds) {
            Some(kind) => self.strike(*kind),
            None => Ok(()),
        }
    }

    /// Lets a fault happen, to whom it may happen by chance.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn strike(&mut self, fault: Fault) -> Result<(), Violation> {
        let Some(id) = self.any_process() else { return Ok(()) };
        let (host, other) = (self.processes[id.0].host, self.any_host());
        let while_short = self.random.millis(100, 5_000);
        let while_long = self.random.millis(1_000, 40_000);
        let is_long = self.random.chance(500);
        let a_while = if is_long { while_long } else { while_short };
        self.coverage.hit(fault.name());
        self.trace.line(self.now, "fault", || format!("== {fault:?}, perhaps of {}", self.processes[id.0].name));
        match fault {
            Fault::Crash => return self.crash(id),
            Fault::CrashWithin => self.processes[id.0].crash_after = Some(self.random.below(64)),
            Fault::WriteLost => self.processes[id.0].doubt = Some(Doubtful::Before),
            Fault::AnswerLost => self.processes[id.0].doubt = Some(Doubtful::After),
            Fault::Cut => self.cut(id, None),
            Fault::SessionEnded => {
                if let Some(session) = self.processes[id.0].link.session() {
                    self.end_session(session)?;
                    // Its servers close the connection.
                    let life = self.processes[id.0].life;
                    let delay = self.random.millis(1, 3_000);
                    self.queue.push(self.now + delay, Event::Cut { process: id, life });
                }
            }
            Fault::Freeze => self.freeze(id, a_while),
            Fault::Part => {
                self.network.part(host, other);
                self.network.part(other, host);
                self.mend_after(a_while, Mend::Network);
            }
            Fault::PartOneWay => {
                self.network.part(host, other);
                self.mend_after(a_while, Mend::Network);
            }
            Fault::PartWorkers => self.part_workers(a_while),
            Fault::PartFromTree => {
                self.network.part_zookeeper(host);
                for id in self.processes_on(host) {
                    self.cut(id, None);
                }
                self.mend_after(a_while, Mend::Network);
            }
            Fault::HostLost => self.lose_host(host, a_while)?,
            Fault::MemberBehind => {
                let member = self.random.below(MEMBERS);
                self.zookeeper.ensemble.hold(member);
                self.mend_after(a_while, Mend::Member(member));
            }
            Fault::EnsembleDown => {
                self.zookeeper.is_down = true;
                self.cut_all();
                self.mend_after(a_while, Mend::Ensemble);
            }
            Fault::Restored => self.restore(),
            Fault::DeletedByHand => self.delete_by_hand()?,
            Fault::Garbage => self.write_garbage()?,
            Fault::Deposed => {
                if let Some(place) = self.leading_place() {
                    self.by_hand(Operation::delete(place))?;
                }
            }
            Fault::Locked => {
                self.lock()?;
                self.mend_after(Duration::from_secs(10) + while_long, Mend::Locks);
            }
            Fault::WallJump => self.processes[id.0].clock.jump(&mut self.random),
            Fault::Slow => {
                self.weather.slow_per_mille = 200;
                self.mend_after(a_while, Mend::Weather);
            }
            Fault::SlowWatches => {
                self.weather.slow_watch_per_mille = 500;
                self.mend_after(a_while, Mend::Weather);
            }
        }
        Ok(())
    }

    fn mend_after(&mut self, delay: Duration, mend: Mend) {
        self.queue.push(self.now + delay, Event::Mend(mend));
    }

    /// Undoes what one fault did. Obstacles of the network go together.
    pub(crate) fn mend(&mut self, mend: Mend) -> Result<(), Violation> {
        match mend {
            Mend::Member(member) => {
                self.zookeeper.ensemble.release(member);
                self.spread_watches();
            }
            Mend::Ensemble => self.zookeeper.is_down = false,
            Mend::Network => self.network.heal(),
            Mend::Weather => (self.weather.slow_per_mille, self.weather.slow_watch_per_mille) = (0, 0),
            Mend::Host(host) => self.raise_host(host),
            Mend::Locks => self.unlock()?,
        }
        Ok(())
    }

    /// Everything heals. From here on nothing goes wrong any more.
    pub(crate) fn heal(&mut self) -> Result<(), Violation> {
        self.trace.line(self.now, "fault", || "== everything heals".to_owned());
        for member in 0..MEMBERS {
            self.mend(Mend::Member(member))?;
        }
        self.mend(Mend::Ensemble)?;
        self.mend(Mend::Network)?;
        self.weather = super::Weather::default();
        for host in 0..self.hosts_down.len() {
            self.raise_host(HostId(host));
        }
        self.unlock()?;
        self.remove_garbage()?;
        for index in 0..self.processes.len() {
            let process = &mut self.processes[index];
            (process.crash_after, process.doubt) = (None, None);
            let life = process.life;
            self.thaw(ProcessId(index), life)?;
        }
        if let Some(clone) = self.clone {
            // Somebody sees that there is one supervisor too many.
            for worker in self.found_workers(clone) {
                self.stop_clones(clone, worker.pid)?;
            }
            self.crash(clone)?;
        }
        self.healed_at = Some(self.now);
        Ok(())
    }

    fn stop_clones(&mut self, clone: ProcessId, pid: u32) -> Result<(), Violation> {
        let worker = self.workers.iter().find(|(_, worker)| worker.supervisor == clone && worker.pid == pid);
        match worker.map(|(id, _)| *id) {
            Some(id) => self.exit_worker(id, Exit::Signal(9)),
            None => Ok(()),
        }
    }

    fn any_process(&mut self) -> Option<ProcessId> {
        let up: Vec<ProcessId> =
            (0..self.processes.len()).map(ProcessId).filter(|id| self.processes[id.0].is_up()).collect();
        self.random.pick(&up).copied()
    }

    fn any_host(&mut self) -> HostId {
        let hosts: Vec<HostId> = self.processes.iter().map(|process| process.host).collect();
        self.random.pick(&hosts).copied().unwrap_or(HostId(0))
    }

    pub(crate) fn processes_on(&self, host: HostId) -> Vec<ProcessId> {
        let ids = (0..self.processes.len()).map(ProcessId);
        ids.filter(|id| self.processes[id.0].host == host && self.processes[id.0].is_up()).collect()
    }

    fn part_workers(&mut self, duration: Duration) {
        let workers: Vec<ProcessId> = (0..self.processes.len())
            .map(ProcessId)
            .filter(|id| self.processes[id.0].role == Role::Worker && self.processes[id.0].is_up())
            .collect();
        let (one, other) = (self.random.pick(&workers).copied(), self.random.pick(&workers).copied());
        if let (Some(one), Some(other)) = (one, other) {
            self.network.part_processes(one, other);
            if self.random.chance(500) {
                self.network.part_processes(other, one);
            }
            self.mend_after(duration, Mend::Network);
        }
    }

    fn lose_host(&mut self, host: HostId, duration: Duration) -> Result<(), Violation> {
        if self.is_down(host) {
            return Ok(());
        }
        if self.hosts_down.len() <= host.0 {
            self.hosts_down.resize(host.0 + 1, false);
        }
        self.hosts_down[host.0] = true;
        for id in self.processes_on(host) {
            self.crash(id)?;
        }
        self.mend_after(duration, Mend::Host(host));
        Ok(())
    }

    pub(crate) fn is_down(&self, host: HostId) -> bool {
        self.hosts_down.get(host.0).copied().unwrap_or(false)
    }

    /// A host comes back, and with it what runs on it.
    pub(crate) fn raise_host(&mut self, host: HostId) {
        if !self.is_down(host) {
            return;
        }
        self.hosts_down[host.0] = false;
        for index in 0..self.processes.len() {
            let process = &self.processes[index];
            if process.host == host && process.is_restarted && !process.is_up() {
                let life = process.life;
                let delay = self.random.millis(100, 5_000);
                self.queue.push(self.now + delay, Event::Start { process: ProcessId(index), life });
            }
        }
    }

    pub(crate) fn cut_all(&mut self) {
        for index in 0..self.processes.len() {
            if let LinkState::Open(_) = self.processes[index].link.state {
                self.cut(ProcessId(index), None);
            }
        }
    }
}
