//! The process of a slot, and what is known of its health. Threading: plain data.

use std::time::Duration;

use ringstorm_control::time::Moment;

use crate::events::{StopReason, WorkerTimeouts};
use crate::settings::Settings;
use crate::share::Share;

/// A worker process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    incarnation: u64,
    pid: Option<u32>,
    share: Share,
    timeouts: WorkerTimeouts,
    /// Since when it might have come up.
    since: Moment,
    /// When it came up and when it was heard last, once it has.
    up: Option<Up>,
    is_outdated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Up {
    since: Moment,
    heard: Moment,
}

impl Process {
    /// One that is just being started.
    pub(crate) fn starting(incarnation: u64, share: Share, timeouts: WorkerTimeouts, now: Moment) -> Self {
        Self { incarnation, pid: None, share, timeouts, since: now, up: None, is_outdated: false }
    }

    /// One that was found running. When it was heard last is not known, so that its time begins now.
    pub fn adopted(incarnation: u64, pid: u32, share: Share, timeouts: WorkerTimeouts, now: Moment) -> Self {
        let up = Some(Up { since: now, heard: now });
        Self { up, pid: Some(pid), ..Self::starting(incarnation, share, timeouts, now) }
    }

    /// Its incarnation.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Its process id, once that is known.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// What it runs.
    pub fn share(&self) -> &Share {
        &self.share
    }

    pub(super) fn started(&mut self, pid: u32) {
        self.pid = Some(pid);
    }

    pub(super) fn ready(&mut self, now: Moment) {
        self.up = Some(Up { since: now, heard: now });
    }

    pub(super) fn beat(&mut self, now: Moment) {
        self.up.iter_mut().for_each(|up| up.heard = now);
    }

    /// Its silence until now does not count.
    pub(super) fn excuse(&mut self, now: Moment) {
        self.since = now;
        self.beat(now);
    }

    pub(super) fn code_changed(&mut self) {
        self.is_outdated = true;
    }

    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// For how long it has been up, if it came up.
    pub(super) fn ran(&self, now: Moment) -> Option<Duration> {
        self.up.map(|up| now.since(up.since))
    }

    /// By when it must have come up.
    pub(super) fn start_deadline(&self, settings: &Settings) -> Moment {
        self.since + self.start_timeout(settings)
    }

    /// By when it must be heard again.
    pub(super) fn silence_deadline(&self, settings: &Settings) -> Moment {
        self.up.map_or(self.since, |up| up.heard) + self.worker_timeout(settings)
    }

    /// What it should have done by now and has not.
    pub(super) fn lateness(&self, now: Moment, settings: &Settings) -> Option<(StopReason, String)> {
        let (deadline, why, what, limit) = match self.up {
            None => {
                let limit = self.start_timeout(settings);
                (self.start_deadline(settings), StopReason::NotUp, "has not come up for", limit)
            }
            Some(_) => {
                let limit = self.worker_timeout(settings);
                (self.silence_deadline(settings), StopReason::Silent, "has not been heard for", limit)
            }
        };
        let line = || format!("{what} {} s; it is killed and started again", limit.as_secs());
        (deadline <= now).then(|| (why, line()))
    }

    fn start_timeout(&self, settings: &Settings) -> Duration {
        self.timeouts.start.unwrap_or_default().max(settings.worker_start_timeout)
    }

    fn worker_timeout(&self, settings: &Settings) -> Duration {
        self.timeouts.worker.unwrap_or_default().max(settings.worker_timeout)
    }
}
