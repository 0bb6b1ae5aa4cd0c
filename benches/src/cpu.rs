//! CPU time of this process by the CPU its threads are pinned to, and of the whole machine.
//!
//! Source: `/proc/self/task/*/schedstat` (nanoseconds on a CPU) and the affinity mask of each thread; `/proc/stat`
//! (ticks of 10 ms) for what everybody else did. A thread that may run on one CPU only belongs to that CPU, every
//! other thread counts as unpinned. Threading: a reading may be taken anywhere; it allocates. Errors go to the caller.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::error::BenchError;

/// One tick of `/proc/stat` in nanoseconds: `USER_HZ` is 100 on every architecture that this runs on.
const TICK_NS: u64 = 10_000_000;

/// CPU time used so far, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuReading {
    threads: BTreeMap<i32, ThreadReading>,
    /// All CPUs of the machine, all processes, in nanoseconds rounded to ticks.
    machine_busy_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThreadReading {
    used_ns: u64,
    pinned_to: Option<usize>,
}

/// CPU time used between two readings, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// By the threads that are pinned to one CPU, for each such CPU.
    pub pinned_ns: BTreeMap<usize, u64>,
    /// By all other threads of this process.
    pub unpinned_ns: u64,
    /// By other processes and the kernel's own threads, on all CPUs, to about 10 ms per CPU.
    pub elsewhere_ns: u64,
}

impl CpuReading {
    /// Reads all threads of this process and the machine.
    ///
    /// # Errors
    /// [`BenchError::Accounting`] if `/proc` cannot be read. A thread that ends meanwhile is left out.
    pub fn now() -> Result<CpuReading, BenchError> {
        let tasks = Path::new("/proc/self/task");
        let accounting = |path: &Path| {
            let path = PathBuf::from(path);
            move |source| BenchError::Accounting { path, source }
        };
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(tasks).map_err(accounting(tasks))? {
            let entry = entry.map_err(accounting(tasks))?;
            let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(text) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
            let Some(used_ns) = first_number(&text) else { continue };
            threads.insert(thread, ThreadReading { used_ns, pinned_to: pinned_to(thread) });
        }
        let path = Path::new("/proc/stat");
        let text = fs::read_to_string(path).map_err(accounting(path))?;
        Ok(CpuReading { threads, machine_busy_ns: busy_ticks(&text) * TICK_NS })
    }

    /// What was used since `earlier`. Threads that ended in between are not seen.
    pub fn since(&self, earlier: &CpuReading) -> CpuUse {
        let mut cpu_use = CpuUse::default();
        for (thread, reading) in &self.threads {
            let before_ns = earlier.threads.get(thread).map_or(0, |before| before.used_ns);
            let used_ns = reading.used_ns.saturating_sub(before_ns);
            match reading.pinned_to {
                Some(cpu) => *cpu_use.pinned_ns.entry(cpu).or_default() += used_ns,
                None => cpu_use.unpinned_ns += used_ns,
            }
        }
        let own_ns = cpu_use.unpinned_ns + cpu_use.pinned_ns.values().sum::<u64>();
        cpu_use.elsewhere_ns = self.machine_busy_ns.saturating_sub(earlier.machine_busy_ns).saturating_sub(own_ns);
        cpu_use
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

fn pinned_to(thread: i32) -> Option<usize> {
    let mask = sched_getaffinity(Some(Pid::from_raw(thread)?)).ok()?;
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu));
    allowed.next().filter(|_| allowed.next().is_none())
}

/// Busy ticks of the first line of `/proc/stat`: everything but idle and waiting for disks. Guests are part of user
/// time there; stolen time counts, because whoever stole it disturbed us.
fn busy_ticks(text: &str) -> u64 {
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|field| field.parse().ok()).collect();
    let idle = ticks.iter().skip(3).take(2).sum::<u64>();
    ticks.iter().sum::<u64>() - idle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(threads: &[(i32, u64, Option<usize>)], machine_busy_ns: u64) -> CpuReading {
        let of = |(thread, used_ns, pinned_to)| (thread, ThreadReading { used_ns, pinned_to });
        CpuReading { threads: threads.iter().copied().map(of).collect(), machine_busy_ns }
    }

    #[test]
    fn time_goes_to_the_cpu_that_the_thread_is_pinned_to() {
        let earlier = reading(&[(1, 100, None), (2, 1000, Some(0)), (3, 50, Some(1)), (4, 9, None)], 10_000);
        let later = reading(&[(1, 130, None), (2, 1500, Some(0)), (3, 51, Some(1)), (5, 7, Some(1))], 11_000);
        let cpu_use = later.since(&earlier);
        assert_eq!(cpu_use.pinned_ns, BTreeMap::from([(0, 500), (1, 8)]));
        assert_eq!(cpu_use.unpinned_ns, 30);
        assert_eq!(cpu_use.elsewhere_ns, 1000 - 538);
    }

    #[test]
    fn busy_is_everything_but_idle_and_waiting() {
        assert_eq!(busy_ticks("cpu  1 20 300 9999 8888 4000 50000 600000 7 7\ncpu0 ..."), 654_321);
        assert_eq!(busy_ticks(""), 0);
    }

    #[test]
    fn a_pinned_thread_that_works_shows_on_its_cpu() {
        let Ok(pair) = crate::placement::CpuPair::choose() else { return };
        // Others share the machine, so it may take a while until this thread got its 5 ms.
        let work = || {
            let before = CpuReading::now().unwrap();
            (0..1_000_000).any(|_| {
                (0..1_000_000).for_each(|index| assert!(std::hint::black_box(index) >= 0));
                let used = CpuReading::now().unwrap().since(&before);
                used.pinned_ns.get(&pair.source).is_some_and(|used_ns| *used_ns > 5_000_000)
            })
        };
        let (shows, ()) = crate::placement::run_on_pair(pair, work, || ()).unwrap();
        assert!(shows);
    }
}
