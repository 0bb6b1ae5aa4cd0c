//! Interleaves legs of two processes and says what came of them.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use super::result::Seen;
use super::{bulk, echo, hop};
use crate::arguments::parse_seconds;
use crate::clock::Clock;
use crate::control::cache_line::round_trip_ns;
use crate::error::BenchError;
use crate::histogram;
use crate::pairs::{Order, Pair, Verdict};
use crate::placement::CpuPair;

/// Options of a benchmark of two processes.
#[derive(Debug, Clone, Parser)]
pub struct Arguments {
    /// Engine time inside measured windows, in seconds, over all pairs together
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_seconds)]
    pub seconds: Duration,
    /// Pairs of an engine leg and a control leg
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(5..=200))]
    pub pairs: u32,
    /// Warm-up of each leg, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 300)]
    pub warm_up_ms: u64,
    /// Tuples per second of an open loop
    #[arg(long, value_name = "TUPLES_PER_SECOND", default_value_t = 0)]
    pub rate: u64,
    /// Track each tuple until it is acked
    #[arg(long)]
    pub acked: bool,
    /// How sockets go, as `ringstorm.worker.sockets`
    #[arg(long, default_value = "auto")]
    pub sockets: String,
    /// Print one JSON object as the last line
    #[arg(long)]
    pub json: bool,
}

/// What a benchmark compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Payload bytes per second against raw bulk TCP; with a rate, one-way p50 against a polled raw socket.
    Hop,
    /// Round trips against glommio's `TcpStream`.
    PingPong,
}

