//! When a failed message is emitted again and when it is given up.
//!
//! [`Retries`] is pure bookkeeping: the time is passed in, and it knows messages by number only. It remembers nothing of
//! a message that never failed, so that messages which go through at once cost it nothing.
//!
//! Invariants: a failed message is due for exactly one replay at a time; one that was acked or given up is forgotten.
//!
//! Threading: belongs to one spout task.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use ringstorm_acking::FailReason;

/// How often a failed message is emitted again, and after which delays.
///
/// The delay doubles from failure to failure, from the first to the longest. A message that was lost with a worker is
/// always tried again: that was not its fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// `None` for no limit.
    limit: Option<u32>,
    first_delay: Duration,
    longest_delay: Duration,
}

impl Default for RetryPolicy {
    /// 5 retries, after 100 ms, 200 ms and so on.
    fn default() -> Self {
        Self::at_most(5)
    }
}

impl RetryPolicy {
    /// Up to this many retries of each message, the first after 100 ms, at most 30 s apart.
    pub const fn at_most(retries: u32) -> Self {
        Self { limit: Some(retries), first_delay: Duration::from_millis(100), longest_delay: Duration::from_secs(30) }
    }

    /// Retries until the message is acked, as spouts of Storm usually do. One that can never be acked is tried for ever,
    /// and the run does not end.
    pub const fn unlimited() -> Self {
        Self { limit: None, ..Self::at_most(0) }
    }

    /// No retries: a failed message is given up at once.
    pub const fn none() -> Self {
        Self::at_most(0)
    }

    /// With other delays: before the first retry, and the longest. A first delay of zero retries at once.
    pub const fn with_delays(self, first: Duration, longest: Duration) -> Self {
        Self { first_delay: first, longest_delay: longest, ..self }
    }

    /// The delay after this many failures, counted from 1.
    pub fn delay(&self, failures: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_delay.checked_mul(doubled).unwrap_or(Duration::MAX).min(self.longest_delay)
    }
}

/// Whether a message that failed is worth another try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// As the [`RetryPolicy`] says.
    Yes,
    /// No: it can never succeed.
    No,
}

/// What is done with a message that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is due again later.
    Again,
    /// It has failed this often and is forgotten.
    GiveUp { failures: u32 },
}

/// The messages of one task that have failed.
#[derive(Debug)]
pub(crate) struct Retries {
    policy: RetryPolicy,
    /// How often each message has failed; gone when it is acked or given up.
    failures: HashMap<u64, u32>,
    due: BinaryHeap<Reverse<(Instant, u64)>>,
}

/// More messages than this do not wait for their replay: until some are due, nothing new is taken.
const WAITING_MAX: usize = 1 << 16;

