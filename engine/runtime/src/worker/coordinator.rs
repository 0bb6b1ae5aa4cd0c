//! Leads a run: starts the spouts when every core is ready, watches, drains and takes the cores down in order.
//!
//! The order at the end of input: spouts say that they are finished and nothing is pending; ticks stop; the drain waits
//! until, over all cores, sent equals executed in two readings; then each bolt in topological order finishes (and may
//! emit) and the drain is repeated; then everything is closed. A stop from outside takes the same way, but nothing new is
//! taken or replayed, and what is not acked by the time limit is counted. Whoever is in a call by then is named and left
//! behind.
//!
//! Whom it leads are [`Members`]: the cores of this process, or workers that are processes of their own.
//!
//! Threading: a thread of its own that sleeps between events. Errors: a fatal failure of user code ends the run with
//! it; a core that ends by itself is a fault of the runtime and ends the run too.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::core::failure::TaskFailure;
use crate::core::status::Event;
use crate::metrics::CoreSnapshot;
use crate::report::{ErrorReport, Outcome, RunReport};
use crate::worker::blueprint::Blueprint;
use crate::worker::error_thread::{ErrorListener, ErrorThread};
use crate::worker::members::{Held, Members, Order, Reading};
use crate::worker::owner::{Open, Wishes};
use crate::worker::stalls::Stalls;
use ringstorm_types::ComponentId;
use ringstorm_types::throttle::Throttle;
use ringstorm_types::topology::ComponentKind;

/// How often the coordinator looks at the cores when nothing happens.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// Between two readings of the drain.
const DRAIN_PERIOD: Duration = Duration::from_micros(500);
/// How long cores may take to close and clean up before they are left behind.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for cores that do not even answer, since user code holds them.
const STOP_TIMEOUT_OF_HELD: Duration = Duration::from_millis(500);
/// How long cores may take to hand in their last counters.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);

/// Messages handled in a row at most: whatever comes, the drain and the time limits have their turn.
const MESSAGES_IN_A_ROW: usize = 1024;

/// What reaches the coordinator.
#[derive(Debug)]
pub(crate) enum Message {
    Core(Event),
    /// The owner has a wish, see [`Wishes`].
    Owner,
}

pub(crate) struct Coordinator {
    blueprint: Arc<Blueprint>,
    members: Box<dyn Members>,
    /// The number of the first member.
    first_core: usize,
    messages: Receiver<Message>,
    wishes: Arc<Wishes>,
    error_thread: ErrorThread,
    errors: Vec<ErrorReport>,
    error_count: u64,
    throttle: Throttle,
    /// By member: it is ready, and so is whoever has taken its place since.
    ready: Vec<bool>,
    /// By member: it is over.
    ended: Vec<bool>,
    /// By member: the component whose `finish` order it has carried out last.
    finished: Vec<Option<u32>>,
    fatal: Option<String>,
    stop_requested: bool,
    /// The spouts' input has ended, or the run has failed, or somebody has stopped it.
    is_ending: bool,
    /// What the members counted in all, once they are told to end.
    last_snapshots: Option<Vec<CoreSnapshot>>,
    active: bool,
    /// Tuples may flow; the end has not begun.
    is_leading: bool,
    /// All members were ready once.
    has_begun: bool,
    started: Instant,
    stalls: Stalls,
    on_note: NoteListener,
}

/// Called with what happens to connections.
pub(crate) type NoteListener = Box<dyn FnMut(&str) + Send>;

/// Errors kept for the report; older ones stay counted.
const ERRORS_KEPT: usize = 200;

