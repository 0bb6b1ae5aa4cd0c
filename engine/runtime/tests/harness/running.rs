//! Running a topology, and what must be true of every run.

use std::time::{Duration, Instant};

use ringstorm_runtime::metrics::CoreSnapshot;
use ringstorm_runtime::{
    ErrorReport, LocalCluster, LocalOptions, Outcome, RunReport, RunningTopology, TopologyBuilder,
};
use ringstorm_types::config::{Config, Origin};

/// A run that takes longer hangs.
fn hangs_after() -> Duration {
    Duration::from_secs(60) + 2 * super::long_soak_time().unwrap_or_default()
}

/// A configuration with two cores and what is given.
pub(crate) fn config(settings: &[(&str, serde_json::Value)]) -> Config {
    let mut config = Config::new();
    config.set("ringstorm.worker.cores", 2, Origin::TOPOLOGY);
    for (key, value) in settings {
        config.set(*key, value.clone(), Origin::TOPOLOGY);
    }
    config
}

pub(crate) fn start(topology: TopologyBuilder, config: &Config) -> RunningTopology {
    start_with(topology, config, LocalOptions::default())
}

pub(crate) fn start_with(topology: TopologyBuilder, config: &Config, options: LocalOptions) -> RunningTopology {
    let built = topology.build(config).expect("the topology is valid");
    LocalCluster::new().submit("test", built, options).expect("the system has what a few cores need")
}

/// Runs to the end.
pub(crate) fn run(topology: TopologyBuilder, config: &Config) -> RunReport {
    finish(start(topology, config))
}

/// Waits for the end; a hang fails the test and says where everything stands.
pub(crate) fn finish(running: RunningTopology) -> RunReport {
    let until = Instant::now() + hangs_after();
    while !running.is_over() {
        if Instant::now() > until {
            let snapshots = running.snapshots();
            // Dropping it would wait for it.
            Box::leak(Box::new(running));
            panic!("the run hangs: {snapshots:#?}");
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    running.wait()
}

/// Waits until something is so.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + hangs_after();
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// The run went to its end without an error, nothing is left, and the counters agree.
#[track_caller]
pub(crate) fn assert_clean(report: &RunReport) {
    assert_eq!(error_count(report), 0, "{:#?}", report.errors);
    assert_drained(report);
}

/// As [`assert_clean`], but errors are allowed.
#[track_caller]
pub(crate) fn assert_drained(report: &RunReport) {
    assert_eq!(report.outcome, Outcome::Completed, "{report:#?}");
    assert!(report.drained, "{report:#?}");
    assert_eq!((report.pending, report.in_flight, report.cores_left_behind), (0, 0, 0));
    assert_eq!(transferred(&report.snapshots), executed(&report.snapshots), "{report:#?}");
    for queue in report.snapshots.iter().flat_map(|core| &core.executors).map(|executor| executor.receive_queue) {
        assert_eq!((queue.population, queue.bytes), (0, 0));
    }
}

/// Copies that were sent to subscribers.
pub(crate) fn transferred(snapshots: &[CoreSnapshot]) -> u64 {
    let outputs = snapshots.iter().flat_map(|core| &core.executors).flat_map(|executor| &executor.outputs);
    outputs.map(|output| output.transferred).sum()
}

/// Tuples that were executed, ticks and the ackers' messages left out.
pub(crate) fn executed(snapshots: &[CoreSnapshot]) -> u64 {
    let inputs = snapshots.iter().flat_map(|core| &core.executors).flat_map(|executor| &executor.inputs);
    inputs.filter(|input| !input.component.starts_with("__")).map(|input| input.executed).sum()
}

/// A machine that is busy with something else may well keep a core in one call for long: tests do not mind.
fn is_stall(error: &ErrorReport) -> bool {
    error.text.contains("holds core")
}

/// How many errors there were, stalled cores left out.
pub(crate) fn error_count(report: &RunReport) -> u64 {
    report.error_count - report.errors.iter().filter(|error| is_stall(error)).count() as u64
}

/// The texts of all errors of a component, stalled cores left out.
pub(crate) fn errors_of<'a>(report: &'a RunReport, component: &'a str) -> Vec<&'a str> {
    let errors = report.errors.iter().filter(|error| error.component == component && !is_stall(error));
    errors.map(|error| error.text.as_str()).collect()
}

/// All errors, stalled cores left out.
pub(crate) fn errors(report: &RunReport) -> Vec<&ErrorReport> {
    report.errors.iter().filter(|error| !is_stall(error)).collect()
}

/// On which core the first executor of a component lives.
pub(crate) fn core_of(snapshots: &[CoreSnapshot], component: &str) -> usize {
    let core = snapshots.iter().find(|core| core.executors.iter().any(|executor| executor.component == component));
    core.map(|core| core.core).expect("the component runs somewhere")
}

/// Runs scenarios that mostly wait, all at once, so that together they take as long as the longest. A failure names its
/// scenario.
macro_rules! at_once {
    ($($scenario:ident),* $(,)?) => {
        $crate::harness::all_at_once(&[$((stringify!($scenario), $scenario as fn())),*])
    };
}
pub(crate) use at_once;

pub(crate) fn all_at_once(scenarios: &[(&'static str, fn())]) {
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let start = |(name, scenario): &(&'static str, fn())| {
            let thread = std::thread::Builder::new().name((*name).to_owned());
            (*name, thread.spawn_scoped(scope, *scenario).expect("a test may start threads"))
        };
        let running: Vec<_> = scenarios.iter().map(start).collect();
        running.into_iter().filter_map(|(name, thread)| thread.join().is_err().then_some(name)).collect()
    });
    assert!(failed.is_empty(), "these failed: {failed:?}");
}
