//! A reliable spout from any source of owned messages: it keeps what is pending, emits again what failed, and gives up
//! what keeps failing.
//!
//! The user says what a message is, where the next comes from and what is emitted for it ([`Source`]); back-off, limits
//! and the end of the input are settled here.
//!
//! Invariants: a message is held from its first emit until it is acked or given up, each of which happens once; at most
//! one emit of it is pending at a time; the spout is finished only when its source has ended and nothing waits for a
//! replay. While 65,536 messages wait for their replay nothing new is fetched, so that a topology that fails everything
//! holds no more than that and `topology.max.spout.pending`.
//!
//! Threading: belongs to one spout task. What a rebuilt task held is lost with it; a source that must not lose it keeps
//! it elsewhere.

use std::time::Instant;

use ringstorm_acking::FailReason;
use ringstorm_tuple::Tuple;
use ringstorm_types::{MessageId, TaskId};

use crate::api::collector::SpoutCollector;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::spout::{Next, Spout};
use crate::error::Result;
use crate::library::retry::{Retries, Retry, RetryPolicy, Verdict};

/// Where the messages of a [`ReplayingSpout`] come from and what becomes of them.
pub trait Source: 'static {
    /// What is held until it is acked.
    type Message: 'static;

    /// Declares the streams that are emitted. Called on a throw-away instance when the topology is built.
    fn declare(&self, declarer: &mut Declarer);

    /// Called once before the first message.
    ///
    /// # Errors
    /// An error ends the run.
    fn open(&mut self, context: &TopologyContext) -> Result {
        let _ = context;
        Ok(())
    }

    /// The next message, if there is one. Must not wait, unless the spout is declared blocking.
    ///
    /// # Errors
    /// An error is reported and the task is rebuilt from its factory.
    fn fetch(&mut self) -> Result<Fetched<Self::Message>>;

    /// Emits the message, for the first time or again. A message for which nothing is emitted is done.
    fn emit(&mut self, message: &Self::Message, emission: Emission<'_, '_>);

    /// The message and everything that came of it is done.
    fn acked(&mut self, message: Self::Message) {
        let _ = message;
    }

    /// Whether a message that has failed this often is worth another try; the [`RetryPolicy`] still has the last word.
    fn retry(&mut self, message: &Self::Message, reason: FailReason, failures: u32) -> Retry {
        let _ = (message, reason, failures);
        Retry::Yes
    }

    /// The message was given up: the place to store it elsewhere. Returns what is reported as an error, if anything.
    fn dead_letter(&mut self, message: Self::Message, death: DeadLetter) -> Option<String> {
        let _ = message;
        (!death.is_reported).then(|| death.to_string())
    }

    /// Called once at the end of an orderly stop.
    fn close(&mut self, counts: ReplayCounts) {
        let _ = counts;
    }
}

/// What [`Source::fetch`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched<M> {
    /// A message.
    Message(M),
    /// Nothing now; as [`Next::Idle`].
    Idle,
    /// Nothing before this instant; as [`Next::Until`].
    Until(Instant),
    /// Nothing until the task's waker is woken; as [`Next::Waiting`].
    Waiting,
    /// Nothing any more.
    Ended,
}

/// Why a message was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadLetter {
    /// The last reason.
    pub reason: FailReason,
    /// How often it failed, not counting losses with a worker.
    pub failures: u32,
    /// The failure is among the errors of this spout already: its own emit was refused.
    pub is_reported: bool,
}

impl std::fmt::Display for DeadLetter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { reason, failures, .. } = self;
        write!(formatter, "a message was given up after {failures} failures; the last reason: {reason}")
    }
}

/// What a [`ReplayingSpout`] did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    /// Messages fetched.
    pub messages: u64,
    /// Messages acked, or done without an emit.
    pub acked: u64,
    /// Emits that were not a message's first.
    pub replays: u64,
    /// Messages given up.
    pub dead: u64,
}

/// The right to emit one tuple for one message.
pub struct Emission<'a, 'c> {
    collector: &'a mut SpoutCollector<'c>,
    id: MessageId,
    emitted: &'a mut bool,
}

impl std::fmt::Debug for Emission<'_, '_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Emission").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Emission<'_, '_> {
    /// Emits to the default stream.
    pub fn emit<T: Tuple>(self, tuple: &T) {
        *self.emitted = true;
        self.collector.emit_with_id(self.id, tuple);
    }

    /// Emits to a named stream.
    pub fn emit_to<T: Tuple>(self, stream: &str, tuple: &T) {
        *self.emitted = true;
        self.collector.emit_to(stream, Some(self.id), tuple);
    }

    /// Emits to one task that subscribes to a direct stream.
    pub fn emit_direct<T: Tuple>(self, target: TaskId, stream: &str, tuple: &T) {
        *self.emitted = true;
        self.collector.emit_direct(target, stream, Some(self.id), tuple);
    }
}

/// A spout that replays what failed.
pub struct ReplayingSpout<S: Source> {
    source: S,
    held: Slots<S::Message>,
    retries: Retries,
    ended: bool,
    /// This task, which is named as the one that failed a tuple that could not be emitted.
    task: u32,
    /// There once it is open.
    context: Option<TopologyContext>,
    /// Texts of dead letters that were not reported yet.
    reports: Vec<String>,
    counts: ReplayCounts,
}

