//! How a worker says that it lives: when it beats, and what stands in the beat.
//!
//! Invariants: a beat says that every core has ended a turn within the limit. One beat at a time. Threading: plain data.
//! Errors: a beat that was not written, or perhaps not, is followed by another one.

use std::collections::BTreeMap;

use ringstorm_control::time::{Moment, Now};
use ringstorm_records::records::{
    BoltStats, ClusterWorkerHeartbeat, ExecutorInfo, ExecutorSpecificStats, ExecutorStats, SpoutStats,
};
use ringstorm_types::ExecutorId;

use crate::settings::{Identity, TopologyFacts, WorkerSettings};

/// The executor that stands for the worker itself, in every worker.
const SYSTEM_EXECUTOR: ExecutorInfo = ExecutorInfo { task_start: -1, task_end: -1 };
/// Every tuple is counted.
const RATE: f64 = 1.0;

/// A core that does not end its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stall {
    /// Its number.
    pub(super) core: usize,
    /// When it last ended one.
    pub(super) since: Moment,
}

/// The beats of a worker.
#[derive(Debug)]
pub(super) struct Beats {
    began: Moment,
    due: Moment,
    is_under_way: bool,
    troubles: u32,
    /// Whether the executors exist.
    has_executors: bool,
    /// By core.
    last_turns: Vec<Moment>,
    figures: BTreeMap<ExecutorInfo, ExecutorStats>,
    stall: Option<Stall>,
}

/// Whether there is a beat now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Not yet.
    Not,
    /// Yes; `true` after beats were left out.
    Beat(bool),
    /// It is left out, since a core stands still. `true` if it is the first.
    LeftOut(Stall, bool),
}

impl Beats {
    pub(super) fn new(now: Now) -> Self {
        Self {
            began: now.moment,
            due: now.moment,
            is_under_way: false,
            troubles: 0,
            has_executors: false,
            last_turns: Vec::new(),
            figures: BTreeMap::new(),
            stall: None,
        }
    }

    /// Every core runs its executors.
    pub(super) fn started(&mut self, now: Now, cores: usize) {
        self.has_executors = true;
        self.last_turns = vec![now.moment; cores];
    }

    /// When each core ended a turn. Beats that were left out go on at once.
    pub(super) fn progress(&mut self, now: Now, turns: &[Moment], settings: &WorkerSettings) {
        for (last, turn) in self.last_turns.iter_mut().zip(turns) {
            *last = (*turn).max(*last).min(now.moment);
        }
        if self.stall.is_some() && self.stalled(now, settings).is_none() {
            self.due = self.due.min(now.moment);
        }
    }

    pub(super) fn take_figures(&mut self, figures: BTreeMap<ExecutorInfo, ExecutorStats>) {
        self.figures.extend(figures);
    }

    /// One is wanted at once.
    pub(super) fn ask(&mut self, now: Now) {
        self.due = self.due.min(now.moment);
    }

    /// When the next one is due, unless one is under way.
    pub(super) fn due(&self) -> Option<Moment> {
        (!self.is_under_way).then_some(self.due)
    }

    /// Whether a beat begins now.
    pub(super) fn begin(&mut self, now: Now, settings: &WorkerSettings) -> Due {
        if self.due().is_none_or(|due| due > now.moment) {
            return Due::Not;
        }
        self.due = now.moment + settings.beat_period;
        let before = self.stall;
        self.stall = self.stalled(now, settings);
        match self.stall {
            Some(stall) => Due::LeftOut(stall, before.is_none()),
            None => {
                self.is_under_way = true;
                Due::Beat(before.is_some())
            }
        }
    }

    /// The one that was under way has ended. Returns whether it is the first trouble in a row.
    pub(super) fn ended(&mut self, now: Now, is_written: bool, settings: &WorkerSettings) -> bool {
        self.is_under_way = false;
        if is_written {
            self.troubles = 0;
            return false;
        }
        self.troubles = self.troubles.saturating_add(1);
        self.due = self.due.min(now.moment + settings.pause(self.troubles));
        self.troubles == 1
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// The core that stands still for longest, if one does for too long.
    fn stalled(&self, now: Now, settings: &WorkerSettings) -> Option<Stall> {
        let turns = self.last_turns.iter().copied().enumerate();
        let (core, since) = turns.min_by_key(|(_, last)| *last)?;
        (now.moment.since(since) >= settings.core_silence).then_some(Stall { core, since })
    }

    /// What is written. As in Storm the first one has no executors, since there are none yet, and later ones have every
    /// executor of the worker.
    pub(super) fn record(
        &self,
        now: Now,
        identity: &Identity,
        facts: &TopologyFacts,
        executors: &[ExecutorId],
    ) -> ClusterWorkerHeartbeat {
        let own = executors.iter().filter(|_| self.has_executors).map(|executor| {
            let info = ExecutorInfo { task_start: executor.first.0, task_end: executor.last.0 };
            let component = facts.numbering.component_of(executor.first);
            let is_spout = component.is_some_and(|component| facts.spouts.contains(component));
            let figures = self.figures.get(&info).cloned().unwrap_or_else(|| none_yet(is_spout));
            (info, figures)
        });
        let system = self.has_executors.then(|| (SYSTEM_EXECUTOR, none_yet(false)));
        ClusterWorkerHeartbeat {
            storm_id: identity.topology.to_string(),
            executor_stats: own.chain(system).collect(),
            time_secs: now.wall_secs(),
            uptime_secs: i32::try_from(now.moment.since(self.began).as_secs()).unwrap_or(i32::MAX),
            version: None,
        }
    }
}

/// The figures of an executor that has not counted anything: no windows, as in Storm.
fn none_yet(is_spout: bool) -> ExecutorStats {
    let specific = if is_spout {
        ExecutorSpecificStats::Spout(SpoutStats::default())
    } else {
        ExecutorSpecificStats::Bolt(BoltStats::default())
    };
    ExecutorStats { emitted: BTreeMap::new(), transferred: BTreeMap::new(), specific, rate: RATE }
}
