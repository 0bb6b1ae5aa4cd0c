//! Spin or park: what a core without work does until the next arrival.
//!
//! Spinning sees an arrival in tens of nanoseconds and burns the CPU; parking frees the CPU and costs tens of
//! microseconds to wake. The policy weighs them as in the ski-rental problem: a wake-up counts as much as spinning for
//! [`IdleSettings::spin_below`]. It remembers how long the latest [`WINDOW`] idle times were (in buckets, a quarter of
//! an octave each) and finds the spinning time which would have cost least over them:
//!
//! * arrivals that come nearer than `spin_below` are worth spinning for, and the core spins until they are well overdue;
//! * arrivals that come later are not, and the core parks at once;
//! * between bursts only as much is spun as the gaps *inside* a burst are long, since no affordable spinning reaches
//!   the next burst.
//!
//! Pure: time is passed in, in nanoseconds of any monotonic clock. Integers only; recording a gap costs a few
//! nanoseconds and the spinning time is computed anew for one in [`REFRESH_EVERY`] of them. Threading: one policy for
//! each core, not shared. There are no errors.

use std::time::Duration;

/// How many idle times are remembered. More would see rarer stragglers and adapt later.
const WINDOW: usize = 64;

/// How many new idle times there must be before the spinning time is computed anew.
const REFRESH_EVERY: usize = 8;

/// How far past the longest gap that is worth waiting for a core goes on spinning, in buckets: one octave, to twice that
/// gap, since gaps that were not seen yet may be longer than the longest of [`WINDOW`].
const GRACE: usize = 1 << STEPS_LOG2;

/// The longest spin, in multiples of `spin_below`.
const LONGEST_SPIN: u64 = 2;

/// Gaps under 2^10 ns share the first bucket.
const FIRST_OCTAVE: u32 = 10;

/// Buckets to an octave, as a power of two.
const STEPS_LOG2: u32 = 2;

/// The first bucket, 15 octaves up to 2^25 ns = 34 ms, and the last one for everything above.
const BUCKETS: usize = 2 + (15 << STEPS_LOG2);

/// When a core may spin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleSettings {
    /// Spin for arrivals and deadlines that are nearer than about this. At most 10 ms; more counts as 10 ms.
    pub spin_below: Duration,
    /// Spin and never park: the lowest latency for a whole CPU.
    pub always_spin: bool,
    /// Park at once in every case, for cores that share their CPU with others. Wins over `always_spin`.
    pub never_spin: bool,
}

impl Default for IdleSettings {
    fn default() -> Self {
        Self { spin_below: Duration::from_micros(200), always_spin: false, never_spin: false }
    }
}

/// What a core without work does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Look for work again at once.
    Spin,
    /// Park until it is rung.
    Park {
        /// For at most this long, in nanoseconds, when a deadline is known.
        for_ns: Option<u64>,
    },
}

/// Predicts from recent idle times; see the module.
#[derive(Debug, Clone)]
pub struct IdlePolicy {
    settings: IdleSettings,
    spin_below_ns: u64,
    /// The bucket of each remembered idle time; the oldest is overwritten.
    window: [u8; WINDOW],
    remembered: usize,
    oldest: usize,
    /// How many remembered idle times fell into each bucket.
    counts: [u8; BUCKETS],
    /// How many buckets end within the longest spin: the spinning time is the end of one of them.
    choices: usize,
    /// Idle times since the spinning time was computed.
    fresh: usize,
    /// How long this idle time and the next ones may spin.
    spin_for_ns: u64,
    /// When the current idle time began, if there is one.
    idle_since_ns: Option<u64>,
}

impl IdlePolicy {
    /// A policy that knows of no arrivals yet and so parks at once.
    #[must_use]
    pub fn new(settings: IdleSettings) -> Self {
        let spin_below = settings.spin_below.min(Duration::from_millis(10));
        let spin_below_ns = spin_below.as_nanos() as u64;
        Self {
            settings,
            spin_below_ns,
            choices: (0..BUCKETS).take_while(|&bucket| upper_edge_of(bucket) <= LONGEST_SPIN * spin_below_ns).count(),
            window: [0; WINDOW],
            remembered: 0,
            oldest: 0,
            counts: [0; BUCKETS],
            fresh: 0,
            spin_for_ns: 0,
            idle_since_ns: None,
        }
    }

    /// Tells that the core found work, at `now_ns`. Ends the idle time, if [`IdlePolicy::decide`] was called for one.
    ///
    /// Work that was due at a known deadline need not be told: `decide` knows the deadline.
    #[inline]
    pub fn work_arrived(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.idle_since_ns.take() {
            self.remember(now_ns.saturating_sub(since_ns));
        }
    }

