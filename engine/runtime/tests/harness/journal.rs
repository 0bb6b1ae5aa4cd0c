//! What became of every message of a spout.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ringstorm_runtime::FailReason;

/// What one message id went through.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fate {
    pub(crate) emits: u32,
    pub(crate) acks: u32,
    pub(crate) fails: Vec<FailReason>,
    pub(crate) emitted_at: Option<Instant>,
    /// From the last emit to the first word of its fate after it.
    pub(crate) told_after: Option<Duration>,
}

/// The fates of all messages, shared between a spout's tasks and the test.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<BTreeMap<u64, Fate>>);

impl Journal {
    fn with(&self, id: u64, change: impl FnOnce(&mut Fate)) {
        change(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default());
    }

    pub(crate) fn emitted(&self, id: u64) {
        self.with(id, |fate| {
            fate.emits += 1;
            fate.emitted_at = Some(Instant::now());
            fate.told_after = None;
        });
    }

    pub(crate) fn acked(&self, id: u64) {
        self.with(id, |fate| {
            fate.acks += 1;
            fate.told_after = fate.emitted_at.map(|at| at.elapsed());
        });
    }

    pub(crate) fn failed(&self, id: u64, reason: FailReason) {
        self.with(id, |fate| {
            fate.fails.push(reason);
            fate.told_after = fate.emitted_at.map(|at| at.elapsed());
        });
    }

    pub(crate) fn fates(&self) -> BTreeMap<u64, Fate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn acks(&self) -> u64 {
        self.fates().values().map(|fate| u64::from(fate.acks)).sum()
    }

    pub(crate) fn fails(&self) -> u64 {
        self.fates().values().map(|fate| fate.fails.len() as u64).sum()
    }

    /// Every emit heard exactly one ack or fail.
    pub(crate) fn assert_one_word_per_emit(&self) {
        for (id, fate) in self.fates() {
            assert_eq!(fate.acks + fate.fails.len() as u32, fate.emits, "message {id}: {fate:?}");
        }
    }

    /// The ids 0 to `count` - 1 were each emitted once and acked once, and nothing failed.
    pub(crate) fn assert_all_acked_once(&self, count: u64) {
        let fates = self.fates();
        assert_eq!(fates.len() as u64, count);
        for (id, fate) in fates {
            assert!(id < count && fate.emits == 1 && fate.acks == 1 && fate.fails.is_empty(), "message {id}: {fate:?}");
        }
    }

    /// The ids 0 to `count` - 1 were each acked once in the end, whatever failed before.
    pub(crate) fn assert_all_acked_in_the_end(&self, count: u64) {
        self.assert_one_word_per_emit();
        let fates = self.fates();
        assert_eq!(fates.len() as u64, count);
        for (id, fate) in fates {
            assert_eq!(fate.acks, 1, "message {id}: {fate:?}");
        }
    }
}
