//! One task of a spout: when it may be asked, what it said last, and what it is told of its messages.
//!
//! Invariants: each message id hears of its fate once. The caller catches panics of the user's code.
//!
//! Threading: belongs to one core.

use std::marker::PhantomData;

use ringstorm_acking::{Outcome, RootId};
use ringstorm_types::MessageId;

use crate::api::collector::SpoutCollector;
use crate::api::context::TopologyContext;
use crate::api::spout::{Next, Spout};
use crate::core::failure::{Failures, error_text};
use crate::core::output::TaskOutput;
use crate::core::stats::LazyHistogram;
use crate::core::tracker::Tracker;
use crate::core::transfer::Transfer;

/// Back-off of a spout that has nothing: doubles from the first to the last.
pub(super) const BACK_OFF_FIRST_NS: u64 = 50_000;
const BACK_OFF_LAST_NS: u64 = 100_000_000;

/// What a spout task is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: call it.
    Ready,
    /// An instant, or a waker if that comes first.
    Until(u64),
    /// A waker.
    Woken,
    /// Its input has ended; it is called again when something fails.
    Finished,
}

/// Why a spout is not being asked for tuples, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhyIdle {
    Running,
    Inactive,
    MaxPending,
    HeldBy(u32),
    NoData,
    Finished,
}

pub(crate) struct SpoutTask {
    pub(crate) spout: Box<dyn Spout>,
    pub(crate) output: TaskOutput,
    pub(crate) tracker: Tracker,
    pub(crate) context: TopologyContext,
    pub(crate) wait: Wait,
    /// It has just said that its input has ended.
    pub(super) finished_now: bool,
    /// It is asked for so many tuples more, one for each message that fails; `None`: for as many as it has.
    pub(super) replays: Option<u64>,
    back_off_ns: u64,
    pub(super) failures: Failures,
}

impl SpoutTask {
    pub(crate) fn new(spout: Box<dyn Spout>, output: TaskOutput, tracker: Tracker, context: TopologyContext) -> Self {
        Self {
            spout,
            output,
            tracker,
            context,
            wait: Wait::Ready,
            finished_now: false,
            replays: None,
            back_off_ns: BACK_OFF_FIRST_NS,
            failures: Failures::default(),
        }
    }
}

impl SpoutTask {
    /// So many messages of its have failed: it may have something to emit again, whatever it said before.
    pub(super) fn count_failed(&mut self, count: u64) {
        self.wait = Wait::Ready;
        if let Some(replays) = &mut self.replays {
            *replays += count;
        }
    }

    /// Why the task is not to be asked for tuples now; `None` when it is.
    #[inline]
    pub(super) fn why_not_asked(&self, now_ns: u64, max_pending: usize) -> Option<WhyIdle> {
        if self.wait == Wait::Finished {
            return Some(WhyIdle::Finished);
        }
        if self.replays == Some(0) {
            return Some(WhyIdle::Inactive);
        }
        // Before the waker is looked at: a task that cannot be asked now must stay woken until it can.
        if self.tracker.pending_count() >= max_pending {
            return Some(WhyIdle::MaxPending);
        }
        let is_due = match self.wait {
            Wait::Ready => true,
            Wait::Until(at_ns) => now_ns >= at_ns || self.context.wake.take(),
            Wait::Woken => self.context.wake.take(),
            Wait::Finished => false,
        };
        (!is_due).then_some(WhyIdle::NoData)
    }

