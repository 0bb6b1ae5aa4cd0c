//! Ending a process: it is asked, then killed, then killed again until it is gone. Threading: plain data.

use ringstorm_control::time::Moment;

use crate::events::{StopHow, StopReason};
use crate::settings::Settings;

/// A process that is being ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    why: StopReason,
    since: Moment,
    next: Moment,
}

impl Stopping {
    /// The first word has just been said.
    pub(crate) fn begin(now: Moment, settings: &Settings, why: StopReason) -> Self {
        Self { why, since: now, next: now + settings.worker_shutdown_sleep }
    }

    /// The next word, when it is due.
    pub(crate) fn step(&mut self, now: Moment, settings: &Settings) -> Option<StopHow> {
        if now < self.next {
            return None;
        }
        self.next = now + settings.worker_shutdown_sleep;
        Some(StopHow::Kill)
    }

    /// Why.
    pub(crate) fn why(&self) -> StopReason {
        self.why
    }

    /// When the next word is due.
    pub(crate) fn next(&self) -> Moment {
        self.next
    }

    /// Whether it takes so long that something is wrong with the host.
    pub(crate) fn is_stuck(&self, now: Moment, settings: &Settings) -> bool {
        now.since(self.since) >= settings.unkillable_after
    }
}
