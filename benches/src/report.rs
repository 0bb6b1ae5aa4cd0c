//! What a run says: one JSON object, or a table for people, and the percentile files.
//!
//! Figures of several legs: rates, ratios and control figures are medians of kept pairs; latencies are those of all
//! kept legs in one histogram; allocations, losses and CPU time are sums. If every pair was thrown away, the latencies
//! are those of all legs, and the report says that it proves nothing. Threading: none. Errors: writing files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::cpu::CpuUse;
use crate::error::BenchError;
use crate::figure::{Figure, PairRun};
use crate::fingerprint;
use crate::histogram::{self, LatencyHistogram, PERCENTILES};
use crate::leg::{LegPlan, LegResult};
use crate::load::Load;
use crate::pairs::{Order, Pair, Verdict, median};
use crate::sampler::Sampled;

/// Share of a core that other processes may use before a report warns.
const QUIET_SHARE: f64 = 0.05;

/// The results of a run.
#[derive(Debug)]
pub struct Report {
    benchmark: &'static str,
    plan: LegPlan,
    figure: Figure,
    control_name: Option<String>,
    runs: Vec<PairRun>,
    verdict: Verdict,
}

impl Report {
    /// Sums up the pairs of a run.
    pub fn new(
        benchmark: &'static str,
        plan: LegPlan,
        figure: Figure,
        control_name: Option<String>,
        runs: Vec<PairRun>,
    ) -> Report {
        let verdict = Verdict::of(&runs.iter().map(|run| run.pair).collect::<Vec<Pair>>());
        Report { benchmark, plan, figure, control_name, runs, verdict }
    }

    /// Whether no tuple was lost or changed, and engine and control read the same bytes.
    pub fn is_sound(&self) -> bool {
        let same_bytes = match (self.checksum(false), self.checksum(true)) {
            (Some(engine), Some(control)) => engine == control,
            _ => true,
        };
        self.lost() == 0 && self.all_legs().all(|result| result.outcome.intact) && same_bytes
    }

