//! One slot: Storm's slot states, as a pure machine.
//!
//! | Storm's state | here |
//! | --- | --- |
//! | `EMPTY` | [`State::Vacant`], nothing to do |
//! | `WAITING_FOR_BLOB_LOCALIZATION`, `WAITING_FOR_BLOB_UPDATE` | [`State::Vacant`], the code is missing |
//! | `WAITING_FOR_WORKER_START` | [`State::Starting`] |
//! | `RUNNING` | [`State::Running`] |
//! | `KILL`, `KILL_AND_RELAUNCH`, `KILL_BLOB_UPDATE` | [`State::Stopping`], by [`Reason`] |
//! | none | [`State::Vacant`], a pause after a worker that died soon, or a slot that is withdrawn |
//!
//! What follows a process that has ended is not fixed when it is stopped, as in Storm, but follows from what is wanted
//! when it is gone.
//!
//! Invariants: there is one process at most, and it is the one in the state. Each start has a higher incarnation than
//! all before. While the slot may not act, it starts and stops nothing, but takes in what happens. Threading: plain
//! data. Errors: a worker that dies is started again, with pauses; a slot that cannot start anything is withdrawn for a
//! while.

mod exchange;
mod process;
mod restarts;
mod state;

use ringstorm_control::time::Moment;

pub use crate::stopping::Stopping;
pub use exchange::{SlotAction, SlotInput, Surroundings};
pub use process::Process;
pub use state::{Reason, State, Vacancy, Wanted};

use crate::events::{Exit, ProcessEvent, StartFailure, StopHow, StopReason};
use crate::local_state::{INCARNATION_MAX, RunningWorker, SlotState};
use crate::plants::Plant;
use crate::settings::Settings;
use crate::share::Share;
use restarts::{Ended, Restarts, Withdrawal};

/// A slot.
#[derive(Debug)]
pub struct Slot {
    port: u16,
    last_incarnation: u64,
    /// `None` while it is not known.
    wanted: Option<Wanted>,
    state: State,
    restarts: Restarts,
    withdrawal: Withdrawal,
    ended: Ended,
    /// What the last process ran, if it left since it has nothing to do here any more while it was wanted still, and what
    /// held for restarts before.
    left: Option<(Share, Restarts)>,
}

impl Slot {
    /// A slot, as it was left by the daemon before, with the worker that was found running and is adopted, if any.
    pub fn new(port: u16, last_incarnation: u64, adopted: Option<Process>) -> Self {
        let last_incarnation = adopted.iter().map(Process::incarnation).fold(last_incarnation, u64::max);
        Self {
            port,
            last_incarnation: last_incarnation.min(INCARNATION_MAX),
            wanted: None,
            state: adopted.map_or(State::Vacant(Vacancy::Empty), State::Running),
            restarts: Restarts::default(),
            withdrawal: Withdrawal::default(),
            ended: Ended::default(),
            left: None,
        }
    }

    /// A worker with this incarnation was seen in the slot: the next one will have a higher one.
    pub fn saw(&mut self, incarnation: u64) {
        if incarnation <= INCARNATION_MAX {
            self.last_incarnation = self.last_incarnation.max(incarnation);
        }
    }

    /// Takes an input, and does what is due.
    pub fn handle(&mut self, around: Surroundings<'_>, input: SlotInput) -> Vec<SlotAction> {
        let mut actions = Vec::new();
        match input {
            SlotInput::Time => {}
            SlotInput::Want(wanted) => self.want(wanted),
            SlotInput::Process(event) => self.take(around, event, &mut actions),
            SlotInput::CodeChanged(topology) => {
                if let Some(process) = self.process_mut().filter(|process| process.share().topology == topology) {
                    process.code_changed();
                }
            }
            SlotInput::SilenceIsExcused => {
                if let Some(process) = self.process_mut() {
                    process.excuse(around.now.moment);
                }
            }
        }
        self.settle(around, &mut actions);
        actions
    }

    /// When it has something to do.
    pub fn wake_at(&self, settings: &Settings, may_act: bool) -> Option<Moment> {
        let due = match &self.state {
            State::Vacant(Vacancy::BackingOff) => Some(self.restarts.not_before()),
            State::Vacant(_) => None,
            State::Starting(process) => Some(process.start_deadline(settings)),
            State::Running(process) => Some(process.silence_deadline(settings)),
            State::Stopping { stopping, .. } => Some(stopping.next()),
        };
        due.filter(|_| may_act).into_iter().chain(self.withdrawal.until()).min()
    }

