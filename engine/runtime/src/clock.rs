//! The one clock of the runtime: nanoseconds since an arbitrary start, monotonic, the same on every core.
//!
//! A reading costs about 10 ns from the time stamp counter against 20 to 25 ns from the kernel's clock, and a hop
//! costs less than either, so the counter is used where it can be trusted: the CPU calls it constant and unstopped, and
//! the kernel itself uses it as its clock source (it has then checked that all CPUs agree). Elsewhere the kernel's clock
//! serves.
//!
//! Threading: any thread. Errors: none.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

enum Source {
    /// Nanoseconds = (ticks - base) * scale / 2^32.
    TimeStampCounter {
        base_ticks: u64,
        scale: u64,
    },
    Kernel,
}

struct Clock {
    start: Instant,
    source: Source,
}

static CLOCK: OnceLock<Clock> = OnceLock::new();

/// How long the counter is compared with the kernel's clock, once per process.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Readings of both clocks of which the best counts.
const READINGS: usize = 16;

/// Nanoseconds since the first use of the clock in this process.
#[inline]
pub fn now_ns() -> u64 {
    let clock = CLOCK.get_or_init(Clock::calibrate);
    match clock.source {
        Source::TimeStampCounter { base_ticks, scale } => {
            let ticks = read_ticks().saturating_sub(base_ticks);
            // The shift keeps the lower 64 bits, enough for 584 years.
            ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
        }
        Source::Kernel => nanoseconds(clock.start.elapsed()),
    }
}

/// The instant `instant` on this clock; instants before its start give 0.
///
/// Counted from now and not from the start: the counter and the kernel's clock drift apart by some microseconds per
/// second, which would be seconds after some days.
pub fn ns_of(instant: Instant) -> u64 {
    let (now, now_ns) = (Instant::now(), now_ns());
    match instant.checked_duration_since(now) {
        Some(ahead) => now_ns.saturating_add(nanoseconds(ahead)),
        None => now_ns.saturating_sub(nanoseconds(now - instant)),
    }
}

/// A duration in whole nanoseconds, saturating after 584 years.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Which clock is in use, for reports: `tsc` or `kernel`.
pub fn source_name() -> &'static str {
    match CLOCK.get_or_init(Clock::calibrate).source {
        Source::TimeStampCounter { .. } => "tsc",
        Source::Kernel => "kernel",
    }
}

impl Clock {
    fn calibrate() -> Self {
        if !counter_is_trustworthy() {
            return Self { start: Instant::now(), source: Source::Kernel };
        }
        let (base_ticks, start) = read_both();
        while start.elapsed() < CALIBRATION {
            std::hint::spin_loop();
        }
        let (ticks, end) = read_both();
        let (elapsed, ticks) = (nanoseconds(end - start), ticks.saturating_sub(base_ticks));
        if ticks == 0 {
            return Self { start, source: Source::Kernel };
        }
        let scale = ((u128::from(elapsed) << 32) / u128::from(ticks)) as u64;
        Self { start, source: Source::TimeStampCounter { base_ticks, scale } }
    }
}

/// The counter and the kernel's clock at the same moment: of several readings the one that was interrupted least. On a
/// busy machine a thread may well lose its CPU for longer than the whole calibration takes, between any two of its reads.
fn read_both() -> (u64, Instant) {
    let read = |_| {
        let (before, now, after) = (read_ticks(), Instant::now(), read_ticks());
        let took = after.saturating_sub(before);
        (took, before + took / 2, now)
    };
    let (_, ticks, now) =
        (0..READINGS).map(read).min_by_key(|(took, _, _)| *took).expect("there is more than one reading");
    (ticks, now)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_ticks() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction; it reads a register and touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn read_ticks() -> u64 {
    0
}

fn counter_is_trustworthy() -> bool {
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpus.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    source.is_ok_and(|source| source.trim() == "tsc")
        && ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split_whitespace().any(|word| word == *flag))
}

/// Microseconds since 1970, of which incarnations are made. May go back.
pub(crate) fn now_since_1970_us() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_goes_back_and_keeps_pace_with_the_kernel() {
        // The first use calibrates.
        let mut last = now_ns();
        // The kernel's clock is read on both sides of ours, since this thread may be interrupted between any two.
        let (before, start, after) = (Instant::now(), now_ns(), Instant::now());
        while after.elapsed() < Duration::from_millis(50) {
            let now = now_ns();
            assert!(now >= last);
            last = now;
        }
        let (least, ours, most) = (nanoseconds(after.elapsed()), now_ns() - start, nanoseconds(before.elapsed()));
        assert!(ours >= least - least / 1000 && ours <= most + most / 1000, "{least} {ours} {most}");
        let (least, ours, most) = (now_ns(), ns_of(Instant::now()), now_ns());
        assert!((least - 1_000..=most + 1_000).contains(&ours), "{least} {ours} {most}");
    }
}
