//! The failure detector: which workers beat, by readings of `workerbeats`.
//!
//! A worker rewrites its node every `task.heartbeat.frequency.secs`. A beat is whatever makes its node another one than
//! in the reading before: a new version, or a new node in its place. What is in it, the worker's clock above all, is no
//! evidence. Time is that of the reader's monotonic clock, between readings that succeeded:
//!
//! - A worker is *silent* when no beat came for three beats ([`BeatSettings::silence`]).
//! - A reading that failed proves nothing: silence counts anew from the next one that succeeds. So nobody is silent before
//!   three beats have passed since the reader could read, be it a new leader or one that was cut off.
//! - A worker that was assigned while this reader watched has *never beaten* until it does. Beats of an older assignment,
//!   which a worker in that slot may still make, are not counted. What a new leader finds counts as a beat.
//!
//! What follows from it for a slot is its [`Verdict`]. While the supervisor is there it mends its workers itself, and a
//! slot is given up only when that takes too long, with Storm's times (`HeartbeatCache` and `Nimbus` of Storm 2.8.2). When
//! the supervisor's node is gone nobody mends, and silence is enough; without silence a supervisor's death changes nothing.
//!
//! Invariants: time alone changes nothing, only readings do. Threading: plain data. Errors: none; a node that cannot be
//! read is not told, and is no beat.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_records::records::{Assignment, ClusterWorkerHeartbeat};
use ringstorm_records::znode::{NodeName, Slot};
use ringstorm_scheduler::WorkerSlot;

use crate::round::placement::Placement;
use crate::supervisors::{Keeper, Supervisors};

#[cfg(test)]
mod tests;

/// How long is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeatSettings {
    /// How often a worker beats: `task.heartbeat.frequency.secs`, 3 s.
    pub period: Duration,
    /// After how many beats that did not come a worker is silent: 3.
    pub silent_after_beats: u32,
    /// After which silence a slot is given up though its supervisor is there: `nimbus.task.timeout.secs`, 30 s. A
    /// topology may ask for more.
    pub task_timeout: Duration,
    /// How long a worker may take to its first beat: `nimbus.task.launch.secs`, 120 s.
    pub launch_timeout: Duration,
    /// The most that a topology may ask for: `worker.max.timeout.secs`, 600 s.
    pub worker_timeout_max: Duration,
}

impl Default for BeatSettings {
    fn default() -> Self {
        Self {
            period: Duration::from_secs(3),
            silent_after_beats: 3,
            task_timeout: Duration::from_secs(30),
            launch_timeout: Duration::from_secs(120),
            worker_timeout_max: Duration::from_secs(600),
        }
    }
}

impl BeatSettings {
    /// How long a worker that lives does not go without a beat.
    pub fn silence(&self) -> Duration {
        self.period.saturating_mul(self.silent_after_beats)
    }

    /// When a silent slot of a supervisor that is there is given up.
    fn task_timeout(&self, asked_for: Option<Duration>) -> Duration {
        let asked_for = asked_for.unwrap_or_default().min(self.worker_timeout_max);
        self.task_timeout.max(asked_for).max(self.silence())
    }
}

/// A worker's node, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Whose it is.
    pub slot: WorkerSlot,
    /// The transaction that made the node (`Stat::created`).
    pub created: i64,
    /// How often its data changed since (`Stat::version`).
    pub version: i32,
    /// The version of the assignment that the worker runs, if it says.
    pub runs: Option<i64>,
}

impl Beat {
    /// From what was read of a node, and the two fields of its stat.
    pub fn of(slot: &Slot, beat: &ClusterWorkerHeartbeat, created: i64, version: i32) -> Self {
        let slot = WorkerSlot { node_id: slot.supervisor.as_str().into(), port: slot.port };
        Self { slot, created, version, runs: beat.version }
    }
}

/// How a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nothing was read of its topology since it was assigned, or since a reading failed.
    Unknown,
    /// It did not beat since it was assigned, for so long.
    NeverBeat(Duration),
    /// It beats.
    Alive,
    /// It does not beat any more, for so long.
    Silent(Duration),
}

/// What is to become of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It keeps its executors.
    Lives,
    /// Its executors move.
    Dead(Dead),
}

/// Why a slot is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dead {
    /// Its supervisor is there and does not offer it any more.
    Withdrawn,
    /// Its supervisor is gone, and it does not beat. When that holds for all slots of a host, the host is lost.
    Lost,
    /// It does not beat any more, and its supervisor has not mended that in time.
    Silent,
    /// It never beat in the time that a launch may take.
    NeverBeat,
}

