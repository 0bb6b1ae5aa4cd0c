//! What a source emits and when: as much as possible, at a fixed rate (open loop), or nothing.
//!
//! Open loop means that tuple `i` is due at `start + i / rate` whatever happened to the tuples before it, and that its
//! latency counts from that moment: a source that was held up shows as latency instead of hiding it (no coordinated
//! omission). Engine spouts and raw controls use the same [`Generator`].
//!
//! Threading: each source owns its generator. Errors: none.

use std::num::NonZeroU64;
use std::sync::Arc;

use crate::window::{Bounds, LegWindow, STAMP_EVERY};

/// The load of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// As many tuples as the sink takes.
    Saturating,
    /// A fixed rate, whatever the sink takes.
    Open(Rate),
    /// No tuple at all.
    Idle,
}

/// Tuples per second of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    tuples_per_second: NonZeroU64,
    /// Nanoseconds between tuples, times 2^24: off by less than a nanosecond in ten million tuples.
    interval_fixed: u64,
}

impl Rate {
    /// A rate of `tuples_per_second`.
    pub fn new(tuples_per_second: NonZeroU64) -> Rate {
        Rate { tuples_per_second, interval_fixed: (1_000_000_000_u64 << 24) / tuples_per_second }
    }

    /// Tuples per second.
    pub fn tuples_per_second(&self) -> u64 {
        self.tuples_per_second.get()
    }

    /// When the tuple `sequence` of a leg that started at `start_ns` is due.
    #[inline]
    pub fn due_ns(&self, start_ns: u64, sequence: u64) -> u64 {
        start_ns + ((u128::from(sequence) * u128::from(self.interval_fixed)) >> 24) as u64
    }
}

/// What a source has to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Emit this many tuples, beginning with [`Generator::next_sequence`].
    Tuples(u64),
    /// Nothing before this moment, in nanoseconds of the leg's clock.
    Nothing {
        /// The moment.
        until_ns: u64,
    },
    /// The leg is over.
    Finished,
}

/// Decides for one source which tuples are due. Opens the leg when it is made.
#[derive(Debug)]
pub struct Generator {
    window: Arc<LegWindow>,
    bounds: Bounds,
    load: Load,
    next: u64,
}

impl Generator {
    /// Opens the leg; the first tuple is due now.
    pub fn open(window: Arc<LegWindow>, load: Load) -> Generator {
        let bounds = window.open();
        Generator { window, bounds, load, next: 0 }
    }

    /// The sequence number of the next tuple, which is also how many were emitted.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// What to do now. `at_most` bounds the answer and divides [`STAMP_EVERY`].
    ///
    /// Emitting is reported with [`Generator::emitted`]; whoever cannot emit just asks again.
    #[inline]
    pub fn due(&self, at_most: u64) -> Due {
        match self.load {
            Load::Saturating => {
                // Between two stamps the clock is not read: a reading costs more than some tuples do.
                if !self.next.is_multiple_of(STAMP_EVERY) { Due::Tuples(at_most) } else { self.due_at_stamp(at_most) }
            }
            Load::Open(rate) => self.due_at_rate(rate, at_most),
            Load::Idle => {
                let over = self.window.clock().now_ns() >= self.bounds.stop_ns;
                if over { Due::Finished } else { Due::Nothing { until_ns: self.bounds.stop_ns } }
            }
        }
    }

    #[cold]
    fn due_at_stamp(&self, at_most: u64) -> Due {
        let now_ns = self.window.clock().now_ns();
        if now_ns >= self.bounds.stop_ns {
            return Due::Finished;
        }
        self.window.stamp(self.next, now_ns);
        Due::Tuples(at_most)
    }

    #[inline]
    fn due_at_rate(&self, rate: Rate, at_most: u64) -> Due {
        let due_ns = |sequence| rate.due_ns(self.bounds.start_ns, sequence);
        let next_due_ns = due_ns(self.next);
        if next_due_ns >= self.bounds.stop_ns {
            return Due::Finished;
        }
        let now_ns = self.window.clock().now_ns();
        if now_ns < next_due_ns {
            return Due::Nothing { until_ns: next_due_ns };
        }
        let horizon_ns = now_ns.min(self.bounds.stop_ns - 1);
        let mut tuples = 1;
        while tuples < at_most && due_ns(self.next + tuples) <= horizon_ns {
            tuples += 1;
        }
        Due::Tuples(tuples)
    }

    /// Notes that the next `tuples` tuples were emitted.
    #[inline]
    pub fn emitted(&mut self, tuples: u64) {
        self.next += tuples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use std::time::{Duration, Instant};

    fn rate(tuples_per_second: u64) -> Rate {
        Rate::new(NonZeroU64::new(tuples_per_second).unwrap())
    }

    fn window(warm_up_ms: u64, measured_ms: u64) -> Arc<LegWindow> {
        let duration = Duration::from_millis;
        Arc::new(LegWindow::new(Clock::from_instant(), duration(warm_up_ms), duration(measured_ms)))
    }

    #[test]
    fn tuples_are_due_at_start_plus_sequence_over_rate() {
        assert_eq!(rate(1_000_000).due_ns(5, 3), 3005);
        assert_eq!(rate(3).due_ns(0, 3), 999_999_999, "rounded down, never late");
        // An hour at three million a second is still right to the microsecond.
        let hour_ns = rate(3_000_000).due_ns(0, 3_000_000 * 3600);
        assert!(hour_ns.abs_diff(3_600_000_000_000) < 1_000, "{hour_ns}");
    }

    #[test]
    fn an_open_loop_emits_exactly_what_was_due_even_after_a_stall() {
        let mut generator = Generator::open(window(0, 10), Load::Open(rate(10_000)));
        std::thread::sleep(Duration::from_millis(5));
        let mut batches = Vec::new();
        loop {
            match generator.due(64) {
                Due::Tuples(tuples) => {
                    generator.emitted(tuples);
                    batches.push(tuples);
                }
                Due::Nothing { .. } => {}
                Due::Finished => break,
            }
        }
        assert!(batches[0] >= 50, "the first answer holds what the stall held back: {}", batches[0]);
        // 10 ms measured and 50 ms cool-down at 10,000 a second.
        assert_eq!(generator.next_sequence(), 600);
    }

    #[test]
    fn an_open_loop_says_until_when_nothing_is_due() {
        let mut generator = Generator::open(window(0, 100), Load::Open(rate(10)));
        assert_eq!(generator.due(1), Due::Tuples(1), "the first is due at once");
        generator.emitted(1);
        let until_ns = rate(10).due_ns(generator.bounds.start_ns, 1);
        assert_eq!(generator.due(1), Due::Nothing { until_ns });
    }

    #[test]
    fn saturation_ends_when_the_leg_does() {
        let mut generator = Generator::open(window(1, 1), Load::Saturating);
        let began = Instant::now();
        while let Due::Tuples(tuples) = generator.due(64) {
            assert_eq!(tuples, 64);
            generator.emitted(tuples);
        }
        assert!(began.elapsed() >= Duration::from_millis(50));
        assert_eq!(generator.next_sequence() % STAMP_EVERY, 0);
        assert!(generator.next_sequence() > 0);
    }

    #[test]
    fn idle_emits_nothing_and_ends() {
        let generator = Generator::open(window(0, 1), Load::Idle);
        assert_eq!(generator.due(1), Due::Nothing { until_ns: generator.bounds.stop_ns });
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(generator.due(1), Due::Finished);
    }
}