    /// Prints the report as `arguments` ask, and writes the files that they name.
    ///
    /// # Errors
    /// [`BenchError::CannotWriteReport`].
    pub fn publish(&self, arguments: &Arguments) -> Result<(), BenchError> {
        if let Some(path) = &arguments.hgrm {
            write_file(path, &self.latency(false))?;
        }
        if let Some(path) = &arguments.control_hgrm {
            write_file(path, &self.latency(true))?;
        }
        for warning in self.warnings() {
            eprintln!("{}: {warning}", self.benchmark);
        }
        if arguments.json {
            println!("{}", self.to_json());
        } else {
            print!("{}", self.table());
        }
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.verdict.proves_nothing() {
            warnings.push(format!(
                "{} of {} pairs were thrown away because the machine changed under them: this run proves nothing; \
                 repeat it when the machine is quiet",
                self.verdict.discarded, self.verdict.pairs
            ));
        }
        if !self.is_sound() {
            warnings.push("tuples were lost, doubled or changed: no figure of this run counts".to_owned());
        }
        let elsewhere = self.sampled().share_elsewhere();
        if elsewhere > QUIET_SHARE {
            warnings.push(format!(
                "other processes used {:.0} % of a core during the engine's legs; tails and throughput suffer from more \
                 than {:.0} %",
                elsewhere * 100.0,
                QUIET_SHARE * 100.0
            ));
        }
        if !fingerprint::is_optimised() {
            warnings.push(format!("built as {}: use --release for figures", fingerprint::profile()));
        }
        warnings
    }

    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        let verdict = &self.verdict;
        let rate = match self.plan.load {
            Load::Saturating => None,
            Load::Open(rate) => Some(rate.tuples_per_second()),
            Load::Idle => Some(0),
        };
        let control = self
            .control_name
            .as_ref()
            .map(|name| json!({ "name": name, "figure": verdict.control, "unit": self.figure.unit() }));
        let sampled = self.sampled();
        json!({
            "benchmark": self.benchmark,
            "acked": self.plan.acked,
            "rate": rate,
            "always_spin": self.plan.always_spin,
            "tuples_per_sec": self.tuples_per_second(),
            "control": control,
            "ratio_to_control": verdict.ratio,
            "ratio_range": verdict.ratio_range.map(|(smallest, largest)| [smallest, largest]),
            "allocations_per_tuple": self.allocations_per_tuple(),
            "allocations": sampled.allocations,
            "lost": self.lost(),
            "failed": self.legs(false).map(|result| result.outcome.failed).sum::<u64>(),
            "latency_ns": histogram::to_json(&self.latency(false)),
            "control_latency_ns": histogram::to_json(&self.latency(true)),
            "latency_from": self.latency_from(),
            "cache_line_round_trip_ns": self.cache_line_round_trip_ns(),
            "pairs": verdict.pairs,
            "pairs_discarded": verdict.discarded,
            "proves_nothing": verdict.proves_nothing(),
            "cpu_share_per_core": sampled.share_per_core(),
            "cpu_share_unpinned": sampled.share_unpinned(),
            "cpu_share_elsewhere": sampled.share_elsewhere(),
            "checksum": self.checksum(false).map(hexadecimal),
            "control_checksum": self.checksum(true).map(hexadecimal),
            "intact": self.is_sound(),
            "seconds_per_leg": self.plan.measured.as_secs_f64(),
            "warm_up_seconds": self.plan.warm_up.as_secs_f64(),
            "clock": self.plan.clock.name(),
            "cpus": [self.plan.cpus.source, self.plan.cpus.sink],
            "conditions": fingerprint::conditions(),
            "pair_details": self.runs.iter().map(pair_detail).collect::<Vec<_>>(),
        })
    }

    /// The report as a table.
    pub fn table(&self) -> String {
        let verdict = &self.verdict;
        let show = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| self.figure.show(value));
        let mut rows = vec![
            ("benchmark", format!("{}{}", self.benchmark, if self.plan.acked { ", acked" } else { ", un-acked" })),
            ("engine", show(verdict.engine)),
            (
                "control",
                self.control_name
                    .as_ref()
                    .map_or_else(|| "none".to_owned(), |name| format!("{} ({name})", show(verdict.control))),
            ),
        ];
        if let (Some(ratio), Some((smallest, largest))) = (verdict.ratio, verdict.ratio_range) {
            rows.push(("ratio to control", format!("{ratio:.3} (kept pairs {smallest:.3} to {largest:.3})")));
        }
        let sampled = self.sampled();
        let per_core: Vec<String> =
            sampled.share_per_core().iter().map(|share| format!("{:.3} %", share * 100.0)).collect();
        rows.extend([
            ("pairs", format!("{}, of which {} thrown away", verdict.pairs, verdict.discarded)),
            ("cache-line round trip", format!("{:.0} ns", self.cache_line_round_trip_ns())),
            ("lost", self.lost().to_string()),
            (
                "allocations",
                match self.allocations_per_tuple() {
                    Some(per_tuple) => format!("{} ({per_tuple:.6} per tuple)", sampled.allocations),
                    None => sampled.allocations.to_string(),
                },
            ),
            ("CPU per core", per_core.join(", ")),
            ("CPU elsewhere", format!("{:.1} % of a core", sampled.share_elsewhere() * 100.0)),
            ("latency", self.latency_from().to_owned()),
        ]);
        let mut text = String::new();
        for (name, value) in rows {
            text += &format!("{name:22} {value}\n");
        }
        text + &latency_rows(&self.latency(false), &self.latency(true))
    }

    fn legs(&self, control: bool) -> impl Iterator<Item = &LegResult> {
        self.runs.iter().filter_map(move |run| if control { run.control.as_ref() } else { Some(&run.engine) })
    }

    fn all_legs(&self) -> impl Iterator<Item = &LegResult> {
        self.legs(false).chain(self.legs(true))
    }

    /// Legs of kept pairs, or all if none was kept.
    fn kept_legs(&self, control: bool) -> impl Iterator<Item = &LegResult> {
        let none_kept = self.verdict.discarded == self.verdict.pairs;
        self.runs
            .iter()
            .filter(move |run| none_kept || run.pair.is_kept())
            .filter_map(move |run| if control { run.control.as_ref() } else { Some(&run.engine) })
    }

    fn tuples_per_second(&self) -> Option<f64> {
        let rates: Vec<f64> =
            self.kept_legs(false).filter_map(|result| result.outcome.metered.tuples_per_second()).collect();
        median(&rates)
    }

    fn latency(&self, control: bool) -> LatencyHistogram {
        let mut sum = histogram::empty();
        self.kept_legs(control).for_each(|result| histogram::add(&mut sum, &result.outcome.metered.latency));
        sum
    }

    fn latency_from(&self) -> &'static str {
        match self.plan.load {
            Load::Open(_) => "every tuple, from the time it was due",
            Load::Saturating => "one tuple in 1,024, from its emit under saturation",
            Load::Idle => "no tuples",
        }
    }

    fn lost(&self) -> u64 {
        self.all_legs().map(|result| result.outcome.lost).sum()
    }

    /// The checksum that all legs of one kind agree on; `Some(0)` if they do not. A leg that was so slow on a busy
    /// machine that it did not reach the common prefix has none, and its own check vouches for it.
    fn checksum(&self, control: bool) -> Option<u64> {
        let mut checksums = self.legs(control).filter_map(|result| result.outcome.checksum);
        let first = checksums.next()?;
        Some(if checksums.all(|checksum| checksum == first) { first } else { 0 })
    }

    fn allocations_per_tuple(&self) -> Option<f64> {
        let tuples: u64 = self.kept_legs(false).map(|result| result.outcome.metered.window_tuples).sum();
        (tuples > 0).then(|| self.sampled().allocations as f64 / tuples as f64)
    }

    /// The sum over the kept engine legs.
    fn sampled(&self) -> Sampled {
        self.kept_legs(false).fold(Sampled::default(), |mut sum, result| {
            let CpuUse { pinned_ns, unpinned_ns, elsewhere_ns } = &result.sampled.cpu;
            for (cpu, used_ns) in pinned_ns {
                *sum.cpu.pinned_ns.entry(*cpu).or_default() += used_ns;
            }
            sum.cpu.unpinned_ns += unpinned_ns;
            sum.cpu.elsewhere_ns += elsewhere_ns;
            sum.allocations += result.sampled.allocations;
            sum.elapsed_ns += result.sampled.elapsed_ns;
            sum
        })
    }

    fn cache_line_round_trip_ns(&self) -> f64 {
        let readings: Vec<f64> = self.runs.iter().flat_map(|run| run.pair.round_trips_ns).collect();
        median(&readings).expect("a run has at least one pair")
    }
}

