//! Turns snapshots, as they come, into [`TopologyMetrics`].
//!
//! Invariants: what a core said last stands until it says something else; counters of an executor never go down.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_types::ExecutorId;

use super::summary::{ExecutorView, TopologyMetrics};
use super::{CoreSnapshot, CounterWindows, Counts, ExecutorFigures, Window};

/// Everything that was ever counted, in bounded memory: about half a kilobyte for each counter.
///
/// Feed it with the snapshots of all cores, as often as rates and windows shall be precise (a few seconds are plenty),
/// or once at the end of a run.
#[derive(Debug, Default)]
pub struct MetricsHistory {
    uptime: Duration,
    cores: BTreeMap<usize, CoreSnapshot>,
    executors: BTreeMap<ExecutorId, ExecutorHistory>,
}

#[derive(Debug)]
struct ExecutorHistory {
    component: String,
    /// The streams, with the counters as they were last.
    counts: Counts,
    windows: CounterWindows,
    /// Tuples taken out of the receive queue within the last step.
    taken_since: (u64, Duration),
    arrival_rate_secs: f64,
}

impl ExecutorHistory {
    fn new(component: &str, counts: &Counts) -> Self {
        Self {
            component: component.to_owned(),
            counts: counts.clone(),
            windows: CounterWindows::new(counts.values().len()),
            taken_since: (0, Duration::ZERO),
            arrival_rate_secs: 0.0,
        }
    }

    /// Takes the counters of an executor of this component.
    fn record_of(&mut self, component: &str, uptime: Duration, counts: &Counts) {
        if self.component != component || !self.counts.has_streams_of(counts) {
            // Another topology altogether: nothing of what was counted belongs to it.
            *self = Self::new(component, counts);
        }
        self.record(uptime, counts);
    }

    fn over_windows(&self) -> [Counts; 4] {
        Window::ALL.map(|window| self.counts.with_values(&self.windows.over(window)))
    }

    fn record(&mut self, uptime: Duration, counts: &Counts) {
        self.windows.record(uptime, &counts.values());
        self.counts = self.counts.with_values(&self.windows.over(Window::AllTime));
        let (taken, at) = self.taken_since;
        let step = uptime.saturating_sub(at);
        if !step.is_zero() {
            self.arrival_rate_secs = self.counts.taken.saturating_sub(taken) as f64 / step.as_secs_f64();
            self.taken_since = (self.counts.taken, uptime);
        }
    }
}

/// What one executor has counted within each window, see [`FiguresHistory::executors`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorCounts<'a> {
    /// Its first and last task.
    pub id: ExecutorId,
    /// Its component.
    pub component: &'a str,
    /// Whether that is a spout.
    pub is_spout: bool,
    /// By window, as in [`Window::ALL`].
    pub windows: [Counts; 4],
}

/// As [`MetricsHistory`], of figures: what can be added up, by executor.
#[derive(Debug, Default)]
pub struct FiguresHistory {
    uptime: Duration,
    /// Each with whether it is of a spout.
    executors: BTreeMap<ExecutorId, (bool, ExecutorHistory)>,
}

impl FiguresHistory {
    /// Takes what executors have counted when they were this old. Those that are missing keep their last numbers.
    pub fn record(&mut self, uptime: Duration, figures: impl IntoIterator<Item = ExecutorFigures>) {
        self.uptime = self.uptime.max(uptime);
        for ExecutorFigures { id, component, is_spout, counts } in figures {
            let known = self.executors.entry(id);
            let (_, history) = known.or_insert_with(|| (is_spout, ExecutorHistory::new(&component, &counts)));
            history.record_of(&component, self.uptime, &counts);
        }
    }

    /// What each executor has counted, at the time of its last record.
    pub fn executors(&self) -> impl Iterator<Item = ExecutorCounts<'_>> {
        self.executors.iter().map(|(id, (is_spout, history))| ExecutorCounts {
            id: *id,
            component: &history.component,
            is_spout: *is_spout,
            windows: history.over_windows(),
        })
    }
}

impl MetricsHistory {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the snapshots of cores, made when the run was this old. Cores that are missing keep their last numbers.
    pub fn record(&mut self, uptime: Duration, snapshots: impl IntoIterator<Item = CoreSnapshot>) {
        self.uptime = self.uptime.max(uptime);
        for snapshot in snapshots {
            for executor in &snapshot.executors {
                let counts = Counts::of(executor);
                let known = self.executors.entry(executor.id);
                let history = known.or_insert_with(|| ExecutorHistory::new(&executor.component, &counts));
                history.record_of(&executor.component, self.uptime, &counts);
            }
            self.cores.insert(snapshot.core, snapshot);
        }
    }

    /// What it all comes to, at the time of the last record.
    pub fn metrics(&self) -> TopologyMetrics {
        let views = self.cores.values().flat_map(|core| {
            core.executors.iter().filter_map(|executor| {
                let history = self.executors.get(&executor.id)?;
                Some(ExecutorView {
                    core: core.core,
                    snapshot: executor,
                    windows: history.over_windows(),
                    arrival_rate_secs: history.arrival_rate_secs,
                })
            })
        });
        TopologyMetrics::new(self.uptime, self.cores.values(), views)
    }
}
