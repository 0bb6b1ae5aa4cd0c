//! What is made to go wrong, and what mends it.

use std::time::Duration;

use ringstorm_store::store::SessionId;
use ringstorm_supervisor::events::Exit;

use super::{Running, Stage};
use crate::checks::Violation;
use crate::world::process::{HostId, ProcessId};
use crate::world::zookeeper::MEMBERS;

impl Stage {
    /// A daemon is killed and stays down.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn kill(&mut self, process: ProcessId) -> Result<(), Violation> {
        self.world.processes[process.0].is_restarted = false;
        self.world.crash(process)
    }

    /// A daemon that is down starts.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn start(&mut self, process: ProcessId) -> Result<(), Violation> {
        self.world.processes[process.0].is_restarted = true;
        let life = self.world.processes[process.0].life;
        self.world.start(process, life)
    }

    /// A worker is killed.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn kill_worker(&mut self, worker: &Running) -> Result<(), Violation> {
        self.world.exit_worker(worker.process, Exit::Signal(9))
    }

    /// One core of a worker ends no turn any more; the process lives on.
    pub fn stall_core(&mut self, worker: &Running, core: usize) {
        let moment = self.world.processes[worker.process.0].clock.now(self.world.now).moment;
        if let Some(worker) = self.world.workers.get_mut(&worker.process) {
            worker.path.stalled = Some((core, moment));
        }
    }

    /// A host is gone with everything that runs on it, until [`Self::raise_host`].
    ///
    /// # Errors
    /// The law that was broken.
    pub fn lose_host(&mut self, host: HostId) -> Result<(), Violation> {
        let down = &mut self.world.hosts_down;
        if down.len() <= host.0 {
            down.resize(host.0 + 1, false);
        }
        down[host.0] = true;
        for process in self.world.processes_on(host) {
            self.world.crash(process)?;
        }
        Ok(())
    }

    /// A host comes back.
    pub fn raise_host(&mut self, host: HostId) {
        self.world.raise_host(host);
    }

    /// A member of the ensemble goes down; without two of its three members the ensemble does nothing.
    pub fn stop_member(&mut self, member: usize) {
        self.world.zookeeper.members_down[member % MEMBERS] = true;
        let served = self.world.zookeeper.served.iter().filter(|(session, served)| {
            let link = &self.world.processes[served.process.0].link;
            served.member == member % MEMBERS && link.session() == Some(**session)
        });
        let clients: Vec<ProcessId> = served.map(|(_, served)| served.process).collect();
        for client in clients {
            self.world.cut(client, None);
        }
        if self.world.zookeeper.members_up().len() <= MEMBERS / 2 {
            self.world.zookeeper.is_down = true;
            self.world.cut_all();
        }
    }

    /// A member of the ensemble comes up.
    pub fn start_member(&mut self, member: usize) {
        self.world.zookeeper.members_down[member % MEMBERS] = false;
        self.world.zookeeper.is_down = self.world.zookeeper.members_up().len() <= MEMBERS / 2;
    }

    /// A member applies nothing any more of what the others do, so that whoever reads there reads old things.
    pub fn hold_member(&mut self, member: usize) {
        self.world.zookeeper.ensemble.hold(member % MEMBERS);
    }

    /// It catches up.
    pub fn release_member(&mut self, member: usize) {
        self.world.zookeeper.ensemble.release(member % MEMBERS);
        self.world.spread_watches();
    }

    /// Every member goes down.
    pub fn stop_ensemble(&mut self) {
        (0..MEMBERS).for_each(|member| self.stop_member(member));
    }

    /// Every member comes up.
    pub fn start_ensemble(&mut self) {
        (0..MEMBERS).for_each(|member| self.start_member(member));
    }

    /// Every session is over, as after an outage that was longer than their time-out.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn end_all_sessions(&mut self) -> Result<(), Violation> {
        let served = self.world.zookeeper.served.keys().copied();
        let sessions: Vec<SessionId> =
            served.filter(|session| self.world.zookeeper.ensemble.is_open(*session)).collect();
        self.world.cut_all();
        sessions.into_iter().try_for_each(|session| self.world.end_session(session))
    }

    /// The ensemble ends the sessions of a process that is down, before their time-out.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn end_sessions_of(&mut self, process: ProcessId) -> Result<(), Violation> {
        let of_process = self.world.zookeeper.served.iter().filter(|(_, served)| served.process == process);
        let sessions: Vec<SessionId> = of_process.map(|(session, _)| *session).collect();
        sessions.into_iter().try_for_each(|session| self.world.end_session(session))
    }

    /// The time of day of a process is so much before or after that of the world.
    pub fn set_wall(&mut self, process: ProcessId, before: Duration, after: Duration) {
        self.world.processes[process.0].clock.set_wall(before, after);
    }

    /// The time of day of a process stands still.
    pub fn stop_wall(&mut self, process: ProcessId) {
        let now = self.world.now;
        self.world.processes[process.0].clock.stop_wall(now);
    }

    /// The disk of a nimbus loses the code that `is_lost` says of, by the keys of blobs.
    pub fn lose_code(&mut self, nimbus: ProcessId, is_lost: impl Fn(&str) -> bool) {
        let disk = &mut self.world.processes[nimbus.0].disk;
        disk.blobs.retain(|key, _| !is_lost(key.as_str()));
    }
}
