//! Leads a run: starts the spouts when every core is ready, watches, drains and takes the cores down in order.
//!
//! The order at the end of input: spouts say that they are finished and nothing is pending; ticks stop; the drain waits
//! until, over all cores, sent equals executed in two readings; then each bolt in topological order finishes (and may
//! emit) and the drain is repeated; then everything is closed. A stop from outside takes the same way, but nothing new is
//! taken or replayed, and what is not acked by the time limit is counted.
//!
//! Threading: a thread of its own that sleeps between events. Errors: a fatal failure of user code ends the run with
//! it; a core that ends by itself is a fault of the runtime and ends the run too.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::core::failure::TaskFailure;
use crate::core::status::{Command, CommandBox, CoreStatus, Event};
use crate::metrics::CoreSnapshot;
use crate::report::{ErrorReport, Outcome, RunReport};
use crate::worker::blueprint::Blueprint;
use std::sync::atomic::Ordering;

/// How often the coordinator looks at the cores when nothing happens.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// Between two readings of the drain.
const DRAIN_PERIOD: Duration = Duration::from_micros(500);
/// A core that is longer in one call of user code is named.
const STALL: Duration = Duration::from_secs(1);
/// How long cores may take to close and clean up before they are left behind.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What the owner of a run asks of it.
#[derive(Debug)]
pub(crate) enum Request {
    /// Take nothing new, drain, stop.
    Stop,
    /// Spouts may be asked for tuples, or not.
    SetActive(bool),
    /// Copy all counters.
    Snapshot(Sender<Vec<CoreSnapshot>>),
}

/// What reaches the coordinator.
#[derive(Debug)]
pub(crate) enum Message {
    Core(Event),
    Owner(Request),
}

/// Called with each error as it happens.
pub(crate) type ErrorListener = Box<dyn FnMut(&ErrorReport) + Send>;

pub(crate) struct Coordinator {
    pub(crate) blueprint: Arc<Blueprint>,
    pub(crate) statuses: Vec<Arc<CoreStatus>>,
    pub(crate) commands: Vec<Arc<CommandBox>>,
    pub(crate) messages: Receiver<Message>,
    pub(crate) on_error: ErrorListener,
    pub(crate) errors: Vec<ErrorReport>,
    pub(crate) error_count: u64,
    pub(crate) throttle: crate::report::Throttle,
    pub(crate) ready: usize,
    pub(crate) ended: usize,
    pub(crate) finished: usize,
    pub(crate) fatal: Option<String>,
    pub(crate) stop_requested: bool,
    pub(crate) active: bool,
    pub(crate) started: Instant,
    pub(crate) stalled: Vec<bool>,
}

/// Errors kept for the report; older ones stay counted.
const ERRORS_KEPT: usize = 200;

impl Coordinator {
    /// Leads the run to its end.
    pub(crate) fn run(mut self) -> RunReport {
        while self.ready < self.commands.len() && self.fatal.is_none() && !self.stop_requested {
            self.wait(LOOK_PERIOD);
        }
        if self.fatal.is_none() && !self.stop_requested {
            if self.active {
                self.tell_all(|| Command::Activate);
            }
            self.lead();
        }
        self.end()
    }

    /// From the first tuple until the input has ended, or somebody wants to stop.
    fn lead(&mut self) {
        let mut asked_for_idle = false;
        while self.fatal.is_none() && !self.stop_requested {
            self.wait(LOOK_PERIOD);
            self.name_stalled_cores();
            if !self.input_has_ended() {
                continue;
            }
            if !asked_for_idle {
                asked_for_idle = true;
                self.tell_all(|| Command::ReportIdle);
            }
            if self.is_drained() {
                return;
            }
        }
    }

    fn end(mut self) -> RunReport {
        let timeout = Duration::from_secs_f64(self.blueprint.config.drain_timeout_secs().unwrap_or(30.0));
        let mut drained = self.fatal.is_none();
        let was_ready = self.ready >= self.commands.len();
        self.tell_all(|| Command::StopTicks);
        if self.stop_requested {
            self.tell_all(|| Command::Deactivate);
        }
        if self.fatal.is_none() && was_ready {
            drained = self.drain(timeout, self.stop_requested);
            let order = self.blueprint.order.clone();
            for component in order {
                if self.fatal.is_some() || !drained {
                    break;
                }
                let Some(number) = self.blueprint.components.iter().position(|known| *known == component) else {
                    continue;
                };
                self.finished = 0;
                self.tell_all(|| Command::Finish { component: number as u32 });
                let until = Instant::now() + timeout;
                while self.finished < self.commands.len() && self.fatal.is_none() && Instant::now() < until {
                    self.wait(DRAIN_PERIOD);
                }
                drained = self.finished >= self.commands.len() && self.drain(timeout, true);
            }
        }
        let snapshots = self.snapshots(Duration::from_secs(2));
        let (pending, in_flight) = self.left();
        self.tell_all(|| Command::Stop { orderly: true });
        let until = Instant::now() + STOP_TIMEOUT;
        while self.ended < self.commands.len() && Instant::now() < until {
            self.wait(Duration::from_millis(20));
        }
        let outcome = match self.fatal.take() {
            Some(text) => Outcome::Failed(text),
            None if self.stop_requested => Outcome::Stopped,
            None => Outcome::Completed,
        };
        RunReport {
            outcome,
            drained,
            pending,
            in_flight,
            errors: self.errors,
            error_count: self.error_count,
            elapsed: self.started.elapsed(),
            snapshots,
            cores_left_behind: self.commands.len() - self.ended,
        }
    }

