//! How a run ended, in a line and in an exit code. Pure.

use std::process::ExitCode;
use std::time::Duration;

use ringstorm_runtime::metrics::{TopologyMetrics, Window, count_text, duration_text, rate_text};
use ringstorm_runtime::{Outcome, RunReport, WorkerEnd};
use ringstorm_types::config::keys;
use ringstorm_types::screen::one_line;

/// The exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Everything was done.
    Done = 0,
    /// It could not start, or could not go on.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Something was left undone.
    Left = 3,
    /// Everything was done, but components reported errors, or workers died.
    Errors = 4,
    /// A worker of a cluster cannot use its slot.
    Slot = 5,
    /// A newer process has taken the place of a worker of a cluster.
    Superseded = 6,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why nothing was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// One line or a few, with what to do next.
    pub(super) text: String,
    /// [`Status::Failed`] or [`Status::Usage`].
    pub(super) status: Status,
}

impl Failure {
    /// What was typed is wrong, or something else is.
    pub(super) fn of(text: impl Into<String>, is_of_command_line: bool) -> Self {
        Self { text: text.into(), status: if is_of_command_line { Status::Usage } else { Status::Failed } }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, status: Status::Failed }
    }
}

/// Judges a run. The line begins with `error: ` when the status is not [`Status::Done`].
pub(super) fn judge(name: &str, report: &RunReport, stopped_by: Option<&str>) -> (Status, String) {
    let RunReport {
        outcome, drained, pending, in_flight, error_count, elapsed, cores_left_behind, silent_workers, ..
    } = report;
    let after = format!("after {}", duration_text(*elapsed));
    if let Outcome::Failed(text) = outcome {
        return (Status::Failed, format!("error: {name} failed {after}: {}", one_line(text)));
    }
    let end = match (outcome, stopped_by) {
        (Outcome::Stopped, Some(by)) => format!("was stopped by {by}"),
        (Outcome::Stopped, None) => "was stopped".to_owned(),
        _ => "has read all its input".to_owned(),
    };
    if !drained || *pending > 0 || *in_flight > 0 {
        let silent = silent_workers.join(", ");
        let with = match silent.as_str() {
            "" => "with".to_owned(),
            _ => format!("while {silent} did not answer: what was left there is unknown; elsewhere"),
        };
        let mut text = format!(
            "error: {name} {end} and ended {after} {with} {} neither acked nor failed and {} not executed",
            counted(*pending, "message"),
            counted(*in_flight, "tuple"),
        );
        if *cores_left_behind > 0 {
            text.push_str(&format!("; {} in a call of a component", counted(*cores_left_behind as u64, "thread")));
        }
        text.push_str(&format!("; to give them longer, raise {}", keys::DRAIN_TIMEOUT_SECS));
        return (Status::Left, text);
    }
    if *error_count > 0 {
        let errors = counted(*error_count, "error");
        let text = format!(
            "error: {name} {end} and is drained, {after}, but with {errors}: the result may be incomplete; mend what they \
             name and run it again"
        );
        return (Status::Errors, text);
    }
    (Status::Done, format!("{name} {end} and is drained, {after}"))
}

/// Judges the end of a worker that a file leads; nothing is said of one that has nothing to do any more.
pub(super) fn judge_worker(
    name: &str,
    worker: u64,
    end: WorkerEnd,
    stopped_by: Option<&str>,
) -> (Status, Option<String>) {
    let WorkerEnd::Stopped { pending, in_flight } = end else { return (Status::Done, None) };
    let end = format!("worker {worker} of {name} was stopped by {}", stopped_by.unwrap_or("a request"));
    if pending + in_flight == 0 {
        return (Status::Done, Some(format!("{end} and is drained")));
    }
    let text = format!(
        "error: {end} and ended with {} neither acked nor failed and {} not executed; to give its own messages longer, \
         raise {}",
        counted(pending, "message"),
        counted(in_flight, "tuple"),
        keys::DRAIN_TIMEOUT_SECS
    );
    (Status::Left, Some(text))
}

/// What the run got through, in one line.
pub(super) fn throughput(metrics: &TopologyMetrics, elapsed: Duration) -> String {
    let per_second = |count: u64| rate_text(count as f64 / elapsed.as_secs_f64().max(1e-9));
    let emitted = metrics.emitted_by_spouts(Window::AllTime);
    let bolts = metrics.components.iter().filter(|component| !component.is_system());
    let executed: u64 = bolts.map(|bolt| bolt.counts(Window::AllTime).executed()).sum();
    format!(
        "{} tuples emitted by spouts ({}), {} messages acked, {} failed, {} tuples executed by bolts ({})",
        count_text(emitted),
        per_second(emitted),
        count_text(metrics.acked(Window::AllTime)),
        count_text(metrics.failed(Window::AllTime)),
        count_text(executed),
        per_second(executed),
    )
}

/// What became of messages that failed, if there were any. Whether they were emitted again only their spouts know.
pub(super) fn failures(metrics: &TopologyMetrics) -> Option<String> {
    let failed = metrics.failed(Window::AllTime);
    let counts = metrics.components.iter().map(|component| component.counts(Window::AllTime));
    let timed_out: u64 = counts.map(|counts| counts.spout.timed_out).sum();
    (failed > 0).then(|| {
        format!(
            "warning: {} failed, {} of them by time-out; what their spouts did not emit again is lost",
            counted(failed, "message"),
            count_text(timed_out),
        )
    })
}

fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", count_text(count), if count == 1 { "" } else { "s" })
}
