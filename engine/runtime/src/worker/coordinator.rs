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

mod ending;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::core::events::Place;
use crate::core::failure::TaskFailure;
use crate::core::status::Event;
use crate::metrics::CoreSnapshot;
use crate::report::{ErrorReport, RunReport};
use crate::worker::blueprint::Blueprint;
use crate::worker::error_thread::{ErrorListener, ErrorThread};
use crate::worker::members::{Members, Order, Reading};
use crate::worker::owner::{Open, Wishes};
use crate::worker::stalls::Stalls;
use ringstorm_types::throttle::Throttle;

/// How often the coordinator looks at the cores when nothing happens.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// Between two readings of the drain.
const DRAIN_PERIOD: Duration = Duration::from_micros(500);
/// How long cores may take to hand in their last counters.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);

/// Messages handled in a row at most: whatever comes, the drain and the time limits have their turn.
const MESSAGES_IN_A_ROW: usize = 1024;

/// What reaches the coordinator.
#[derive(Debug)]
pub(crate) enum Message {
    Core(Event),
    /// The same, of a kind of which only so many may wait.
    Placed(Event, Place),
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
    worker_deaths: u64,
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
    /// When it was last looked whether the members live.
    looked: Instant,
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
            worker_deaths: 0,
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
            looked: Instant::now(),
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

    fn wait(&mut self, timeout: Duration) {
        if self.looked.elapsed() >= LOOK_PERIOD {
            self.looked = Instant::now();
            self.members.look().iter().for_each(|text| (self.on_note)(text));
        }
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
            Message::Placed(event, place) => {
                drop(place);
                self.handle(Message::Core(event));
            }
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

    /// A member is gone without a word. Another may take its place, but what the code in it held in memory is lost: an
    /// error in either case.
    fn member_has_died(&mut self, member: usize) {
        let goes_on = self.is_leading && self.fatal.is_none();
        self.worker_deaths += 1;
        let name = self.members.name(member);
        match self.members.replace(member, goes_on) {
            Ok(text) => {
                self.ready[member] = false;
                self.report(name, 0, text, false);
            }
            Err(text) => {
                self.fatal.get_or_insert_with(|| format!("{name} {text}"));
                self.ended[member] = true;
                self.report(name, 0, text, true);
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
