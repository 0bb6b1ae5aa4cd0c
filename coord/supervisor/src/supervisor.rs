//! The supervisor: who it is to the tree, what the tree wants of it, and its slots.
//!
//! # When it acts
//!
//! It starts and stops nothing before the tree has admitted it: it has said under its id that it lives, and no other live
//! session held that id. From then on it acts with or without a session, until it hears that another session holds its
//! id. Before its first look at the assignments it does not know what is wanted, and leaves everything as it is.
//!
//! # Who it is
//!
//! Its id is in the local state. The node of an earlier session of its own is replaced at once; it knows these sessions
//! by their numbers, which it saves before it says that it lives, and only trusts those that were saved on
//! [this very host](crate::settings::Host::mark): a copy of the disk elsewhere does not make another host's session its
//! own. Which is the copy and which the original it cannot know, so whoever is second waits, says so once, and tries
//! again.
//!
//! # What of the tree it believes
//!
//! What a look has found as a whole, behind a sync, in a session that was not interrupted meanwhile. See
//! [`Settings::gone_for`] for what seems to be gone. So an older tree that was restored stops nothing: lower versions are
//! passed over until the leader has written higher ones. A tree that was deleted stops nothing as long as nobody makes it
//! anew; when it is there again and has no topologies, those that ran are gone for good, and their workers are stopped.
//!
//! Invariants: those of the [crate]. Threading: plain data. Errors: said in notes, and tried again after pauses.

mod announcement;
mod conversations;
mod working;

use std::collections::BTreeMap;

use ringstorm_control::machine::Machine;
use ringstorm_control::session::Session;
use ringstorm_control::talks::Talks;
use ringstorm_control::time::{Moment, Now};
use ringstorm_records::znode::{InvalidName, NodeName};
use ringstorm_store::cluster::{Cluster, Trouble};
use ringstorm_store::store::SessionId;

use crate::assigned::Assignments;
use crate::chore::Chore;
use crate::code::Codes;
use crate::events::{OperatorEvent, SupervisorEffect, SupervisorInput, WorkerTimeouts};
use crate::local_state::LocalState;
use crate::notes::Notes;
use crate::plants::Plants;
use crate::settings::{Host, Settings};
use crate::slot::{Process, Slot};
use crate::stopping::Stopping;
use announcement::Publication;
use conversations::{Tag, Value};

/// What a supervisor starts with.
#[derive(Clone, Debug)]
pub struct Start {
    /// How to behave.
    pub settings: Settings,
    /// Where.
    pub host: Host,
    /// The tree.
    pub cluster: Cluster,
    /// What the daemon before has saved; the default if there was none.
    pub local_state: LocalState,
    /// An id that nobody has, for a first start: Storm takes a random UUID, `-`, and the host's name.
    pub first_id: String,
    /// The worker processes of this supervisor that are running on the host, also those of slots that it has no more.
    pub found: Vec<FoundWorker>,
    /// The code that is whole and on disk.
    pub code: BTreeMap<String, WorkerTimeouts>,
}

/// A worker process that was found running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundWorker {
    /// The port of its slot.
    pub port: u16,
    /// Its incarnation.
    pub incarnation: u64,
    /// Its process id.
    pub pid: u32,
    /// Its topology's id.
    pub topology: String,
}

/// What the tree says to this supervisor's id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nothing yet, since the start.
    #[default]
    Unknown,
    /// It may act.
    Admitted,
    /// Another live session holds it: it may not act.
    Refused,
}

/// A supervisor.
#[derive(Debug)]
pub struct Supervisor {
    settings: Settings,
    host: Host,
    cluster: Cluster,
    plants: Plants,
    id: NodeName,
    started: Now,
    /// What is on disk, or will be before anything else is done.
    saved: LocalState,

    session: Session,
    /// The sessions of this host that may not be over, oldest first.
    sessions: Vec<SessionId>,
    /// One of them that is known to hold the node.
    replaces: Option<SessionId>,
    /// Counts what happens to the session, so that conversations from before are told apart.
    generation: u64,
    talks: Talks<Tag, Result<Value, Trouble>>,
    is_prepared: bool,
    prepare: Chore,
    announce: Chore,
    look: Chore,
    standing: Standing,
    published: Option<Publication>,

    assignments: Assignments,
    slots: BTreeMap<u16, Slot>,
    /// Processes that belong to no slot's state, by port and incarnation; ended as soon as the supervisor may act.
    strays: BTreeMap<(u16, u64), Option<Stopping>>,
    codes: Codes,
    is_out_of_service: bool,

    notes: Notes,
    /// When it asked to be woken last.
    alarm: Option<Moment>,
    is_stopped: bool,
}

