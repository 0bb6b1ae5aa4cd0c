//! The code of topologies on this host: what is here, what is fetched, what can go.
//!
//! Invariants: of one topology, one thing is under way at a time; nothing is removed that a slot runs, wants, or may want.
//! Threading: plain data. Errors: what cannot be fetched is tried again after a pause.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_control::pause::pause;
use ringstorm_control::time::Moment;

use crate::events::{CodeEvent, SupervisorEffect, WorkerTimeouts};
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

/// It.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    standings: BTreeMap<String, Standing>,
    failures: BTreeMap<String, u32>,
    /// What is here, with what its configuration says.
    here: BTreeMap<String, WorkerTimeouts>,
}

impl Codes {
    /// What was found on disk.
    pub(crate) fn new(found: BTreeMap<String, WorkerTimeouts>) -> Self {
        let standings = found.keys().map(|topology| (topology.clone(), Standing::Here)).collect();
        Self { standings, failures: BTreeMap::new(), here: found }
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
            CodeEvent::Removed { topology } => {
                self.standings.get(&topology).filter(|standing| **standing == Standing::Removing)?;
                self.standings.remove(&topology);
                None
            }
            CodeEvent::Failed { topology, why, is_temporary } => {
                self.standings.get(&topology).filter(|standing| **standing == Standing::Fetching)?;
                let failures = self.failures.entry(topology.clone()).or_default();
                *failures = failures.saturating_add(1);
                let wait = if is_temporary {
                    pause(settings.fetch_pause, settings.fetch_pause_max, *failures)
                } else {
                    settings.fetch_pause_max
                };
                self.standings.insert(topology.clone(), Standing::Failed { until: now + wait });
                let wait = wait.as_secs_f32();
                Some(format!("the code of {topology} could not be fetched: {why}; it is tried again in {wait} s"))
            }
        }
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
        for topology in waited_for {
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
        let is_used =
            |topology: &str| waited_for.contains(topology) || running.contains(topology) || may_be_needed(topology);
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