    /// Calls `next_tuple` until it has nothing, something has to be looked at, or it emitted `calls` times.
    #[inline]
    pub(super) fn ask(
        &mut self,
        transfer: &mut Transfer,
        calls: u32,
        max_pending: usize,
        stats: &mut SpoutStats,
        emitted: &mut u32,
    ) -> Result<(), String> {
        let (gate_version, now_ns) = (transfer.gate_version, transfer.now_ns);
        // What has been replayed is counted after each call, whatever that said.
        let replayed_before = self.replays.map(|_| tried_count(&self.output));
        let until = *emitted + if replayed_before.is_some() { 1 } else { calls };
        let Self { spout, output, tracker, .. } = self;
        let mut collector = SpoutCollector { transfer, output, tracker, not_send: PhantomData };
        let next = loop {
            let next = spout.next_tuple(&mut collector);
            if !matches!(next, Ok(Next::Emitted)) {
                break next.map_err(error_text)?;
            }
            *emitted += 1;
            // Pending is looked at before each call, so that a call that emits much overshoots by itself alone.
            if *emitted >= until
                || collector.transfer.gate_version != gate_version
                || collector.tracker.pending_count() >= max_pending
                || collector.output.refused.is_some()
                || !collector.tracker.settled.is_empty()
            {
                break Next::Emitted;
            }
        };
        if let (Some(replays), Some(before)) = (&mut self.replays, replayed_before) {
            *replays = replays.saturating_sub(tried_count(&self.output) - before);
        }
        if let Some(refused) = self.output.refused.take() {
            self.output.reported.push(|| refused);
        }
        let failed = !self.tracker.settled.is_empty() && tell_settled(self, stats);
        self.wait = match next {
            // After a fail it may have something to emit again, whatever it said before.
            _ if failed => {
                *emitted += 1;
                Wait::Ready
            }
            Next::Emitted => {
                self.back_off_ns = BACK_OFF_FIRST_NS;
                Wait::Ready
            }
            Next::Idle => {
                let at_ns = now_ns + self.back_off_ns;
                self.back_off_ns = (2 * self.back_off_ns).min(BACK_OFF_LAST_NS);
                Wait::Until(at_ns)
            }
            Next::Until(instant) => Wait::Until(crate::clock::ns_of(instant)),
            Next::Waiting => Wait::Woken,
            Next::Finished => {
                self.finished_now = true;
                Wait::Finished
            }
        };
        Ok(())
    }
}

/// Counters of a spout executor.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpoutStats {
    pub(crate) acked: u64,
    pub(crate) failed: u64,
    pub(crate) timed_out: u64,
    pub(crate) complete_ns: LazyHistogram,
}

/// Tells a spout what became of one or many of its messages.
pub(super) fn deliver(task: &mut SpoutTask, stats: &mut SpoutStats, outcome: Outcome, now_ns: u64) {
    let SpoutTask { spout, tracker, .. } = task;
    match outcome {
        Outcome::AckedRange { first, stride, count } => {
            tracker.emit_times.emit_times_of_range(first, stride, count, |time_ns, count| {
                stats.complete_ns.record(now_ns.saturating_sub(time_ns), u64::from(count));
            });
            let mut acked = 0;
            tracker.pending.complete_range(first, stride, count, |_, id| {
                acked += 1;
                spout.ack(MessageId(id));
            });
            stats.acked += acked;
            forget_times(tracker, first);
        }
        Outcome::Acked { root } => {
            if let Some(id) = tracker.pending.complete(root) {
                stats.acked += 1;
                if let Some(time_ns) = tracker.emit_times.emit_time_ns(root) {
                    stats.complete_ns.record(now_ns.saturating_sub(time_ns), 1);
                }
                spout.ack(MessageId(id));
            }
            forget_times(tracker, root);
        }
        Outcome::Failed { root, reason } => {
            if let Some(id) = tracker.pending.fail(root) {
                stats.failed += 1;
                task.count_failed(1);
                task.spout.fail(MessageId(id), reason);
            }
        }
        Outcome::ResetTimeout { root } => {
            tracker.pending.reset_timeout(root);
        }
    }
}

/// How often the task has emitted or tried to: a message whose emit was refused fails, and is asked for once more.
fn tried_count(output: &TaskOutput) -> u64 {
    output.refused_count + output.streams.iter().map(|stream| stream.emitted).sum::<u64>()
}

fn forget_times(tracker: &mut Tracker, root: RootId) {
    if let Some(lowest) = tracker.pending.lowest(root.lane()) {
        tracker.emit_times.forget_before(lowest);
    }
}

/// Tells a spout of messages whose fate was settled within their emit (acking is off, or the emit was refused). Returns
/// whether one of them failed.
#[cold]
fn tell_settled(task: &mut SpoutTask, stats: &mut SpoutStats) -> bool {
    let mut failed_count = 0;
    for (id, failed) in task.tracker.settled.drain(..) {
        match failed {
            None => {
                stats.acked += 1;
                task.spout.ack(id);
            }
            Some(reason) => {
                failed_count += 1;
                stats.failed += 1;
                task.spout.fail(id, reason);
            }
        }
    }
    if failed_count > 0 {
        task.count_failed(failed_count);
    }
    failed_count > 0
}
