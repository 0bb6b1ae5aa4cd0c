//! What the page of a topology shows of one window, and of all windows together.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_records::records::{BoltStats, ComponentType, ExecutorSpecificStats, SpoutStats, TopologyStats};

use super::{Figures, capacity, finite, sum, sum_of_streams, weighed};
use crate::executors::Beating;

/// What executors counted together.
#[derive(Clone, Debug, Default)]
pub struct TopologyFigures {
    spouts: BTreeMap<String, Figures>,
    bolts: BTreeMap<String, Figures>,
    windows: BTreeMap<String, WindowFigures>,
    workers: usize,
}

/// Of one window. What no executor counted has no entry in Storm's records, so that each is apart.
#[derive(Clone, Copy, Debug, Default)]
struct WindowFigures {
    emitted: Option<i64>,
    transferred: Option<i64>,
    acked: Option<i64>,
    failed: Option<i64>,
    complete_ms: f64,
}

impl TopologyFigures {
    /// Of these executors. Components show the figures of one window.
    pub fn of(executors: &[Beating<'_>], window: &str, include_system: bool) -> Self {
        let mut all = Self::default();
        let slots: BTreeSet<_> = executors.iter().map(|of| (of.placed.node, of.placed.port)).collect();
        all.workers = slots.len();
        for executor in executors {
            all.add(executor, window, include_system);
        }
        all
    }

    /// In how many slots something has beaten.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Each component of a kind that has beaten, with its figures.
    pub(crate) fn components(&self, kind: ComponentType) -> impl Iterator<Item = (&String, &Figures)> {
        if kind == ComponentType::Spout { self.spouts.iter() } else { self.bolts.iter() }
    }

    fn add(&mut self, of: &Beating<'_>, window: &str, include_system: bool) {
        let shown = |counts| sum_of_streams(counts, include_system);
        let mut figures = Figures {
            executors: 1,
            tasks: of.placed.task_count(),
            emitted: shown(of.stats.emitted.get(window)),
            transferred: shown(of.stats.transferred.get(window)),
            ..Figures::default()
        };
        let components = match &of.stats.specific {
            ExecutorSpecificStats::Spout(stats) => {
                add_spout(&mut figures, stats, window);
                self.add_spout_windows(stats);
                &mut self.spouts
            }
            ExecutorSpecificStats::Bolt(stats) => {
                add_bolt(&mut figures, stats, window, of.uptime_secs);
                &mut self.bolts
            }
            ExecutorSpecificStats::Unrecognized(_) => return,
        };
        components.entry(of.component.to_owned()).or_default().add(&figures);
        for (window, counts) in &of.stats.emitted {
            add_to(&mut self.windows.entry(window.clone()).or_default().emitted, shown(Some(counts)));
        }
        for (window, counts) in &of.stats.transferred {
            add_to(&mut self.windows.entry(window.clone()).or_default().transferred, shown(Some(counts)));
        }
    }

    fn add_spout_windows(&mut self, stats: &SpoutStats) {
        for (window, counts) in &stats.acked {
            let figures = self.windows.entry(window.clone()).or_default();
            add_to(&mut figures.acked, sum(Some(counts)));
            figures.complete_ms += weighed(stats.complete_ms_avg.get(window), Some(counts));
        }
        for (window, counts) in &stats.failed {
            add_to(&mut self.windows.entry(window.clone()).or_default().failed, sum(Some(counts)));
        }
    }

    /// Storm's record of all windows.
    pub fn stats(&self) -> TopologyStats {
        let counts = |count: fn(&WindowFigures) -> Option<i64>| {
            let counts = self.windows.iter().filter_map(|(window, of)| Some((window.clone(), count(of)?)));
            Some(counts.collect())
        };
        let latencies = self.windows.iter().filter_map(|(window, of)| {
            let acked = of.acked.filter(|acked| *acked > 0)?;
            Some((window.clone(), finite(of.complete_ms / acked as f64)))
        });
        TopologyStats {
            window_to_emitted: counts(|of| of.emitted),
            window_to_transferred: counts(|of| of.transferred),
            window_to_complete_latencies_ms: Some(latencies.collect()),
            window_to_acked: counts(|of| of.acked),
            window_to_failed: counts(|of| of.failed),
        }
    }
}

fn add_spout(figures: &mut Figures, stats: &SpoutStats, window: &str) {
    let acked = stats.acked.get(window);
    figures.acked = sum(acked);
    figures.failed = sum(stats.failed.get(window));
    figures.complete_ms = weighed(stats.complete_ms_avg.get(window), acked).trunc();
}

fn add_bolt(figures: &mut Figures, stats: &BoltStats, window: &str, uptime_secs: i32) {
    let executed = stats.executed.get(window);
    figures.acked = sum(stats.acked.get(window));
    figures.failed = sum(stats.failed.get(window));
    figures.executed = sum(executed);
    figures.execute_ms = weighed(stats.execute_ms_avg.get(window), executed).trunc();
    figures.process_ms = weighed(stats.process_ms_avg.get(window), executed).trunc();
    figures.capacity = capacity(stats, uptime_secs);
}

fn add_to(sum: &mut Option<i64>, count: i64) {
    *sum = Some(sum.unwrap_or(0).wrapping_add(count));
}
