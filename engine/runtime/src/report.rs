//! What came of a run: how it ended, what was left, the errors, the counters.

use std::time::Duration;

use crate::metrics::{CoreSnapshot, MetricsHistory, TopologyMetrics};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The input ended and everything was drained.
    Completed,
    /// It was stopped from outside.
    Stopped,
    /// It could not go on; the text says why.
    Failed(String),
}

/// An error of user code, of a task's life, or the death of a worker.
#[derive(Debug, Clone)]
pub struct ErrorReport {
    /// The component, or the worker that has died, such as `worker 1`.
    pub component: String,
    /// The task; 0 when it is not one task's.
    pub task: u32,
    /// What happened.
    pub text: String,
    /// Whether the run cannot go on because of it.
    pub fatal: bool,
    /// When, counted from the start of the run.
    pub since_start: Duration,
}

impl std::fmt::Display for ErrorReport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { component, task, text, .. } = self;
        if *task == 0 {
            write!(formatter, "{component}: {text}")
        } else {
            write!(formatter, "{component}, task {task}: {text}")
        }
    }
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Whether every tuple that was emitted was executed, and every message acked or failed, before the end.
    pub drained: bool,
    /// Messages that were neither acked nor failed, but for those of [`RunReport::silent_workers`].
    pub pending: u64,
    /// Tuples that were emitted and not executed, but for those of [`RunReport::silent_workers`].
    pub in_flight: u64,
    /// Workers that did not answer at the end of a run that was not drained, such as `worker 1`: what was left there is
    /// unknown.
    pub silent_workers: Vec<String>,
    /// The first errors (at most 200).
    pub errors: Vec<ErrorReport>,
    /// How many errors there were.
    pub error_count: u64,
    /// How often a worker process died; each time is among the errors too. What it had counted is in no snapshot.
    pub worker_deaths: u64,
    /// From start to end.
    pub elapsed: Duration,
    /// The last counters of each core.
    pub snapshots: Vec<CoreSnapshot>,
    /// Threads that did not end in time, since user code held them.
    pub cores_left_behind: usize,
}

impl RunReport {
    /// Whether all went well: the input ended, everything was drained, no message failed or is pending, no tuple is left,
    /// no worker died, and no thread was left behind.
    ///
    /// A run that was stopped is not clean, even where nothing was left, and neither is one in which a replay mended what
    /// had failed. Errors that components reported are another matter, see [`RunReport::error_count`]: nothing need have
    /// failed for them.
    ///
    /// ```
    /// # use ringstorm_runtime::{LocalCluster, TopologyBuilder};
    /// # use ringstorm_types::config::Config;
    /// # let mut topology = TopologyBuilder::new();
    /// # topology.spout_fn("lines", || ["one", "two"].map(|line| ringstorm_runtime::library::Line { line }));
    /// let report = LocalCluster::new().run("counts", topology.build(&Config::new())?)?;
    /// assert!(report.is_clean(), "{report:?}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_clean(&self) -> bool {
        let executors = || self.snapshots.iter().flat_map(|core| &core.executors);
        let left = self.pending + self.in_flight + self.cores_left_behind as u64 + self.worker_deaths;
        // What bolts failed counts too: it may belong to no message that anybody hears of.
        let failed = executors().any(|executor| executor.failed > 0)
            || executors().flat_map(|executor| &executor.inputs).any(|input| input.failed > 0);
        self.outcome == Outcome::Completed && self.drained && left == 0 && !failed
    }

    /// The run in numbers, per component and stream. Windows shorter than the run are estimates here, since only the
    /// last counters are known; whoever wants them right feeds a [`MetricsHistory`] while it runs.
    pub fn metrics(&self) -> TopologyMetrics {
        let mut history = MetricsHistory::new();
        history.record(self.elapsed, self.snapshots.iter().cloned());
        TopologyMetrics { worker_deaths: self.worker_deaths, ..history.metrics() }
    }
}
