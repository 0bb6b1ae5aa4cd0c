//! The clock of a run: nanoseconds since the run began, comparable between CPUs.
//!
//! The time stamp counter is used only where all of these hold: the CPU calls it constant and non-stop
//! (`constant_tsc`, `nonstop_tsc` in `/proc/cpuinfo`), the kernel itself uses it as clock source (`tsc`), and a check
//! that sends readings to and fro between the two CPUs of the run finds none that goes backwards. Otherwise
//! [`Instant`] is used. A reading of the counter waits for the loads before it (`lfence`), so that a tuple is read
//! before its time of arrival is.
//!
//! Threading: a [`Clock`] is a copy of a few numbers; every thread reads its own. Errors: none but those of pinning
//! the threads of the check.

use std::time::{Duration, Instant};

use crate::error::BenchError;
use crate::placement::CpuPair;

/// A monotonic clock with its origin at its creation.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
    counter: Option<Counter>,
}

/// The time stamp counter at the origin, and its speed.
#[derive(Debug, Clone, Copy)]
struct Counter {
    origin_ticks: u64,
    /// Nanoseconds per tick, times 2^32.
    scale: u64,
}

impl Clock {
    /// The best clock that can be trusted on the two CPUs of the run. Takes about a tenth of a second.
    ///
    /// # Errors
    /// [`BenchError::CannotPin`].
    pub fn choose(pair: CpuPair) -> Result<Clock, BenchError> {
        let trusted = time_stamp_counter::is_promised() && time_stamp_counter::never_goes_backwards(pair)?;
        let counter = trusted.then(|| time_stamp_counter::calibrate(Duration::from_millis(50)));
        Ok(match counter {
            Some((origin, counter)) => Clock { origin, counter: Some(counter) },
            None => Clock::from_instant(),
        })
    }

    /// A clock over [`Instant`], good anywhere and slower.
    pub fn from_instant() -> Clock {
        Clock { origin: Instant::now(), counter: None }
    }

    /// Nanoseconds since the creation of this clock.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self.counter {
            Some(counter) => {
                let ticks = time_stamp_counter::read().saturating_sub(counter.origin_ticks);
                ((u128::from(ticks) * u128::from(counter.scale)) >> 32) as u64
            }
            None => self.origin.elapsed().as_nanos() as u64,
        }
    }

    /// The same point in time for interfaces that take an [`Instant`].
    ///
    /// It is reckoned from now and not from the origin: the counter's speed is known to a few parts in a million, which
    /// is microseconds for every second since the origin, and nothing over the length of a wait.
    pub fn instant_at(&self, nanoseconds: u64) -> Instant {
        if self.counter.is_none() {
            return self.origin + Duration::from_nanos(nanoseconds);
        }
        let (now, now_ns) = (Instant::now(), self.now_ns());
        if nanoseconds >= now_ns {
            now + Duration::from_nanos(nanoseconds - now_ns)
        } else {
            now - Duration::from_nanos(now_ns - nanoseconds)
        }
    }

    /// How a report names this clock.
    pub fn name(&self) -> &'static str {
        if self.counter.is_some() { "time stamp counter" } else { "Instant" }
    }
}