/// The `main` of a benchmark of two processes. It is also the `main` of its topology's workers and of far ends.
pub fn main(
    name: &'static str,
    kind: Kind,
    build: fn(hop::LegOptions) -> ringstorm::prelude::Result<ringstorm::TopologyBuilder>,
) -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        [_, "local" | "worker" | "describe", ..] => return ringstorm::main(name, build),
        [_, "far-end", "echo", address, cpu] => echo::far_end(address, cpu),
        [_, "far-end", work, address, cpu] => bulk::far_end(work, address, cpu),
        _ => run(name, kind, &Arguments::parse()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What the ends of an engine leg saw.
struct EngineLeg {
    source: Option<Seen>,
    sink: Seen,
}

fn run(name: &'static str, kind: Kind, arguments: &Arguments) -> Result<(), BenchError> {
    let cpus = CpuPair::choose()?;
    let clock = Clock::choose(cpus)?;
    let measured = arguments.seconds.div_f64(arguments.pairs.into());
    let write_bytes = match (kind, arguments.rate) {
        (Kind::Hop, 0) => best_write_bytes(cpus)?,
        _ => 0,
    };
    let figure_of_control = || -> Result<(f64, Seen), BenchError> {
        let warm_up = Duration::from_millis(arguments.warm_up_ms);
        let seen = match (kind, arguments.rate) {
            (Kind::Hop, 0) => return Ok((bulk::bulk(cpus, write_bytes, measured)?, Seen::default())),
            (Kind::Hop, rate) => bulk::open_loop(cpus, rate, measured)?,
            (Kind::PingPong, _) => echo::round_trips(cpus, warm_up, measured)?,
        };
        Ok((seen.latency.value_at_quantile(0.5) as f64, seen))
    };
    let figure_of_engine = || -> Result<(f64, EngineLeg), BenchError> {
        let leg = engine_leg(kind, arguments, measured)?;
        let figure = match (kind, arguments.rate) {
            (Kind::Hop, 0) => {
                leg.sink.window_tuples as f64 * hop::TUPLE_BYTES as f64 * 1e9 / leg.sink.window_ns.max(1) as f64
            }
            _ => leg.sink.latency.value_at_quantile(0.5) as f64,
        };
        Ok((figure, leg))
    };
    let (mut pairs, mut legs, mut control_latency) = (Vec::new(), Vec::new(), histogram::empty());
    for index in 0..arguments.pairs as usize {
        let before = round_trip_ns(cpus, clock)?;
        let (control, between, engine) = match Order::of(index) {
            Order::ControlFirst => {
                let control = figure_of_control()?;
                (control, round_trip_ns(cpus, clock)?, figure_of_engine()?)
            }
            Order::EngineFirst => {
                let engine = figure_of_engine()?;
                let between = round_trip_ns(cpus, clock)?;
                (figure_of_control()?, between, engine)
            }
        };
        let after = round_trip_ns(cpus, clock)?;
        eprintln!(
            "pair {}: engine {:.4e}, control {:.4e}, ratio {:.3}; cache-line round trips {before:.0} {between:.0} {after:.0} ns",
            index + 1,
            engine.0,
            control.0,
            engine.0 / control.0
        );
        histogram::add(&mut control_latency, &control.1.latency);
        pairs.push(Pair { control: Some(control.0), engine: engine.0, round_trips_ns: [before, between, after] });
        legs.push(engine.1);
    }
    let report = report(name, kind, arguments, &pairs, &legs, &control_latency);
    if arguments.json {
        println!("{report}");
    } else {
        println!("{report:#}");
    }
    let sound = report["intact"] == true && report["lost"] == 0;
    if sound { Ok(()) } else { Err(BenchError::Engine("tuples were lost, doubled or changed".into())) }
}

fn best_write_bytes(cpus: CpuPair) -> Result<usize, BenchError> {
    let mut best = (0.0, bulk::WRITE_BYTES[0]);
    for _ in 0..2 {
        for write_bytes in bulk::WRITE_BYTES {
            let rate = bulk::bulk(cpus, write_bytes, Duration::from_millis(200))?;
            if rate > best.0 {
                best = (rate, write_bytes);
            }
        }
    }
    Ok(best.1)
}

fn engine_leg(kind: Kind, arguments: &Arguments, measured: Duration) -> Result<EngineLeg, BenchError> {
    let directory = tempfile::tempdir().map_err(|error| BenchError::Engine(error.to_string()))?;
    let executable = std::env::current_exe().map_err(|error| BenchError::Engine(error.to_string()))?;
    let mut command = Command::new(executable);
    command.args(["local", "--workers", "2", "--workers-cores", "1", "--quiet"]);
    command.arg("--result").arg(directory.path());
    command.args(["--warm-up-ms", &arguments.warm_up_ms.to_string()]);
    command.args(["--measured-ms", &measured.as_millis().to_string(), "--rate", &arguments.rate.to_string()]);
    command.args(["-c", &format!("ringstorm.worker.sockets={}", arguments.sockets)]);
    if arguments.acked {
        command.arg("--acked");
    } else {
        command.args(["-c", "topology.acker.executors=0"]);
    }
    let status = command.status().map_err(|error| BenchError::Engine(error.to_string()))?;
    if !status.success() {
        return Err(BenchError::Engine(format!("the topology ended with {status}")));
    }
    let read = |end: &str| Seen::read(Path::new(directory.path()), end);
    let source = (kind == Kind::Hop).then(|| read("source")).transpose()?;
    Ok(EngineLeg { source, sink: read("sink")? })
}

fn report(
    name: &str,
    kind: Kind,
    arguments: &Arguments,
    pairs: &[Pair],
    legs: &[EngineLeg],
    control_latency: &histogram::LatencyHistogram,
) -> Value {
    let verdict = Verdict::of(pairs);
    let (mut latency, mut allocations, mut window_tuples, mut lost, mut intact) = (histogram::empty(), 0, 0, 0, true);
    for leg in legs {
        histogram::add(&mut latency, &leg.sink.latency);
        window_tuples += leg.sink.window_tuples;
        allocations += leg.sink.allocations;
        intact &= leg.sink.intact;
        if let Some(source) = &leg.source {
            allocations += source.allocations;
            lost += source.tuples.abs_diff(leg.sink.tuples);
            intact &= source.intact;
        }
    }
    let bytes_per_sec = (kind == Kind::Hop && arguments.rate == 0).then_some(verdict.engine).flatten();
    let (control, unit) = match (kind, arguments.rate) {
        (Kind::Hop, 0) => ("raw bulk TCP between two processes, best of three write sizes", "bytes_per_second"),
        (Kind::Hop, _) => ("polled raw socket between two processes, open loop", "latency_p50_ns"),
        (Kind::PingPong, _) => ("glommio TcpStream echo between two processes", "latency_p50_ns"),
    };
    json!({
        "benchmark": name,
        "acked": arguments.acked,
        "sockets": arguments.sockets,
        "rate": arguments.rate,
        "tuples_per_sec": bytes_per_sec.map(|bytes| bytes / hop::TUPLE_BYTES as f64),
        "payload_bytes_per_sec": bytes_per_sec,
        "control": { "name": control, "figure": verdict.control, "unit": unit },
        "ratio_to_control": verdict.ratio,
        "ratio_range": verdict.ratio_range.map(|(smallest, largest)| [smallest, largest]),
        "allocations_per_tuple": allocations as f64 / window_tuples.max(1) as f64,
        "lost": lost,
        "intact": intact,
        "latency_ns": histogram::to_json(&latency),
        "control_latency_ns": histogram::to_json(control_latency),
        "cache_line_round_trip_ns": pairs.iter().flat_map(|pair| pair.round_trips_ns).fold(f64::MAX, f64::min),
        "pairs": verdict.pairs,
        "pairs_discarded": verdict.discarded,
        "proves_nothing": verdict.proves_nothing(),
        "conditions": crate::fingerprint::conditions(),
    })
}