fn pair_detail(run: &PairRun) -> Value {
    json!({
        "first": if run.order == Order::ControlFirst { "control" } else { "engine" },
        "engine": run.pair.engine,
        "control": run.pair.control,
        "ratio": run.pair.ratio(),
        "cache_line_round_trips_ns": run.pair.round_trips_ns,
        "kept": run.pair.is_kept(),
        "cpu_share_elsewhere": run.engine.sampled.share_elsewhere(),
    })
}

fn hexadecimal(checksum: u64) -> String {
    format!("{checksum:016x}")
}

fn latency_rows(engine: &LatencyHistogram, control: &LatencyHistogram) -> String {
    let value = |histogram: &LatencyHistogram, read: &dyn Fn(&LatencyHistogram) -> u64| {
        if histogram.is_empty() { "-".to_owned() } else { read(histogram).to_string() }
    };
    let row = |name: &str, read: &dyn Fn(&LatencyHistogram) -> u64| {
        format!("  {name:20} {:>12} {:>12}\n", value(engine, read), value(control, read))
    };
    let mut text = format!("  {:20} {:>12} {:>12}\n", "nanoseconds", "engine", "control");
    for (name, quantile) in PERCENTILES {
        text += &row(&name.replacen('_', ".", 1), &|histogram| histogram.value_at_quantile(quantile));
    }
    text + &row("max", &|histogram| histogram.max()) + &row("count", &|histogram| histogram.len())
}

/// Creates the files that `arguments` name, empty.
///
/// # Errors
/// [`BenchError::CannotWriteReport`].
pub fn create_files(arguments: &Arguments) -> Result<(), BenchError> {
    [&arguments.hgrm, &arguments.control_hgrm].into_iter().flatten().try_for_each(|path| create(path).map(drop))
}

fn create(path: &Path) -> Result<File, BenchError> {
    File::create(path).map_err(|source| BenchError::CannotWriteReport { path: path.to_owned(), source })
}

fn write_file(path: &Path, latency: &LatencyHistogram) -> Result<(), BenchError> {
    let mut file = BufWriter::new(create(path)?);
    histogram::write_hgrm(latency, &mut file)
        .and_then(|()| file.flush())
        .map_err(|source| BenchError::CannotWriteReport { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_report_file_that_cannot_be_written_is_found_before_the_run() {
        let arguments = Arguments::try_parse_from(["program", "--hgrm", "/no/such/folder/latency.hgrm"]).unwrap();
        let error = create_files(&arguments).unwrap_err().to_string();
        assert!(error.contains("/no/such/folder/latency.hgrm") && error.contains("choose a writable file"), "{error}");
    }
}
