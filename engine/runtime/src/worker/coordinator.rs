//! Leads a run: starts the spouts when every core is ready, watches, drains and takes the cores down in order.
//!
//! The order at the end of input: spouts say that they are finished and nothing is pending; ticks stop; the drain waits
//! until, over all cores, sent equals executed in two readings; then each bolt in topological order finishes (and may
//! emit) and the drain is repeated; then everything is closed. A stop from outside takes the same way, but nothing new is
//! taken or replayed, and what is not acked by the time limit is counted. Whoever is in a call by then is named and left
//! behind.
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
use crate::worker::error_thread::ErrorThread;
use ringstorm_types::ComponentId;
use ringstorm_types::topology::ComponentKind;
use std::sync::atomic::Ordering;

/// How often the coordinator looks at the cores when nothing happens.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// Between two readings of the drain.
const DRAIN_PERIOD: Duration = Duration::from_micros(500);
/// A core that is longer in one call of user code is named.
const STALL: Duration = Duration::from_secs(1);
/// How long cores may take to close and clean up before they are left behind.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for cores that do not even answer, since user code holds them.
const STOP_TIMEOUT_OF_HELD: Duration = Duration::from_millis(500);
/// How long cores may take to hand in their last counters.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);

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

pub(crate) struct Coordinator {
    pub(crate) blueprint: Arc<Blueprint>,
    pub(crate) statuses: Vec<Arc<CoreStatus>>,
    pub(crate) commands: Vec<Arc<CommandBox>>,
    pub(crate) messages: Receiver<Message>,
    pub(crate) error_thread: ErrorThread,
    pub(crate) errors: Vec<ErrorReport>,
    pub(crate) error_count: u64,
    pub(crate) throttle: crate::report::Throttle,
    pub(crate) ready: usize,
    /// By core: its thread is over.
    pub(crate) ended: Vec<bool>,
    /// By core: the component whose `finish` command it has carried out last.
    pub(crate) finished: Vec<Option<u32>>,
    pub(crate) fatal: Option<String>,
    pub(crate) stop_requested: bool,
    /// The spouts' input has ended, or the run has failed, or somebody has stopped it.
    pub(crate) is_ending: bool,
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
        self.is_ending = true;
        let timeout = Duration::from_secs_f64(self.blueprint.config.drain_timeout_secs().unwrap_or(30.0));
        let mut until = Instant::now() + timeout;
        let mut drained = self.fatal.is_none();
        let was_ready = self.ready >= self.commands.len();
        self.tell_all(|| Command::StopTicks);
        if self.stop_requested {
            self.tell_all(|| Command::Deactivate);
        }
        if self.fatal.is_none() && was_ready {
            drained = self.drain(until);
            let order = self.blueprint.order.clone();
            for component in order {
                if self.fatal.is_some() || !drained {
                    break;
                }
                if !self.stop_requested {
                    // Whoever stops it wants all of it to end in time; otherwise each component has as much.
                    until = Instant::now() + timeout;
                }
                drained = self.finish(&component, until) && self.drain(until);
                if !drained && !self.stop_requested {
                    self.fatal.get_or_insert(format!(
                        "component {component} and what came of it was not finished within {timeout:?} after the input \
                         had ended; raise ringstorm.drain.timeout.secs if it needs more"
                    ));
                }
            }
        }
        let snapshots = self.snapshots(SNAPSHOT_TIMEOUT);
        let (pending, in_flight) = self.left();
        self.end_cores(&snapshots);
        self.error_thread.end();
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
            cores_left_behind: self.ended.iter().filter(|ended| !**ended).count(),
        }
    }

    /// Has the tasks of a component finish. Returns whether all of them did.
    ///
    /// Spouts have nothing to finish, but once their cores have answered they emit nothing any more. One that does not
    /// come back from waiting for its source holds nobody up: what it may yet emit is not acked.
    fn finish(&mut self, component: &ComponentId, until: Instant) -> bool {
        let number = self.blueprint.components.iter().position(|known| known == component);
        let Some(number) = number.and_then(|number| u32::try_from(number).ok()) else { return true };
        let is_spout = self.blueprint.built.topology.components[component].kind == ComponentKind::Spout;
        let until = if is_spout { until.min(Instant::now() + STOP_TIMEOUT_OF_HELD) } else { until };
        let hosts = self.blueprint.threads_of(component);
        self.tell_all(|| Command::Finish { component: number });
        while !hosts.iter().all(|core| self.finished[*core] == Some(number)) {
            if self.fatal.is_some() || Instant::now() >= until {
                return is_spout;
            }
            self.wait(DRAIN_PERIOD);
        }
        true
    }

    /// Has all cores close and clean up and waits for their threads; names who holds those that do not end. Cores that
    /// have just answered have more time than those that user code holds.
    fn end_cores(&mut self, answers: &[CoreSnapshot]) {
        self.tell_all(|| Command::Stop { orderly: true });
        let told = Instant::now();
        let was_ready = self.ready >= self.commands.len();
        let has_answered = |core: usize| !was_ready || answers.iter().any(|answer| answer.core == core);
        while let Some(timeout) = (0..self.ended.len())
            .filter(|core| !self.ended[*core])
            .map(|core| if has_answered(core) { STOP_TIMEOUT } else { STOP_TIMEOUT_OF_HELD })
            .max()
            .filter(|timeout| told.elapsed() < *timeout)
        {
            self.wait(Duration::from_millis(20).min(timeout));
        }
        for core in (0..self.ended.len()).filter(|core| !self.ended[*core]).collect::<Vec<_>>() {
            let (component, held) = self.held(core);
            let text = format!(
                "does not return from a call that began {:.1} s ago: its thread is left behind and ends with the process",
                held.as_secs_f64()
            );
            self.report(component, 0, text, false);
        }
    }

    /// Which component's code holds a core, and for how long.
    fn held(&self, core: usize) -> (String, Duration) {
        let status = &self.statuses[core];
        let running = status.running.load(Ordering::Acquire);
        let held_ns = crate::clock::now_ns().saturating_sub(status.running_since_ns.load(Ordering::Relaxed));
        let component = (running as usize).checked_sub(1).and_then(|number| self.blueprint.components.get(number));
        (component.map_or("?", |id| id.as_str()).to_owned(), Duration::from_nanos(held_ns))
    }

    /// Waits until nothing is on its way and nothing is pending.
    fn drain(&mut self, until: Instant) -> bool {
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
        self.statuses.iter().all(|status| status.spouts_left().is_nothing())
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
        let pending = sum(|status| status.spouts_left().pending());
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
            Message::Core(Event::Ready) => self.ready += 1,
            Message::Core(Event::Idle) => {}
            Message::Core(Event::Finished { core, component }) => self.finished[core] = Some(component),
            Message::Core(Event::Failed { failure }) => self.failed(failure),
            Message::Core(Event::Reported { component, task, text }) => {
                self.report(component, task, text, false);
            }
            Message::Core(Event::MoreReported { count }) => self.error_count += count,
            Message::Core(Event::Ended { core, panic }) => {
                self.ended[core] = true;
                if let Some(text) = panic {
                    self.fatal.get_or_insert(format!("core {core} ended: {text}"));
                }
            }
            Message::Owner(Request::Stop) => self.stop_requested = true,
            Message::Owner(Request::SetActive(active)) => {
                self.active = active;
                // Whoever asks for it after a stop, or when all is done, is late.
                if self.ready >= self.commands.len() && !self.stop_requested && !self.is_ending {
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
            self.fatal.get_or_insert_with(|| format!("{component}, task {task}: {text}"));
        }
        self.report(component.to_string(), u32::try_from(task.0).unwrap_or(0), text, fatal);
    }

    fn report(&mut self, component: String, task: u32, text: String, fatal: bool) {
        self.error_count += 1;
        if !self.throttle.admits(&component, task, self.started.elapsed()) {
            return;
        }
        let report = ErrorReport { component, task, text, fatal, since_start: self.started.elapsed() };
        self.error_thread.tell(&report);
        if self.errors.len() < ERRORS_KEPT {
            self.errors.push(report);
        }
    }

    /// A core that stays in one call of user code holds everybody who lives on it: says who it is, once.
    fn name_stalled_cores(&mut self) {
        for index in 0..self.statuses.len() {
            if matches!(self.blueprint.threads[index].host, crate::core::host::Host::Thread) {
                continue;
            }
            let (component, held) = self.held(index);
            let stalled = self.statuses[index].running.load(Ordering::Acquire) != 0 && held > STALL;
            if stalled && !self.stalled[index] {
                let text = format!(
                    "holds core {index} for {:.1} s in one call: everything else on that core waits; declare it blocking",
                    held.as_secs_f64()
                );
                self.report(component, 0, text, false);
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
