//! When a worker that was told to stop by itself has drained. Pure.
//!
//! It sees its own numbers only, and nobody says whether others go on. So it has drained when nothing of its spouts is
//! pending and nothing has come or gone for a moment; or, if others go on sending, a little later than its spouts have
//! nothing pending.

use std::time::Duration;

use crate::worker::members::Reading;

/// How long others that go on sending are served after nothing of its own is pending.
const FOR_OTHERS: Duration = Duration::from_secs(3);

/// A worker that drains.
#[derive(Debug)]
pub(crate) struct Draining {
    /// It ends then, drained or not.
    until: Duration,
    /// It has drained when nothing has come or gone for so long.
    quiet: Duration,
    /// The last reading that differed from the one before, and when it was taken.
    changed: Option<(Reading, Duration)>,
    /// Since when nothing of its own is pending.
    settled: Option<Duration>,
}

impl Draining {
    /// It ends at `until` at the latest, on the clock of [`Draining::is_over`].
    pub(crate) fn new(until: Duration, quiet: Duration) -> Self {
        Self { until, quiet, changed: None, settled: None }
    }

    /// Whether there is nothing left to wait for.
    pub(crate) fn is_over(&mut self, now: Duration, reading: Reading) -> bool {
        let since = match self.changed {
            Some((last, since)) if last == reading => since,
            _ => now,
        };
        self.changed = Some((reading, since));
        self.settled = if reading.sent.pending == 0 { self.settled.or(Some(now)) } else { None };
        let is_quiet = reading.is_balanced() && now.saturating_sub(since) >= self.quiet;
        let is_settled = self.settled.is_some_and(|settled| now.saturating_sub(settled) >= FOR_OTHERS);
        is_quiet || is_settled || now >= self.until
    }
}

#[cfg(test)]
mod tests {
    //! Readings of a worker among others.

    use super::*;

    /// `executed` of `sent` tuples, and messages pending.
    fn reading(executed: u64, sent: u64, pending: u64) -> Reading {
        let mut reading = Reading::default();
        (reading.received.executed, reading.sent.tuples, reading.sent.pending) = (executed, sent, pending);
        reading
    }

    /// When it is over, in tenths of a second.
    fn over_at(mut reading: impl FnMut(u64) -> Reading) -> Option<u64> {
        let mut draining = Draining::new(Duration::from_secs(30), Duration::from_secs(1));
        (0..400).find(|tenth| draining.is_over(Duration::from_millis(100 * tenth), reading(*tenth)))
    }

    #[test]
    fn whoever_has_nothing_waits_a_moment() {
        assert_eq!(over_at(|_| reading(7, 7, 0)), Some(10));
    }

    #[test]
    fn own_messages_are_waited_for_to_the_end() {
        assert_eq!(over_at(|tenth| reading(7, 7, u64::from(tenth < 100))), Some(110));
        assert_eq!(over_at(|_| reading(7, 7, 1)), Some(300));
        assert_eq!(over_at(|_| reading(6, 7, 1)), Some(300));
    }

    #[test]
    fn others_that_go_on_are_served_a_little_longer() {
        assert_eq!(over_at(|tenth| reading(tenth, tenth, 0)), Some(30));
        assert_eq!(over_at(|tenth| reading(tenth, tenth, u64::from(tenth < 50))), Some(80));
    }
}
