//! Moments of one process, and the time of day.
//!
//! What must not depend on anybody's clock (silence, delays, back-off) is measured between [`Moment`]s. The time of day
//! is for what people read and what Storm's records hold. Threading: plain data.

use std::ops::Add;
use std::time::Duration;

/// A moment on the monotonic clock of one process, as the time since some start. Those of two processes cannot be
/// compared, and none is written anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub Duration);

/// The time, as a machine is told with every input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Now {
    /// On the monotonic clock; it never falls between two inputs.
    pub moment: Moment,
    /// The time of day, since 1970 (UTC). It may jump either way.
    pub wall: Duration,
}

impl Moment {
    /// How long ago an earlier moment was; zero if it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// The moment so much later; the last one there is instead of one beyond it.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

impl Now {
    /// The second of the time of day, as Storm's records hold it.
    pub fn wall_secs(&self) -> i32 {
        i32::try_from(self.wall.as_secs()).unwrap_or(i32::MAX)
    }
}