impl std::fmt::Display for Dead {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Withdrawn => "its supervisor does not offer it any more",
            Self::Lost => "its supervisor is gone and its worker does not beat",
            Self::Silent => "its worker does not beat any more",
            Self::NeverBeat => "its worker never beat; look at the supervisor's log and the worker's",
        })
    }
}

/// Everything that a leader knows from heartbeats. A new leader starts with a new one.
#[derive(Clone, Debug, Default)]
pub struct Beats {
    settings: BeatSettings,
    topologies: BTreeMap<NodeName, Watched>,
}

/// A topology.
#[derive(Clone, Debug, Default)]
struct Watched {
    /// Whether its assignment was told before, so that a change of it is one that this reader saw.
    is_assigned: bool,
    slots: BTreeMap<WorkerSlot, Assigned>,
    nodes: BTreeMap<WorkerSlot, Seen>,
    /// The highest version that a worker ever said it runs.
    version_max: Option<i64>,
    /// Since when no reading failed, and when the last one was asked for; `None` before the first, and after a failure.
    clean: Option<(Moment, Moment)>,
}

/// A slot that the topology has.
#[derive(Clone, Copy, Debug)]
struct Assigned {
    /// What it was assigned as: start times are new when its executors are.
    started_secs: i64,
    version: Option<i64>,
    /// When this reader was told.
    since: Moment,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Whoever is found in the next reading has beaten before.
    Found,
    /// It is being started.
    Launching,
    Beating,
}

/// A node of a worker.
#[derive(Clone, Copy, Debug)]
struct Seen {
    created: i64,
    version: i32,
    /// When a reading that showed it so for the first time was answered.
    since: Moment,
}

impl Beats {
    /// Knows nothing yet.
    pub fn new(settings: BeatSettings) -> Self {
        Self { settings, topologies: BTreeMap::new() }
    }

    /// The settings.
    pub fn settings(&self) -> &BeatSettings {
        &self.settings
    }

    /// Is told a topology's assignment as it is stored now: which slots are to be watched.
    pub fn assigned(&mut self, at: Moment, topology: &NodeName, assignment: &Assignment) {
        let watched = self.topologies.entry(topology.clone()).or_default();
        let mut before = std::mem::take(&mut watched.slots);
        let progress = if watched.is_assigned { Progress::Launching } else { Progress::Found };
        for (slot, started_secs) in Placement::of(assignment).started_secs() {
            let same = before.remove(&slot).filter(|before| before.started_secs == started_secs);
            let new = Assigned { started_secs, version: assignment.version, since: at, progress };
            watched.slots.insert(slot, same.unwrap_or(new));
        }
        watched.is_assigned = true;
    }

    /// Is told that a topology has no assignment. What its workers said they run is still known.
    pub fn unassigned(&mut self, topology: &NodeName) {
        if let Some(watched) = self.topologies.get_mut(topology) {
            watched.slots.clear();
            watched.is_assigned = true;
        }
    }

    /// Forgets a topology that is gone.
    pub fn forget(&mut self, topology: &NodeName) {
        self.topologies.remove(topology);
    }

    /// The topologies that are known.
    pub fn topologies(&self) -> impl Iterator<Item = &NodeName> {
        self.topologies.keys()
    }

    /// Takes a reading of a topology's beats, asked for and answered at these moments; `None` when it failed. It should be
    /// asked for behind a sync: a server of the ensemble may be behind the others.
    pub fn read(&mut self, asked: Moment, answered: Moment, topology: &NodeName, beats: Option<&[Beat]>) {
        let watched = self.topologies.entry(topology.clone()).or_default();
        match beats {
            Some(beats) => watched.read(asked, answered, beats),
            None => watched.clean = None,
        }
    }

    /// Is told that readings could not be made for a while, as when the session was suspended: as a failed reading of
    /// every topology.
    pub fn interrupted(&mut self) {
        self.topologies.values_mut().for_each(|watched| watched.clean = None);
    }

    /// The highest version of its assignment that any worker of a topology ever said it runs.
    pub fn version_max(&self, topology: &NodeName) -> Option<i64> {
        self.topologies.get(topology)?.version_max
    }

    /// The slots in which workers of a topology may live, assigned or not: those with a node that is not silent.
    pub fn occupied(&self, topology: &NodeName) -> Vec<WorkerSlot> {
        let Some(watched) = self.topologies.get(topology) else { return Vec::new() };
        let is_silent = |seen: &Seen| watched.quiet(seen.since).is_some_and(|quiet| quiet >= self.settings.silence());
        watched.nodes.iter().filter(|(_, seen)| !is_silent(seen)).map(|(slot, _)| slot.clone()).collect()
    }

