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
    seen: BTreeMap<(String, u32), Window>,
}

/// One interval of one task.
#[derive(Debug, Clone)]
struct Window {
    began: Duration,
    came: u32,
    hidden: u64,
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
        let new = Window { began: now, came: 0, hidden: 0 };
        let window = self.seen.entry((component.to_owned(), task)).or_insert(new);
        if now.saturating_sub(window.began) > self.interval {
            (window.began, window.came) = (now, 0);
        }
        window.came = window.came.saturating_add(1);
        let is_admitted = window.came <= self.per_interval;
        window.hidden += u64::from(!is_admitted);
        is_admitted
    }

    /// How many were not let through, by component, where the interval has passed at `now`. They are counted anew then.
    pub fn take_hidden(&mut self, now: Duration) -> Vec<(String, u64)> {
        let is_due = |window: &Window| window.hidden > 0 && now.saturating_sub(window.began) > self.interval;
        let due = self.seen.iter_mut().filter(|(_, window)| is_due(window));
        due.map(|((component, _), window)| (component.clone(), std::mem::take(&mut window.hidden))).collect()
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

    #[test]
    fn throttle_counts_what_it_holds_back() {
        let mut throttle = Throttle::new(2, Duration::from_secs(10));
        let second = Duration::from_secs;
        let came = [(5, "a"), (2, "b")];
        came.iter()
            .for_each(|(count, id)| assert_eq!((0..*count).filter(|_| throttle.admits(id, 1, second(1))).count(), 2));
        assert!(throttle.take_hidden(second(11)).is_empty(), "the interval goes on");
        assert_eq!(throttle.take_hidden(second(12)), [("a".to_owned(), 3)]);
        assert!(throttle.take_hidden(Duration::MAX).is_empty());
    }
}