impl<S: Source> std::fmt::Debug for ReplayingSpout<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ReplayingSpout").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl<S: Source> ReplayingSpout<S> {
    /// Replays as [`RetryPolicy::default`] says.
    pub fn new(source: S) -> Self {
        Self::with_policy(source, RetryPolicy::default())
    }

    /// Replays as the policy says.
    pub fn with_policy(source: S, policy: RetryPolicy) -> Self {
        Self {
            source,
            held: Slots::default(),
            retries: Retries::new(policy),
            ended: false,
            task: 0,
            context: None,
            reports: Vec::new(),
            counts: ReplayCounts::default(),
        }
    }

    fn emit(&mut self, slot: u64, collector: &mut SpoutCollector<'_>) {
        let Some(message) = self.held.get(slot) else { return };
        let mut emitted = false;
        self.source.emit(message, Emission { collector, id: MessageId(slot), emitted: &mut emitted });
        if !emitted {
            self.settle(slot);
        }
    }

    fn settle(&mut self, slot: u64) {
        self.retries.acked(slot);
        if let Some(message) = self.held.remove(slot) {
            self.counts.acked += 1;
            self.source.acked(message);
        }
    }

    /// What there is to do besides fetching; `None` when a message may be fetched.
    fn attend(&mut self, collector: &mut SpoutCollector<'_>) -> Option<Next> {
        for text in self.reports.drain(..) {
            collector.report_error(text);
        }
        if !self.retries.are_waiting() {
            return None;
        }
        if let Some(slot) = self.retries.pop_due(Instant::now()) {
            self.counts.replays += 1;
            self.emit(slot, collector);
            return Some(Next::Emitted);
        }
        self.retries.next_due().filter(|_| self.retries.are_full()).map(Next::Until)
    }
}

impl<S: Source> Spout for ReplayingSpout<S> {
    fn declare(&self, declarer: &mut Declarer) {
        self.source.declare(declarer);
    }

    fn open(&mut self, context: &TopologyContext) -> Result {
        self.task = u32::try_from(context.task().0).unwrap_or(0);
        self.context = Some(context.clone());
        self.source.open(context)
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if let Some(next) = self.attend(collector) {
            return Ok(next);
        }
        let fetched = if self.ended { Fetched::Ended } else { self.source.fetch()? };
        let due = self.retries.next_due();
        Ok(match fetched {
            Fetched::Message(message) => {
                self.counts.messages += 1;
                let slot = self.held.insert(message);
                self.emit(slot, collector);
                Next::Emitted
            }
            Fetched::Idle => Next::Idle,
            Fetched::Until(at) => Next::Until(due.map_or(at, |due| due.min(at))),
            Fetched::Waiting => due.map_or(Next::Waiting, Next::Until),
            Fetched::Ended => {
                self.ended = true;
                due.map_or(Next::Finished, Next::Until)
            }
        })
    }

    fn ack(&mut self, id: MessageId) {
        self.settle(id.0);
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        let Some(message) = self.held.get(id.0) else { return };
        let refused = reason == FailReason::FailedBy { task: self.task };
        let failures = self.retries.failures(id.0) + 1;
        let retry = if refused { Retry::No } else { self.source.retry(message, reason, failures) };
        let verdict = self.retries.failed(id.0, reason, retry, Instant::now());
        if let Verdict::GiveUp { failures } = verdict
            && let Some(message) = self.held.remove(id.0)
        {
            self.counts.dead += 1;
            self.reports
                .extend(self.source.dead_letter(message, DeadLetter { reason, failures, is_reported: refused }));
        }
    }

    fn close(&mut self) {
        // What has failed since the last call of `next_tuple`, such as during the drain of a stop.
        if let Some(context) = &self.context {
            context.report_errors(self.reports.drain(..));
        }
        self.source.close(self.counts);
    }
}

/// Messages by number; numbers are used again.
struct Slots<M> {
    slots: Vec<Option<M>>,
    free: Vec<u64>,
}

impl<M> Default for Slots<M> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<M> Slots<M> {
    fn insert(&mut self, message: M) -> u64 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(message);
                slot
            }
            None => {
                self.slots.push(Some(message));
                self.slots.len() as u64 - 1
            }
        }
    }

    fn get(&self, slot: u64) -> Option<&M> {
        self.slots.get(slot as usize)?.as_ref()
    }

    fn remove(&mut self, slot: u64) -> Option<M> {
        let message = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Slots hold what was put in until it is taken out, and grow no larger than what was held at once.
        #[test]
        fn slots_agree_with_a_map(steps in prop::collection::vec((any::<bool>(), 0..16_u64), 0..200)) {
            let (mut slots, mut model, mut most) = (Slots::default(), BTreeMap::new(), 0);
            for (number, (insert, slot)) in steps.into_iter().enumerate() {
                if insert {
                    prop_assert_eq!(model.insert(slots.insert(number), number), None);
                } else {
                    prop_assert_eq!(slots.remove(slot), model.remove(&slot));
                }
                most = most.max(model.len());
                prop_assert!((0..16).all(|slot| slots.get(slot) == model.get(&slot)));
            }
            prop_assert!(slots.slots.len() <= most);
        }
    }
}
