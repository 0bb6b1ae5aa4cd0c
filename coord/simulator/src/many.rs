//! Many seeds, side by side.
//!
//! Threading: one thread for each CPU; each run belongs to one of them. What comes of it does not depend on their number,
//! but for which seeds were run when enough have failed.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::checks::Violation;
use crate::coverage::Coverage;
use crate::scenario::{Options, run};

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

/// Runs seeds until so many have failed.
///
/// # Panics
/// A machine does.
pub fn run_many(seeds: Range<u64>, options: Options, failures_max: usize) -> Many {
    let start = Instant::now();
    let next = AtomicU64::new(seeds.start);
    let is_over = AtomicBool::new(false);
    let many = Mutex::new(Many::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let run = run(seed, options);
                    let mut many = many.lock().unwrap_or_else(PoisonError::into_inner);
                    many.runs += 1;
                    many.events += run.events;
                    many.coverage.add(&run.coverage);
                    if let Some(violation) = run.violation {
                        many.failed.push((seed, violation));
                        is_over.store(many.failed.len() >= failures_max, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut many = many.into_inner().unwrap_or_else(PoisonError::into_inner);
    many.failed.sort_by_key(|(seed, _)| *seed);
    many.took = start.elapsed();
    many
}

impl fmt::Display for Many {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.coverage)?;
        for (seed, violation) in &self.failed {
            writeln!(formatter, "seed {seed}: {violation}")?;
        }
        let Self { runs, events, took, failed, .. } = self;
        writeln!(formatter, "{runs} seeds, {events} events in {:.1} s; {} failed", took.as_secs_f64(), failed.len())?;
        if let Some((seed, _)) = failed.first() {
            writeln!(formatter, "each step of the first: cargo xtask simulate --seed {seed}")?;
        }
        Ok(())
    }
}
