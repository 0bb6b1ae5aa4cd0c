//! Fails that spouts hear of while a worker is away, told in batches.
//!
//! What is for a worker that is away fails within a turn. A spout that emits it again at once would go round and round with
//! its core, for as long as the worker is away. So the first fails are told at once, and then so many in a period; a message
//! that waits to hear of its fail is pending like any other, so that `topology.max.spout.pending` bounds how many wait.
//! Everything else is told at once, and without a worker that is away so are fails.
//!
//! Threading: belongs to one core.

use std::collections::VecDeque;

use ringstorm_acking::Outcome;

/// Between two batches: a message that fails at once is emitted a hundred times a second at most.
const PERIOD_NS: u64 = 10_000_000;
/// Fails in a batch, of one executor: a hundred thousand in a second cost a part of a core.
const BATCH: usize = 1000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct PacedFails {
    waiting: VecDeque<(u32, Outcome)>,
    next_ns: u64,
}

impl PacedFails {
    /// Keeps fails of `outcomes` back that are not to be told yet, if a worker is away, and adds those that are.
    pub(crate) fn pace(&mut self, outcomes: &mut Vec<(u32, Outcome)>, some_are_away: bool, now_ns: u64) {
        if some_are_away {
            let is_failed = |(_, outcome): &mut (u32, Outcome)| matches!(outcome, Outcome::Failed { .. });
            self.waiting.extend(outcomes.extract_if(.., is_failed));
        }
        if self.is_due(now_ns) {
            self.next_ns = now_ns.saturating_add(PERIOD_NS);
            let count = if some_are_away { BATCH.min(self.waiting.len()) } else { self.waiting.len() };
            outcomes.extend(self.waiting.drain(..count));
        }
    }

    /// Whether a batch can be told.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        !self.waiting.is_empty() && now_ns >= self.next_ns
    }

    /// When the next batch can be told, if any waits.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(self.next_ns)
    }
}

#[cfg(test)]
mod tests {
    //! What is told when.

    use ringstorm_acking::{FailReason, RootId};

    use super::*;

    fn fails(count: usize) -> Vec<(u32, Outcome)> {
        let fail = |root| (1, Outcome::Failed { root: RootId(root), reason: FailReason::Lost { worker: 1 } });
        (0..count as u64).map(fail).collect()
    }

    fn told(paced: &mut PacedFails, mut outcomes: Vec<(u32, Outcome)>, some_are_away: bool, now_ns: u64) -> usize {
        paced.pace(&mut outcomes, some_are_away, now_ns);
        outcomes.len()
    }

    #[test]
    fn fails_are_told_at_once_while_nobody_is_away() {
        let mut paced = PacedFails::default();
        assert_eq!(told(&mut paced, fails(100_000), false, 1), 100_000);
        assert_eq!(told(&mut paced, fails(100_000), false, 2), 100_000);
        assert_eq!(paced.deadline_ns(), None);
    }

    #[test]
    fn the_first_fails_are_told_at_once_and_then_so_many_in_a_period() {
        let mut paced = PacedFails::default();
        assert_eq!(told(&mut paced, fails(1), true, 5), 1);
        assert_eq!(told(&mut paced, fails(1), true, 6), 0);
        assert_eq!(paced.deadline_ns(), Some(5 + PERIOD_NS));
        assert_eq!(told(&mut paced, fails(3 * BATCH - 1), true, 5 + PERIOD_NS), BATCH);
        assert_eq!(told(&mut paced, Vec::new(), true, 4 + 2 * PERIOD_NS), 0);
        assert_eq!(told(&mut paced, Vec::new(), true, 5 + 2 * PERIOD_NS), BATCH);
    }

    #[test]
    fn what_waits_is_told_when_the_worker_is_back() {
        let mut paced = PacedFails::default();
        told(&mut paced, fails(1), true, 5);
        told(&mut paced, fails(10 * BATCH), true, 6);
        assert_eq!(told(&mut paced, Vec::new(), false, 5 + PERIOD_NS), 10 * BATCH);
        assert_eq!(paced.deadline_ns(), None);
    }

    #[test]
    fn other_outcomes_do_not_wait() {
        let mut paced = PacedFails::default();
        told(&mut paced, fails(1), true, 5);
        let outcomes = vec![(1, Outcome::Acked { root: RootId(7) }), (1, Outcome::ResetTimeout { root: RootId(8) })];
        assert_eq!(told(&mut paced, outcomes, true, 6), 2);
    }
}
