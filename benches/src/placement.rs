//! The two CPUs of a run, and threads pinned to them.
//!
//! The pair is chosen once, from an unpinned thread, before anything is pinned: a pinned thread sees only its own CPU.
//! Threading: the closures given to [`run_on_pair`] each run on a thread of their own and must not panic, because
//! their partner would wait for them. Errors go to the caller.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use core_affinity::CoreId;

use crate::error::BenchError;

/// The CPUs of source and sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPair {
    /// CPU number of the source.
    pub source: usize,
    /// CPU number of the sink.
    pub sink: usize,
}

impl CpuPair {
    /// The first two CPUs of this process's affinity mask, on different physical cores where the mask allows.
    ///
    /// # Errors
    /// [`BenchError::TooFewCpus`].
    pub fn choose() -> Result<CpuPair, BenchError> {
        let usable: Vec<usize> =
            core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect();
        let siblings = |cpu: usize| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
        };
        choose_from(&usable, siblings).ok_or(BenchError::TooFewCpus { usable: usable.len() })
    }
}

/// The first CPU and the next one with other hardware siblings, else simply the first two.
fn choose_from(usable: &[usize], siblings: impl Fn(usize) -> String) -> Option<CpuPair> {
    let (&source, others) = usable.split_first()?;
    let of_source = siblings(source);
    let sink = others.iter().find(|cpu| siblings(**cpu) != of_source).or(others.first())?;
    Some(CpuPair { source, sink: *sink })
}

/// Runs both closures at the same time, each on its own thread pinned to its CPU of `pair`; neither starts before both
/// are pinned.
///
/// # Errors
/// [`BenchError::CannotPin`]; then neither closure has run.
///
/// # Panics
/// If a closure panicked (after its partner has ended).
pub fn run_on_pair<A: Send, B: Send>(
    pair: CpuPair,
    source: impl FnOnce() -> A + Send,
    sink: impl FnOnce() -> B + Send,
) -> Result<(A, B), BenchError> {
    let rendezvous = Rendezvous::default();
    thread::scope(|scope| {
        let sink_thread = scope.spawn(|| rendezvous.pin(pair.sink).map(|()| sink()));
        let source_thread = scope.spawn(|| rendezvous.pin(pair.source).map(|()| source()));
        let source = source_thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let sink = sink_thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((source?, sink?))
    })
}

/// Where the two threads of a pair meet once each has tried to pin itself.
#[derive(Default)]
struct Rendezvous {
    arrived: AtomicUsize,
    refused: AtomicBool,
}

impl Rendezvous {
    fn pin(&self, cpu: usize) -> Result<(), BenchError> {
        let pinned = core_affinity::set_for_current(CoreId { id: cpu });
        if !pinned {
            self.refused.store(true, Ordering::Relaxed);
        }
        self.arrived.fetch_add(1, Ordering::AcqRel);
        while self.arrived.load(Ordering::Acquire) < 2 {
            thread::yield_now();
        }
        if pinned && !self.refused.load(Ordering::Relaxed) { Ok(()) } else { Err(BenchError::CannotPin { cpu }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_physical_cores_come_first() {
        let siblings = |cpu: usize| format!("{}", cpu / 2);
        assert_eq!(choose_from(&[0, 1, 2, 3], siblings), Some(CpuPair { source: 0, sink: 2 }));
        assert_eq!(choose_from(&[4, 5], siblings), Some(CpuPair { source: 4, sink: 5 }), "better than nothing");
        assert_eq!(choose_from(&[4], siblings), None);
        assert_eq!(choose_from(&[], siblings), None);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_and_nothing_runs() {
        let ran = AtomicBool::new(false);
        let absent = CpuPair { source: 0, sink: 1000 };
        let result = run_on_pair(absent, || ran.store(true, Ordering::Relaxed), || ran.store(true, Ordering::Relaxed));
        assert!(matches!(result, Err(BenchError::CannotPin { .. })));
        assert!(!ran.load(Ordering::Relaxed));
    }

    #[test]
    fn both_sides_run_pinned() {
        let Ok(pair) = CpuPair::choose() else { return };
        let mask = || core_affinity::get_core_ids().unwrap().into_iter().map(|core| core.id).collect::<Vec<_>>();
        let (source, sink) = run_on_pair(pair, mask, mask).unwrap();
        assert_eq!((source, sink), (vec![pair.source], vec![pair.sink]));
    }
}