#[cfg(target_arch = "x86_64")]
mod time_stamp_counter {
    use super::{Counter, CpuPair};
    use crate::error::BenchError;
    use crate::placement::run_on_pair;
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 CPU has SSE2, which `lfence` needs. `rdtsc` has no precondition but that user mode may
        // execute it, which Linux allows unless a process asks otherwise for itself (PR_SET_TSC); nothing here asks.
        // The unit tests execute both.
        unsafe {
            _mm_lfence();
            _rdtsc()
        }
    }

    pub(super) fn is_promised() -> bool {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        super::counter_is_promised(
            &text("/proc/cpuinfo"),
            &text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        )
    }

    /// Sends readings to and fro; each side compares what it receives with its own counter.
    pub(super) fn never_goes_backwards(pair: CpuPair) -> Result<bool, BenchError> {
        const EXCHANGES: u64 = 20_000;
        // Each word holds the newest reading of one side; zero at first, which no counter shows.
        let (to_sink, to_source) = (AtomicU64::new(0), AtomicU64::new(0));
        let exchange = |outbox: &AtomicU64, inbox: &AtomicU64, begins: bool| {
            let (mut seen, mut monotonic) = (0, true);
            if begins {
                outbox.store(read(), Ordering::Release);
            }
            for _ in 0..EXCHANGES {
                let mut received = inbox.load(Ordering::Acquire);
                while received == seen {
                    std::hint::spin_loop();
                    received = inbox.load(Ordering::Acquire);
                }
                seen = received;
                let now = read();
                monotonic &= now >= received;
                outbox.store(now, Ordering::Release);
            }
            monotonic
        };
        let (source, sink) =
            run_on_pair(pair, || exchange(&to_sink, &to_source, true), || exchange(&to_source, &to_sink, false))?;
        Ok(source && sink)
    }

    pub(super) fn calibrate(duration: Duration) -> (Instant, Counter) {
        let (origin, origin_ticks) = read_both();
        std::thread::sleep(duration);
        let (later, later_ticks) = read_both();
        let nanoseconds = later.duration_since(origin).as_nanos();
        let ticks = u128::from(later_ticks - origin_ticks).max(1);
        (origin, Counter { origin_ticks, scale: ((nanoseconds << 32) / ticks) as u64 })
    }

    /// Both clocks at the same moment: of several attempts the one that took least, so that no interruption between the
    /// two readings spoils the calibration.
    fn read_both() -> (Instant, u64) {
        let attempt = || {
            let before = read();
            let instant = Instant::now();
            (read() - before, instant, before)
        };
        let (width, instant, before) =
            (0..16).map(|_| attempt()).min_by_key(|(width, ..)| *width).expect("sixteen attempts were made");
        (instant, before + width / 2)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod time_stamp_counter {
    use super::{Counter, CpuPair};
    use crate::error::BenchError;
    use std::time::{Duration, Instant};

    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn is_promised() -> bool {
        false
    }

    pub(super) fn never_goes_backwards(_: CpuPair) -> Result<bool, BenchError> {
        Ok(false)
    }

    pub(super) fn calibrate(_: Duration) -> (Instant, Counter) {
        (Instant::now(), Counter { origin_ticks: 0, scale: 0 })
    }
}

/// Whether CPU (`/proc/cpuinfo`) and kernel (its current clock source) both call the counter a good clock.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only x86-64 has this counter"))]
fn counter_is_promised(cpu_information: &str, clock_source: &str) -> bool {
    let flags = cpu_information.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
    has("constant_tsc") && has("nonstop_tsc") && clock_source.trim() == "tsc"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_used_only_if_cpu_and_kernel_call_it_good() {
        let good = "processor : 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n";
        assert!(counter_is_promised(good, "tsc\n"));
        assert!(!counter_is_promised(good, "kvm-clock\n"));
        assert!(!counter_is_promised("flags : fpu tsc constant_tsc\n", "tsc\n"));
        assert!(!counter_is_promised("flags : fpu tsc nonstop_tsc\n", "tsc\n"));
        assert!(!counter_is_promised("", ""));
    }

    #[test]
    fn the_chosen_clock_agrees_with_instant_and_never_goes_back() {
        let Ok(pair) = CpuPair::choose() else { return };
        let clock = Clock::choose(pair).unwrap();
        let mut last = clock.now_ns();
        for _ in 0..10_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
        std::thread::sleep(Duration::from_millis(30));
        let before = Instant::now();
        let reading = clock.origin + Duration::from_nanos(clock.now_ns());
        let after = Instant::now();
        // 50 microseconds on 80 milliseconds: far above the calibration error, far below a wrong scale.
        let slack = Duration::from_micros(50);
        assert!(reading + slack >= before && reading <= after + slack, "{}", clock.name());
    }

    #[test]
    fn a_moment_before_and_one_after_now_are_found() {
        let Ok(pair) = CpuPair::choose() else { return };
        for clock in [Clock::choose(pair).unwrap(), Clock::from_instant()] {
            let second_ns = 1_000_000_000;
            let (before, now_ns) = (Instant::now(), clock.now_ns() + second_ns);
            let (past, future) = (clock.instant_at(now_ns - second_ns), clock.instant_at(now_ns + second_ns));
            let slack = Duration::from_micros(50);
            let between = future - past;
            assert!(between.abs_diff(Duration::from_secs(2)) < slack, "{between:?}, {}", clock.name());
            assert!(past + slack >= before && past <= Instant::now() + slack, "{}", clock.name());
        }
    }

    #[test]
    fn the_fallback_counts_nanoseconds() {
        let clock = Clock::from_instant();
        std::thread::sleep(Duration::from_millis(2));
        assert!(clock.now_ns() >= 2_000_000);
        assert_eq!(clock.name(), "Instant");
    }
}
