//! What the tree said, and what follows from it.

use std::collections::BTreeSet;

use ringstorm_control::time::Now;
use ringstorm_records::records::{self, LogConfig, StormBase};
use ringstorm_store::cluster::{Reading, Trouble};
use ringstorm_types::assignment::{AssignedWorker, Assignment};

use super::looks::Seen;
use super::{Said, Suspicion, Topic, WorkerControl};
use crate::assigning::{Unusable, data_path_assignment, shares, version_of};
use crate::interface::{Peer, StopReason, WorkerEffect};

impl WorkerControl {
    /// A conversation has come to its result.
    pub(super) fn heard(
        &mut self,
        now: Now,
        topic: &Topic,
        result: Result<Said, Trouble>,
        effects: &mut Vec<WorkerEffect>,
    ) {
        match (topic, result) {
            (Topic::Look(is_fresh), Ok(Said::Seen(seen))) => {
                if self.looks.ended() {
                    effects.push(WorkerEffect::Note("the tree can be read again".into()));
                }
                if self.over.is_none() {
                    self.saw(now, *is_fresh, *seen, effects);
                }
            }
            (Topic::Look(_), result) => {
                let is_first = self.looks.failed(now, &self.settings);
                if let Some(trouble) = result.err().filter(|_| is_first) {
                    let text = format!("the tree cannot be read ({trouble}); what runs goes on, and it is tried again");
                    effects.push(WorkerEffect::Note(text));
                }
            }
            (Topic::Beat, result) => {
                let is_first = self.beats.ended(now, result.is_ok(), &self.settings);
                if let Some(trouble) = result.err().filter(|_| is_first) {
                    effects.push(WorkerEffect::Note(format!("the beat may not have been written: {trouble}")));
                }
            }
            (Topic::Error, result) => {
                let line = self.errors.ended(now, result.err().as_ref(), &self.settings);
                effects.extend(line.map(WorkerEffect::Note));
            }
            (Topic::Farewell, _) => {}
        }
    }

    fn saw(&mut self, now: Now, is_fresh: bool, seen: Seen, effects: &mut Vec<WorkerEffect>) {
        let Seen { assignment, base, log_levels } = seen;
        self.saw_log_levels(log_levels, effects);
        self.saw_base(base, effects);
        let suspected = match assignment {
            Reading::Found { value, stat } => self.saw_assignment(&value, stat.changed, effects),
            Reading::Absent => Some(StopReason::NoAssignment),
            Reading::Garbage { why, stat } => {
                let text = format!("the assignment cannot be read ({why}); what runs goes on");
                self.note_once("assignment", stat.changed, text, effects);
                None
            }
        };
        match suspected {
            None => self.suspicion = None,
            Some(why) => self.suspect(now, is_fresh, why, effects),
        }
    }

    fn saw_log_levels(&mut self, log_levels: Reading<LogConfig>, effects: &mut Vec<WorkerEffect>) {
        let levels = match log_levels {
            Reading::Found { value, .. } => value,
            Reading::Absent => LogConfig::default(),
            Reading::Garbage { why, stat } => {
                let text = format!("the levels of loggers cannot be read ({why}); they stay as they are");
                return self.note_once("log levels", stat.changed, text, effects);
            }
        };
        if levels != self.log_levels {
            self.log_levels = levels.clone();
            effects.push(WorkerEffect::SetLogLevels(levels));
        }
    }

    fn saw_base(&mut self, base: Reading<StormBase>, effects: &mut Vec<WorkerEffect>) {
        match base {
            Reading::Found { value, stat } => {
                if let Some(status) = self.spouts.take(&value, &self.settings) {
                    let text = format!("nobody knows the status {status}; spouts go on as they are");
                    self.note_once("status", stat.changed, text, effects);
                }
                self.executor_counts = value.component_executors.unwrap_or_default();
            }
            // It goes after the assignment, by which it is decided what runs.
            Reading::Absent => {}
            Reading::Garbage { why, stat } => {
                let text = format!("the state of the topology cannot be read ({why}); spouts go on as they are");
                self.note_once("base", stat.changed, text, effects);
            }
        }
    }

