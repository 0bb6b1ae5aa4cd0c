//! What the page of a component shows: all windows, and of one window each stream and each executor.

use std::collections::BTreeMap;

use ringstorm_records::records::{
    BoltStats, ComponentAggregateStats, ComponentType, ExecutorAggregateStats, ExecutorSpecificStats, ExecutorSummary,
    GlobalStreamId, SpoutStats,
};

use super::{Figures, Windows, capacity, product, sum, sum_of_streams, weighed};
use crate::definition::is_system;
use crate::executors::Beating;

/// What the executors of a component counted together.
#[derive(Clone, Debug)]
pub struct ComponentFigures {
    kind: ComponentType,
    /// How many of its executors have beaten.
    pub executors: i32,
    /// How many tasks these run.
    pub tasks: i32,
    windows: BTreeMap<String, Figures>,
    inputs: BTreeMap<GlobalStreamId, Figures>,
    outputs: BTreeMap<String, Figures>,
    each: Vec<ExecutorAggregateStats>,
}

impl ComponentFigures {
    /// Of these executors, which are all of one component.
    pub fn of(executors: &[Beating<'_>], kind: ComponentType, window: &str, include_system: bool) -> Self {
        let mut all = Self {
            kind,
            executors: 0,
            tasks: 0,
            windows: BTreeMap::new(),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            each: Vec::new(),
        };
        for executor in executors {
            all.add(executor, window, include_system);
        }
        all
    }

    /// Storm's records by window.
    pub fn windows(&self) -> BTreeMap<String, ComponentAggregateStats> {
        self.windows.iter().map(|(window, figures)| (window.clone(), figures.record(self.kind))).collect()
    }

    /// Storm's records by stream that came in; `None` for a spout, to which nothing comes.
    pub fn inputs(&self) -> Option<BTreeMap<GlobalStreamId, ComponentAggregateStats>> {
        let record = |(stream, figures): (&GlobalStreamId, &Figures)| (stream.clone(), figures.record(self.kind));
        (self.kind != ComponentType::Spout).then(|| self.inputs.iter().map(record).collect())
    }

    /// Storm's records by stream that went out.
    pub fn outputs(&self) -> BTreeMap<String, ComponentAggregateStats> {
        self.outputs.iter().map(|(stream, figures)| (stream.clone(), figures.record(self.kind))).collect()
    }

    /// Storm's records of each executor.
    pub fn each(&self) -> &[ExecutorAggregateStats] {
        &self.each
    }

    fn add(&mut self, of: &Beating<'_>, window: &str, include_system: bool) {
        self.executors = self.executors.saturating_add(1);
        self.tasks = self.tasks.saturating_add(i32::try_from(of.placed.task_count()).unwrap_or(i32::MAX));
        let mut outputs = BTreeMap::<String, Figures>::new();
        let shown = |stream: &str| include_system || !is_system(stream);
        for (stream, count) in of.stats.emitted.get(window).into_iter().flatten().filter(|(stream, _)| shown(stream)) {
            outputs.entry(stream.clone()).or_default().emitted = *count;
        }
        for (stream, count) in
            of.stats.transferred.get(window).into_iter().flatten().filter(|(stream, _)| shown(stream))
        {
            outputs.entry(stream.clone()).or_default().transferred = *count;
        }
        self.add_counts(&of.stats.emitted, include_system, |figures| &mut figures.emitted);
        self.add_counts(&of.stats.transferred, include_system, |figures| &mut figures.transferred);
        let mut figures = Figures::default();
        match (&of.stats.specific, self.kind) {
            (ExecutorSpecificStats::Spout(stats), ComponentType::Spout) => {
                self.add_spout(stats, window, &mut outputs);
                outputs.values().for_each(|stream| figures.add(stream));
            }
            (ExecutorSpecificStats::Bolt(stats), ComponentType::Bolt) => {
                let inputs = self.add_bolt(stats, window);
                outputs.values().chain(inputs.values()).for_each(|stream| figures.add(stream));
                figures.capacity = capacity(stats, of.uptime_secs);
                add_all(&mut self.inputs, inputs);
            }
            // A beat that says it is of another kind says nothing more of this one.
            _ => {}
        }
        add_all(&mut self.outputs, outputs);
        self.each.push(ExecutorAggregateStats {
            exec_summary: Some(ExecutorSummary {
                executor_info: of.placed.info(),
                component_id: of.component.to_owned(),
                host: of.placed.host.to_owned(),
                port: i32::from(of.placed.port),
                uptime_secs: of.uptime_secs,
                stats: None,
            }),
            stats: Some(figures.record(self.kind)),
        });
    }

    fn add_counts(
        &mut self,
        counts: &Windows<String, i64>,
        include_system: bool,
        figure: impl Fn(&mut Figures) -> &mut i64,
    ) {
        for (window, counts) in counts {
            let figure = figure(self.windows.entry(window.clone()).or_default());
            *figure = figure.wrapping_add(sum_of_streams(Some(counts), include_system));
        }
    }

    fn add_spout(&mut self, stats: &SpoutStats, window: &str, outputs: &mut BTreeMap<String, Figures>) {
        for (window, counts) in &stats.acked {
            let figures = self.windows.entry(window.clone()).or_default();
            figures.acked = figures.acked.wrapping_add(sum(Some(counts)));
            figures.complete_ms += weighed(stats.complete_ms_avg.get(window), Some(counts));
        }
        for (window, counts) in &stats.failed {
            let figures = self.windows.entry(window.clone()).or_default();
            figures.failed = figures.failed.wrapping_add(sum(Some(counts)));
        }
        let acked = stats.acked.get(window);
        for (stream, count) in acked.into_iter().flatten() {
            outputs.entry(stream.clone()).or_default().acked = *count;
        }
        for (stream, count) in stats.failed.get(window).into_iter().flatten() {
            outputs.entry(stream.clone()).or_default().failed = *count;
        }
        let Some(acked) = acked else { return };
        for (stream, mean) in stats.complete_ms_avg.get(window).into_iter().flatten() {
            let count = acked.get(stream).copied().unwrap_or(0);
            outputs.entry(stream.clone()).or_default().complete_ms = product(*mean, count);
        }
    }

    /// The streams that came in, of one window.
    fn add_bolt(&mut self, stats: &BoltStats, window: &str) -> BTreeMap<GlobalStreamId, Figures> {
        for (window, counts) in &stats.executed {
            let figures = self.windows.entry(window.clone()).or_default();
            figures.executed = figures.executed.wrapping_add(sum(Some(counts)));
            figures.execute_ms += weighed(stats.execute_ms_avg.get(window), Some(counts));
            figures.process_ms += weighed(stats.process_ms_avg.get(window), Some(counts));
        }
        for (window, counts) in &stats.acked {
            let figures = self.windows.entry(window.clone()).or_default();
            figures.acked = figures.acked.wrapping_add(sum(Some(counts)));
        }
        for (window, counts) in &stats.failed {
            let figures = self.windows.entry(window.clone()).or_default();
            figures.failed = figures.failed.wrapping_add(sum(Some(counts)));
        }
        let mut inputs = BTreeMap::<GlobalStreamId, Figures>::new();
        for (stream, count) in stats.acked.get(window).into_iter().flatten() {
            inputs.entry(stream.clone()).or_default().acked = *count;
        }
        for (stream, count) in stats.failed.get(window).into_iter().flatten() {
            inputs.entry(stream.clone()).or_default().failed = *count;
        }
        let (Some(means), Some(executed)) = (stats.execute_ms_avg.get(window), stats.executed.get(window)) else {
            return inputs;
        };
        let process = stats.process_ms_avg.get(window);
        for (stream, mean) in means {
            let figures = inputs.entry(stream.clone()).or_default();
            figures.executed = executed.get(stream).copied().unwrap_or(0);
            figures.execute_ms = product(*mean, figures.executed);
            let process = process.and_then(|means| means.get(stream)).copied().unwrap_or(0.0);
            figures.process_ms = product(process, figures.executed);
        }
        inputs
    }
}

fn add_all<K: Ord>(sums: &mut BTreeMap<K, Figures>, figures: BTreeMap<K, Figures>) {
    for (key, figures) in figures {
        sums.entry(key).or_default().add(&figures);
    }
}
