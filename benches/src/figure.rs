//! What a run compares, and what one pair of legs came to.
//!
//! Threading: plain data. Errors: none; a leg that measured nothing has no figure.

use crate::leg::LegResult;
use crate::load::Load;
use crate::pairs::{Order, Pair};

/// The figure that a run compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Tuples (or completed roots) per second.
    TuplesPerSecond,
    /// Median latency in nanoseconds.
    LatencyP50,
    /// Mean share of one CPU used for each worker core.
    CpuShare,
}

impl Figure {
    /// The figure that tells under this load.
    pub fn of(load: Load) -> Figure {
        match load {
            Load::Saturating => Figure::TuplesPerSecond,
            Load::Open(_) => Figure::LatencyP50,
            Load::Idle => Figure::CpuShare,
        }
    }

    /// Reads the figure from a leg; `None` if the leg measured nothing.
    pub fn read(self, result: &LegResult) -> Option<f64> {
        let metered = &result.outcome.metered;
        match self {
            Figure::TuplesPerSecond => metered.tuples_per_second(),
            Figure::LatencyP50 => (!metered.latency.is_empty()).then(|| metered.latency.value_at_quantile(0.5) as f64),
            Figure::CpuShare => {
                let shares = result.sampled.share_per_core();
                // Cores that are not pinned (more cores than CPUs) show only among the unpinned threads.
                let unpinned = result.sampled.share_unpinned();
                Some(if shares.is_empty() { unpinned } else { shares.iter().sum::<f64>() / shares.len() as f64 })
            }
        }
    }

    /// Unit for reports.
    pub fn unit(self) -> &'static str {
        match self {
            Figure::TuplesPerSecond => "tuples_per_second",
            Figure::LatencyP50 => "latency_p50_ns",
            Figure::CpuShare => "cpu_share_per_core",
        }
    }

    /// The figure for a reader.
    pub fn show(self, value: f64) -> String {
        match self {
            Figure::TuplesPerSecond => format!("{:.3} M tuples/s", value / 1e6),
            Figure::LatencyP50 => format!("p50 {value:.0} ns"),
            Figure::CpuShare => format!("{:.4} % of a core per worker core", value * 100.0),
        }
    }
}

/// One pair as it ran.
#[derive(Debug)]
pub struct PairRun {
    /// Which leg went first.
    pub order: Order,
    /// Its figures.
    pub pair: Pair,
    /// The control leg.
    pub control: Option<LegResult>,
    /// The engine leg.
    pub engine: LegResult,
}
