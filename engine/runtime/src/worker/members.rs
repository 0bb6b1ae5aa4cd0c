//! Those whom a coordinator leads: the cores of this process, or the workers that are processes of their own.
//!
//! Invariants: a member says once that it is ready and once that it has ended; orders reach it in the order in which they
//! are given.
//!
//! Threading: used by the coordinator's thread. Errors: a member that does not answer counts as one that is not done.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ringstorm_types::ComponentId;
use serde::{Deserialize, Serialize};

use crate::core::host::Host;
use crate::core::status::{Command, CommandBox, CoreStatus};
use crate::metrics::{CoreSnapshot, ExecutorFigures};
use crate::worker::blueprint::Blueprint;

/// What a coordinator asks of all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Spouts may be asked for tuples.
    Activate,
    /// Spouts may not be asked for tuples.
    Deactivate,
    /// Spouts may be asked for as many tuples as messages fail from now on, and for nothing else.
    AskForReplays,
    /// No tick tuples any more.
    StopTicks,
    /// Tell whenever there is nothing to do.
    ReportIdle,
    /// Call `finish` of the component with this number.
    Finish {
        /// Its number.
        component: u32,
    },
    /// Call `close` and `cleanup` and end.
    Stop {
        /// Otherwise end without.
        orderly: bool,
    },
}

impl From<Order> for Command {
    fn from(order: Order) -> Self {
        match order {
            Order::Activate => Self::Activate,
            Order::Deactivate => Self::Deactivate,
            Order::AskForReplays => Self::AskForReplays,
            Order::StopTicks => Self::StopTicks,
            Order::ReportIdle => Self::ReportIdle,
            Order::Finish { component } => Self::Finish { component },
            Order::Stop { orderly } => Self::Stop { orderly },
        }
    }
}

/// What was received, or is with another worker: read before [`Sent`] over all members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Received {
    pub(crate) executed: u64,
    pub(crate) control: u64,
    /// Tuples and control messages that left for other workers.
    pub(crate) away: u64,
    pub(crate) control_away: u64,
}

/// What was sent, and what spouts have left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// Tuples and control messages that were sent here or came from other workers.
    pub(crate) tuples: u64,
    pub(crate) control: u64,
    /// Bytes that other workers have not confirmed.
    pub(crate) unconfirmed: u64,
    pub(crate) pending: u64,
    /// A spout may yet emit.
    pub(crate) may_emit: bool,
}

/// A reading of all members: first of everything received, then of everything sent. What is counted as received was
/// counted as sent before, so that equality is no accident of timing. Each worker is balanced by itself: what it sent
/// away is another's once that one has confirmed it. So a worker that dies takes no number along that others need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) received: Received,
    pub(crate) sent: Sent,
}

impl Reading {
    /// Everything that was sent has arrived, and nothing is pending.
    pub(crate) fn is_balanced(&self) -> bool {
        let Self { received, sent } = self;
        let arrived = received.executed + received.away == sent.tuples;
        let control_arrived = received.control + received.control_away == sent.control;
        arrived && control_arrived && sent.unconfirmed == 0 && sent.pending == 0
    }

    /// Tuples that were sent and not executed.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sent.tuples.saturating_sub(self.received.executed + self.received.away)
    }

    /// Nothing is pending and nothing will ever be.
    pub(crate) fn input_has_ended(&self) -> bool {
        self.sent.pending == 0 && !self.sent.may_emit
    }
}

impl std::ops::AddAssign for Received {
    fn add_assign(&mut self, other: Self) {
        self.executed += other.executed;
        self.control += other.control;
        self.away += other.away;
        self.control_away += other.control_away;
    }
}

impl std::ops::AddAssign for Sent {
    fn add_assign(&mut self, other: Self) {
        self.tuples += other.tuples;
        self.control += other.control;
        self.unconfirmed += other.unconfirmed;
        self.pending += other.pending;
        self.may_emit |= other.may_emit;
    }
}

/// Whose code holds a member, and since when.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) component: String,
    pub(crate) time: Duration,
}

/// See the module.
pub(crate) trait Members: Send {
    /// How many there are.
    fn count(&self) -> usize;

    /// The number by which the first of them is known in events.
    fn first_core(&self) -> usize;

    /// Gives an order to one.
    fn tell(&mut self, member: usize, order: Order);

    /// What people call it: `core 0`, `worker 1`.
    fn name(&self, member: usize) -> String;

    /// A member is gone without a word: begins to put another in its place, which will say that it is ready, if `goes_on`.
    /// Returns what to tell of it, behind its name.
    ///
    /// # Errors
    /// What to tell of it if nothing takes its place.
    fn replace(&mut self, member: usize, goes_on: bool) -> Result<String, String>;

    /// Gives an order to all.
    fn tell_all(&mut self, order: Order);

    /// The members that run tasks of a component.
    fn hosts_of(&self, component: &ComponentId) -> BTreeSet<usize>;

    /// A reading of all; `None` if somebody does not answer.
    fn reading(&mut self) -> Option<Reading>;

    /// A reading of those who answer, and the members that do not.
    fn partial_reading(&mut self) -> (Reading, BTreeSet<usize>);

    /// Looks whether all of them live. Returns what whoever runs this should know. Called every so often.
    fn look(&mut self) -> Vec<String>;

    /// The counters of those who answer in time, and the members that did.
    fn snapshots(&mut self, timeout: Duration) -> (Vec<CoreSnapshot>, BTreeSet<usize>);

    /// Which members are in a call of user code right now that others wait for.
    fn held(&self) -> Vec<(usize, Held)>;

