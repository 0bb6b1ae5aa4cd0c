//! Runs a benchmark: chooses the control, interleaves the legs, reads the cache-line round trip around each.
//!
//! Progress goes to standard error, one line for each leg; the report goes to standard output (see
//! [`report`]). Threading: everything here runs on the caller's thread, which must not be pinned.
//! Errors end the run; [`main`] prints them.

use std::process::ExitCode;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::clock::Clock;
use crate::control::cache_line::{CacheLineLeg, round_trip_ns};
use crate::control::raw_ring::RawRing;
use crate::control::raw_ring_open_loop::RawRingOpenLoop;
use crate::error::BenchError;
use crate::figure::{Figure, PairRun};
use crate::leg::{self, Leg, LegPlan, LegResult};
use crate::load::Load;
use crate::pairs::{Order, Pair};
use crate::placement::CpuPair;
use crate::report::{self, Report};

/// What the engine is compared with.
enum Control {
    Raw(Box<dyn Leg>),
    /// The engine itself, told never to park.
    AlwaysSpinning,
    /// An idle raw ring has no figure.
    Nothing,
}

/// The `main` of a benchmark program: runs it and prints its report.
///
/// Returns failure if the run could not be made, or if it lost or changed a tuple.
pub fn main(benchmark: &'static str, arguments: &Arguments, engine: &mut dyn Leg) -> ExitCode {
    // Before the run, so that a mistyped file name does not cost a long one.
    let report = report::create_files(arguments).and_then(|()| run(benchmark, arguments, engine));
    match report.and_then(|report| report.publish(arguments).map(|()| report)) {
        Ok(report) if report.is_sound() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{benchmark}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The plan of each leg of a run.
///
/// # Errors
/// [`BenchError::TooFewCpus`] and [`BenchError::CannotPin`].
pub fn plan(arguments: &Arguments) -> Result<LegPlan, BenchError> {
    let cpus = CpuPair::choose()?;
    Ok(LegPlan {
        clock: Clock::choose(cpus)?,
        cpus,
        warm_up: Duration::from_millis(arguments.warm_up_ms),
        measured: arguments.measured_per_leg(),
        load: arguments.load(),
        acked: arguments.acked,
        always_spin: arguments.always_spin,
    })
}

/// Runs all pairs.
///
/// # Errors
/// Whatever keeps a leg from running or from measuring.
pub fn run(benchmark: &'static str, arguments: &Arguments, engine: &mut dyn Leg) -> Result<Report, BenchError> {
    let plan = plan(arguments)?;
    let control = choose_control(arguments, &plan)?;
    let round_trip_ns = round_trip_ns(plan.cpus, plan.clock)?;
    let mut alternation = Alternation { plan, figure: Figure::of(plan.load), control, engine, round_trip_ns };
    let mut runs = Vec::new();
    for index in 0..arguments.pairs as usize {
        eprint!("pair {}/{}", index + 1, arguments.pairs);
        runs.push(alternation.run_pair(Order::of(index))?);
    }
    let control_name = alternation.control_name();
    Ok(Report::new(benchmark, plan, alternation.figure, control_name, runs))
}

/// Control and engine, and what they have in common.
struct Alternation<'a> {
    plan: LegPlan,
    figure: Figure,
    control: Control,
    engine: &'a mut dyn Leg,
    /// The newest reading: the one after a leg is also the one before the next.
    round_trip_ns: f64,
}

impl Alternation<'_> {
    fn run_pair(&mut self, order: Order) -> Result<PairRun, BenchError> {
        let before_ns = self.round_trip_ns;
        let (control, between_ns, engine) = match order {
            Order::ControlFirst => {
                let control = self.run_control()?;
                (control, self.round_trip_ns, self.run_engine()?)
            }
            Order::EngineFirst => {
                let engine = self.run_engine()?;
                let between_ns = self.round_trip_ns;
                (self.run_control()?, between_ns, engine)
            }
        };
        eprintln!();
        let pair = Pair {
            control: control.as_ref().map(|control| self.figure_of(control, "the control leg")).transpose()?,
            engine: self.figure_of(&engine, "the engine leg")?,
            round_trips_ns: [before_ns, between_ns, self.round_trip_ns],
        };
        Ok(PairRun { order, pair, control, engine })
    }

    fn run_engine(&mut self) -> Result<LegResult, BenchError> {
        let result = leg::run(self.engine, &self.plan)?;
        self.note("engine", &result)?;
        Ok(result)
    }

    fn run_control(&mut self) -> Result<Option<LegResult>, BenchError> {
        let result = match &mut self.control {
            Control::Raw(control) => leg::run(control.as_mut(), &self.plan)?,
            Control::AlwaysSpinning => leg::run(self.engine, &LegPlan { always_spin: true, ..self.plan })?,
            Control::Nothing => return Ok(None),
        };
        self.note("control", &result)?;
        Ok(Some(result))
    }

    /// Reads the round trip after a leg and prints the leg's line.
    fn note(&mut self, kind: &str, result: &LegResult) -> Result<(), BenchError> {
        let before_ns = std::mem::replace(&mut self.round_trip_ns, round_trip_ns(self.plan.cpus, self.plan.clock)?);
        let after_ns = self.round_trip_ns;
        let shown =
            self.figure.read(result).map_or_else(|| "nothing measured".to_owned(), |value| self.figure.show(value));
        eprint!("\n  {kind:7} {shown}; cache-line round trip {before_ns:.0} ns before, {after_ns:.0} ns after");
        // A short control ends before the second reading of CPU times.
        if result.sampled.elapsed_ns > 0 {
            eprint!("; CPU used elsewhere {:.0} % of a core", result.sampled.share_elsewhere() * 100.0);
        }
        Ok(())
    }

    fn figure_of(&self, result: &LegResult, what: &str) -> Result<f64, BenchError> {
        self.figure.read(result).ok_or_else(|| BenchError::NothingMeasured { what: what.to_owned() })
    }

    fn control_name(&self) -> Option<String> {
        match &self.control {
            Control::Raw(control) => Some(control.name()),
            Control::AlwaysSpinning => Some(format!("{}, never parking", self.engine.name())),
            Control::Nothing => None,
        }
    }
}

