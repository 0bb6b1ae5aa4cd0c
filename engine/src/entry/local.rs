//! `local`: runs a topology in this process, shows how it does, and stops it in order.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ringstorm_runtime::metrics::{MetricsHistory, TopologyMetrics, Window, count_text};
use ringstorm_runtime::{
    BuiltTopology, ErrorReport, LocalCluster, LocalOptions, Observer, Outcome, RunReport, StopHandle, submit_to_workers,
};
use ringstorm_types::screen::one_line;

use super::command_line::LocalArguments;
use super::live;
use super::remarks::{Way, without_effect};
use super::screen::Screen;
use super::signals::{SignalWatch, StopReason};
use super::verdict::{Failure, Status, judge, throughput};
use super::workers;

/// Between two readings of the counters, on a terminal and elsewhere: there they only serve the windows.
const LIVE_PERIOD: Duration = Duration::from_secs(1);
const QUIET_PERIOD: Duration = Duration::from_secs(10);

/// Runs the topology to its end.
pub(super) fn run(name: &str, topology: BuiltTopology, arguments: &LocalArguments) -> Result<Status, Failure> {
    // Made before the run, so that a wrong path does not show only when the numbers are lost.
    let metrics_file = arguments.metrics_json.as_deref().map(MetricsFile::create).transpose()?;
    let screen = Arc::new(Screen::new(!arguments.quiet));
    if !arguments.quiet {
        topology.warnings().for_each(|warning| screen.print(&format!("warning: {}", one_line(&warning))));
        let way = arguments.workers.map_or(Way::OneProcess, |count| Way::Processes(count.get()));
        without_effect(topology.config(), way).iter().for_each(|text| screen.print(&format!("note: {text}")));
    }
    if screen.is_live() {
        clear_before_panics(Arc::clone(&screen));
    }
    let shown_errors = Arc::new(AtomicU64::new(0));
    let (error_screen, error_count) = (Arc::clone(&screen), Arc::clone(&shown_errors));
    let on_error = move |error: &ErrorReport| {
        error_count.fetch_add(1, Ordering::Relaxed);
        // A fatal error ends the run and is told then.
        if !error.fatal {
            error_screen.print(&format!("error: {}", one_line(error)));
        }
    };
    let note_screen = Arc::clone(&screen);
    let on_note = move |text: &str| note_screen.print(&format!("note: {text}"));
    let debug_screen = Arc::clone(&screen);
    let on_debug = move |line: &str| debug_screen.print(&format!("debug: {line}"));
    let options = LocalOptions {
        on_error: Some(Box::new(on_error)),
        on_debug: Some(Box::new(on_debug)),
        on_note: Some(Box::new(on_note)),
        ..LocalOptions::default()
    };
    let running = match arguments.workers {
        None => LocalCluster::new().submit(name, topology, options),
        Some(count) => {
            let command = workers::command(&topology)?;
            submit_to_workers(name, topology, count, command, options)
        }
    };
    let running = running.map_err(|error| error.to_string())?;

    let reason = StopReason::default();
    let stop = running.stop_handle();
    let signals = SignalWatch::start(Arc::clone(&screen), move || stop.stop(), reason.clone());
    if let Err(error) = &signals {
        screen.print(&format!("warning: signals cannot be watched ({error}): Ctrl-C ends the run without a drain"));
    }
    let (ended_sender, ended) = channel::<()>();
    let watch = Watch {
        observer: running.observer(),
        stop: running.stop_handle(),
        reason: reason.clone(),
        screen: Arc::clone(&screen),
        duration: arguments.duration,
        started: Instant::now(),
    };
    let watcher = std::thread::Builder::new()
        .name("ringstorm-watch".into())
        .spawn(move || watch.run(&ended))
        .map_err(|error| format!("a thread cannot be started: {error}; raise the limit of processes"))?;
    let report = running.wait();
    drop(ended_sender);
    let mut history = watcher.join().unwrap_or_default();
    drop(signals);
    screen.clear();

    history.record(report.elapsed, report.snapshots.iter().cloned());
    let metrics = TopologyMetrics { worker_deaths: report.worker_deaths, ..history.metrics() };
    let (status, verdict) = judge(name, &report, reason.get().as_deref());
    if !arguments.quiet && is_worth_a_table(&report, &metrics) {
        screen.print(&format!("\n{metrics}\n{}", throughput(&metrics, report.elapsed)));
    }
    if let Some(warning) = super::verdict::failures(&metrics) {
        screen.print(&warning);
    }
    let hidden_errors = report.error_count.saturating_sub(shown_errors.load(Ordering::Relaxed));
    if hidden_errors > 0 {
        screen.print(&format!("{} more errors came too fast to be shown", count_text(hidden_errors)));
    }
    if !arguments.quiet || status != Status::Done {
        screen.print(&verdict);
    }
    metrics_file.map_or(Ok(()), |file| file.write(&metrics))?;
    Ok(status)
}

/// A run that failed before it did anything has nothing to show.
fn is_worth_a_table(report: &RunReport, metrics: &TopologyMetrics) -> bool {
    !matches!(report.outcome, Outcome::Failed(_)) || metrics.emitted_by_spouts(Window::AllTime) > 0
}

/// A component's panic is printed by Rust itself; it must not end up behind the refreshed line.
fn clear_before_panics(screen: Arc<Screen>) {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        screen.clear();
        default(panic);
    }));
}

/// Reads the counters while the run goes on, and ends it when its time is up.
struct Watch {
    observer: Observer,
    stop: StopHandle,
    reason: StopReason,
    screen: Arc<Screen>,
    duration: Option<Duration>,
    started: Instant,
}

impl Watch {
    fn run(mut self, ended: &Receiver<()>) -> MetricsHistory {
        let mut history = MetricsHistory::new();
        let mut before = live::Before::default();
        let period = if self.screen.is_live() { LIVE_PERIOD } else { QUIET_PERIOD };
        let mut next_reading = period;
        loop {
            let wake = self.duration.map_or(next_reading, |end| end.min(next_reading));
            match ended.recv_timeout(wake.saturating_sub(self.started.elapsed())) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return history,
            }
            let age = self.started.elapsed();
            if let Some(end) = self.duration.filter(|end| age >= *end) {
                self.duration = None;
                self.reason.set(&format!("--duration {}", end.as_secs_f64()));
                self.stop.stop();
            }
            if age >= next_reading {
                history.record(age, self.observer.snapshots());
                if self.screen.is_live() {
                    self.screen.refresh(&live::line(&history.metrics(), &mut before));
                }
                next_reading = self.started.elapsed() + period;
            }
        }
    }
}

/// Where the metrics go at the end.
struct MetricsFile<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> MetricsFile<'a> {
    fn create(path: &'a Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| {
            let is_wrong_path =
                matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory);
            let text =
                format!("the metrics file {path:?} cannot be made: {error}; check its directory and permissions");
            Failure::of(text, is_wrong_path)
        })?;
        Ok(Self { path, file })
    }

    fn write(mut self, metrics: &TopologyMetrics) -> Result<(), String> {
        let text = format!("{:#}\n", metrics.to_json());
        self.file.write_all(text.as_bytes()).map_err(|error| {
            format!("the metrics cannot be written to {:?}: {error}; make room there and run again", self.path)
        })
    }
}