    /// Takes an assignment over. Returns why this process is to end by it, if it is.
    fn saw_assignment(
        &mut self,
        record: &records::Assignment,
        stamp: i64,
        effects: &mut Vec<WorkerEffect>,
    ) -> Option<StopReason> {
        let version = version_of(record);
        self.version_in_tree = Some(version);
        let taken = self.generations.take_version(version);
        #[cfg(feature = "planted-bugs")]
        let taken = if self.plants.takes_lower_versions { Ok(()) } else { taken };
        if let Err(stale) = taken {
            self.note_once("assignment", stamp, stale.to_string(), effects);
            return None;
        }
        let left = |unusable: Unusable| format!("assignment {version} is left: {unusable}; what runs goes on");
        let shares = match shares(record) {
            Ok(shares) => shares,
            Err(unusable) => {
                self.note_once("assignment", stamp, left(unusable), effects);
                return None;
            }
        };
        if !shares.contains_key(&self.identity.slot) {
            return Some(StopReason::NothingAssigned);
        }
        match data_path_assignment(record, &shares, &self.identity, &self.facts, &self.generations) {
            Ok(assignment) => return self.run(assignment, effects),
            Err(Unusable::Check(_)) if self.has_other_numbering() => return Some(StopReason::OtherNumbering),
            Err(unusable) => self.note_once("assignment", stamp, left(unusable), effects),
        }
        None
    }

    /// Runs by an assignment that can be run by. Returns why this process cannot, if another one has to.
    fn run(&mut self, mut assignment: Assignment, effects: &mut Vec<WorkerEffect>) -> Option<StopReason> {
        let own = self.own_number();
        assignment.active = self.spouts.are_asked();
        let mut is_news = true;
        if let Some(running) = &self.running {
            let is_other = |before: &&AssignedWorker| {
                let after = assignment.position_of(before.number).map(|position| &assignment.workers[position]);
                after.is_none_or(|after| !runs_the_same(before, after))
            };
            let others: Vec<u64> = running.workers.iter().filter(is_other).map(|worker| worker.number).collect();
            if others.contains(&own) {
                return Some(StopReason::OtherExecutors);
            }
            // Whoever has other executors or none is another process from now on, or nobody.
            for worker in others {
                let known = self.generations.incarnation_of(worker);
                let incarnation = self.generations.succeed(worker, running.version);
                if incarnation > known && known > 0 {
                    effects.push(WorkerEffect::Renew { lowest: Peer { worker, incarnation } });
                }
            }
            // Of processes that shook hands the data path knows already.
            is_news = !is_alike(running, &assignment);
        }
        for worker in &mut assignment.workers {
            worker.incarnation = worker.incarnation.max(self.generations.incarnation_of(worker.number));
        }
        if is_news {
            effects.push(WorkerEffect::Assign(Box::new(assignment.clone())));
        }
        self.running = Some(assignment);
        None
    }

    /// Whether the tree says other numbers of executors than this process was built with.
    fn has_other_numbering(&self) -> bool {
        let built: BTreeSet<&str> = self.facts.numbering.components().map(|(component, _)| &**component).collect();
        let differs = |(component, count): (&String, &i32)| {
            let own = self.facts.numbering.executors_of(component).len();
            built.contains(component.as_str()) && usize::try_from(*count) != Ok(own)
        };
        self.executor_counts.iter().any(differs)
    }

    /// There is a reason to end. What is not seen by a fresh look is looked at again at once; what is missing might be put
    /// there in the next moment, and is looked at twice.
    fn suspect(&mut self, now: Now, is_fresh: bool, why: StopReason, effects: &mut Vec<WorkerEffect>) {
        let needed = if why == StopReason::NoAssignment { 2 } else { 1 };
        let before = self.suspicion.take().filter(|before| before.why == why);
        let confirmations = before.map_or(0, |before| before.confirmations) + u32::from(is_fresh);
        if confirmations >= needed {
            return self.stop(why, effects);
        }
        self.suspicion = Some(Suspicion { why, confirmations });
        let pause = self.settings.confirmation_pause;
        self.looks.ask(if confirmations == 0 { now.moment } else { now.moment + pause }, true);
    }

    /// Notes something of a place, once while it stays as it is.
    fn note_once(&mut self, place: &'static str, stamp: i64, text: String, effects: &mut Vec<WorkerEffect>) {
        if self.noted.insert(place, stamp) != Some(stamp) {
            effects.push(WorkerEffect::Note(text));
        }
    }
}

/// Whether one process can do what both say.
fn runs_the_same(one: &AssignedWorker, other: &AssignedWorker) -> bool {
    (one.cores, &one.executors) == (other.cores, &other.executors)
}

/// Whether two assignments are the same but for incarnations.
fn is_alike(one: &Assignment, other: &Assignment) -> bool {
    let without = |assignment: &Assignment| {
        let workers = assignment.workers.iter().map(|worker| AssignedWorker { incarnation: 0, ..worker.clone() });
        Assignment { workers: workers.collect(), ..assignment.clone() }
    };
    without(one) == without(other)
}