    /// What it does.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Its process, if there is one.
    pub fn process(&self) -> Option<&Process> {
        match &self.state {
            State::Vacant(_) => None,
            State::Starting(process) | State::Running(process) | State::Stopping { process, .. } => Some(process),
        }
    }

    /// What it should run, as far as that is known.
    pub fn wanted(&self) -> Option<&Wanted> {
        self.wanted.as_ref()
    }

    /// What it is to run as soon as the code is here.
    pub fn waits_for_code(&self) -> Option<&Share> {
        match (&self.state, &self.wanted) {
            (State::Vacant(Vacancy::BlobLocalization | Vacancy::BlobUpdate), Some(Wanted::Run(share))) => Some(share),
            _ => None,
        }
    }

    /// Why nothing should be given to it, if so.
    pub fn withdrawn_because(&self) -> Option<&str> {
        self.withdrawal.why()
    }

    /// Whether a process of the slot is known to have ended.
    pub fn has_ended(&self, incarnation: u64) -> bool {
        self.ended.has(incarnation)
    }

    /// What is to be remembered of it.
    pub fn saved(&self) -> SlotState {
        let running = self.process().map(|process| RunningWorker {
            incarnation: process.incarnation(),
            pid: process.pid(),
            share: process.share().clone(),
        });
        SlotState { last_incarnation: self.last_incarnation, running }
    }

    /// Whether [`Self::saved`] is this.
    pub(crate) fn is_saved_as(&self, saved: &SlotState) -> bool {
        let is_running_saved = match (self.process(), &saved.running) {
            (None, None) => true,
            (Some(process), Some(running)) => {
                process.incarnation() == running.incarnation
                    && process.pid() == running.pid
                    && *process.share() == running.share
            }
            _ => false,
        };
        is_running_saved && self.last_incarnation == saved.last_incarnation
    }

    fn process_mut(&mut self) -> Option<&mut Process> {
        match &mut self.state {
            State::Vacant(_) => None,
            State::Starting(process) | State::Running(process) | State::Stopping { process, .. } => Some(process),
        }
    }

    fn want(&mut self, wanted: Wanted) {
        let topology = |wanted: &Wanted| match wanted {
            Wanted::Nothing => None,
            Wanted::Run(share) => Some(share.topology.clone()),
        };
        if self.wanted.as_ref().and_then(topology) != topology(&wanted) {
            // Another topology has not deserved the pauses of this one.
            self.restarts = Restarts::default();
            self.left = None;
        }
        if let Some((_, before)) = self.left.take_if(|(share, _)| !wanted.is_for(share)) {
            // It has seen first what is seen here now: that was no death.
            self.restarts = before;
        }
        self.wanted = Some(wanted);
    }

    fn take(&mut self, around: Surroundings<'_>, event: ProcessEvent, actions: &mut Vec<SlotAction>) {
        let (_, incarnation) = event.process();
        let is_of_it = self.process().is_some_and(|process| process.incarnation() == incarnation);
        if !is_of_it {
            return;
        }
        match event {
            ProcessEvent::Started { pid, .. } => self.process_mut().into_iter().for_each(|it| it.started(pid)),
            ProcessEvent::Ready { .. } | ProcessEvent::Beat { .. } => self.beat(around.now.moment),
            ProcessEvent::Stale { newest, .. } => self.stale(around, newest, actions),
            ProcessEvent::Exited { how, .. } => self.exited(around, how, actions),
            ProcessEvent::StartFailed { kind, why, .. } => self.start_failed(around, kind, &why, actions),
        }
    }

    fn beat(&mut self, now: Moment) {
        self.state = match std::mem::replace(&mut self.state, State::Vacant(Vacancy::Empty)) {
            State::Starting(mut process) => {
                process.ready(now);
                self.withdrawal.worker_came_up();
                State::Running(process)
            }
            State::Running(mut process) => {
                process.beat(now);
                State::Running(process)
            }
            other => other,
        };
    }

