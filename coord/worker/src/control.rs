//! The machine: the control thread of one worker process.
//!
//! What it does, by source:
//!
//! - **The tree.** It watches its assignment, the topology's base and the levels of loggers, and looks at them from time
//!   to time besides. A new assignment goes to the data path; a status switches the spouts; what takes the worker's place
//!   away ends it.
//! - **The cores.** They say when they are ready, which is when spouts may emit; how far they are, which is what a beat
//!   vouches for; what they counted and what went wrong, which is written.
//! - **Other workers.** Each says who it is and which assignment it runs. Who is of the past is refused; a newer
//!   assignment is looked for.
//!
//! Invariants:
//! - No assignment is taken whose version is lower than one that was seen, in the tree or with anybody else.
//! - No process is accepted whose incarnation is lower than one that was known of its worker.
//! - The worker ends by what a fresh look saw, and for want of an assignment only when two did. Trouble with the tree,
//!   or what cannot be read there, ends nothing.
//!
//! Threading: one caller at a time. Errors: troubles are noted once, and tried again after pauses that grow.

mod beats;
mod errors;
mod heard;
mod looks;
mod spouts;

use std::collections::BTreeMap;

use ringstorm_control::machine::Machine;
use ringstorm_control::session::{Meaning, Session};
use ringstorm_control::talks::{FromStore, Progress, Talks};
use ringstorm_control::time::{Moment, Now};
use ringstorm_records::records::LogConfig;
use ringstorm_store::cluster::{Cluster, Trouble};
use ringstorm_store::procedure::Procedure;
use ringstorm_types::assignment::{AssignedWorker, Assignment};
use ringstorm_types::generations::Generations;

use crate::assigning::slot_number;
use crate::interface::{CoresEvent, Peer, PeerEvent, StopReason, WorkerEffect, WorkerInput};
use crate::settings::{Identity, TopologyFacts, WorkerSettings};
use beats::{Beats, Due};
use errors::Errors;
use looks::{Looks, Seen, look};
use spouts::Spouts;

/// What a conversation with the tree is for.
#[derive(Clone, Debug)]
enum Topic {
    /// A look, a fresh one or not.
    Look(bool),
    Beat,
    Error,
    /// The beat is removed, since nobody will beat there any more.
    Farewell,
}

/// What a conversation came to.
#[derive(Debug)]
enum Said {
    Seen(Box<Seen>),
    Written,
}

/// A reason to end, which a fresh look has to confirm.
#[derive(Debug)]
struct Suspicion {
    why: StopReason,
    /// How many fresh looks have.
    confirmations: u32,
}

/// Rules that can be broken on purpose, to show that tests find it.
#[cfg(feature = "planted-bugs")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Plants {
    /// A process is accepted though a newer one of its worker is known.
    pub accepts_old_incarnations: bool,
    /// An assignment is taken though a newer one was seen.
    pub takes_lower_versions: bool,
}

/// The control thread of a worker.
#[derive(Debug)]
pub struct WorkerControl {
    identity: Identity,
    facts: TopologyFacts,
    settings: WorkerSettings,
    cluster: Cluster,
    session: Session,
    talks: Talks<Topic, Result<Said, Trouble>>,
    looks: Looks,
    beats: Beats,
    errors: Errors,
    spouts: Spouts,
    generations: Generations,
    /// What runs, as the data path was told last.
    running: Option<Assignment>,
    /// The version of the assignment that the tree holds.
    version_in_tree: Option<i64>,
    /// By component: its number of executors, as the tree says.
    executor_counts: BTreeMap<String, i32>,
    log_levels: LogConfig,
    suspicion: Option<Suspicion>,
    /// Why it ends.
    over: Option<StopReason>,
    /// Its beat is to be removed.
    says_farewell: bool,
    /// What was noted of each place, by a number that changes when it does.
    noted: BTreeMap<&'static str, i64>,
    /// Rules that are broken on purpose.
    #[cfg(feature = "planted-bugs")]
    pub plants: Plants,
}

impl WorkerControl {
    /// The control of a process that has just started. Nothing runs before the first [`WorkerEffect::Assign`].
    pub fn new(now: Now, identity: Identity, facts: TopologyFacts, settings: WorkerSettings, cluster: Cluster) -> Self {
        let mut generations = Generations::default();
        generations.hear_of_version(identity.version);
        generations.hear_of_process(slot_number(&identity.slot), identity.incarnation);
        Self {
            session: Session::default(),
            talks: Talks::default(),
            looks: Looks::default(),
            beats: Beats::new(now),
            errors: Errors::new(&settings),
            spouts: Spouts::new(),
            generations,
            running: None,
            version_in_tree: None,
            executor_counts: BTreeMap::new(),
            log_levels: LogConfig::default(),
            suspicion: None,
            over: None,
            says_farewell: false,
            noted: BTreeMap::new(),
            #[cfg(feature = "planted-bugs")]
            plants: Plants::default(),
            identity,
            facts,
            settings,
            cluster,
        }
    }

    /// What it knows of generations.
    pub fn generations(&self) -> &Generations {
        &self.generations
    }

