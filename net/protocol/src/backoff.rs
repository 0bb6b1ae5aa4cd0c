//! How long to wait between two tries to reach a peer.

use std::time::Duration;

/// Doubles from `least` to `most`; each wait is between half of that and all of it, so that peers of one that came back do
/// not all come at once.
#[derive(Clone, Debug)]
pub struct Backoff {
    least: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    /// Starts with `least`; `most` is at least as long.
    pub fn new(least: Duration, most: Duration) -> Self {
        Self { least, most: most.max(least), next: least }
    }

    /// How long to wait now. `random` is any number, all of whose bits count.
    pub fn wait(&mut self, random: u64) -> Duration {
        let full = self.next;
        self.next = (2 * full).min(self.most);
        full / 2 + full.mul_f64(random as f64 / u64::MAX as f64 / 2.0)
    }

    /// It worked: the next wait is the shortest again.
    pub fn reset(&mut self) {
        self.next = self.least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_start_over() {
        let (least, most) = (Duration::from_millis(10), Duration::from_millis(50));
        let mut backoff = Backoff::new(least, most);
        let mut waits = |random| (0..4).map(|_| backoff.wait(random).as_millis()).collect::<Vec<_>>();
        assert_eq!(waits(0), [5, 10, 20, 25]);
        assert_eq!(waits(u64::MAX), [50, 50, 50, 50]);
        backoff.reset();
        assert_eq!(backoff.wait(u64::MAX).as_millis(), 10);
    }
}
