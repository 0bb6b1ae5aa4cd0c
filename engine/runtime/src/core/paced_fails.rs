//! Fails that spouts hear of while a worker is away, told later and in batches.
//!
//! What is for a worker that is away fails within a turn. A spout that emits it again at once would go round and round with
//! its core, and with whatever it has its messages from, for as long as the worker is away. So a fail is told when a quarter
//! of the time has passed that the worker has been away by then, up to `WAIT_MAX_NS`: at once at first, five seconds later in
//! the end. And so many are told in a period at most. A message that waits to hear of its fail is pending like any other, so
//! that `topology.max.spout.pending` bounds how many wait. Everything else is told at once, and without a worker that is away
//! so are fails.
//!
//! Threading: belongs to one core.

use std::collections::VecDeque;

use ringstorm_acking::Outcome;

/// Between two batches.
const PERIOD_NS: u64 = 10_000_000;
/// Fails in a batch, of one executor: a hundred thousand in a second cost a part of a core.
const BATCH: usize = 1000;
/// A fail waits for this part of the time that a worker has been away.
const WAIT_PART: u64 = 4;
/// The longest that a fail waits: a message that fails at once is emitted each five seconds then.
const WAIT_MAX_NS: u64 = 5_000_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct PacedFails {
    /// What is told when, in this order.
    waiting: VecDeque<(u64, (u32, Outcome))>,
    /// When somebody was first seen to be away, while somebody is.
    away_since_ns: Option<u64>,
    next_ns: u64,
}

impl PacedFails {
    /// Keeps fails of `outcomes` back that are not to be told yet, if a worker is away, and adds those that are.
    pub(crate) fn pace(&mut self, outcomes: &mut Vec<(u32, Outcome)>, some_are_away: bool, now_ns: u64) {
        self.away_since_ns = some_are_away.then(|| self.away_since_ns.unwrap_or(now_ns));
        if let Some(since_ns) = self.away_since_ns {
            let wait_ns = (now_ns.saturating_sub(since_ns) / WAIT_PART).min(WAIT_MAX_NS);
            let told_ns = now_ns.saturating_add(wait_ns);
            let is_failed = |(_, outcome): &mut (u32, Outcome)| matches!(outcome, Outcome::Failed { .. });
            self.waiting.extend(outcomes.extract_if(.., is_failed).map(|outcome| (told_ns, outcome)));
        }
        if self.is_due(some_are_away, now_ns) {
            self.next_ns = now_ns.saturating_add(PERIOD_NS);
            let due = self.waiting.iter().take(BATCH).take_while(|(told_ns, _)| *told_ns <= now_ns).count();
            let count = if some_are_away { due } else { self.waiting.len() };
            outcomes.extend(self.waiting.drain(..count).map(|(_, outcome)| outcome));
        }
    }

    /// Whether a batch can be told.
    #[inline]
    pub(crate) fn is_due(&self, some_are_away: bool, now_ns: u64) -> bool {
        let first = self.waiting.front();
        first.is_some_and(|(told_ns, _)| now_ns >= self.next_ns && (!some_are_away || now_ns >= *told_ns))
    }

    /// When the next batch can be told, if any waits.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        self.waiting.front().map(|(told_ns, _)| self.next_ns.max(*told_ns))
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
        assert_eq!(told(&mut paced, fails(3 * BATCH), true, 5 + PERIOD_NS), 1);
        assert_eq!(told(&mut paced, Vec::new(), true, 4 + 2 * PERIOD_NS), 0);
        assert_eq!(told(&mut paced, Vec::new(), true, 5 + 2 * PERIOD_NS), BATCH);
    }

    /// Emitted again at once, over and over: the longer the worker is away, the seldomer that is.
    #[test]
    fn a_fail_waits_a_quarter_of_the_absence_and_five_seconds_at_most() {
        let mut paced = PacedFails::default();
        let (mut now_ns, mut times) = (0, 0);
        while now_ns < 100 * WAIT_MAX_NS {
            times += 1;
            let mut count = told(&mut paced, fails(1), true, now_ns);
            while count == 0 {
                now_ns = paced.deadline_ns().unwrap();
                count = told(&mut paced, Vec::new(), true, now_ns);
            }
        }
        // A hundred a second at first; once in each of the last 96 times of the longest wait.
        assert!((100..150).contains(&times), "{times}");
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
