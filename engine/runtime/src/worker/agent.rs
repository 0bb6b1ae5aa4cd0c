//! A worker that is a process of its own: runs the share of a topology that an assignment gives it.
//!
//! It starts its cores and connections and is ready when every connection is. From then on it takes over new assignments,
//! carries out orders and tells what happens. When there is nothing for it to do any more, or nobody who leads it, it ends.
//!
//! Invariants: nothing is decided here that concerns the whole topology; what this process runs never changes.
//!
//! Threading: the thread that calls `run_worker` or `run_assigned_worker` (see [`start`]), others that wait for
//! instructions, and that of the keeper. Errors: told to whoever leads, or returned.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ringstorm_net::{KeeperEvent, Lost};
use ringstorm_types::assignment::Assignment;
use ringstorm_types::generations::Generations;

use crate::core::events::ERRORS_WAITING_MAX;
use crate::core::status::Event;
use crate::error::StartError;
use crate::worker::blueprint::Blueprint;
use crate::worker::coordinator::Message;
use crate::worker::members::{LocalCores, Members, Order, Reading};
use crate::worker::stalls::Stalls;
use crate::worker::talk::{Answer, FromWorker, ToWorker, Wanted};
use change::{Change, change, is_same_plan};
use commanded::WorkerReport;
use draining::Draining;
use ordered::Then;
use peers::Peers;
use progress::{FIGURES_TIMEOUT, Progress};
use speech::{Kind, Speech};
use start::WorkerEnd;
use superior::Instruction;

mod admission;
pub(crate) mod assignments;
mod change;
pub(crate) mod commanded;
mod draining;
mod ordered;
mod peers;
mod progress;
mod speech;
pub(crate) mod start;
mod superior;
mod waiting;

/// How often a worker looks whether user code holds a core, and who is away.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// The same while it drains.
const DRAIN_PERIOD: Duration = Duration::from_millis(20);
/// A worker has drained when nothing has come or gone for so long: what others have of its trees would have come back.
const QUIET: Duration = Duration::from_secs(1);
/// The same where the end was prepared, and somebody waits for it.
const QUIET_BRIEF: Duration = Duration::from_millis(200);
/// How long a worker waits for the counters of its cores.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long their last words may take to get here.
const LAST_WORDS: Duration = Duration::from_millis(5);
/// How long the cores may take to end when there is nothing to do any more.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// What reaches the agent.
enum Input {
    Instruction(Instruction),
    Cores(Message),
    Keeper(KeeperEvent),
}

struct Agent {
    name: String,
    cpus: Vec<usize>,
    assignment: Arc<Assignment>,
    blueprint: Arc<Blueprint>,
    cores: LocalCores,
    peers: Peers,
    speech: Speech,
    ready: usize,
    is_ready: bool,
    is_ending: bool,
    /// Somebody wants this worker to take nothing new and to end.
    draining: Option<(Draining, Instant)>,
    /// Until then spouts are asked for replays.
    asks_until: Option<Instant>,
    ended: usize,
    /// Why this worker cannot go on.
    failed: Option<String>,
    /// By component: how many cores have carried out its `finish`.
    finished: BTreeMap<u32, usize>,
    stalls: Stalls,
    /// For whoever wants to know of it.
    progress: Option<Progress>,
    next_counts: Instant,
}

