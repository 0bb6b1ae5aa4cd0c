//! Many seeds, side by side.
//!
//! Threading: one thread for each CPU that may be used; each run belongs to one of them. The thread that asked for the
//! runs collects what comes of them and tells of it meanwhile. What comes of it does not depend on the number of threads,
//! but for which seeds were run when enough have failed. Errors: a machine that panics fails its seed, and no other.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use crate::checks::Violation;
use crate::coverage::Coverage;
use crate::scenario::{Options, run};

/// Between two tellings of how far it is.
const PROGRESS_PERIOD: Duration = Duration::from_secs(10);

/// What came of many seeds.
#[derive(Debug, Default)]
pub struct Many {
    /// How many were run.
    pub runs: u64,
    /// Those that broke a law, and which.
    pub failed: Vec<(u64, Violation)>,
    /// How often what happened.
    pub coverage: Coverage,
    /// How many events there were.
    pub events: u64,
    /// How long it took here.
    pub took: Duration,
}

/// What is told while seeds are run.
#[derive(Clone, Copy, Debug)]
pub enum Meanwhile<'a> {
    /// A seed broke a law just now.
    Failed {
        /// Which.
        seed: u64,
        /// The law.
        violation: &'a Violation,
    },
    /// How far it is; told every ten seconds.
    Progress {
        /// How many seeds were run.
        runs: u64,
        /// Of how many.
        seeds: u64,
        /// How many failed.
        failed: usize,
        /// For how long it has been running.
        took: Duration,
    },
}

/// What came of one seed.
struct Finished {
    seed: u64,
    violation: Option<Violation>,
    coverage: Coverage,
    events: u64,
}

/// Runs seeds until so many have failed, and tells of it meanwhile.
pub fn run_many(seeds: Range<u64>, options: Options, failures_max: usize, mut tell: impl FnMut(Meanwhile<'_>)) -> Many {
    let next = AtomicU64::new(seeds.start);
    let is_over = AtomicBool::new(false);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let (sender, finished) = channel();
        for _ in 0..threads {
            let (sender, seeds) = (sender.clone(), seeds.clone());
            scope.spawn(|| run_some(seeds, &next, &is_over, options, sender));
        }
        drop(sender);
        collect(&finished, seeds.end.saturating_sub(seeds.start), &mut tell, |failed| {
            is_over.store(failed >= failures_max, Ordering::Relaxed);
        })
    })
}

/// Runs seeds that nobody else has taken, one after the other.
fn run_some(seeds: Range<u64>, next: &AtomicU64, is_over: &AtomicBool, options: Options, finished: Sender<Finished>) {
    while !is_over.load(Ordering::Relaxed) {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds.end || finished.send(run_one(seed, options)).is_err() {
            return;
        }
    }
}

fn run_one(seed: u64, options: Options) -> Finished {
    // Nothing of a run that panicked is looked at.
    match catch_unwind(AssertUnwindSafe(|| run(seed, options))) {
        Ok(run) => Finished { seed, violation: run.violation, coverage: run.coverage, events: run.events },
        Err(panic) => Finished {
            seed,
            violation: Some(Violation::new("nothing panics", said(panic.as_ref()))),
            coverage: Coverage::default(),
            events: 0,
        },
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".to_owned())
}

/// Takes what comes until nobody runs any more. `failed` is told how many failed after each that did.
fn collect(
    finished: &Receiver<Finished>,
    seeds: u64,
    tell: &mut impl FnMut(Meanwhile<'_>),
    failed: impl Fn(usize),
) -> Many {
    let start = Instant::now();
    let mut many = Many::default();
    let mut told = Duration::ZERO;
    loop {
        let wait = (told + PROGRESS_PERIOD).saturating_sub(start.elapsed());
        match finished.recv_timeout(wait) {
            Ok(Finished { seed, violation, coverage, events }) => {
                many.runs += 1;
                many.events += events;
                many.coverage.add(&coverage);
                if let Some(violation) = violation {
                    tell(Meanwhile::Failed { seed, violation: &violation });
                    many.failed.push((seed, violation));
                    failed(many.failed.len());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let took = start.elapsed();
        if took >= told + PROGRESS_PERIOD {
            told = took;
            tell(Meanwhile::Progress { runs: many.runs, seeds, failed: many.failed.len(), took });
        }
    }
    many.failed.sort_by_key(|(seed, _)| *seed);
    many.took = start.elapsed();
    many
}

fn per_second(runs: u64, took: Duration) -> f64 {
    runs as f64 / took.as_secs_f64().max(0.001)
}

impl fmt::Display for Meanwhile<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { seed, violation } => write!(formatter, "seed {seed} failed: {violation}"),
            Self::Progress { runs, seeds, failed, took } => {
                let (secs, rate) = (took.as_secs(), per_second(*runs, *took));
                write!(formatter, "{runs} of {seeds} seeds in {secs} s, {rate:.1} per second; {failed} failed")
            }
        }
    }
}

impl fmt::Display for Many {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.coverage)?;
        for (seed, violation) in &self.failed {
            writeln!(formatter, "seed {seed}: {violation}")?;
        }
        let Self { runs, events, took, failed, .. } = self;
        let (secs, rate) = (took.as_secs_f64(), per_second(*runs, *took));
        writeln!(
            formatter,
            "{runs} seeds, {events} events in {secs:.1} s, {rate:.1} seeds per second; {} failed",
            failed.len()
        )?;
        if let Some((seed, _)) = failed.first() {
            writeln!(formatter, "each step of the first: cargo xtask simulate --seed {seed}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(seed: u64, violation: Option<Violation>) -> Finished {
        Finished { seed, violation, coverage: Coverage::default(), events: 10 }
    }

    #[test]
    fn a_seed_that_fails_is_told_at_once_and_counted() {
        let (sender, receiver) = channel();
        let violation = Violation::new("a law", "broken");
        for (seed, violation) in [(5, Some(violation.clone())), (3, None), (2, Some(violation))] {
            sender.send(finished(seed, violation)).unwrap();
        }
        drop(sender);
        let mut told = Vec::new();
        let counted = std::cell::RefCell::new(Vec::new());
        let many =
            collect(&receiver, 3, &mut |it| told.push(it.to_string()), |failed| counted.borrow_mut().push(failed));
        assert_eq!(told, ["seed 5 failed: a law: broken", "seed 2 failed: a law: broken"]);
        assert_eq!(counted.into_inner(), [1, 2]);
        assert_eq!((many.runs, many.events), (3, 30));
        assert_eq!(many.failed.iter().map(|(seed, _)| *seed).collect::<Vec<_>>(), [2, 5]);
    }

    #[test]
    fn how_far_it_is_reads_as_a_line() {
        let progress = Meanwhile::Progress { runs: 3_000, seeds: 10_000, failed: 1, took: Duration::from_secs(20) };
        assert_eq!(progress.to_string(), "3000 of 10000 seeds in 20 s, 150.0 per second; 1 failed");
    }

    #[test]
    fn a_panic_is_known_by_what_it_said() {
        for (panic, text) in [
            (Box::new("a text") as Box<dyn Any + Send>, "a text"),
            (Box::new("a made text".to_owned()), "a made text"),
            (Box::new(7), "a panic without words"),
        ] {
            assert_eq!(said(panic.as_ref()), text);
        }
    }

    #[test]
    fn every_seed_is_run_once() {
        let mut told = 0;
        let many = run_many(5..9, Options::default(), 1, |_| told += 1);
        assert_eq!((many.runs, many.failed.len(), told), (4, 0, 0));
    }
}