    /// The assignment that it runs, as it was told to the data path last.
    pub fn assignment(&self) -> Option<&Assignment> {
        self.running.as_ref()
    }

    /// Why it ends, if it does.
    pub fn is_over(&self) -> Option<StopReason> {
        self.over
    }

    /// Whether it ends and has said so to the tree, as far as it wants to. What it asks of the tree then is done.
    pub fn has_taken_leave(&self) -> bool {
        self.over.is_some() && !self.says_farewell && self.talks.tags().all(|topic| !matches!(topic, Topic::Farewell))
    }

    /// How many errors of components wait to be written.
    pub fn unwritten_errors(&self) -> usize {
        self.errors.waiting_count()
    }

    fn own_number(&self) -> u64 {
        slot_number(&self.identity.slot)
    }

    /// What this worker runs.
    fn own_share(&self) -> Option<&AssignedWorker> {
        let running = self.running.as_ref()?;
        running.position_of(self.own_number()).map(|position| &running.workers[position])
    }

    /// The version that stands in the beat: that of what runs. While the tree holds an older one than was seen, since an
    /// older state of it was restored, the newest that was seen, so that a leader goes above that.
    fn version_to_say(&self) -> Option<i64> {
        let newest = self.generations.newest_version();
        let is_behind = self.version_in_tree.is_some_and(|version| version < newest);
        if is_behind { Some(newest) } else { self.running.as_ref().map(|running| running.version) }
    }

    fn heard_from_cores(&mut self, now: Now, event: CoresEvent, effects: &mut Vec<WorkerEffect>) {
        match event {
            CoresEvent::Started => {
                self.beats.started(now, self.own_share().map_or(self.identity.cores, |own| own.cores).get());
                self.beats.ask(now);
            }
            CoresEvent::Ready => self.spouts.ready(),
            CoresEvent::Progress(turns) => self.beats.progress(now, &turns, &self.settings),
            CoresEvent::Statistics(figures) => self.beats.take_figures(figures),
            CoresEvent::Error { component, task, text, time } => {
                let line = self.errors.take(now, &self.identity, &component, task, &text, time);
                effects.push(WorkerEffect::Note(line));
            }
        }
    }

    fn heard_from_peer(&mut self, now: Now, event: PeerEvent, effects: &mut Vec<WorkerEffect>) {
        match event {
            PeerEvent::Offered { peer, version } => {
                effects.extend(self.judge(now, peer, version));
            }
            PeerEvent::Ahead { version } => {
                if self.generations.hear_of_version(version) {
                    self.looks.ask(now.moment, true);
                }
            }
            // It may have been moved.
            PeerEvent::Lost { .. } => self.looks.ask_sparingly(now, &self.settings),
            PeerEvent::RefusedAsStale { newest } => {
                if newest > self.identity.incarnation {
                    self.stop(StopReason::Superseded { newest }, effects);
                }
            }
        }
    }

    /// Whether a process of another worker is accepted.
    fn judge(&mut self, now: Now, peer: Peer, version: i64) -> Vec<WorkerEffect> {
        let refuse = |why: String| vec![WorkerEffect::Refuse { peer, why }];
        let Peer { worker, incarnation } = peer;
        if worker == self.own_number() {
            return refuse("it says that it is in the slot of the worker that it talks to".into());
        }
        let before = (self.generations.newest_version(), self.generations.incarnation_of(worker));
        let met = self.generations.meet(worker, incarnation, version);
        #[cfg(feature = "planted-bugs")]
        let met = if self.plants.accepts_old_incarnations { Ok(met.unwrap_or(false)) } else { met };
        if version > before.0 {
            // It has read that from the tree, so that it is there.
            self.looks.ask(now.moment, true);
        }
        let is_newer = match met {
            Ok(is_newer) => is_newer,
            Err(stale) => return refuse(stale.to_string()),
        };
        let mut effects = Vec::new();
        if is_newer && before.1 > 0 {
            effects.push(WorkerEffect::Renew { lowest: peer });
        }
        let is_assigned = self.assignment().is_some_and(|assignment| assignment.position_of(worker).is_some());
        if !is_assigned || self.over.is_some() {
            effects.extend(refuse("it has nothing to do with this worker by the assignment that runs here".into()));
        } else {
            effects.push(WorkerEffect::Accept { peer });
        }
        effects
    }

    /// Ends this process.
    fn stop(&mut self, why: StopReason, effects: &mut Vec<WorkerEffect>) {
        if self.over.is_none() {
            self.over = Some(why);
            // The newer process in the slot beats at the same place.
            self.says_farewell = !matches!(why, StopReason::Superseded { .. });
            effects.push(WorkerEffect::Stop { why });
        }
    }

