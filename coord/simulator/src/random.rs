//! The one source of chance of a run.
//!
//! Invariant: everything that a seed decides is drawn from here, in the order of the steps, so that a seed replays. The
//! generator is pinned in the workspace's manifest: another version may draw other numbers from the same seed.
//! Threading: plain data.

use std::time::Duration;

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// That of a seed.
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { self.0.usize(..bound) }
    }

    /// Whether something happens that happens `per_mille` times in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.0.u32(..1000) < per_mille
    }

    /// A duration from one to another, both included.
    pub fn duration(&mut self, from: Duration, to: Duration) -> Duration {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let (from, to) = (micros(from), micros(to).max(micros(from)));
        Duration::from_micros(self.0.u64(from..=to))
    }

    /// A duration in milliseconds, as [`Self::duration`].
    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        self.duration(Duration::from_millis(from), Duration::from_millis(to))
    }

    /// One of several; `None` if there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.0.usize(..from.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_draws_the_same_numbers() {
        let mut random = Random::new(7);
        let drawn = [random.number(), random.number(), random.below(1000) as u64];
        assert_eq!(
            drawn,
            [14_266_376_187_910_451_857, 4_104_141_878_723_513_376, 718],
            "seeds of old would not replay"
        );
    }

    #[test]
    fn bounds_hold() {
        let mut random = Random::new(1);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
        for _ in 0..1000 {
            assert!(random.below(3) < 3);
            let duration = random.millis(5, 9);
            assert!((Duration::from_millis(5)..=Duration::from_millis(9)).contains(&duration));
            assert!(!random.chance(0) && random.chance(1000));
        }
    }
}