    fn stale(&mut self, around: Surroundings<'_>, newest: u64, actions: &mut Vec<SlotAction>) {
        if newest > INCARNATION_MAX {
            let line =
                format!("slot {}: {newest} is no incarnation; what its worker was told is passed over", self.port);
            actions.push(SlotAction::Note(line));
            return;
        }
        self.saw(newest);
        if around.may_act && matches!(self.state, State::Starting(_) | State::Running(_)) {
            let line = format!("peers know of incarnation {newest}; it is started again with a higher one");
            self.note(&line, actions);
            self.stop(around, StopReason::Superseded, StopHow::Kill, actions);
        }
    }

    fn exited(&mut self, around: Surroundings<'_>, how: Exit, actions: &mut Vec<SlotAction>) {
        let Some((process, reason)) = self.end() else { return };
        match reason {
            None if how == Exit::Done => self.has_left(around, &process, actions),
            None | Some(Reason::Relaunch) => self.died(around, &process, &how.to_string(), actions),
            Some(Reason::AssignmentChanged | Reason::CodeChanged) => {}
        }
        if reason == Some(Reason::CodeChanged) {
            self.state = State::Vacant(Vacancy::BlobUpdate);
        }
    }

    fn start_failed(&mut self, around: Surroundings<'_>, kind: StartFailure, why: &str, actions: &mut Vec<SlotAction>) {
        let Some((process, reason)) = self.end() else { return };
        if reason.is_some() {
            return;
        }
        self.died(around, &process, &format!("did not start: {kind}: {why}"), actions);
        let is_of_slot = kind != StartFailure::Other;
        if is_of_slot && self.withdrawal.start_failed(around.now.moment, around.settings, &format!("{kind}: {why}")) {
            let for_secs = self.withdrawal.until().map_or(0, |until| until.since(around.now.moment).as_secs());
            let line = format!("slot {} is withdrawn for {for_secs} s, since {kind}: {why}", self.port);
            actions.push(SlotAction::Note(line));
        }
    }

    /// The process is gone. It, and why it was ended, if it was.
    fn end(&mut self) -> Option<(Process, Option<Reason>)> {
        let (process, reason) = match std::mem::replace(&mut self.state, State::Vacant(Vacancy::Empty)) {
            State::Vacant(vacancy) => {
                self.state = State::Vacant(vacancy);
                return None;
            }
            State::Starting(process) | State::Running(process) => (process, None),
            State::Stopping { process, reason, .. } => (process, Some(reason)),
        };
        self.ended.add(process.incarnation());
        self.withdrawal.process_ended();
        Some((process, reason))
    }