    /// Waits until nothing is on its way. Without `regardless_of_pending` also until nothing is pending.
    fn drain(&mut self, timeout: Duration, _stopping: bool) -> bool {
        let until = Instant::now() + timeout;
        loop {
            if self.is_drained() {
                return true;
            }
            if self.fatal.is_some() || Instant::now() >= until {
                return false;
            }
            self.wait(DRAIN_PERIOD);
        }
    }

    fn input_has_ended(&self) -> bool {
        self.statuses
            .iter()
            .all(|status| status.spouts_finished.load(Ordering::Acquire) && status.pending.load(Ordering::Acquire) == 0)
    }

    /// Two equal readings of "everything sent was executed, every control message was read, nothing is pending".
    fn is_drained(&self) -> bool {
        let first = self.reading();
        first.is_balanced() && {
            std::thread::sleep(Duration::from_micros(100));
            first == self.reading()
        }
    }

    /// Executed and received are read before sent: what is counted as executed was counted as sent before.
    fn reading(&self) -> Reading {
        let sum = |number: fn(&CoreStatus) -> u64| self.statuses.iter().map(|status| number(status)).sum::<u64>();
        let executed = sum(|status| status.executed.load(Ordering::Acquire));
        let control_received = sum(|status| status.control_received.load(Ordering::Acquire));
        let sent = sum(|status| status.sent.load(Ordering::Acquire));
        let control_sent = sum(|status| status.control_sent.load(Ordering::Acquire));
        let pending = sum(|status| status.pending.load(Ordering::Acquire));
        Reading { executed, control_received, sent, control_sent, pending }
    }

    /// Messages pending and tuples not executed.
    fn left(&self) -> (u64, u64) {
        let reading = self.reading();
        (reading.pending, reading.sent.saturating_sub(reading.executed))
    }

    fn tell_all(&self, command: impl Fn() -> Command) {
        self.commands.iter().for_each(|commands| commands.send(command()));
    }

    fn wait(&mut self, timeout: Duration) {
        match self.messages.recv_timeout(timeout) {
            Ok(message) => self.handle(message),
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => self.stop_requested = true,
        }
        while let Ok(message) = self.messages.try_recv() {
            self.handle(message);
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Core(Event::Ready { .. }) => self.ready += 1,
            Message::Core(Event::Idle) => {}
            Message::Core(Event::Finished) => self.finished += 1,
            Message::Core(Event::Failed { failure }) => self.failed(failure),
            Message::Core(Event::Reported { component, task, text }) => {
                self.report(component, task, text, false);
            }
            Message::Core(Event::Ended { core, panic }) => {
                self.ended += 1;
                if let Some(text) = panic {
                    self.fatal.get_or_insert(format!("core {core} ended: {text}"));
                }
            }
            Message::Owner(Request::Stop) => self.stop_requested = true,
            Message::Owner(Request::SetActive(active)) => {
                self.active = active;
                if self.ready >= self.commands.len() {
                    self.tell_all(|| if active { Command::Activate } else { Command::Deactivate });
                }
            }
            Message::Owner(Request::Snapshot(reply)) => {
                let _ = reply.send(self.snapshots(Duration::from_millis(500)));
            }
        }
    }

    fn failed(&mut self, failure: TaskFailure) {
        let TaskFailure { component, task, text, fatal } = failure;
        if fatal {
            self.fatal.get_or_insert_with(|| format!("task {task} of {component} {text}"));
        }
        self.report(component.to_string(), u32::try_from(task.0).unwrap_or(0), text, fatal);
    }

    fn report(&mut self, component: String, task: u32, text: String, fatal: bool) {
        self.error_count += 1;
        if !self.throttle.admits(&component, task, self.started.elapsed()) {
            return;
        }
        let report = ErrorReport { component, task, text, fatal, since_start: self.started.elapsed() };
        (self.on_error)(&report);
        if self.errors.len() < ERRORS_KEPT {
            self.errors.push(report);
        }
    }

    /// A core that stays in one call of user code holds everybody who lives on it: says who it is, once.
    fn name_stalled_cores(&mut self) {
        let now_ns = crate::clock::now_ns();
        for index in 0..self.statuses.len() {
            if matches!(self.blueprint.threads[index].host, crate::core::host::Host::Thread) {
                continue;
            }
            let status = &self.statuses[index];
            let running = status.running.load(Ordering::Acquire);
            let since_ns = status.running_since_ns.load(Ordering::Relaxed);
            let held_ns = now_ns.saturating_sub(since_ns);
            let stalled = running != 0 && held_ns > crate::clock::nanoseconds(STALL);
            if stalled && !self.stalled[index] {
                let name = self.blueprint.components.get(running as usize - 1).map_or("?", |id| id.as_str()).to_owned();
                let text = format!(
                    "holds core {index} for {:.1} s in one call: everything else on that core waits; declare it blocking",
                    held_ns as f64 / 1e9
                );
                self.report(name, 0, text, false);
            }
            self.stalled[index] = stalled;
        }
    }

    fn snapshots(&self, timeout: Duration) -> Vec<CoreSnapshot> {
        let (reply, replies) = channel();
        self.tell_all(|| Command::Snapshot(reply.clone()));
        drop(reply);
        let until = Instant::now() + timeout;
        let mut snapshots = Vec::new();
        while snapshots.len() < self.commands.len() {
            let left = until.saturating_duration_since(Instant::now());
            match replies.recv_timeout(left) {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(_) => break,
            }
        }
        snapshots.sort_by_key(|snapshot: &CoreSnapshot| snapshot.core);
        snapshots
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    executed: u64,
    control_received: u64,
    sent: u64,
    control_sent: u64,
    pending: u64,
}

impl Reading {
    fn is_balanced(self) -> bool {
        self.executed == self.sent && self.control_received == self.control_sent && self.pending == 0
    }
}