impl Coordinator {
    /// Leads those members; what happens to them comes out of `messages`.
    pub(crate) fn new(
        blueprint: &Arc<Blueprint>,
        members: Box<dyn Members>,
        (messages, wishes): (Receiver<Message>, Arc<Wishes>),
        on_error: Option<ErrorListener>,
        on_note: NoteListener,
        active: bool,
    ) -> Self {
        let config = &blueprint.config;
        let throttle = Throttle::new(
            config.max_error_report_per_interval().unwrap_or(5),
            Duration::from_secs(u64::from(config.error_throttle_interval_secs().unwrap_or(10))),
        );
        let count = members.count();
        let stalls = Stalls::new(count, members.first_core());
        Self {
            first_core: members.first_core(),
            blueprint: Arc::clone(blueprint),
            members,
            messages,
            wishes,
            error_thread: ErrorThread::start(on_error),
            errors: Vec::new(),
            error_count: 0,
            throttle,
            ready: vec![false; count],
            ended: vec![false; count],
            finished: vec![None; count],
            fatal: None,
            stop_requested: false,
            is_ending: false,
            last_snapshots: None,
            is_leading: false,
            has_begun: false,
            active,
            started: Instant::now(),
            stalls,
            on_note,
        }
    }

    /// Leads the run to its end.
    pub(crate) fn run(mut self) -> RunReport {
        while !self.has_begun && self.fatal.is_none() && !self.stop_requested {
            self.wait(LOOK_PERIOD);
        }
        if self.fatal.is_none() && !self.stop_requested {
            if self.active {
                self.members.tell_all(Order::Activate);
            }
            self.is_leading = true;
            self.lead();
            self.is_leading = false;
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
                self.members.tell_all(Order::ReportIdle);
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
        self.members.tell_all(Order::StopTicks);
        if self.stop_requested {
            self.members.tell_all(Order::Deactivate);
        }
        if self.fatal.is_none() && self.has_begun {
            drained = self.drain(until);
            self.name_those_away();
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
        let (snapshots, answered) = self.members.snapshots(SNAPSHOT_TIMEOUT);
        self.last_snapshots = Some(snapshots.clone());
        let (pending, in_flight) = self.left();
        self.end_members(&answered);
        self.error_thread.end();
        self.wishes.end();
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
        let hosts = self.members.hosts_of(component);
        self.members.tell_all(Order::Finish { component: number });
        while !hosts.iter().all(|member| self.finished[*member] == Some(number)) {
            if self.fatal.is_some() || Instant::now() >= until {
                return is_spout;
            }
            self.wait(DRAIN_PERIOD);
        }
        true
    }

    /// Has all members close and clean up and waits for their ends; names who holds those that do not end. Those that
    /// have just answered have more time than those that user code holds.
    fn end_members(&mut self, answered: &BTreeSet<usize>) {
        self.members.tell_all(Order::Stop { orderly: true });
        let told = Instant::now();
        let has_begun = self.has_begun;
        let has_answered = |member: usize| !has_begun || answered.contains(&member);
        while let Some(timeout) = (0..self.ended.len())
            .filter(|member| !self.ended[*member])
            .map(|member| if has_answered(member) { STOP_TIMEOUT } else { STOP_TIMEOUT_OF_HELD })
            .max()
            .filter(|timeout| told.elapsed() < *timeout)
        {
            self.wait(Duration::from_millis(20).min(timeout));
        }
        for member in (0..self.ended.len()).filter(|member| !self.ended[*member]).collect::<Vec<_>>() {
            let Held { component, time } = self.members.holder(member);
            let text = format!(
                "does not return from a call that began {:.1} s ago: its thread is left behind and ends with the process",
                time.as_secs_f64()
            );
            self.report(component, 0, text, false);
        }
    }

    /// A member whose place was not taken in time cannot say what was left there.
    fn name_those_away(&mut self) {
        let away: Vec<String> = (0..self.ready.len())
            .filter(|member| !self.ready[*member])
            .map(|member| self.members.holder(member).component)
            .collect();
        if !away.is_empty() {
            self.fatal.get_or_insert(format!(
                "{} had died, and nobody was ready in its place before the time to drain was over; what was left there is \
                 unknown",
                away.join(", ")
            ));
        }
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

    fn input_has_ended(&mut self) -> bool {
        self.members.reading().is_some_and(|reading| reading.input_has_ended())
    }

    /// Two equal readings of "everything sent was executed, every control message was read, nothing is pending".
    fn is_drained(&mut self) -> bool {
        let first = self.members.reading();
        first.as_ref().is_some_and(Reading::is_balanced) && {
            std::thread::sleep(Duration::from_micros(100));
            first == self.members.reading()
        }
    }

    /// Messages pending and tuples not executed.
    fn left(&mut self) -> (u64, u64) {
        let Reading { received, sent } = self.members.reading().unwrap_or_default();
        (sent.pending, sent.tuples.saturating_sub(received.executed + received.away))
    }

    fn wait(&mut self, timeout: Duration) {
        match self.messages.recv_timeout(timeout) {
            Ok(message) => self.handle(message),
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => self.stop_requested = true,
        }
        for _ in 0..MESSAGES_IN_A_ROW {
            let Ok(message) = self.messages.try_recv() else { return };
            self.handle(message);
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Core(Event::Ready { core }) => self.member_is_ready(core - self.first_core),
            Message::Core(Event::Idle | Event::Connected { .. } | Event::Ahead { .. }) => {}
            Message::Core(Event::Finished { core, component }) => {
                self.finished[core - self.first_core] = Some(component);
            }
            Message::Core(Event::Failed { failure }) => self.failed(failure),
            Message::Core(Event::Reported { component, task, text }) => {
                self.report(component, task, text, false);
            }
            Message::Core(Event::MoreReported { count }) => self.error_count += count,
            Message::Core(Event::ConnectionLost { .. }) => {}
            Message::Core(Event::Noted { text }) => (self.on_note)(&text),
            Message::Core(Event::Died { core }) => self.member_has_died(core - self.first_core),
            Message::Core(Event::Ended { core, panic }) => {
                self.member_has_ended(core - self.first_core, panic);
            }
            Message::Core(Event::StopAsked) => self.stop_requested = true,
            Message::Owner => self.heed(),
        }
    }

    fn heed(&mut self) {
        let Open { stop, active, askers, .. } = self.wishes.take();
        self.stop_requested |= stop;
        if let Some(active) = active {
            self.active = active;
            // Whoever asks for it after a stop, or when all is done, is late. One that is not ready yet hears it then.
            if self.has_begun && !self.stop_requested && !self.is_ending {
                self.members.tell_all(if active { Order::Activate } else { Order::Deactivate });
            }
        }
        if !askers.is_empty() {
            // Members that end do so one after the other; a reading of those that are left would lack the others' counts.
            let last = self.last_snapshots.clone();
            let snapshots = last.unwrap_or_else(|| self.members.snapshots(SNAPSHOT_TIMEOUT).0);
            for asker in askers {
                // Who asked may have given up.
                let _ = asker.send(snapshots.clone());
            }
        }
    }

    fn member_is_ready(&mut self, member: usize) {
        self.ready[member] = true;
        self.has_begun |= self.ready.iter().all(|ready| *ready);
        // One that takes another's place joins what goes on, which may be the end of a run that was stopped.
        if self.is_leading {
            if self.active {
                self.members.tell(member, Order::Activate);
            }
            self.members.tell(member, Order::ReportIdle);
        } else if self.is_ending {
            self.members.tell(member, Order::StopTicks);
        }
    }

    fn member_has_ended(&mut self, member: usize, panic: Option<String>) {
        if let Some(text) = panic {
            self.fatal.get_or_insert(text);
        }
        self.ended[member] = true;
    }

    /// A member is gone without a word.
    fn member_has_died(&mut self, member: usize) {
        let goes_on = self.is_leading && self.fatal.is_none();
        match self.members.replace(member, goes_on) {
            Ok(text) => {
                self.ready[member] = false;
                (self.on_note)(&text);
            }
            Err(text) => {
                self.fatal.get_or_insert(text);
                self.ended[member] = true;
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

    fn name_stalled_cores(&mut self) {
        for (component, text) in self.stalls.look(&*self.members) {
            self.report(component, 0, text, false);
        }
    }
}
