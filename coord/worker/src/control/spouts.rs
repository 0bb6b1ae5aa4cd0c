//! What the spouts of this worker are to do, by what the tree says of the topology.
//!
//! Invariants: spouts are not activated before every connection was ready. What cannot be read changes nothing.
//! Threading: plain data. Errors: none.

use std::time::Duration;

use ringstorm_records::records::{StormBase, TopologyActionOptions, TopologyStatus};

use crate::interface::WorkerEffect;
use crate::settings::WorkerSettings;

/// What spouts do, or are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    Emitting,
    /// Finishing, within so long.
    Draining(Duration),
}

#[derive(Debug)]
pub(super) struct Spouts {
    wanted: Doing,
    told: Doing,
    is_ready: bool,
}

impl Spouts {
    pub(super) fn new() -> Self {
        Self { wanted: Doing::Nothing, told: Doing::Nothing, is_ready: false }
    }

    /// Every connection was ready.
    pub(super) fn ready(&mut self) {
        self.is_ready = true;
    }

    /// Takes what the tree says of the topology. Returns a status that nobody knows.
    pub(super) fn take(&mut self, base: &StormBase, settings: &WorkerSettings) -> Option<TopologyStatus> {
        let wait = |secs: Option<i32>| {
            let wait = secs.map(|secs| Duration::from_secs(u64::try_from(secs).unwrap_or(0)));
            Doing::Draining(wait.unwrap_or(settings.message_timeout))
        };
        self.wanted = match (&base.status, &base.topology_action_options) {
            (TopologyStatus::Active, _) => Doing::Emitting,
            (TopologyStatus::Inactive, _) => Doing::Nothing,
            (TopologyStatus::Killed, Some(TopologyActionOptions::KillOptions(options))) => wait(options.wait_secs),
            (TopologyStatus::Rebalancing, Some(TopologyActionOptions::RebalanceOptions(options))) => {
                wait(options.wait_secs)
            }
            (TopologyStatus::Killed | TopologyStatus::Rebalancing, _) => wait(None),
            (unknown, _) => return Some(*unknown),
        };
        None
    }

    /// What to tell the data path, if that is new. Spouts that rest have nothing to finish.
    pub(super) fn settle(&mut self) -> Option<WorkerEffect> {
        match (self.wanted, self.told) {
            (Doing::Emitting, Doing::Nothing | Doing::Draining(_)) if self.is_ready => {
                self.told = self.wanted;
                Some(WorkerEffect::SetActive(true))
            }
            (Doing::Nothing, Doing::Emitting | Doing::Draining(_)) => {
                self.told = self.wanted;
                Some(WorkerEffect::SetActive(false))
            }
            (Doing::Draining(limit), Doing::Emitting) => {
                self.told = self.wanted;
                Some(WorkerEffect::Drain { limit })
            }
            _ => None,
        }
    }

    /// Whether spouts are asked for tuples, be it for replays alone.
    pub(super) fn are_asked(&self) -> bool {
        self.told != Doing::Nothing
    }
}
