//! Prints all raw controls by themselves: what this machine can do before any engine runs on it.
//!
//! One line for each: the raw ring of each size under saturation, then the raw ring under an open loop at several
//! rates, each with the cache-line round trip of its moment. With `--json` the last line is one JSON object.

use std::num::NonZeroU64;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use ringstorm_benches::arguments::parse_seconds;
use ringstorm_benches::clock::Clock;
use ringstorm_benches::control::cache_line::round_trip_ns;
use ringstorm_benches::control::raw_ring::{RING_SLOTS, RawRing};
use ringstorm_benches::control::raw_ring_open_loop::RawRingOpenLoop;
use ringstorm_benches::error::BenchError;
use ringstorm_benches::leg::{self, Leg, LegPlan};
use ringstorm_benches::load::{Load, Rate};
use ringstorm_benches::placement::CpuPair;
use ringstorm_benches::{fingerprint, histogram};
use serde_json::{Value, json};

/// Measures the raw controls alone.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Measured window of each control, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    seconds: Duration,

    /// Open loops, in tuples per second
    #[arg(long, value_name = "TUPLES_PER_SECOND", value_delimiter = ',', default_value = "1000,10000,100000,1000000")]
    rate: Vec<NonZeroU64>,

    /// Print one JSON object as the last line of standard output
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match measure(&arguments) {
        Ok(controls) => {
            if arguments.json {
                println!("{}", json!({ "controls": controls, "conditions": fingerprint::conditions() }));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("raw_controls: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<Vec<Value>, BenchError> {
    let cpus = CpuPair::choose()?;
    let clock = Clock::choose(cpus)?;
    println!("clock: {}; CPUs {} and {}", clock.name(), cpus.source, cpus.sink);
    let plan = |load| LegPlan {
        clock,
        cpus,
        warm_up: Duration::from_millis(100),
        measured: arguments.seconds,
        load,
        acked: false,
        always_spin: false,
    };
    let mut controls = Vec::new();
    for slots in RING_SLOTS {
        controls.push(one(&mut RawRing::new(slots), &plan(Load::Saturating))?);
    }
    for tuples_per_second in &arguments.rate {
        controls.push(one(&mut RawRingOpenLoop, &plan(Load::Open(Rate::new(*tuples_per_second))))?);
    }
    Ok(controls)
}

/// Runs one control, prints its line and returns its JSON.
fn one(control: &mut dyn Leg, plan: &LegPlan) -> Result<Value, BenchError> {
    let result = leg::run(control, plan)?;
    let round_trip_ns = round_trip_ns(plan.cpus, plan.clock)?;
    let metered = &result.outcome.metered;
    let tuples_per_second = metered.tuples_per_second().unwrap_or_default();
    let latency = histogram::to_json(&metered.latency);
    println!(
        "{:42} {:12.6} M/s; p50 {} ns, p99 {} ns, max {} ns; cache-line round trip {round_trip_ns:.0} ns; CPU used \
         elsewhere {:.0} % of a core",
        control.name(),
        tuples_per_second / 1e6,
        latency["p50"],
        latency["p99"],
        latency["max"],
        result.sampled.share_elsewhere() * 100.0,
    );
    Ok(json!({
        "name": control.name(),
        "tuples_per_sec": tuples_per_second,
        "latency_ns": latency,
        "lost": result.outcome.lost,
        "intact": result.outcome.intact,
        "cache_line_round_trip_ns": round_trip_ns,
        "cpu_share_elsewhere": result.sampled.share_elsewhere(),
    }))
}