impl Agent {
    fn run(mut self, inbox: &Receiver<Input>) -> Result<WorkerEnd, StartError> {
        loop {
            match inbox.recv_timeout(if self.draining.is_some() { DRAIN_PERIOD } else { LOOK_PERIOD }) {
                Ok(Input::Instruction(Instruction::End)) => return self.end_alone(inbox),
                Ok(Input::Instruction(Instruction::Drain)) => {
                    let limit = self.blueprint.config.drain_timeout_secs().unwrap_or(30.0);
                    self.begin_to_drain(Duration::from_secs_f64(limit), QUIET);
                }
                Ok(Input::Instruction(Instruction::Ordered(order))) => {
                    if let Then::End(why) = self.carry_out(order) {
                        let note = why.map(|why| format!("this worker ends: {why}"));
                        note.into_iter().for_each(|text| self.speech.note(Kind::Own, text));
                        return self.end_alone(inbox);
                    }
                }
                Ok(Input::Instruction(Instruction::Assignment(assignment))) => {
                    if let Some(why) = self.reassign(*assignment) {
                        self.speech.note(Kind::Own, format!("this worker ends: {why}"));
                        return self.end_alone(inbox);
                    }
                }
                Ok(Input::Instruction(Instruction::Other(message))) => self.obey(message),
                Ok(Input::Instruction(Instruction::Note(text))) => self.speech.note(Kind::Assignment, text),
                Ok(Input::Cores(message)) => self.heard(message),
                Ok(Input::Keeper(event)) => {
                    self.report_peer(&event);
                    if let Some((kind, text)) = self.peers.keep(event) {
                        self.speech.note(kind, text);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(WorkerEnd::Unassigned),
            }
            for (component, text) in self.stalls.look(&self.cores) {
                self.speech.error(&component.clone(), 0, &FromWorker::Reported { component, task: 0, text });
            }
            if !self.is_ending {
                self.peers.look().into_iter().for_each(|(kind, text)| self.speech.note(kind, text));
            }
            self.end_replays();
            let progress = self.progress.as_mut().map(|progress| progress.look(&self.cores, Instant::now()));
            progress.into_iter().flatten().for_each(|report| self.speech.superior().report(|| Some(report)));
            if self.ended == self.cores.count() {
                self.hear_the_last(inbox);
                self.speech.tell(&FromWorker::Ended { panic: None });
                return Ok(WorkerEnd::Unassigned);
            }
            if let Some(end) = self.drained() {
                return self.end_alone(inbox).map(|_| end);
            }
            if self.failed.is_some() && !self.speech.has_leader() {
                return self.end_alone(inbox);
            }
            if self.next_counts <= Instant::now() {
                self.next_counts = Instant::now() + LOOK_PERIOD;
                self.speech.tell_counts();
            }
        }
    }

    /// Takes over an assignment. Returns why this worker is to end, if it is.
    fn reassign(&mut self, mut assignment: Assignment) -> Option<&'static str> {
        let own = self.blueprint.own_number();
        // Older than what another worker runs is out of date too: where it came from lags, or was set back.
        if let Err(stale) = self.peers.judge(|generations| generations.take_version(assignment.version)) {
            self.speech.note(Kind::Assignment, stale.to_string());
            return None;
        }
        if assignment.version == self.assignment.version && !is_same_plan(&self.assignment, &assignment) {
            let version = assignment.version;
            let text = format!(
                "an assignment {version} is left: it gives other work than the assignment {version} that runs here; give it a \
                 higher version"
            );
            self.speech.note(Kind::Assignment, text);
            return None;
        }
        // Before anybody ends by it: one that is none is left by all of them.
        if let Err(error) = Blueprint::check(&self.blueprint.built, &assignment) {
            self.speech.note(Kind::Assignment, format!("assignment {} is left: {error}", assignment.version));
            return None;
        }
        let incarnation = self.blueprint.incarnation();
        let decide = |known: &mut Generations| change(&self.assignment, &assignment, own, incarnation, known);
        let stay = match self.peers.judge(decide) {
            Change::Leave(why) => return Some(why),
            Change::Stay(stay) => stay,
        };
        for worker in &mut assignment.workers {
            // What was once known to be needed for a change stays known.
            let needed = stay.renewed.get(&worker.number).copied().unwrap_or_default();
            worker.incarnation = worker.incarnation.max(needed);
        }
        let assignment = Arc::new(assignment);
        let mut rewired = None;
        if stay.is_rewired {
            let position = assignment.position_of(own).unwrap_or(self.blueprint.own);
            let built = Arc::clone(&self.blueprint.built);
            match Blueprint::new(built, &self.name, Arc::clone(&assignment), position, &self.cpus) {
                Ok(blueprint) => rewired = Some(Arc::new(blueprint)),
                Err(error) => {
                    self.speech.note(Kind::Assignment, format!("assignment {} is left: {error}", assignment.version));
                    return None;
                }
            }
        }
        if assignment.version > self.assignment.version {
            let text = format!("assignment {} takes the place of {}", assignment.version, self.assignment.version);
            self.speech.note(Kind::Assignment, text);
        }
        self.assignment = assignment;
        self.peers.change(&self.assignment, rewired.as_ref(), &stay);
        if let Some(active) =
            stay.active.filter(|_| self.is_ready && self.draining.is_none() && !self.speech.superior().orders_spouts())
        {
            self.cores.tell_all(if active { Order::Activate } else { Order::Deactivate });
        }
        None
    }

    fn obey(&mut self, message: ToWorker) {
        match message {
            ToWorker::Assignment(_) => {}
            ToWorker::Order(order) => {
                match order {
                    Order::Finish { component } => drop(self.finished.insert(component, 0)),
                    Order::Stop { .. } => self.is_ending = true,
                    _ => {}
                }
                self.cores.tell_all(order);
            }
            ToWorker::Read { question, wanted } => {
                let answer = match wanted {
                    Wanted::Received => Answer::Received(self.cores.received()),
                    Wanted::Sent => Answer::Sent(self.cores.sent()),
                    Wanted::Snapshots => Answer::Snapshots(self.cores.snapshots(SNAPSHOT_TIMEOUT).0),
                };
                self.speech.tell(&FromWorker::Answer { question, answer });
            }
        }
    }

    fn heard(&mut self, message: Message) {
        let event = match message {
            Message::Core(event) | Message::Placed(event, _) => event,
            Message::Owner => return,
        };
        let told = match event {
            Event::Ready { .. } => {
                self.ready += 1;
                if self.ready == self.cores.count() {
                    self.speech.superior().report(|| Some(WorkerReport::Started));
                }
                return self.check_ready();
            }
            Event::StopAsked => FromWorker::StopAsked,
            Event::Idle => FromWorker::Idle,
            Event::Finished { component, .. } => {
                let done = self.finished.entry(component).or_default();
                *done += 1;
                if *done < self.cores.count() {
                    return;
                }
                FromWorker::Finished { component }
            }
            Event::Failed { failure } => {
                if failure.fatal {
                    self.failed.get_or_insert_with(|| {
                        format!("{}, task {}: {}", failure.component, failure.task.0, failure.text)
                    });
                }
                let (component, task, fatal) = (failure.component.to_string(), failure.task.0, failure.fatal);
                let message = FromWorker::Failed { component: component.clone(), task, text: failure.text, fatal };
                if !fatal {
                    return self.speech.error(&component, u32::try_from(task).unwrap_or(0), &message);
                }
                message
            }
            Event::Reported { component, task, text } => {
                return self.speech.error(&component.clone(), task, &FromWorker::Reported { component, task, text });
            }
            Event::MoreReported { count } => return self.speech.more_errors(count),
            Event::ConnectionLost { core, peer, lost } => {
                // The others end too, or one has said that it does, and the one that leads knows.
                if self.is_ending || self.speech.has_leader() && matches!(lost, Lost::PeerEnded) {
                    return;
                }
                self.report_loss(core - self.cores.first_core(), peer, &lost);
                if let Some(text) = self.peers.lost(core - self.cores.first_core(), peer, &lost) {
                    self.speech.note(Kind::Connection, text);
                }
                return;
            }
            Event::Connected { core, peer } => {
                self.peers.ready(core - self.cores.first_core(), peer);
                return self.check_ready();
            }
            Event::Ahead { version } => {
                self.speech.superior().report(|| Some(WorkerReport::Ahead { version }));
                return self.peers.heard_of(version);
            }
            Event::Noted { text } => return self.speech.note(Kind::Own, text),
            Event::Died { .. } => return,
            Event::Ended { panic, .. } => {
                self.ended += 1;
                let Some(text) = &panic else { return };
                self.failed.get_or_insert_with(|| text.clone());
                FromWorker::Ended { panic }
            }
        };
        self.speech.tell(&told);
    }

    /// What cores said before they ended, and counts of errors that had to wait.
    fn hear_the_last(&mut self, inbox: &Receiver<Input>) {
        for _ in 0..4 * ERRORS_WAITING_MAX {
            match inbox.recv_timeout(LAST_WORDS) {
                Ok(Input::Cores(message)) => self.heard(message),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.speech.tell_all_counts();
    }

    fn check_ready(&mut self) {
        if !self.is_ready && self.ready == self.cores.count() && self.peers.all_were_ready() {
            self.is_ready = true;
            self.speech.tell(&FromWorker::Ready);
            if !self.speech.superior().orders_spouts() && self.draining.is_none() && self.assignment.active {
                self.cores.tell_all(Order::Activate);
            }
        }
    }

    /// Nothing new is taken from now on, and it ends when nothing has come or gone for `quiet`, or after `limit`.
    fn begin_to_drain(&mut self, limit: Duration, quiet: Duration) {
        self.draining.get_or_insert_with(|| (Draining::new(limit, quiet), Instant::now()));
        self.cores.tell_all(Order::StopTicks);
        self.cores.tell_all(Order::Deactivate);
    }

    /// What was left if the time to drain is over, or everything is done.
    fn drained(&mut self) -> Option<WorkerEnd> {
        let (draining, told) = self.draining.as_mut()?;
        let reading = Reading { received: self.cores.received(), sent: self.cores.sent() };
        let end = WorkerEnd::Stopped { pending: reading.sent.pending, in_flight: reading.in_flight() };
        draining.is_over(told.elapsed(), reading).then_some(end)
    }

    /// Says how many messages of the spouts here have failed: nobody adds that up for a worker without a leader.
    fn tell_failures(&self) {
        if self.speech.has_leader() {
            return;
        }
        let spouts = self.cores.figures(FIGURES_TIMEOUT).into_iter().map(|figures| figures.counts.spout);
        let (failed, timed_out) =
            spouts.fold((0, 0), |(failed, timed_out), spout| (failed + spout.failed, timed_out + spout.timed_out));
        if failed > 0 {
            let text = format!(
                "messages of the spouts here that failed: {failed}, {timed_out} of them by time-out; what their spouts did \
                 not emit again is lost"
            );
            self.speech.tell(&FromWorker::Note { text });
        }
    }

    /// There is nothing to do here any more: what runs is closed in order, as far as that goes in a short time.
    fn end_alone(mut self, inbox: &Receiver<Input>) -> Result<WorkerEnd, StartError> {
        self.is_ending = true;
        self.tell_failures();
        self.cores.tell_all(Order::Deactivate);
        self.cores.tell_all(Order::Stop { orderly: true });
        let until = Instant::now() + END_TIMEOUT;
        while self.ended < self.cores.count() {
            let left = until.saturating_duration_since(Instant::now());
            match inbox.recv_timeout(left) {
                Ok(Input::Cores(message)) => self.heard(message),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.hear_the_last(inbox);
        match self.failed {
            Some(why) if !self.speech.has_leader() => Err(StartError::Worker(why)),
            _ => Ok(WorkerEnd::Unassigned),
        }
    }
}
