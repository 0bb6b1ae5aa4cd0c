//! Limits of time that several steps share.
//!
//! Threading: plain data. Errors: none.

use std::time::{Duration, Instant};

/// A moment by which something has to be done; none if it lies beyond what a clock can say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Instant::now().checked_add(limit))
    }

    /// The time that is left; `None` when there is none.
    pub(crate) fn left(self) -> Option<Duration> {
        let Some(at) = self.0 else { return Some(Duration::MAX) };
        Some(at.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// The time that is left, in the form that sockets take.
    pub(crate) fn of_socket(self) -> Option<Option<Duration>> {
        self.left().map(|left| (left < Duration::MAX).then(|| left.max(Duration::from_millis(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_beyond_all_clocks_never_passes() {
        assert_eq!(Deadline::after(Duration::MAX).of_socket(), Some(None));
        assert_eq!(Deadline::after(Duration::ZERO).left(), None);
        assert!(Deadline::after(Duration::from_secs(5)).left().is_some_and(|left| left.as_secs() >= 4));
    }
}
