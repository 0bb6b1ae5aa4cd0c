//! Something that is done from time to time, on demand, and again after a failure; one at a time.
//!
//! Invariant: while it is under way it is not begun again; what was asked for meanwhile is done afterwards. Threading:
//! plain data.

use std::time::Duration;

use ringstorm_control::pause::pause;
use ringstorm_control::time::Moment;

/// It.
#[derive(Debug, Default)]
pub(crate) struct Chore {
    due: Option<Moment>,
    is_under_way: bool,
    is_wanted_again: bool,
    failures: u32,
}

impl Chore {
    /// It should be done as soon as may be. After a failure its pause is kept.
    pub(crate) fn ask(&mut self, now: Moment) {
        if self.is_under_way {
            self.is_wanted_again = true;
        } else if self.failures == 0 {
            self.due = Some(now);
        }
    }

    /// It should be done by then.
    pub(crate) fn ask_by(&mut self, by: Moment) {
        if !self.is_under_way && self.failures == 0 {
            self.due = Some(self.due.map_or(by, |due| due.min(by)));
        }
    }

    /// What was under way is no more, and it should be done now.
    pub(crate) fn anew(&mut self, now: Moment) {
        *self = Self { due: Some(now), ..Self::default() };
    }

    /// What was under way is no more, and nothing can be done at present.
    pub(crate) fn stop(&mut self) {
        *self = Self::default();
    }

    /// Whether it is to be begun now; then it is under way.
    pub(crate) fn begins(&mut self, now: Moment) -> bool {
        let begins = !self.is_under_way && self.due.is_some_and(|due| due <= now);
        if begins {
            self.is_under_way = true;
            self.due = None;
        }
        begins
    }

    /// It is done; the next time is after a period at the latest.
    pub(crate) fn done(&mut self, now: Moment, period: Duration) {
        let due = if self.is_wanted_again { now } else { now + period };
        *self = Self { due: Some(due), ..Self::default() };
    }

    /// It failed, and is tried again after a pause.
    pub(crate) fn failed(&mut self, now: Moment, first: Duration, longest: Duration) {
        let failures = self.failures.saturating_add(1);
        *self = Self { due: Some(now + pause(first, longest, failures)), failures, ..Self::default() };
    }

    /// When it is to be begun.
    pub(crate) fn due(&self) -> Option<Moment> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(secs: u64) -> Moment {
        Moment(Duration::from_secs(secs))
    }

    #[test]
    fn one_at_a_time_and_once_more_if_wanted_meanwhile() {
        let mut chore = Chore::default();
        assert!(!chore.begins(at(0)));
        chore.ask(at(1));
        assert!(chore.begins(at(1)));
        assert!(!chore.begins(at(2)));
        chore.ask(at(2));
        chore.done(at(3), Duration::from_secs(10));
        assert!(chore.begins(at(3)));
        chore.done(at(4), Duration::from_secs(10));
        assert_eq!(chore.due(), Some(at(14)));
        chore.ask_by(at(8));
        chore.ask_by(at(9));
        assert_eq!(chore.due(), Some(at(8)));
    }

    #[test]
    fn a_pause_after_a_failure_is_kept_whoever_asks() {
        let mut chore = Chore::default();
        chore.ask(at(0));
        for pause in [1, 2, 4, 4] {
            let due = chore.due().unwrap();
            assert!(chore.begins(due));
            chore.failed(due, Duration::from_secs(1), Duration::from_secs(4));
            chore.ask(due);
            chore.ask_by(due);
            assert_eq!(chore.due(), Some(due + Duration::from_secs(pause)));
        }
        chore.anew(at(99));
        assert!(chore.begins(at(99)));
    }
}