    /// How the worker in a slot of a topology is.
    pub fn health(&self, topology: &NodeName, slot: &WorkerSlot) -> Health {
        let watched = self.topologies.get(topology);
        let assigned = watched.and_then(|watched| Some((watched, watched.slots.get(slot)?)));
        let Some((watched, assigned)) = assigned else { return Health::Unknown };
        let Some((_, asked)) = watched.clean.filter(|(_, asked)| *asked >= assigned.since) else {
            return Health::Unknown;
        };
        match (assigned.progress, watched.nodes.get(slot)) {
            (Progress::Beating, Some(seen)) => match watched.quiet(seen.since.max(assigned.since)) {
                Some(quiet) if quiet >= self.settings.silence() => Health::Silent(quiet),
                _ => Health::Alive,
            },
            _ => Health::NeverBeat(asked.since(assigned.since)),
        }
    }

    /// What is to become of a slot. `worker_timeout` is what the topology asks for (`topology.worker.timeout.secs`).
    pub fn verdict(
        &self,
        topology: &NodeName,
        slot: &WorkerSlot,
        supervisors: &Supervisors,
        worker_timeout: Option<Duration>,
    ) -> Verdict {
        let keeper = supervisors.keeper(slot);
        let health = self.health(topology, slot);
        let task_timeout = self.settings.task_timeout(worker_timeout);
        match (keeper, health) {
            (Keeper::Withdrew, _) => Verdict::Dead(Dead::Withdrawn),
            (Keeper::Gone(_), Health::Silent(_)) => Verdict::Dead(Dead::Lost),
            (Keeper::Gone(since), Health::NeverBeat(_)) if self.nothing_came(topology, slot, since) => {
                Verdict::Dead(Dead::Lost)
            }
            (Keeper::There, Health::Silent(quiet)) if quiet >= task_timeout => Verdict::Dead(Dead::Silent),
            (Keeper::There | Keeper::Gone(_), Health::NeverBeat(waited))
                if waited >= self.settings.launch_timeout.max(task_timeout)
                    && self.nothing_came(topology, slot, Moment::default()) =>
            {
                Verdict::Dead(Dead::NeverBeat)
            }
            _ => Verdict::Lives,
        }
    }

    /// Whether it was looked for long enough that a beat would have come, since a moment and since the slot was assigned.
    fn nothing_came(&self, topology: &NodeName, slot: &WorkerSlot, since: Moment) -> bool {
        let Some(watched) = self.topologies.get(topology) else { return false };
        let Some(assigned) = watched.slots.get(slot) else { return false };
        watched.quiet(since.max(assigned.since)).is_some_and(|quiet| quiet >= self.settings.silence())
    }
}

impl Watched {
    fn read(&mut self, asked: Moment, answered: Moment, beats: &[Beat]) {
        let (since, _) = self.clean.unwrap_or((answered, asked));
        self.clean = Some((since, asked));
        let mut found: BTreeMap<&WorkerSlot, &Beat> = BTreeMap::new();
        for beat in beats {
            self.version_max = self.version_max.max(beat.runs);
            found.insert(&beat.slot, beat);
            let seen = Seen { created: beat.created, version: beat.version, since: answered };
            let before = self.nodes.get(&beat.slot);
            if before.is_some_and(|before| (before.created, before.version) == (seen.created, seen.version)) {
                continue;
            }
            self.nodes.insert(beat.slot.clone(), seen);
            let assigned = self.slots.get_mut(&beat.slot).filter(|assigned| assigned.since <= asked);
            if let Some(assigned) = assigned.filter(|assigned| assigned.progress == Progress::Launching)
                && beat.runs.is_none_or(|runs| Some(runs) >= assigned.version)
            {
                assigned.progress = Progress::Beating;
            }
        }
        for (slot, assigned) in &mut self.slots {
            if assigned.progress == Progress::Found && assigned.since <= asked {
                let is_there = found.contains_key(slot);
                assigned.progress = if is_there { Progress::Beating } else { Progress::Launching };
            }
        }
        // A node of a slot that is assigned may come back, and is compared with then.
        self.nodes.retain(|slot, _| found.contains_key(slot) || self.slots.contains_key(slot));
    }

    /// For how long no beat came in uninterrupted readings, when the last one came at a moment.
    fn quiet(&self, last: Moment) -> Option<Duration> {
        self.clean.map(|(since, asked)| asked.since(last.max(since)))
    }
}
