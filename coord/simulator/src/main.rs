//! Runs the control plane by seeds: one with every step, or many with what they met.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use clap::Parser;
use ringstorm_simulator::coverage::Coverage;
use ringstorm_simulator::scenario::{Options, run};

/// The control plane under one seed: every machine, the tree, the network, disks and clocks.
#[derive(Debug, Parser)]
#[command(name = "ringstorm-simulator")]
enum Arguments {
    /// One seed, with every step
    One {
        /// It
        seed: u64,
    },
    /// Many seeds, and what they met
    Many {
        /// How many
        count: u64,
        /// The first one
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// Go on after so many failures
        #[arg(long, default_value_t = 1)]
        failures: usize,
    },
}

fn main() -> ExitCode {
    match Arguments::parse() {
        Arguments::One { seed } => one(seed),
        Arguments::Many { count, first, failures } => many(first, count, failures),
    }
}

fn one(seed: u64) -> ExitCode {
    let run = run(seed, Options { lines_kept: usize::MAX, ..Options::default() });
    for line in run.trace.lines() {
        println!("{line}");
    }
    println!("{} events in {:?} of the world", run.events, run.time);
    match run.violation {
        None => ExitCode::SUCCESS,
        Some(violation) => {
            println!("seed {seed}: {violation}");
            ExitCode::FAILURE
        }
    }
}

fn many(first: u64, count: u64, failures_max: usize) -> ExitCode {
    let start = Instant::now();
    let next = AtomicU64::new(first);
    let found = Mutex::new((Coverage::default(), Vec::new(), 0_u64));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    let run = run(seed, Options::default());
                    let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    found.0.add(&run.coverage);
                    found.2 += run.events;
                    if let Some(violation) = run.violation {
                        println!("seed {seed}: {violation}");
                        found.1.push(seed);
                        if found.1.len() >= failures_max {
                            next.store(u64::MAX / 2, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let (coverage, mut failed, events) = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.sort_unstable();
    print!("{coverage}");
    println!("{count} seeds from {first}, {events} events in {:.1} s", start.elapsed().as_secs_f64());
    let Some(seed) = failed.first() else { return ExitCode::SUCCESS };
    println!("{} failed: {failed:?}", failed.len());
    println!("each step of the first: cargo run --release -p ringstorm-simulator -- one {seed}");
    ExitCode::FAILURE
}
