//! The look at the tree that comes before everything: a topology is built with the numbers of executors that stand in its
//! base, which a rebalance may have changed since it was submitted.
//!
//! A machine that asks for the base until it has it, and from then on is the worker's control, which whoever runs this
//! makes of it. So both speak with the tree over one session.
//!
//! Invariants: the base is read fresh; one read at a time; after trouble there is a pause that grows. A topology without
//! a base is gone. Threading: plain data but for procedures. Errors: troubles are noted once, and tried again.

use std::time::Duration;

use ringstorm_control::machine::Machine;
use ringstorm_control::pause::pause;
use ringstorm_control::session::{Meaning, Session};
use ringstorm_control::talks::{FromStore, Progress, Talks, ToStore};
use ringstorm_control::time::{Moment, Now};
use ringstorm_records::records::StormBase;
use ringstorm_records::znode::{Node, NodeName};
use ringstorm_store::cluster::{Cluster, Reading, Trouble};
use ringstorm_store::store::SessionEvent;
use ringstorm_worker::{WorkerControl, WorkerEffect, WorkerInput};

/// The pause after the first trouble, and the longest one.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(3)];

/// What the machine is told.
#[derive(Debug)]
pub(crate) enum Told {
    /// The tree said something.
    Store(FromStore),
    /// This is the control, made of the base that was given.
    Begin(Box<WorkerControl>),
    /// Something for the control; passed over before there is one.
    Worker(WorkerInput),
}

/// What the machine wants.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// An operation of the tree.
    Store(ToStore),
    /// A control is to be made of this base. Comes once.
    Base(Box<StormBase>),
    /// The topology is gone. Nothing follows.
    Gone,
    /// The control wants something.
    Worker(WorkerEffect),
    /// A line for the log.
    Note(String),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Beginning {
    cluster: Cluster,
    topology: NodeName,
    session: Session,
    /// How the session was opened that is used now.
    opened: Option<SessionEvent>,
    talks: Talks<(), Result<Reading<StormBase>, Trouble>>,
    is_under_way: bool,
    due: Moment,
    troubles: u32,
    /// The base was found, or is not there.
    is_over: bool,
    control: Option<Box<WorkerControl>>,
}

impl Beginning {
    pub(crate) fn new(cluster: Cluster, topology: NodeName) -> Self {
        Self {
            cluster,
            topology,
            session: Session::default(),
            opened: None,
            talks: Talks::default(),
            is_under_way: false,
            due: Moment::default(),
            troubles: 0,
            is_over: false,
            control: None,
        }
    }

    /// The worker's control, once there is one.
    pub(crate) fn control(&self) -> Option<&WorkerControl> {
        self.control.as_deref()
    }

    /// What an effect asks of the tree.
    pub(crate) fn sort(wanted: Wanted) -> Result<ToStore, Wanted> {
        match wanted {
            Wanted::Store(asked) | Wanted::Worker(WorkerEffect::Store(asked)) => Ok(asked),
            other => Err(other),
        }
    }

    fn heard(&mut self, now: Now, said: FromStore) -> Vec<Wanted> {
        match said {
            FromStore::Session(event) => {
                if let SessionEvent::Opened { .. } = event {
                    self.opened = Some(event.clone());
                }
                if !matches!(self.session.take(&event), Meaning::Stops) {
                    self.due = self.due.min(now.moment);
                }
                Vec::new()
            }
            FromStore::Watch(_) => Vec::new(),
            FromStore::Outcome { question, outcome } => {
                let progress = self.talks.answer(question, outcome);
                self.progress(now, progress)
            }
        }
    }

    fn progress(&mut self, now: Now, progress: Progress<(), Result<Reading<StormBase>, Trouble>>) -> Vec<Wanted> {
        let result = match progress {
            Progress::Asks(asked) => return asked.into_iter().map(Wanted::Store).collect(),
            Progress::Done((), result) => result,
        };
        self.is_under_way = false;
        let trouble = match result {
            Ok(Reading::Found { value, .. }) => {
                self.is_over = true;
                return vec![Wanted::Base(Box::new(value))];
            }
            Ok(Reading::Absent) => {
                self.is_over = true;
                return vec![Wanted::Gone];
            }
            Ok(Reading::Garbage { why, .. }) => format!("the state of the topology cannot be read ({why})"),
            Err(trouble) => format!("the tree cannot be read ({trouble})"),
        };
        self.troubles = self.troubles.saturating_add(1);
        self.due = now.moment + pause(PAUSES[0], PAUSES[1], self.troubles);
        let is_first = self.troubles == 1;
        is_first
            .then(|| Wanted::Note(format!("{trouble}; nothing runs before it is, and it is tried again")))
            .into_iter()
            .collect()
    }

    fn go_on(&mut self, now: Now) -> Vec<Wanted> {
        let (Some(session), false, false) = (self.session.usable(), self.is_under_way, self.is_over) else {
            return Vec::new();
        };
        if self.due > now.moment {
            return Vec::new();
        }
        self.is_under_way = true;
        let topology = self.topology.clone();
        let procedure =
            self.cluster.procedure(move |tree| async move { tree.read_fresh(&Node::Storm { topology }).await });
        let progress = self.talks.begin(session, (), procedure);
        self.progress(now, progress)
    }
}

fn worker(effects: Vec<WorkerEffect>) -> Vec<Wanted> {
    effects.into_iter().map(Wanted::Worker).collect()
}

impl Machine for Beginning {
    type Input = Told;
    type Effect = Wanted;

    fn handle(&mut self, now: Now, input: Told) -> Vec<Wanted> {
        match (input, &mut self.control) {
            (Told::Store(said), Some(control)) => worker(control.handle(now, WorkerInput::Store(said))),
            (Told::Worker(input), Some(control)) => worker(control.handle(now, input)),
            (Told::Begin(mut control), None) => {
                // What came before it is told now.
                let opened = self.opened.take().filter(|_| self.session != Session::None);
                let mut effects = Vec::new();
                if let Some(event) = opened {
                    effects.extend(control.handle(now, WorkerInput::Store(FromStore::Session(event))));
                }
                if let Session::Suspended(session) = self.session {
                    let event = SessionEvent::Suspended { session };
                    effects.extend(control.handle(now, WorkerInput::Store(FromStore::Session(event))));
                }
                self.control = Some(control);
                worker(effects)
            }
            (Told::Store(said), None) => {
                let mut wanted = self.heard(now, said);
                wanted.extend(self.go_on(now));
                wanted
            }
            (Told::Begin(_), Some(_)) | (Told::Worker(_), None) => Vec::new(),
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Wanted> {
        match &mut self.control {
            Some(control) => worker(control.wake(now)),
            None => self.go_on(now),
        }
    }

    fn wake_at(&self) -> Option<Moment> {
        if let Some(control) = &self.control {
            return control.wake_at();
        }
        self.session.usable().filter(|_| !self.is_under_way && !self.is_over).map(|_| self.due)
    }
}

#[cfg(test)]
mod tests;