    /// What to say of a member that does not end.
    fn left_behind(&self, member: usize) -> LeftBehind;
}

/// A member that did not end when it was told to.
#[derive(Debug)]
pub(crate) struct LeftBehind {
    /// Whose fault it is, and what happened.
    pub(crate) component: String,
    pub(crate) text: String,
    /// It is a thread of this process, which ends with it.
    pub(crate) is_thread: bool,
}

/// The cores of this process.
pub(crate) struct LocalCores {
    pub(crate) blueprint: Arc<Blueprint>,
    pub(crate) statuses: Vec<Arc<CoreStatus>>,
    pub(crate) commands: Vec<Arc<CommandBox>>,
}

impl LocalCores {
    /// What this process has received.
    pub(crate) fn received(&self) -> Received {
        let mut all = Received::default();
        for status in &self.statuses {
            let (away, control_away) = (&status.sent_away, &status.control_sent_away);
            all += Received {
                away: away.load(Ordering::Acquire),
                control_away: control_away.load(Ordering::Acquire),
                executed: status.executed.load(Ordering::Acquire),
                control: status.control_received.load(Ordering::Acquire),
            };
        }
        all
    }

    /// What the executors of those cores have counted that answer in time.
    pub(crate) fn figures(&self, timeout: Duration) -> Vec<ExecutorFigures> {
        let (reply, replies) = channel();
        self.commands.iter().for_each(|commands| commands.send(Command::Figures(reply.clone())));
        drop(reply);
        let until = Instant::now() + timeout;
        let answer = |_| replies.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
        self.commands.iter().map_while(answer).flatten().collect()
    }

    /// Which component's code holds a core.
    fn holder(&self, member: usize) -> Held {
        let status = &self.statuses[member];
        let running = status.running.load(Ordering::Acquire);
        let time_ns = crate::clock::now_ns().saturating_sub(status.running_since_ns.load(Ordering::Relaxed));
        let component = (running as usize).checked_sub(1).and_then(|number| self.blueprint.components.get(number));
        let component = component.map_or("?", |id| id.as_str()).to_owned();
        Held { component, time: Duration::from_nanos(time_ns) }
    }

    /// What this process has sent.
    pub(crate) fn sent(&self) -> Sent {
        let mut all = Sent::default();
        for status in &self.statuses {
            let left = status.spouts_left();
            all += Sent {
                tuples: status.sent.load(Ordering::Acquire) + status.came.load(Ordering::Acquire),
                control: status.control_sent.load(Ordering::Acquire) + status.control_came.load(Ordering::Acquire),
                unconfirmed: status.unconfirmed.load(Ordering::Acquire),
                pending: left.pending(),
                may_emit: left.may_emit(),
            };
        }
        all
    }
}

impl Members for LocalCores {
    fn count(&self) -> usize {
        self.commands.len()
    }

    fn first_core(&self) -> usize {
        self.blueprint.own_threads().start
    }

    fn tell(&mut self, member: usize, order: Order) {
        self.commands[member].send(order.into());
    }

    fn name(&self, member: usize) -> String {
        format!("core {}", self.first_core() + member)
    }

    fn replace(&mut self, _: usize, _: bool) -> Result<String, String> {
        Err("is gone".into())
    }

    fn tell_all(&mut self, order: Order) {
        self.commands.iter().for_each(|commands| commands.send(order.into()));
    }

    fn hosts_of(&self, component: &ComponentId) -> BTreeSet<usize> {
        let own = self.blueprint.own_threads();
        let hosts = self.blueprint.threads_of(component).into_iter();
        hosts.filter(|thread| own.contains(thread)).map(|thread| thread - own.start).collect()
    }

    fn reading(&mut self) -> Option<Reading> {
        Some(Reading { received: self.received(), sent: self.sent() })
    }

    fn partial_reading(&mut self) -> (Reading, BTreeSet<usize>) {
        (Reading { received: self.received(), sent: self.sent() }, BTreeSet::new())
    }

    fn look(&mut self) -> Vec<String> {
        // Cores that user code holds are named as such.
        Vec::new()
    }

    fn snapshots(&mut self, timeout: Duration) -> (Vec<CoreSnapshot>, BTreeSet<usize>) {
        let (reply, replies) = channel();
        self.commands.iter().for_each(|commands| commands.send(Command::Snapshot(reply.clone())));
        drop(reply);
        let until = Instant::now() + timeout;
        let mut snapshots: Vec<CoreSnapshot> = Vec::new();
        while snapshots.len() < self.commands.len() {
            match replies.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(_) => break,
            }
        }
        snapshots.sort_by_key(|snapshot| snapshot.core);
        let first = self.blueprint.own_threads().start;
        let answered = snapshots.iter().map(|snapshot| snapshot.core - first).collect();
        (snapshots, answered)
    }

    fn held(&self) -> Vec<(usize, Held)> {
        let first = self.blueprint.own_threads().start;
        let cores =
            (0..self.statuses.len()).filter(|core| !matches!(self.blueprint.threads[first + core].host, Host::Thread));
        let running = cores.filter(|core| self.statuses[*core].running.load(Ordering::Acquire) != 0);
        running.map(|core| (core, self.holder(core))).collect()
    }

    fn left_behind(&self, member: usize) -> LeftBehind {
        let Held { component, time } = self.holder(member);
        let text = format!(
            "does not return from a call that began {:.1} s ago: its thread is left behind and ends with the process",
            time.as_secs_f64()
        );
        LeftBehind { component, text, is_thread: true }
    }
}
