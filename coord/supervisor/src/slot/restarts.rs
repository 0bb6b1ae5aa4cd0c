//! When a worker is started again, and when a slot is withdrawn since nothing can be started in it. Threading: plain data.

use std::collections::VecDeque;
use std::time::Duration;

use ringstorm_control::pause::pause;
use ringstorm_control::time::Moment;

use crate::settings::Settings;

/// How many processes that have ended are remembered: as many as may have messages under way.
const ENDED_KEPT: usize = 16;

/// Restarts of one topology's worker in a slot: at once after it ran well, with growing pauses when it dies soon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Restarts {
    /// How often it died in a row without having run well.
    deaths: u32,
    not_before: Moment,
}

impl Restarts {
    /// It died after having been up for so long, if it came up.
    pub(super) fn died(&mut self, now: Moment, ran: Option<Duration>, settings: &Settings) {
        if ran.is_some_and(|ran| ran >= settings.ran_well_after) {
            self.deaths = 0;
        }
        let wait = match self.deaths {
            0 => Duration::ZERO,
            deaths => pause(settings.restart_pause, settings.restart_pause_max, deaths),
        };
        self.deaths = self.deaths.saturating_add(1);
        self.not_before = now + wait;
    }

    /// When it may be started.
    pub(super) fn not_before(&self) -> Moment {
        self.not_before
    }
}

/// Whether a slot is withdrawn, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Withdrawal {
    /// Failed starts since a worker came up, or since it was withdrawn last.
    failures: u32,
    /// How often it was withdrawn since a worker came up.
    times: u32,
    /// Why, and until when; without an end it lasts until the process has ended.
    now: Option<(String, Option<Moment>)>,
}

impl Withdrawal {
    /// A start failed for a reason that lies in the slot or its host. Whether it is withdrawn for that.
    pub(super) fn start_failed(&mut self, now: Moment, settings: &Settings, why: &str) -> bool {
        self.failures = self.failures.saturating_add(1);
        if self.failures < settings.start_failures_max {
            return false;
        }
        self.failures = 0;
        self.times = self.times.saturating_add(1);
        let until = now + pause(settings.withdrawn_for, settings.withdrawn_for_max, self.times);
        self.now = Some((why.to_owned(), Some(until)));
        true
    }

    /// Its process does not die. Whether that is new.
    pub(super) fn process_is_stuck(&mut self) -> bool {
        let is_new = self.now.is_none();
        if is_new {
            self.now = Some(("its process does not die".to_owned(), None));
        }
        is_new
    }

    pub(super) fn process_ended(&mut self) {
        self.now.take_if(|(_, until)| until.is_none());
    }

    pub(super) fn worker_came_up(&mut self) {
        *self = Self::default();
    }

    /// Whether it ends now.
    pub(super) fn is_over(&mut self, now: Moment) -> bool {
        self.now.take_if(|(_, until)| until.is_some_and(|until| until <= now)).is_some()
    }

    pub(super) fn why(&self) -> Option<&str> {
        self.now.as_ref().map(|(why, _)| why.as_str())
    }

    pub(super) fn until(&self) -> Option<Moment> {
        self.now.as_ref().and_then(|(_, until)| *until)
    }
}

/// The newest processes of a slot that have ended, so that what comes late from one is known as such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    incarnations: VecDeque<u64>,
}

impl Ended {
    pub(super) fn add(&mut self, incarnation: u64) {
        if self.incarnations.len() == ENDED_KEPT {
            self.incarnations.pop_front();
        }
        self.incarnations.push_back(incarnation);
    }

    pub(super) fn has(&self, incarnation: u64) -> bool {
        self.incarnations.contains(&incarnation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_is_at_once_and_pauses_grow_until_it_ran_well() {
        let (settings, now) = (Settings::default(), Moment(Duration::from_secs(100)));
        let mut restarts = Restarts::default();
        let mut waits = Vec::new();
        for ran in [None, Some(1), Some(59), None, Some(60), Some(0)] {
            restarts.died(now, ran.map(Duration::from_secs), &settings);
            waits.push(restarts.not_before().since(now).as_secs());
        }
        assert_eq!(waits, [0, 1, 2, 4, 0, 1]);
    }

    #[test]
    fn a_slot_is_withdrawn_after_some_failures_in_a_row_for_longer_each_time() {
        let (settings, mut now) = (Settings::default(), Moment(Duration::from_secs(100)));
        let mut withdrawal = Withdrawal::default();
        for secs in [30, 60, 120] {
            assert!(!withdrawal.start_failed(now, &settings, "taken"));
            assert!(!withdrawal.start_failed(now, &settings, "taken"));
            assert!(withdrawal.start_failed(now, &settings, "taken"));
            let until = now + Duration::from_secs(secs);
            assert_eq!((withdrawal.why(), withdrawal.until()), (Some("taken"), Some(until)));
            assert!(!withdrawal.is_over(now));
            now = until;
            assert!(withdrawal.is_over(now));
            assert_eq!(withdrawal.why(), None);
        }
        assert!(!withdrawal.start_failed(now, &settings, "taken"));
        withdrawal.worker_came_up();
        assert!(!withdrawal.start_failed(now, &settings, "taken"));
        assert!(!withdrawal.start_failed(now, &settings, "taken"));
    }
}