impl Retries {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self { policy, failures: HashMap::new(), due: BinaryHeap::new() }
    }

    /// A message that was emitted has failed.
    pub(crate) fn failed(&mut self, message: u64, reason: FailReason, retry: Retry, now: Instant) -> Verdict {
        let failures = self.failures.entry(message).or_insert(0);
        let lost = matches!(reason, FailReason::Lost { .. });
        *failures = failures.saturating_add(u32::from(!lost));
        let count = *failures;
        if retry == Retry::No || !lost && self.policy.limit.is_some_and(|limit| count > limit) {
            self.failures.remove(&message);
            return Verdict::GiveUp { failures: count };
        }
        let at = now.checked_add(self.policy.delay(count)).unwrap_or(now);
        self.due.push(Reverse((at, message)));
        Verdict::Again
    }

    /// How often the message has failed so far.
    pub(crate) fn failures(&self, message: u64) -> u32 {
        self.failures.get(&message).copied().unwrap_or(0)
    }

    /// A message that was emitted is done.
    #[inline]
    pub(crate) fn acked(&mut self, message: u64) {
        if !self.failures.is_empty() {
            self.failures.remove(&message);
        }
    }

    /// The next message that is due by now; it counts as emitted again.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<u64> {
        self.due.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.due.pop().map(|Reverse((_, message))| message)
    }

    /// When the next message is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Whether messages wait for their replay.
    #[inline]
    pub(crate) fn are_waiting(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether so many wait that nothing new should be taken.
    pub(crate) fn are_full(&self) -> bool {
        self.due.len() >= WAITING_MAX
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAILED: FailReason = FailReason::FailedBy { task: 7 };

    #[test]
    fn delays_double_up_to_the_longest() {
        let policy = RetryPolicy::default();
        let delays: Vec<u64> = (1..=5).map(|failures| policy.delay(failures).as_millis() as u64).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600]);
        assert_eq!(policy.delay(40), Duration::from_secs(30));
        assert_eq!(policy.delay(u32::MAX), Duration::from_secs(30));
        let at_once = policy.with_delays(Duration::ZERO, Duration::ZERO);
        assert_eq!(at_once.delay(3), Duration::ZERO);
        assert_eq!(policy.with_delays(Duration::MAX, Duration::MAX).delay(9), Duration::MAX);
    }

    #[test]
    fn the_limit_counts_failures_but_not_losses() {
        let now = Instant::now();
        let mut retries = Retries::new(RetryPolicy::at_most(2).with_delays(Duration::ZERO, Duration::ZERO));
        let mut fail = |reason| {
            let verdict = retries.failed(1, reason, Retry::Yes, now);
            if verdict == Verdict::Again {
                assert_eq!(retries.pop_due(now), Some(1));
            }
            verdict
        };
        for _ in 0..10 {
            assert_eq!(fail(FailReason::Lost { worker: 3 }), Verdict::Again);
        }
        assert_eq!([fail(FAILED), fail(FailReason::TimedOut)], [Verdict::Again; 2]);
        assert_eq!(fail(FAILED), Verdict::GiveUp { failures: 3 });
        assert_eq!(fail(FAILED), Verdict::Again, "a message that was given up is forgotten");
    }

    #[test]
    fn the_hopeless_is_given_up_at_once() {
        let mut retries = Retries::new(RetryPolicy::unlimited());
        let verdict = retries.failed(1, FAILED, Retry::No, Instant::now());
        assert_eq!(verdict, Verdict::GiveUp { failures: 1 });
        assert!(!retries.are_waiting() && retries.failures.is_empty());
    }

    /// What the naive model knows of a message.
    #[derive(Clone, Copy, Debug)]
    enum State {
        InFlight { failures: u32 },
        Waiting { failures: u32, until: Instant },
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Ack(u64),
        Fail(u64, FailReason, Retry),
        Advance(u64),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let reason = prop_oneof![Just(FAILED), Just(FailReason::TimedOut), Just(FailReason::Lost { worker: 1 })];
        let retry = prop_oneof![9 => Just(Retry::Yes), 1 => Just(Retry::No)];
        let event = prop_oneof![
            1 => (0..8_u64).prop_map(Event::Ack),
            3 => (0..8_u64, reason, retry).prop_map(|(message, reason, retry)| Event::Fail(message, reason, retry)),
            2 => (0..500_u64).prop_map(Event::Advance),
        ];
        prop::collection::vec(event, 0..200)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Against a list of messages: the same verdicts, and each replay at its time, neither lost nor doubled.
        #[test]
        fn agrees_with_a_naive_model(events in events(), limit in 0..4_u32) {
            let policy = RetryPolicy::at_most(limit);
            let mut retries = Retries::new(policy);
            let mut now = Instant::now();
            let mut model = [State::InFlight { failures: 0 }; 8];
            for event in events {
                match event {
                    Event::Ack(message) => {
                        // Only what was emitted can be acked; afterwards the number stands for a new message.
                        if let State::InFlight { .. } = model[message as usize] {
                            retries.acked(message);
                            model[message as usize] = State::InFlight { failures: 0 };
                        }
                    }
                    Event::Fail(message, reason, retry) => {
                        let State::InFlight { failures } = model[message as usize] else { continue };
                        let lost = matches!(reason, FailReason::Lost { .. });
                        let failures = failures + u32::from(!lost);
                        let again = retry == Retry::Yes && (lost || failures <= limit);
                        let expected = if again { Verdict::Again } else { Verdict::GiveUp { failures } };
                        prop_assert_eq!(retries.failed(message, reason, retry, now), expected);
                        model[message as usize] = if again {
                            State::Waiting { failures, until: now + policy.delay(failures) }
                        } else {
                            State::InFlight { failures: 0 }
                        };
                    }
                    Event::Advance(milliseconds) => {
                        now += Duration::from_millis(milliseconds);
                        let mut due: Vec<u64> = std::iter::from_fn(|| retries.pop_due(now)).collect();
                        due.sort_unstable();
                        let mut expected = Vec::new();
                        for (message, state) in model.iter_mut().enumerate() {
                            if let State::Waiting { failures, until } = *state && until <= now {
                                expected.push(message as u64);
                                *state = State::InFlight { failures };
                            }
                        }
                        prop_assert_eq!(due, expected);
                    }
                }
                let next = model.iter().filter_map(|state| match state {
                    State::Waiting { until, .. } => Some(*until),
                    State::InFlight { .. } => None,
                });
                let next = next.min();
                prop_assert_eq!(retries.next_due(), next);
                prop_assert_eq!(retries.are_waiting(), next.is_some());
            }
        }
    }
}
