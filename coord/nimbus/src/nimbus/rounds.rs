//! Rounds: what runs where.
//!
//! When something changed, and from time to time, everything that a round needs is read, with watches for the next change;
//! what is to be written is decided by [`round`](ringstorm_round); then it is written, one assignment after another, each
//! only while this nimbus leads. Beats are read in between, as often as workers beat.
//!
//! Invariants: no round on a read that failed. No round before the beats of each topology were read, since its assignment
//! goes above what its workers say they run. Errors: a round that meets trouble is made again after a pause.

mod changes;
mod sizes;
mod talks;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_lifecycle::conf;
use ringstorm_records::records::{StormBase, StormTopology};
use ringstorm_records::znode::NodeName;
use ringstorm_round::{
    BeatSettings, Beats, Executors, LeftAlone, Outcome, Report, Round, Supervisors, Verdict, Write, round,
};
use ringstorm_scheduler::{DefaultScheduler, FirstRound, WorkerSlot};
use ringstorm_store::cluster::Trouble;

use super::Nimbus;
use super::acts::{Act, ActSaid};
use super::said::TermSaid;
use crate::interface::Conf;
use changes::Why;
use sizes::round_that_fits;
pub(super) use talks::Beating;
use talks::{RoundRead, read, read_beats, write_all};
use view::{executors, forget_first, named, slots, together, words};

const WORKER_TIMEOUT: &str = "topology.worker.timeout.secs";

/// What a leader knows of what runs.
#[derive(Debug)]
pub(super) struct Rounds {
    supervisors: Supervisors,
    beats: Beats,
    /// Whether the first round was made, or may be.
    has_begun: bool,
    /// The topologies whose beats are read, with their slots.
    watched: BTreeMap<NodeName, BTreeSet<WorkerSlot>>,
    /// Those of which beats were read.
    known: BTreeSet<NodeName>,
    /// Slots that were found dead by a reading of beats and asked for a round.
    dead: BTreeSet<(NodeName, WorkerSlot)>,
    /// The highest versions that this leader has written, or tried to.
    versions: BTreeMap<NodeName, i64>,
    executors: BTreeMap<NodeName, Cached>,
    /// What was said of each topology.
    said: BTreeMap<NodeName, String>,
    /// What is to be said of the placements that are being written.
    placing: Vec<String>,
    troubles: u32,
    at: Option<Moment>,
    beats_at: Option<Moment>,
    is_reading_beats: bool,
    have_beats_failed: bool,
}

/// The executors of a topology, and what they were made of.
#[derive(Debug)]
struct Cached {
    conf: Arc<Conf>,
    code: Arc<StormTopology>,
    counts: Option<BTreeMap<String, i32>>,
    executors: Result<Executors, String>,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum RoundSaid {
    Read(Result<Box<RoundRead>, Trouble>),
    Written(Result<(), Trouble>),
}

impl Rounds {
    pub(super) fn new(now: Moment, settings: BeatSettings) -> Self {
        Self {
            supervisors: Supervisors::default(),
            beats: Beats::new(settings),
            has_begun: false,
            watched: BTreeMap::new(),
            known: BTreeSet::new(),
            dead: BTreeSet::new(),
            versions: BTreeMap::new(),
            executors: BTreeMap::new(),
            said: BTreeMap::new(),
            placing: Vec::new(),
            troubles: 0,
            at: Some(now),
            beats_at: Some(now),
            is_reading_beats: false,
            have_beats_failed: false,
        }
    }

    pub(super) fn due(&self, is_free: bool) -> Option<Moment> {
        let round = self.at.filter(|_| is_free);
        let beats = self.beats_at.filter(|_| !self.is_reading_beats);
        round.into_iter().chain(beats).min()
    }

    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    pub(super) fn count_trouble(&mut self) -> u32 {
        self.troubles += 1;
        self.troubles
    }

    pub(super) fn put_off(&mut self, at: Moment) {
        self.at = Some(at);
    }

    fn not_later_than(&mut self, at: Moment) {
        self.at = Some(self.at.map_or(at, |before| before.min(at)));
    }

