//! Storm's throttling of error reports: so many per interval and task.
//!
//! Threading: plain data. Errors: none.

use std::collections::BTreeMap;
use std::time::Duration;

/// Which error reports are let through.
#[derive(Debug, Clone)]
pub struct Throttle {
    per_interval: u32,
    interval: Duration,
    seen: BTreeMap<(String, u32), (Duration, u32)>,
}

impl Throttle {
    /// Lets `per_interval` reports of each task through in each interval: `topology.max.error.report.per.interval` and
    /// `topology.error.throttle.interval.secs`.
    pub fn new(per_interval: u32, interval: Duration) -> Self {
        Self { per_interval, interval, seen: BTreeMap::new() }
    }

    /// Whether a report at `now` (since any fixed moment) is let through. As in Storm the count starts again when the
    /// interval has passed at the next report.
    pub fn admits(&mut self, component: &str, task: u32, now: Duration) -> bool {
        let entry = self.seen.entry((component.to_owned(), task)).or_insert((now, 0));
        if now.saturating_sub(entry.0) > self.interval {
            *entry = (now, 0);
        }
        entry.1 = entry.1.saturating_add(1);
        entry.1 <= self.per_interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttle_lets_a_number_through_per_interval_and_task() {
        let mut throttle = Throttle::new(2, Duration::from_secs(10));
        let at = |throttle: &mut Throttle, task, seconds| throttle.admits("a", task, Duration::from_secs(seconds));
        assert!(at(&mut throttle, 1, 0) && at(&mut throttle, 1, 1) && !at(&mut throttle, 1, 2));
        assert!(at(&mut throttle, 2, 2));
        assert!(at(&mut throttle, 1, 11) && at(&mut throttle, 1, 12) && !at(&mut throttle, 1, 13));
    }
}
