//! The clocks of one process.
//!
//! Each runs a little fast or slow, starts somewhere, and shows a time of day that may jump. Invariants: the monotonic
//! moment never falls; [`Clock::when`] is never before its moment. Threading: plain data.

use std::time::Duration;

use ringstorm_control::time::{Moment, Now};

use crate::random::Random;

/// The time of day at which every run begins, since 1970.
const BEGINNING: Duration = Duration::from_secs(1_800_000_000);

/// How much faster or slower than the world a clock may run, in millionths. Real ones stay below 100; more than that is
/// only more of a test.
const DRIFT_MAX_MILLIONTHS: usize = 20_000;

const MILLION: u128 = 1_000_000;

/// A clock. Times of the world are durations since its beginning.
#[derive(Clone, Debug)]
pub struct Clock {
    offset: Duration,
    /// How many millionths of a second pass on it in a second.
    rate: u128,
    wall_before: Duration,
    wall_after: Duration,
    /// Where its time of day stands still.
    wall_stopped: Option<Duration>,
}

impl Clock {
    /// One that runs as the world does.
    pub fn exact() -> Self {
        let none = Duration::ZERO;
        Self { offset: none, rate: MILLION, wall_before: none, wall_after: none, wall_stopped: None }
    }

    /// Any one.
    pub fn random(random: &mut Random) -> Self {
        let rate = MILLION + random.below(2 * DRIFT_MAX_MILLIONTHS + 1) as u128 - DRIFT_MAX_MILLIONTHS as u128;
        let offset = random.millis(0, 1_000_000);
        let wall_after = random.millis(0, 2_000);
        Self { offset, rate, wall_before: Duration::ZERO, wall_after, wall_stopped: None }
    }

    /// Moves its time of day.
    pub fn jump(&mut self, random: &mut Random) {
        self.wall_before = random.millis(0, 600_000);
        self.wall_after = random.millis(0, 600_000);
    }

    /// Sets its time of day before or after that of the world.
    pub fn set_wall(&mut self, before: Duration, after: Duration) {
        (self.wall_before, self.wall_after) = (before, after);
    }

    /// Lets its time of day stand still at what it shows at a time of the world.
    pub fn stop_wall(&mut self, at: Duration) {
        self.wall_stopped = Some(self.now(at).wall);
    }

    /// What it shows at a time of the world.
    pub fn now(&self, at: Duration) -> Now {
        let ran = nanos(at.as_nanos() * self.rate / MILLION);
        let wall = BEGINNING + at + self.wall_after;
        let wall = self.wall_stopped.unwrap_or(wall.saturating_sub(self.wall_before));
        Now { moment: Moment(self.offset + ran), wall }
    }

    /// When in the world it will show a moment; its beginning if it showed that before.
    pub fn when(&self, moment: Moment) -> Duration {
        let ran = moment.0.saturating_sub(self.offset);
        nanos((ran.as_nanos() * MILLION).div_ceil(self.rate))
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_a_moment_when_it_said_it_would() {
        let mut random = Random::new(3);
        for _ in 0..100 {
            let clock = Clock::random(&mut random);
            let at = random.millis(0, 1_000_000);
            let moment = clock.now(at).moment + random.millis(0, 10_000);
            let when = clock.when(moment);
            assert!(when >= at.saturating_sub(Duration::from_nanos(2)) && clock.now(when).moment >= moment);
        }
    }

    #[test]
    fn the_time_of_day_may_fall_and_the_moment_does_not() {
        let mut random = Random::new(4);
        let mut clock = Clock::exact();
        let (before, at) = (clock.now(Duration::from_secs(5)), Duration::from_secs(6));
        let has_fallen = (0..100).any(|_| {
            clock.jump(&mut random);
            assert!(clock.now(at).moment > before.moment);
            clock.now(at).wall < before.wall
        });
        assert!(has_fallen);
    }
}