    /// Takes what was read of supervisors and assignments.
    fn take(&mut self, now: Moment, read: &RoundRead) {
        let found = read.supervisors.found.iter().map(|(name, info)| (name.clone(), Some(info.clone())));
        let skipped = read.supervisors.skipped.iter().filter_map(|skipped| Some((named(skipped)?, None)));
        self.supervisors.read(now, &found.chain(skipped).collect());
        self.watched.clear();
        for (topology, assignment) in &read.assignments.found {
            self.beats.assigned(now, topology, assignment);
            self.watched.insert(topology.clone(), slots(assignment));
        }
        let bases = read.bases.found.iter().map(|(topology, _)| topology.clone());
        let unreadable = read.bases.skipped.iter().chain(&read.assignments.skipped).filter_map(named);
        let unreadable: BTreeSet<NodeName> = unreadable.collect();
        for topology in bases.chain(unreadable.iter().cloned()) {
            if !self.watched.contains_key(&topology) {
                if !unreadable.contains(&topology) {
                    self.beats.unassigned(&topology);
                }
                self.watched.insert(topology, BTreeSet::new());
            }
        }
        for (topology, beats) in &read.beats {
            self.beats.read(read.asked, now, topology, Some(beats));
            self.known.insert(topology.clone());
        }
        let gone: Vec<NodeName> =
            self.beats.topologies().filter(|topology| !self.watched.contains_key(*topology)).cloned().collect();
        for topology in &gone {
            self.beats.forget(topology);
        }
        let is_watched = |topology: &NodeName| self.watched.contains_key(topology);
        self.known.retain(is_watched);
        self.versions.retain(|topology, _| is_watched(topology));
        self.executors.retain(|topology, _| is_watched(topology));
        self.said.retain(|topology, _| is_watched(topology));
        self.dead.retain(|(topology, slot)| self.watched.get(topology).is_some_and(|slots| slots.contains(slot)));
    }
}

impl Nimbus {
    /// Asks for a round soon, if this nimbus leads.
    pub(super) fn want_round(&mut self) {
        let now = self.now.moment;
        if let Some(term) = self.term() {
            term.rounds.not_later_than(now);
        }
    }

    /// Reads what the round of the current act needs.
    pub(super) fn read_for_round(&mut self) {
        let next = self.now.moment + self.settings.monitor_period;
        let now = self.now.moment;
        let Some(term) = self.term() else { return };
        // What changes from here on may be missing in what is read, and asks for a round of its own.
        term.rounds.at = Some(next);
        let known = term.rounds.known.clone();
        let own = self.address().clone();
        self.say_in_term(|tree| async move {
            let read = read(&tree, &own, &known, now).await.map(Box::new);
            TermSaid::Act(ActSaid::Round(RoundSaid::Read(read)))
        });
    }

    pub(super) fn hear_round(&mut self, said: RoundSaid) {
        match said {
            RoundSaid::Read(Ok(read)) => self.decide_round(*read),
            RoundSaid::Written(Ok(())) => {
                let lines = self.term().map(|term| std::mem::take(&mut term.rounds.placing)).unwrap_or_default();
                lines.into_iter().for_each(|line| self.note(line));
                self.finish_round(true);
            }
            RoundSaid::Read(Err(trouble)) | RoundSaid::Written(Err(trouble)) => self.act_trouble(&trouble),
        }
    }

