//! The spout of most tests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringstorm_runtime::{Declarer, FailReason, Next, Result, Spout, SpoutCollector, TopologyContext};
use ringstorm_types::MessageId;

use crate::harness::{Journal, Number};

/// Emits 0 to n - 1, one for each call of `next_tuple`, the message id being the value; task i of several starts at
/// i * n. Failed messages are emitted again only if [`Seq::replays`] says so.
#[derive(Clone)]
pub(crate) struct Seq {
    count: u64,
    per_call: u64,
    ids: bool,
    replay: bool,
    stay_for: Option<Duration>,
    pace: Option<Duration>,
    journal: Arc<Journal>,
    most_pending: Arc<AtomicU64>,
    first: u64,
    next: u64,
    again: VecDeque<u64>,
    started: Option<Instant>,
}

impl Seq {
    pub(crate) fn new(count: u64, journal: &Arc<Journal>) -> Self {
        Self {
            count,
            per_call: 1,
            ids: true,
            replay: false,
            stay_for: None,
            pace: None,
            journal: Arc::clone(journal),
            most_pending: Arc::default(),
            first: 0,
            next: 0,
            again: VecDeque::new(),
            started: None,
        }
    }

    /// Without message ids; the journal stays empty.
    pub(crate) fn untracked(count: u64) -> Self {
        Self { ids: false, ..Self::new(count, &Arc::default()) }
    }

    /// Emits this many in each call.
    pub(crate) fn per_call(self, per_call: u64) -> Self {
        Self { per_call, ..self }
    }

    /// Emits failed messages again.
    pub(crate) fn replays(self) -> Self {
        Self { replay: true, ..self }
    }

    /// Says that its input has ended only after this time.
    pub(crate) fn stays(self, time: Duration) -> Self {
        Self { stay_for: Some(time), ..self }
    }

    /// Waits this long between two emits.
    pub(crate) fn paced(self, pace: Duration) -> Self {
        Self { pace: Some(pace), ..self }
    }

    /// Where the largest number of pending messages is noted, as seen before each call.
    pub(crate) fn most_pending(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.most_pending)
    }

    fn emit(&self, value: u64, collector: &mut SpoutCollector<'_>) {
        if self.ids {
            self.journal.emitted(value);
            collector.emit_with_id(MessageId(value), &Number { value });
        } else {
            collector.emit(&Number { value });
        }
    }
}

impl Spout for Seq {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }

    fn open(&mut self, context: &TopologyContext) -> Result {
        self.first = context.task_index() as u64 * self.count;
        self.started = Some(Instant::now());
        Ok(())
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        self.most_pending.fetch_max(collector.pending_count() as u64, Ordering::Relaxed);
        if let Some(value) = self.again.pop_front() {
            self.emit(value, collector);
            return Ok(Next::Emitted);
        }
        if self.next == self.count {
            let until = self.started.zip(self.stay_for).map(|(started, time)| started + time);
            return Ok(match until.filter(|until| Instant::now() < *until) {
                Some(until) => Next::Until(until),
                None => Next::Finished,
            });
        }
        for _ in 0..self.per_call.min(self.count - self.next) {
            self.emit(self.first + self.next, collector);
            self.next += 1;
        }
        Ok(self.pace.map_or(Next::Emitted, |pace| Next::Until(Instant::now() + pace)))
    }

    fn ack(&mut self, id: MessageId) {
        self.journal.acked(id.0);
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        self.journal.failed(id.0, reason);
        if self.replay {
            self.again.push_back(id.0);
        }
    }
}
