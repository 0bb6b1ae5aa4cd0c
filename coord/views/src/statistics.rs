//! How figures of executors become those of components and topologies.
//!
//! An executor counts by window (`:all-time`, `600`, `10800`, `86400` seconds) and stream. [`topology`] adds up what a
//! topology's page shows, [`component`] what a component's does. Counts of streams of the system are left out where system
//! figures are not wanted; what came in, acks and fails always count. Mean latencies weigh by the number that they are the
//! mean of: what was executed for bolts, what was acked for spouts.
//!
//! Source: `StatsUtil` of Storm 2.8.2, with its results, also where they surprise: on a topology's page the latencies of
//! each bolt and spout are rounded down, since each executor's total is cut to whole milliseconds before it is added.
//! Unlike there, an amount that is no finite number counts as 0 wherever it stands, so that every figure is finite.
//!
//! Invariants: pure, and never a panic: sums wrap around as Java's do. Errors: none.

pub mod component;
pub mod topology;

use std::collections::BTreeMap;

use ringstorm_records::records::{
    BoltAggregateStats, BoltStats, CommonAggregateStats, ComponentAggregateStats, ComponentType,
    SpecificAggregateStats, SpoutAggregateStats,
};

use crate::definition::is_system;

/// Window to stream to amount.
pub type Windows<K, V> = BTreeMap<String, BTreeMap<K, V>>;

/// The window of which capacity is the share, and its name in statistics.
const CAPACITY_WINDOW_SECS: i32 = 600;
const CAPACITY_WINDOW: &str = "600";

/// Figures under Storm's names, as far as something has them.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Figures {
    pub(crate) executors: i32,
    pub(crate) tasks: i64,
    pub(crate) emitted: i64,
    pub(crate) transferred: i64,
    pub(crate) acked: i64,
    pub(crate) failed: i64,
    pub(crate) executed: i64,
    /// Means times what they are the means of, in milliseconds.
    pub(crate) execute_ms: f64,
    pub(crate) process_ms: f64,
    pub(crate) complete_ms: f64,
    pub(crate) capacity: f64,
}

impl Figures {
    pub(crate) fn add(&mut self, other: &Self) {
        self.executors = self.executors.saturating_add(other.executors);
        self.tasks = self.tasks.wrapping_add(other.tasks);
        self.emitted = self.emitted.wrapping_add(other.emitted);
        self.transferred = self.transferred.wrapping_add(other.transferred);
        self.acked = self.acked.wrapping_add(other.acked);
        self.failed = self.failed.wrapping_add(other.failed);
        self.executed = self.executed.wrapping_add(other.executed);
        self.execute_ms += other.execute_ms;
        self.process_ms += other.process_ms;
        self.complete_ms += other.complete_ms;
        self.capacity = self.capacity.max(other.capacity);
    }

    /// Storm's record, for the component's kind.
    pub(crate) fn record(&self, kind: ComponentType) -> ComponentAggregateStats {
        let mean = |total: f64, count: i64| if count > 0 { finite(total / count as f64) } else { 0.0 };
        let specific = match kind {
            ComponentType::Spout => SpecificAggregateStats::Spout(SpoutAggregateStats {
                complete_latency_ms: Some(mean(self.complete_ms, self.acked)),
            }),
            _ => SpecificAggregateStats::Bolt(BoltAggregateStats {
                execute_latency_ms: Some(mean(self.execute_ms, self.executed)),
                process_latency_ms: Some(mean(self.process_ms, self.executed)),
                executed: Some(self.executed),
                capacity: Some(self.capacity),
            }),
        };
        ComponentAggregateStats {
            kind: Some(kind),
            common_stats: Some(CommonAggregateStats {
                num_executors: Some(self.executors),
                num_tasks: Some(i32::try_from(self.tasks).unwrap_or(i32::MAX)),
                emitted: Some(self.emitted),
                transferred: Some(self.transferred),
                acked: Some(self.acked),
                failed: Some(self.failed),
                resources_map: None,
            }),
            specific_stats: Some(specific),
            last_error: None,
        }
    }
}

/// The share of the last ten minutes, or of its life if that is shorter, that a bolt's executor spent executing: 1 is all
/// of it.
pub(crate) fn capacity(stats: &BoltStats, uptime_secs: i32) -> f64 {
    if uptime_secs == 0 {
        return 0.0;
    }
    let (means, counts) = (stats.execute_ms_avg.get(CAPACITY_WINDOW), stats.executed.get(CAPACITY_WINDOW));
    let span_ms = f64::from(uptime_secs.min(CAPACITY_WINDOW_SECS)) * 1000.0;
    finite(weighed(means, counts) / span_ms)
}

/// The sum of one window; 0 where there is none.
pub(crate) fn sum<K>(of: Option<&BTreeMap<K, i64>>) -> i64 {
    of.into_iter().flat_map(BTreeMap::values).fold(0, |sum, count| sum.wrapping_add(*count))
}

/// The sum of one window's streams, without those of the system if they are not wanted.
pub(crate) fn sum_of_streams(of: Option<&BTreeMap<String, i64>>, include_system: bool) -> i64 {
    let counts = of.into_iter().flatten();
    let wanted = counts.filter(|(stream, _)| include_system || !is_system(stream));
    wanted.fold(0, |sum, (_, count)| sum.wrapping_add(*count))
}

/// Means times counts, added.
pub(crate) fn weighed<K: Ord>(means: Option<&BTreeMap<K, f64>>, counts: Option<&BTreeMap<K, i64>>) -> f64 {
    let (Some(means), Some(counts)) = (means, counts) else { return 0.0 };
    means.iter().map(|(key, mean)| product(*mean, counts.get(key).copied().unwrap_or(0))).sum()
}

/// A mean times the number that it is the mean of.
pub(crate) fn product(mean: f64, count: i64) -> f64 {
    finite(mean * count as f64)
}

/// The number, or 0 for one that is not finite.
pub(crate) fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

#[cfg(test)]
mod tests;