    fn decide_round(&mut self, mut read: RoundRead) {
        let now = self.now;
        for listing in [&mut read.supervisors.skipped, &mut read.bases.skipped, &mut read.assignments.skipped] {
            let skipped = listing.clone();
            self.note_skipped(skipped);
        }
        if let Some(why) = read.leader_info_fault.take() {
            self.tell_again_who_leads(&why);
        }
        self.recover_delays(&read.bases.found);
        let from_scratch = match self.term().and_then(|term| term.acts.act()) {
            Some(Act::Rebalance(rebalancing)) => Some(rebalancing.topology.clone()),
            _ => None,
        };
        let bases = read.bases.found.iter().map(|(topology, base)| (topology.clone(), base)).collect::<Vec<_>>();
        for (topology, base) in &bases {
            self.know_executors(topology, base);
        }
        let local_dir = self.settings.local_dir.clone();
        let (plants, confs) = (self.plants, self.worker_timeouts(bases.iter().map(|(topology, _)| topology)));
        let Some(term) = self.term() else { return };
        let rounds = &mut term.rounds;
        rounds.take(now.moment, &read);
        if !rounds.has_begun {
            match rounds.supervisors.may_begin(now.moment) {
                FirstRound::Now => rounds.has_begun = true,
                wait => {
                    if let FirstRound::In(wait) = wait {
                        rounds.not_later_than(now.moment + wait);
                    }
                    self.postpone_round();
                    return;
                }
            }
        }
        let mut topologies = together(&read, rounds, &confs, from_scratch.as_ref());
        if plants.slot_given_twice() {
            forget_first(&mut topologies);
        }
        let (supervisors, beats, master_code_dir) = (&rounds.supervisors, &rounds.beats, local_dir.as_str());
        let Outcome { writes, reports, .. } = round_that_fits(&mut topologies, |topologies| {
            let lowest_version = i64::from(now.wall_secs());
            let input = Round { now, supervisors, beats, topologies, lowest_version, master_code_dir };
            round(&input, &mut DefaultScheduler)
        });
        drop(topologies);
        rounds.placing = placing(&read, &writes, &reports, from_scratch.as_ref());
        for write in &writes {
            let version = write.assignment.version.unwrap_or(0);
            rounds.versions.insert(write.topology.clone(), version);
        }
        let leader = term.leadership.clone();
        let left_alone = from_scratch.and_then(|topology| reports.get(&topology)?.left_alone.clone());
        self.tell_reports(reports);
        if let Some(why) = left_alone.filter(LeftAlone::may_pass) {
            // It was not placed anew. What others need is for the next round.
            if let Some(term) = self.term() {
                term.rounds.not_later_than(now.moment);
            }
            self.put_off(&format!("it is left as it is: {why}"));
        } else if writes.is_empty() {
            self.finish_round(false);
        } else {
            self.say_in_term(|tree| async move {
                TermSaid::Act(ActSaid::Round(RoundSaid::Written(write_all(&tree, &leader, writes, plants).await)))
            });
        }
    }

    /// A round that may not be made yet.
    fn postpone_round(&mut self) {
        match self.term().and_then(|term| term.acts.act()) {
            Some(Act::Round) => self.finish_act(),
            _ => self.postpone(self.settings.replication_period),
        }
    }

    fn finish_round(&mut self, has_written: bool) {
        let soon = self.now.moment + self.settings.replication_period;
        if let Some(term) = self.term() {
            term.rounds.troubles = 0;
            if has_written {
                // What was given up may be used, and what was written is told to the beats.
                term.rounds.not_later_than(soon);
            }
        }
        match self.term().and_then(|term| term.acts.act()) {
            Some(Act::Rebalance(_)) => self.finish_rebalance(),
            _ => self.finish_act(),
        }
    }

    /// Sees to it that the executors of a topology are known, or why they are not.
    fn know_executors(&mut self, topology: &NodeName, base: &StormBase) {
        let (conf, code) = (self.code.conf(topology).cloned(), self.code.topology(topology).cloned());
        let Some(term) = self.term() else { return };
        let (Some(conf), Some(code)) = (conf, code) else {
            term.rounds.executors.remove(topology);
            return;
        };
        let is_same = |cached: &Cached| {
            Arc::ptr_eq(&cached.conf, &conf)
                && Arc::ptr_eq(&cached.code, &code)
                && cached.counts == base.component_executors
        };
        if !term.rounds.executors.get(topology).is_some_and(is_same) {
            let executors = executors(&conf, &code, base);
            let counts = base.component_executors.clone();
            term.rounds.executors.insert(topology.clone(), Cached { conf, code, counts, executors });
        }
    }

