//! Runs the control plane by seeds: one with every step, or many with what they met.

use std::process::ExitCode;

use clap::Parser;
use ringstorm_simulator::many::run_many;
use ringstorm_simulator::plants::PlantedBug;
use ringstorm_simulator::scenario::{Options, run};

/// The control plane under one seed: every machine, the tree, the network, disks and clocks.
#[derive(Debug, Parser)]
#[command(name = "ringstorm-simulator")]
enum Arguments {
    /// One seed, with every step
    One {
        /// It
        seed: u64,
        /// Break a rule on purpose; needs the feature planted-bugs
        #[arg(long, value_parser = planted)]
        planted: Option<PlantedBug>,
    },
    /// Many seeds, and what they met
    Many {
        /// How many
        count: u64,
        /// The first one
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// After how many that fail it ends
        #[arg(long, default_value_t = 1)]
        failures: usize,
        /// Break a rule on purpose; needs the feature planted-bugs
        #[arg(long, value_parser = planted)]
        planted: Option<PlantedBug>,
    },
}

fn planted(name: &str) -> Result<PlantedBug, String> {
    if cfg!(not(feature = "planted-bugs")) {
        return Err("this build breaks no rules; build it with --features planted-bugs".to_owned());
    }
    PlantedBug::named(name).ok_or_else(|| format!("there is none of that name; these are: {:?}", PlantedBug::ALL))
}

fn main() -> ExitCode {
    match Arguments::parse() {
        Arguments::One { seed, planted } => one(seed, planted),
        Arguments::Many { count, first, failures, planted } => {
            let options = Options { planted, ..Options::default() };
            let all = run_many(first..first.saturating_add(count), options, failures, |told| println!("{told}"));
            print!("{all}");
            if all.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

fn one(seed: u64, planted: Option<PlantedBug>) -> ExitCode {
    let run = run(seed, Options { lines_kept: usize::MAX, planted });
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
