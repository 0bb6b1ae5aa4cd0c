//! The code of topologies on this host: what is here, what is fetched, what can go.
//!
//! Code that cannot be fetched keeps a slot from its work. Unless it is only that nobody gives it at present, that is a
//! reason to give the work to another slot, see [`Codes::trouble`]. A host that cannot store code is of no use to any
//! topology whose code it does not have: that it stays so is found out by fetching on, also when nobody here waits any more.
//!
//! Invariants: of one topology, one thing is under way at a time; nothing is removed that a slot runs, wants, or may want.
//! Threading: plain data. Errors: what cannot be fetched is tried again after a pause.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_control::pause::pause;
use ringstorm_control::time::Moment;

use crate::events::{CodeEvent, FetchFailure, SupervisorEffect, WorkerTimeouts};
use crate::settings::Settings;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Here,
    /// Here, and older than what the cluster has.
    Outdated,
    Fetching,
    Removing,
    /// It could not be fetched.
    Failed {
        until: Moment,
    },
}

/// Fetches that failed in a row.
#[derive(Clone, Debug)]
struct Failures {
    count: u32,
    /// Whether they are a reason to run it elsewhere.
    is_trouble: bool,
    /// The last one.
    why: String,
}

/// It.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    standings: BTreeMap<String, Standing>,
    failures: BTreeMap<String, Failures>,
    /// The topology whose code this host could not store last, if it can store none since.
    unstored: Option<String>,
    /// What is here, with what its configuration says.
    here: BTreeMap<String, WorkerTimeouts>,
}

impl Codes {
    /// What was found on disk.
    pub(crate) fn new(found: BTreeMap<String, WorkerTimeouts>) -> Self {
        let standings = found.keys().map(|topology| (topology.clone(), Standing::Here)).collect();
        Self { standings, here: found, ..Self::default() }
    }

    /// What can be run.
    pub(crate) fn here(&self) -> &BTreeMap<String, WorkerTimeouts> {
        &self.here
    }

    /// Takes what became of some code; a line for operators if something is wrong.
    pub(crate) fn take(&mut self, now: Moment, event: CodeEvent, settings: &Settings) -> Option<String> {
        match event {
            CodeEvent::Fetched { topology, timeouts } => {
                self.standings.get(&topology).filter(|standing| **standing == Standing::Fetching)?;
                self.failures.remove(&topology);
                self.unstored = None;
                self.standings.insert(topology.clone(), Standing::Here);
                self.here.insert(topology, timeouts);
                None
            }
            CodeEvent::Changed { topology } => {
                let standing = self.standings.get_mut(&topology).filter(|standing| **standing == Standing::Here)?;
                *standing = Standing::Outdated;
                self.here.remove(&topology);
                Some(format!("the code of {topology} changed; it is fetched anew and its workers are started again"))
            }
            CodeEvent::Damaged { topology, why } => {
                self.here.remove(&topology)?;
                self.standings.remove(&topology);
                Some(format!("the code of {topology} on this host was not run, and is fetched anew: {why}"))
            }
            CodeEvent::Removed { topology } => {
                self.standings.get(&topology).filter(|standing| **standing == Standing::Removing)?;
                self.standings.remove(&topology);
                None
            }
            CodeEvent::Failed { topology, why, cause } => {
                self.standings.get(&topology).filter(|standing| **standing == Standing::Fetching)?;
                let before = self.failures.remove(&topology);
                let count = before.as_ref().map_or(0, |it| it.count).saturating_add(1);
                let is_trouble = match cause {
                    // It does not make good what was wrong before.
                    FetchFailure::Unreachable => before.is_some_and(|it| it.is_trouble),
                    FetchFailure::Passing => count >= settings.start_failures_max,
                    FetchFailure::Lasting | FetchFailure::Host => true,
                };
                match cause {
                    FetchFailure::Host => self.unstored = Some(topology.clone()),
                    FetchFailure::Unreachable => {}
                    // There was nothing to store.
                    FetchFailure::Passing | FetchFailure::Lasting => {
                        self.unstored.take_if(|unstored| *unstored == topology);
                    }
                }
                let wait = match cause {
                    FetchFailure::Lasting => settings.fetch_pause_max,
                    _ => pause(settings.fetch_pause, settings.fetch_pause_max, count),
                };
                let line = format!(
                    "the code of {topology} could not be fetched: {why}; it is tried again in {} s",
                    wait.as_secs_f32()
                );
                self.standings.insert(topology.clone(), Standing::Failed { until: now + wait });
                self.failures.insert(topology, Failures { count, is_trouble, why });
                Some(line)
            }
        }
    }

    /// Why a slot should not be given a topology, or any whose code is not here if it has none: its code cannot be had.
    pub(crate) fn trouble(&self, topology: Option<&str>) -> Option<&str> {
        if topology.is_some_and(|topology| self.here.contains_key(topology)) {
            return None;
        }
        let of = |topology: &str| self.failures.get(topology).filter(|it| it.is_trouble).map(|it| it.why.as_str());
        topology.and_then(of).or_else(|| of(self.unstored.as_deref()?))
    }

    /// Why a topology's code could not be fetched, once that is more than a moment's trouble.
    pub(crate) fn failure(&self, topology: &str, settings: &Settings) -> Option<&str> {
        let is_lasting = |it: &&Failures| it.is_trouble || it.count >= settings.start_failures_max;
        self.failures.get(topology).filter(is_lasting).map(|it| it.why.as_str())
    }

    /// Fetches what slots wait for, of which no process runs, and removes what nobody can need.
    pub(crate) fn settle(
        &mut self,
        now: Moment,
        waited_for: &BTreeSet<String>,
        running: &BTreeSet<String>,
        may_be_needed: impl Fn(&str) -> bool,
    ) -> Vec<SupervisorEffect> {
        let mut effects = Vec::new();
        let probed = self.unstored.clone();
        for topology in waited_for.iter().chain(&probed) {
            let may_fetch = match self.standings.get(topology) {
                None => true,
                // It is put in place of what is here.
                Some(Standing::Outdated) => !running.contains(topology),
                Some(Standing::Failed { until }) => *until <= now,
                Some(Standing::Here | Standing::Fetching | Standing::Removing) => false,
            };
            if may_fetch {
                self.standings.insert(topology.clone(), Standing::Fetching);
                effects.push(SupervisorEffect::FetchCode { topology: topology.clone() });
            }
        }
        let is_used = |topology: &str| {
            let is_probed = probed.as_deref() == Some(topology);
            is_probed || waited_for.contains(topology) || running.contains(topology) || may_be_needed(topology)
        };
        for (topology, standing) in self.standings.iter_mut().filter(|(topology, _)| !is_used(topology)) {
            if matches!(standing, Standing::Here | Standing::Outdated) {
                *standing = Standing::Removing;
                self.here.remove(topology);
                effects.push(SupervisorEffect::RemoveCode { topology: topology.clone() });
            }
        }
        // What nobody waits for now is fetched at once when somebody does.
        let is_over = |it: &Standing| matches!(it, Standing::Failed { until } if *until <= now);
        let has_failed = |it: &Standing| matches!(it, Standing::Failed { .. });
        self.standings.retain(|topology, it| !(is_over(it) || has_failed(it) && !is_used(topology)));
        self.failures.retain(|topology, _| is_used(topology));
        effects
    }

    /// When something is to be fetched again.
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        let until = |standing: &Standing| match standing {
            Standing::Failed { until } => Some(*until),
            _ => None,
        };
        self.standings.values().filter_map(until).min()
    }
}