    /// It left in order. As long as it is wanted here all the same that counts as a death, lest it goes on and on.
    fn has_left(&mut self, around: Surroundings<'_>, process: &Process, actions: &mut Vec<SlotAction>) {
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.is_for(process.share()));
        if !is_wanted {
            return;
        }
        self.left = Some((process.share().clone(), self.restarts.clone()));
        let (now, port) = (around.now.moment, self.port);
        self.restarts.died(now, process.ran(now), around.settings);
        let pause = self.restarts.not_before().since(now);
        if !pause.is_zero() {
            let topology = &process.share().topology;
            actions.push(SlotAction::Note(format!(
                "slot {port}: the worker of {topology} found again that it has nothing to do here, and by what this \
                 supervisor knows it has; if that stays so, it is started again in {} s",
                pause.as_secs_f32()
            )));
        }
    }

    fn died(&mut self, around: Surroundings<'_>, process: &Process, how: &str, actions: &mut Vec<SlotAction>) {
        let now = around.now.moment;
        self.restarts.died(now, process.ran(now), around.settings);
        let (topology, incarnation) = (&process.share().topology, process.incarnation());
        let pause = self.restarts.not_before().since(now);
        let next = if pause.is_zero() { "at once".to_owned() } else { format!("in {} s", pause.as_secs_f32()) };
        let port = self.port;
        let line = format!(
            "slot {port}: the worker of {topology} (incarnation {incarnation}) {how}; if it is still wanted, it is \
             started again {next}"
        );
        actions.push(SlotAction::Note(line));
    }

    /// Goes on until nothing more is due.
    fn settle(&mut self, around: Surroundings<'_>, actions: &mut Vec<SlotAction>) {
        let now = around.now.moment;
        if self.withdrawal.is_over(now) {
            actions.push(SlotAction::Note(format!("slot {} is in service again", self.port)));
        }
        if !around.may_act {
            return;
        }
        match &mut self.state {
            State::Vacant(_) => self.fill(around, actions),
            State::Starting(process) | State::Running(process) => {
                let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.is_for(process.share()));
                let is_outdated = process.is_outdated();
                let late = process.lateness(now, around.settings);
                if !is_wanted {
                    self.stop(around, StopReason::AssignmentChanged, StopHow::Ask, actions);
                } else if is_outdated {
                    self.stop(around, StopReason::CodeChanged, StopHow::Ask, actions);
                } else if let Some((why, late)) = late {
                    self.note(&late, actions);
                    self.stop(around, why, StopHow::Kill, actions);
                }
            }
            State::Stopping { process, stopping, .. } => {
                let incarnation = process.incarnation();
                if let Some(how) = stopping.step(now, around.settings) {
                    actions.push(SlotAction::Stop { incarnation, how, why: stopping.why() });
                }
                if stopping.is_stuck(now, around.settings) && self.withdrawal.process_is_stuck() {
                    self.note("does not die although it was killed; its slot is withdrawn until it does", actions);
                }
            }
        }
    }

    /// Starts what is wanted, if nothing is in the way.
    fn fill(&mut self, around: Surroundings<'_>, actions: &mut Vec<SlotAction>) {
        let State::Vacant(before) = self.state else { return };
        let Some(Wanted::Run(share)) = &self.wanted else {
            self.state = State::Vacant(Vacancy::Empty);
            return;
        };
        if around.gone.contains_key(&share.topology) {
            self.state = State::Vacant(Vacancy::Empty);
            return;
        }
        let in_the_way = if !around.is_free {
            Some(Vacancy::Occupied)
        } else if self.withdrawal.why().is_some() {
            Some(Vacancy::Withdrawn)
        } else if around.now.moment < self.restarts.not_before() {
            Some(Vacancy::BackingOff)
        } else if around.code.contains_key(&share.topology) {
            None
        } else if before == Vacancy::BlobUpdate {
            Some(Vacancy::BlobUpdate)
        } else {
            Some(Vacancy::BlobLocalization)
        };
        if let Some(vacancy) = in_the_way {
            self.state = State::Vacant(vacancy);
            return;
        }
        let share = share.clone();
        let timeouts = around.code.get(&share.topology).copied().unwrap_or_default();
        let incarnation = self.next_incarnation(around);
        self.last_incarnation = incarnation;
        self.state = State::Starting(Process::starting(incarnation, share.clone(), timeouts, around.now.moment));
        actions.push(SlotAction::Start { incarnation, share });
    }

    fn next_incarnation(&self, around: Surroundings<'_>) -> u64 {
        if around.plants.has(Plant::OldIncarnationReused) && self.last_incarnation > 0 {
            return self.last_incarnation;
        }
        let wall = u64::try_from(around.now.wall.as_micros()).unwrap_or(u64::MAX).min(INCARNATION_MAX - 1);
        self.last_incarnation.max(wall).saturating_add(1)
    }

    fn stop(&mut self, around: Surroundings<'_>, why: StopReason, how: StopHow, actions: &mut Vec<SlotAction>) {
        let reason = match why {
            StopReason::AssignmentChanged | StopReason::Stray => Reason::AssignmentChanged,
            StopReason::CodeChanged => Reason::CodeChanged,
            StopReason::NotUp | StopReason::Silent | StopReason::Superseded => Reason::Relaunch,
        };
        self.state = match std::mem::replace(&mut self.state, State::Vacant(Vacancy::Empty)) {
            State::Starting(process) | State::Running(process) => {
                actions.push(SlotAction::Stop { incarnation: process.incarnation(), how, why });
                let stopping = Stopping::begin(around.now.moment, around.settings, why);
                State::Stopping { process, reason, stopping }
            }
            other => other,
        };
    }

    fn note(&self, what: &str, actions: &mut Vec<SlotAction>) {
        let Some(process) = self.process() else { return };
        let (port, topology, incarnation) = (self.port, &process.share().topology, process.incarnation());
        let line = format!("slot {port}: the worker of {topology} (incarnation {incarnation}): {what}");
        actions.push(SlotAction::Note(line));
    }
}