    fn worker_timeouts<'a>(&self, topologies: impl Iterator<Item = &'a NodeName>) -> BTreeMap<NodeName, Duration> {
        let timeout = |topology: &NodeName| {
            let secs = conf::int(self.code.conf(topology)?, WORKER_TIMEOUT).ok().flatten()?;
            Some((topology.clone(), Duration::from_secs(u64::try_from(secs).ok()?)))
        };
        topologies.filter_map(timeout).collect()
    }

    /// Says what became of topologies, where that is something else than before.
    fn tell_reports(&mut self, reports: BTreeMap<NodeName, Report>) {
        for (topology, report) in reports {
            let text = words(&report);
            let Some(term) = self.term() else { return };
            let before = term.rounds.said.insert(topology.clone(), text.clone());
            if before.unwrap_or_default() != text {
                let text = if text.is_empty() { "it has all that it wants" } else { &text };
                self.note(format_args!("topology {topology}: {text}"));
            }
        }
    }

    pub(super) fn wake_beats(&mut self) {
        let now = self.now.moment;
        let period = self.settings.beats.period;
        let Some(term) = self.term() else { return };
        let rounds = &mut term.rounds;
        if rounds.is_reading_beats || rounds.beats_at.is_none_or(|at| at > now) {
            return;
        }
        rounds.beats_at = Some(now + period);
        let topologies: Vec<NodeName> = rounds.watched.keys().cloned().collect();
        if topologies.is_empty() {
            return;
        }
        rounds.is_reading_beats = true;
        self.say_in_term(|tree| async move { TermSaid::Beats(Box::new(read_beats(&tree, topologies, now).await)) });
    }

    pub(super) fn hear_beats(&mut self, beating: Beating) {
        let now = self.now.moment;
        let Beating { asked, beats, trouble } = beating;
        let Some(term) = self.term() else { return };
        let rounds = &mut term.rounds;
        rounds.is_reading_beats = false;
        for (topology, beats) in &beats {
            rounds.beats.read(asked, now, topology, beats.as_deref());
            if beats.is_some() {
                rounds.known.insert(topology.clone());
            }
        }
        let is_first = trouble.is_some() && !rounds.have_beats_failed;
        rounds.have_beats_failed = trouble.is_some();
        // Who is found dead is given up at once, and not only at the next time.
        let mut is_news = false;
        for (topology, slots) in &rounds.watched {
            for slot in slots {
                let verdict = rounds.beats.verdict(topology, slot, &rounds.supervisors, None);
                let slot = (topology.clone(), slot.clone());
                let is_dead = matches!(verdict, Verdict::Dead(_));
                if !is_dead {
                    rounds.dead.remove(&slot);
                } else if rounds.dead.insert(slot) {
                    is_news = true;
                }
            }
        }
        if is_news {
            self.want_round();
        }
        if let Some(trouble) = trouble {
            if is_first {
                self.note(format_args!("beats of workers cannot be read, so that nobody is found silent: {trouble}"));
            }
            self.heed(&trouble);
        }
    }
}

/// What is to be said of each placement that is written. One that is written twice in a round is said once.
fn placing(
    read: &RoundRead,
    writes: &[Write],
    reports: &BTreeMap<NodeName, Report>,
    from_scratch: Option<&NodeName>,
) -> Vec<String> {
    let last: BTreeMap<&NodeName, &Write> = writes.iter().map(|write| (&write.topology, write)).collect();
    let line = |(topology, write): (&NodeName, &Write)| {
        let before = read.assignments.found.iter().find(|(of, _)| of == topology).map(|(_, assignment)| assignment);
        let why = match before {
            _ if from_scratch == Some(topology) => Why::Rebalance,
            None => Why::First,
            Some(_) if reports.get(topology).is_some_and(|report| !report.dead.is_empty()) => Why::SlotsGivenUp,
            Some(_) => Why::Otherwise,
        };
        changes::words(topology.as_str(), before, &write.assignment, why)
    };
    last.into_iter().map(line).collect()
}