impl Supervisor {
    /// A supervisor that starts. It says nothing before its first input.
    ///
    /// # Errors
    /// The id that it has, or should take, is no name of a node.
    pub fn new(start: Start, now: Now) -> Result<Self, InvalidName> {
        let Start { settings, host, cluster, local_state, first_id, found, code } = start;
        let id = NodeName::new(local_state.supervisor.as_ref().unwrap_or(&first_id))?;
        let is_this_host = local_state.host_mark == host.mark;
        let sessions = local_state.sessions.iter().filter(|_| is_this_host).map(|number| SessionId(*number)).collect();

        let mut strays = BTreeMap::new();
        let mut adopted = BTreeMap::new();
        for worker in found {
            let process = (worker.port, worker.incarnation);
            match adopt(&local_state, &worker, &code, now.moment).filter(|_| settings.ports.contains(&worker.port)) {
                Some(it) => drop(adopted.insert(worker.port, it)),
                None => drop(strays.insert(process, None)),
            }
        }
        let slot = |port: u16| {
            let last = local_state.slots.get(&port).map_or(0, |slot| slot.last_incarnation);
            let mut slot = Slot::new(port, last, adopted.remove(&port));
            strays.keys().filter(|(of, _)| *of == port).for_each(|(_, incarnation)| slot.saw(*incarnation));
            (port, slot)
        };
        let slots = settings.ports.iter().copied().map(slot).collect();
        Ok(Self {
            assignments: Assignments::new(id.clone(), local_state.assigned.clone()),
            is_out_of_service: local_state.is_out_of_service,
            saved: local_state,
            settings,
            host,
            cluster,
            plants: Plants::default(),
            id,
            started: now,
            session: Session::None,
            sessions,
            replaces: None,
            generation: 0,
            talks: Talks::default(),
            is_prepared: false,
            prepare: Chore::default(),
            announce: Chore::default(),
            look: Chore::default(),
            standing: Standing::Unknown,
            published: None,
            slots,
            strays,
            codes: Codes::new(code),
            notes: Notes::default(),
            alarm: None,
            is_stopped: false,
        })
    }

    /// Breaks rules on purpose.
    #[cfg(feature = "planted-bugs")]
    #[must_use]
    pub fn planted(self, plants: Plants) -> Self {
        Self { plants, ..self }
    }

    /// Its id.
    pub fn id(&self) -> &NodeName {
        &self.id
    }

    /// What the tree says to its id.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Its slots, by port.
    pub fn slots(&self) -> impl Iterator<Item = (u16, &Slot)> {
        self.slots.iter().map(|(port, slot)| (*port, slot))
    }

    fn note(&mut self, about: &str, line: impl Into<String>, effects: &mut Vec<SupervisorEffect>) {
        effects.extend(self.notes.changed(about, line.into()).map(SupervisorEffect::Note));
    }

    fn operator(&mut self, event: OperatorEvent, effects: &mut Vec<SupervisorEffect>) {
        let is_out = event == OperatorEvent::OutOfService;
        if is_out != self.is_out_of_service {
            self.is_out_of_service = is_out;
            let line = if is_out {
                "out of service: no new work is taken; what runs goes on until it is assigned elsewhere"
            } else {
                "in service again"
            };
            effects.push(SupervisorEffect::Note(line.to_owned()));
        }
    }

    /// Does what is due, after whatever happened.
    fn go_on(&mut self, now: Now, mut effects: Vec<SupervisorEffect>) -> Vec<SupervisorEffect> {
        if !self.is_stopped {
            self.settle(now, &mut effects);
            self.converse(now, &mut effects);
        }
        if !self.is_saved() {
            let state = self.local_state();
            self.saved = state.clone();
            // In front of everything that relies on it.
            effects.insert(0, SupervisorEffect::SaveState(state));
        }
        self.alarm = self.wake_at();
        effects
    }
}

impl Machine for Supervisor {
    type Input = SupervisorInput;
    type Effect = SupervisorEffect;

    fn handle(&mut self, now: Now, input: SupervisorInput) -> Vec<SupervisorEffect> {
        if self.is_stopped {
            return Vec::new();
        }
        let mut effects = Vec::new();
        self.thaw(now, &mut effects);
        match input {
            SupervisorInput::Store(from) => self.hear(now, from, &mut effects),
            SupervisorInput::Process(event) => self.process(now, event, &mut effects),
            SupervisorInput::Code(event) => self.code(now, event, &mut effects),
            SupervisorInput::Operator(event) => self.operator(event, &mut effects),
        }
        self.go_on(now, effects)
    }

    fn wake(&mut self, now: Now) -> Vec<SupervisorEffect> {
        if self.is_stopped {
            return Vec::new();
        }
        let mut effects = Vec::new();
        self.thaw(now, &mut effects);
        self.go_on(now, effects)
    }

    fn wake_at(&self) -> Option<Moment> {
        if self.is_stopped {
            return None;
        }
        let chores = [&self.prepare, &self.announce, &self.look].into_iter().filter_map(Chore::due);
        let chores = chores.filter(|_| self.session.usable().is_some());
        chores.chain(self.work_wakes_at()).min()
    }
}

/// The process, if it is the one that is remembered.
fn adopt(
    state: &LocalState,
    worker: &FoundWorker,
    code: &BTreeMap<String, WorkerTimeouts>,
    now: Moment,
) -> Option<Process> {
    let running = state.slots.get(&worker.port)?.running.as_ref()?;
    let is_it = running.incarnation == worker.incarnation
        && running.share.topology == worker.topology
        && running.pid.is_none_or(|pid| pid == worker.pid);
    let timeouts = code.get(&worker.topology).copied().unwrap_or_default();
    is_it.then(|| Process::adopted(worker.incarnation, worker.pid, running.share.clone(), timeouts, now))
}