    /// What to do at `now_ns` by a core that has had no work since `idle_since_ns` and has something to do at
    /// `next_deadline_ns` in any case.
    ///
    /// To be called in each turn without work. `idle_since_ns` stays the same until work is found.
    #[inline]
    pub fn decide(&mut self, now_ns: u64, next_deadline_ns: Option<u64>, idle_since_ns: u64) -> Idle {
        if self.idle_since_ns != Some(idle_since_ns) {
            self.idle_since_ns = Some(idle_since_ns);
            if self.fresh >= REFRESH_EVERY || self.remembered < REFRESH_EVERY {
                self.refresh();
            }
        }
        let for_ns = next_deadline_ns.map(|deadline_ns| deadline_ns.saturating_sub(now_ns));
        if self.settings.never_spin {
            return Idle::Park { for_ns };
        }
        let spin = self.settings.always_spin
            || now_ns.saturating_sub(idle_since_ns) < self.spin_for_ns
            || for_ns.is_some_and(|for_ns| for_ns < self.spin_below_ns);
        if spin { Idle::Spin } else { Idle::Park { for_ns } }
    }

    fn remember(&mut self, gap_ns: u64) {
        let bucket = bucket_of(gap_ns);
        if self.remembered == WINDOW {
            self.counts[self.window[self.oldest] as usize] -= 1;
        } else {
            self.remembered += 1;
        }
        self.window[self.oldest] = bucket;
        self.counts[bucket as usize] += 1;
        self.oldest = (self.oldest + 1) % WINDOW;
        self.fresh += 1;
    }

    /// Finds the spinning time that would have cost least over the remembered idle times: an idle time that is longer
    /// costs the spinning and a wake-up, a shorter one costs itself.
    fn refresh(&mut self) {
        self.fresh = 0;
        self.spin_for_ns = 0;
        let mut longer = self.remembered as u64;
        let mut least_cost_ns = longer * self.spin_below_ns;
        let (mut spun_by_shorter_ns, mut spin_for_ns, mut ahead) = (0, 0, 0);
        // Only ends at a grace after some idle time are worth a try.
        for bucket in (0..self.choices).filter(|&bucket| self.counts[bucket] > 0) {
            while ahead < self.choices && ahead <= bucket + GRACE {
                let (count, lower_ns) = (u64::from(self.counts[ahead]), spin_for_ns);
                spin_for_ns = upper_edge_of(ahead);
                longer -= count;
                // In the middle of its bucket on average.
                spun_by_shorter_ns += count * lower_ns.midpoint(spin_for_ns);
                ahead += 1;
            }
            let cost_ns = spun_by_shorter_ns + longer * (spin_for_ns + self.spin_below_ns);
            // Of equals the last, whose grace counts from the longest idle time.
            if cost_ns <= least_cost_ns {
                least_cost_ns = cost_ns;
                self.spin_for_ns = spin_for_ns;
            }
        }
    }
}

/// The bucket of a gap: its octave and the bits below the leading one.
#[inline]
fn bucket_of(gap_ns: u64) -> u8 {
    let octave = gap_ns.max(1).ilog2();
    if octave < FIRST_OCTAVE {
        return 0;
    }
    let step = (gap_ns >> (octave - STEPS_LOG2)) as usize & ((1 << STEPS_LOG2) - 1);
    let bucket = 1 + (((octave - FIRST_OCTAVE) as usize) << STEPS_LOG2) + step;
    bucket.min(BUCKETS - 1) as u8
}

/// The first nanosecond above a bucket.
#[inline]
fn upper_edge_of(bucket: usize) -> u64 {
    if bucket == BUCKETS - 1 {
        return u64::MAX;
    }
    let steps = 1_u64 << STEPS_LOG2;
    let (octave, step) = (bucket as u64 / steps, bucket as u64 % steps);
    (steps + step) << (octave + u64::from(FIRST_OCTAVE - STEPS_LOG2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_meet_at_their_edges() {
        assert_eq!(upper_edge_of(0), 1 << FIRST_OCTAVE);
        for bucket in 0..BUCKETS - 1 {
            let edge = upper_edge_of(bucket);
            assert_eq!(bucket_of(edge - 1) as usize, bucket, "below {edge}");
            assert_eq!(bucket_of(edge) as usize, bucket + 1, "at {edge}");
        }
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(u64::MAX) as usize, BUCKETS - 1);
        assert_eq!(upper_edge_of(BUCKETS - 1), u64::MAX);
    }
}