    /// Begins what is due, and tells the spouts what is new for them.
    fn go_on(&mut self, now: Now, effects: &mut Vec<WorkerEffect>) {
        if self.over.is_some() {
            return self.say_farewell(now, effects);
        }
        if self.running.is_some() {
            effects.extend(self.spouts.settle());
            let are_asked = self.spouts.are_asked();
            self.running.iter_mut().for_each(|running| running.active = are_asked);
        }
        if self.session.usable().is_none() {
            return;
        }
        if let Some(is_fresh) = self.looks.begin(now, &self.settings) {
            let topology = self.identity.topology.clone();
            let procedure = self.cluster.procedure(move |tree| async move {
                look(tree, topology, is_fresh).await.map(|seen| Said::Seen(Box::new(seen)))
            });
            self.begin(now, Topic::Look(is_fresh), procedure, effects);
        }
        self.beat(now, effects);
        if let Some(report) = self.errors.begin(now) {
            let topology = self.identity.topology.clone();
            let procedure = self.cluster.procedure(move |tree| async move {
                tree.report_error(&topology, &report.component, &report.info).await.map(|()| Said::Written)
            });
            self.begin(now, Topic::Error, procedure, effects);
        }
    }

    fn beat(&mut self, now: Now, effects: &mut Vec<WorkerEffect>) {
        match self.beats.begin(now, &self.settings) {
            Due::Not | Due::LeftOut(_, false) => {}
            Due::LeftOut(stall, true) => {
                let silence = now.moment.since(stall.since).as_secs();
                effects.push(WorkerEffect::Note(format!(
                    "core {} has not ended a turn for {silence} s: until it does, this worker does not say that it lives",
                    stall.core
                )));
            }
            Due::Beat(goes_on) => {
                if goes_on {
                    effects.push(WorkerEffect::Note("every core goes on: so do the beats".into()));
                }
                let executors = self.own_share().map_or(&[][..], |own| &own.executors);
                let mut record = self.beats.record(now, &self.identity, &self.facts, executors);
                record.version = self.version_to_say();
                let (topology, slot) = (self.identity.topology.clone(), self.identity.slot.clone());
                let procedure = self.cluster.procedure(move |tree| async move {
                    tree.set_worker_beat(&topology, &slot, &record).await.map(|()| Said::Written)
                });
                self.begin(now, Topic::Beat, procedure, effects);
            }
        }
    }

    /// Removes the beat, after the last one is over, which must not come behind. It is tried once: what stays is removed
    /// with the topology.
    fn say_farewell(&mut self, now: Now, effects: &mut Vec<WorkerEffect>) {
        if self.says_farewell && !self.beats.is_under_way() && self.session.usable().is_some() {
            self.says_farewell = false;
            let (topology, slot) = (self.identity.topology.clone(), self.identity.slot.clone());
            let procedure = self.cluster.procedure(move |tree| async move {
                tree.remove_worker_beat(&topology, &slot).await.map(|()| Said::Written)
            });
            self.begin(now, Topic::Farewell, procedure, effects);
        }
    }

    fn begin(
        &mut self,
        now: Now,
        topic: Topic,
        procedure: Procedure<Result<Said, Trouble>>,
        effects: &mut Vec<WorkerEffect>,
    ) {
        if let Some(session) = self.session.usable() {
            let progress = self.talks.begin(session, topic, procedure);
            self.progress(now, progress, effects);
        }
    }

    fn progress(
        &mut self,
        now: Now,
        progress: Progress<Topic, Result<Said, Trouble>>,
        effects: &mut Vec<WorkerEffect>,
    ) {
        match progress {
            Progress::Asks(asked) => effects.extend(asked.into_iter().map(WorkerEffect::Store)),
            Progress::Done(topic, result) => self.heard(now, &topic, result, effects),
        }
    }

    fn heard_from_store(&mut self, now: Now, said: FromStore, effects: &mut Vec<WorkerEffect>) {
        match said {
            FromStore::Session(event) => match self.session.take(&event) {
                Meaning::Began { .. } | Meaning::GoesOn(_) => {
                    self.looks.ask(now.moment, false);
                    self.beats.ask(now);
                    self.errors.ask(now);
                }
                Meaning::Stops => {}
            },
            // Every watch is one of a look.
            FromStore::Watch(_) => self.looks.ask(now.moment, false),
            FromStore::Outcome { question, outcome } => {
                let progress = self.talks.answer(question, outcome);
                self.progress(now, progress, effects);
            }
        }
    }
}

impl Machine for WorkerControl {
    type Input = WorkerInput;
    type Effect = WorkerEffect;

    fn handle(&mut self, now: Now, input: WorkerInput) -> Vec<WorkerEffect> {
        let mut effects = Vec::new();
        match input {
            WorkerInput::Store(said) => self.heard_from_store(now, said, &mut effects),
            WorkerInput::Cores(event) => self.heard_from_cores(now, event, &mut effects),
            WorkerInput::Peer(event) => self.heard_from_peer(now, event, &mut effects),
            WorkerInput::End => self.stop(StopReason::Asked, &mut effects),
        }
        self.go_on(now, &mut effects);
        effects
    }

    fn wake(&mut self, now: Now) -> Vec<WorkerEffect> {
        let mut effects = Vec::new();
        self.go_on(now, &mut effects);
        effects
    }

    /// Without a session there is nothing to do but to wait for one.
    fn wake_at(&self) -> Option<Moment> {
        self.session.usable().filter(|_| self.over.is_none())?;
        [self.looks.due(), self.beats.due(), self.errors.due()].into_iter().flatten().min()
    }
}