/// Ring of the best size for throughput, ring under the same open loop for latency, cache line for complete latency.
fn choose_control(arguments: &Arguments, plan: &LegPlan) -> Result<Control, BenchError> {
    Ok(match plan.load {
        Load::Idle => Control::Nothing,
        _ if arguments.against_always_spin => Control::AlwaysSpinning,
        Load::Saturating => Control::Raw(Box::new(best_ring(plan)?)),
        Load::Open(_) if plan.acked => Control::Raw(Box::new(CacheLineLeg)),
        Load::Open(_) => Control::Raw(Box::new(RawRingOpenLoop)),
    })
}

/// The fastest raw ring, from short interleaved runs.
///
/// # Errors
/// Those of the legs.
pub fn best_ring(plan: &LegPlan) -> Result<RawRing, BenchError> {
    const ROUNDS: usize = 3;
    let (warm_up, measured) = (Duration::from_millis(30), Duration::from_millis(150));
    RawRing::best(&LegPlan { warm_up, measured, load: Load::Saturating, ..*plan }, ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn arguments(more: &[&str]) -> Arguments {
        let fixed = ["program", "--seconds", "0.25", "--warm-up-ms", "30", "--pairs", "5"];
        Arguments::try_parse_from([&fixed, more].concat()).unwrap()
    }

    /// A raw ring in the place of the engine: its ratio to the raw ring is about one.
    #[test]
    fn a_run_against_itself_is_sound_and_complete() {
        if CpuPair::choose().is_err() {
            return;
        }
        let report = run("self", &arguments(&["--rate", "20000"]), &mut RawRingOpenLoop).unwrap();
        assert!(report.is_sound());
        let json = report.to_json();
        assert_eq!(json["benchmark"], "self");
        assert_eq!(json["pairs"], 5);
        assert_eq!(json["lost"], 0);
        assert_eq!(json["control"]["unit"], "latency_p50_ns");
        assert!(json["checksum"].is_string());
        assert_eq!(json["checksum"], json["control_checksum"]);
        assert!(json["cache_line_round_trip_ns"].as_f64().unwrap() > 0.0);
        assert_eq!(json["pair_details"].as_array().unwrap().len(), 5);
        if json["pairs_discarded"].as_u64().unwrap() < 5 {
            assert!(json["ratio_to_control"].as_f64().unwrap() > 0.0);
        }
        assert_eq!(json["latency_ns"]["count"].as_u64().unwrap() % 1000, 0, "50 ms at 20,000 a second each");
    }

    #[test]
    fn an_idle_run_has_no_control_and_reports_cpu_time() {
        if CpuPair::choose().is_err() {
            return;
        }
        let report = run("idle", &arguments(&["--rate", "0"]), &mut RawRingOpenLoop).unwrap();
        let json = report.to_json();
        assert!(json["control"].is_null() && json["ratio_to_control"].is_null() && json["tuples_per_sec"].is_null());
        assert_eq!((&json["rate"], &json["latency_ns"]["count"]), (&0.into(), &0.into()));
        // The raw ring spins on both of its CPUs, however many others do too.
        let shares = json["cpu_share_per_core"].as_array().unwrap();
        assert!(shares.len() == 2 && shares.iter().all(|share| share.as_f64().unwrap() > 0.01), "{shares:?}");
    }

    #[test]
    fn the_load_and_acks_choose_the_control() {
        let Ok(cpus) = CpuPair::choose() else { return };
        let name = |more: &[&str]| {
            let arguments = arguments(more);
            let plan = LegPlan {
                clock: Clock::from_instant(),
                cpus,
                warm_up: Duration::ZERO,
                measured: Duration::ZERO,
                load: arguments.load(),
                acked: arguments.acked,
                always_spin: false,
            };
            match choose_control(&arguments, &plan).unwrap() {
                Control::Raw(leg) => leg.name(),
                Control::AlwaysSpinning => "never parking".to_owned(),
                Control::Nothing => "nothing".to_owned(),
            }
        };
        assert!(name(&["--rate", "1000"]).starts_with("raw ring, open loop"));
        assert_eq!(name(&["--rate", "1000", "--acked"]), "cache-line round trip");
        assert_eq!(name(&["--rate", "1000", "--against-always-spin"]), "never parking");
        assert_eq!(name(&["--rate", "0"]), "nothing");
    }
}
