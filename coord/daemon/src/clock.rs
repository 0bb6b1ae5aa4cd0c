//! The time that machines are told.
//!
//! Threading: plain data; copies of one clock agree. Errors: none.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringstorm_control::time::{Moment, Now};

/// A clock of this process. Moments of two clocks cannot be compared: a daemon has one.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock whose moments count from now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The time. A time of day before 1970 is given as 1970.
    pub fn now(self) -> Now {
        Now {
            moment: Moment(self.start.elapsed()),
            wall: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }

    /// How long it is until a moment; zero if it is past.
    pub fn until(self, moment: Moment) -> Duration {
        moment.since(Moment(self.start.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_never_fall_and_the_time_of_day_is_one_of_today() {
        let clock = Clock::start();
        let (first, second) = (clock.now(), clock.now());
        assert!(first.moment <= second.moment);
        assert!(second.wall.as_secs() > 1_700_000_000);
        assert_eq!(clock.until(first.moment), Duration::ZERO);
        let left = clock.until(clock.now().moment + Duration::from_secs(60));
        assert!((59..=60).contains(&left.as_secs()));
    }
}
