//! Errors of components on their way to the tree.
//!
//! Invariants: what waits is bounded, in number and in bytes; the oldest goes first, and what finds no room is counted.
//! One report at a time. Threading: plain data. Errors: a report that was not written, or perhaps not, is tried again, so
//! that one error may stand there twice; one that the tree will not take is given up after a few times.

use std::collections::VecDeque;
use std::time::Duration;

use ringstorm_control::time::{Moment, Now};
use ringstorm_records::records::ErrorInfo;
use ringstorm_records::znode::ComponentName;
use ringstorm_store::cluster::Trouble;
use ringstorm_types::throttle::Throttle;

use crate::settings::{Identity, WorkerSettings};

/// How many may wait.
const WAITING_MAX: usize = 64;
/// A longer text is cut. Larger than any stack trace, and such that ZooKeeper takes it.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// How often one is tried that the tree does not take, for another reason than the connection.
const TRIES_MAX: u32 = 3;

/// An error of a component.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) component: ComponentName,
    pub(super) info: ErrorInfo,
}

#[derive(Debug)]
pub(super) struct Errors {
    throttle: Throttle,
    waiting: VecDeque<Report>,
    left_out: u64,
    is_under_way: bool,
    due: Moment,
    troubles: u32,
    /// How often the first one was refused.
    refusals: u32,
}

impl Errors {
    pub(super) fn new(settings: &WorkerSettings) -> Self {
        Self {
            throttle: Throttle::new(settings.errors_per_interval, settings.error_interval),
            waiting: VecDeque::new(),
            left_out: 0,
            is_under_way: false,
            due: Moment::default(),
            troubles: 0,
            refusals: 0,
        }
    }

    /// Takes an error. Returns what to tell operators: every error is logged, as in Storm.
    pub(super) fn take(
        &mut self,
        now: Now,
        identity: &Identity,
        component: &str,
        task: u32,
        text: &str,
        time: Duration,
    ) -> String {
        let line = format!("error of {component}, task {task}: {text}");
        if !self.throttle.admits(component, task, now.moment.0) {
            return line;
        }
        let Ok(component) = ComponentName::new(component) else {
            return format!("{line}; not written, since no node can have the name of the component");
        };
        if self.waiting.len() == WAITING_MAX {
            self.left_out += 1;
            return line;
        }
        let info = ErrorInfo {
            error: text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned(),
            error_time_secs: i32::try_from(time.as_secs()).unwrap_or(i32::MAX),
            host: Some(identity.host.clone()),
            port: Some(i32::from(identity.slot.port)),
        };
        self.waiting.push_back(Report { component, info });
        line
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// The pause after a trouble is over: there is a new connection.
    pub(super) fn ask(&mut self, now: Now) {
        self.due = self.due.min(now.moment);
    }

    /// When the next one is to be written, if one waits.
    pub(super) fn due(&self) -> Option<Moment> {
        (!self.is_under_way && !self.waiting.is_empty()).then_some(self.due)
    }

    /// The report that begins now, if one does. It waits on until it is written.
    pub(super) fn begin(&mut self, now: Now) -> Option<Report> {
        self.due().filter(|due| *due <= now.moment)?;
        self.is_under_way = true;
        self.waiting.front().cloned()
    }

    /// The one that was under way has ended. Returns what to tell operators.
    pub(super) fn ended(&mut self, now: Now, trouble: Option<&Trouble>, settings: &WorkerSettings) -> Option<String> {
        self.is_under_way = false;
        let Some(trouble) = trouble else {
            self.waiting.pop_front();
            (self.troubles, self.refusals) = (0, 0);
            let left_out = std::mem::take(&mut self.left_out);
            return (left_out > 0).then(|| format!("{left_out} errors were not written: too many waited for the tree"));
        };
        self.troubles = self.troubles.saturating_add(1);
        self.due = now.moment + settings.pause(self.troubles);
        self.refusals += u32::from(trouble.condition().is_some_and(|condition| !condition.is_of_the_connection()));
        if self.refusals < TRIES_MAX {
            return None;
        }
        self.refusals = 0;
        let given_up = self.waiting.pop_front()?;
        Some(format!("an error of {} is not written: {trouble}", given_up.component.as_str()))
    }
}
