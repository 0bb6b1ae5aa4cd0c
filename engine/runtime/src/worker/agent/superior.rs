//! Whom a worker tells what happens, and who tells it what to do.
//!
//! The process that leads a run on one machine, over a socket: it gives assignments and orders, and wants to know
//! everything. Or a source of assignments alone: then what happens goes to standard error. Or the control thread of a
//! cluster's worker, see [`commanded`](super::commanded).
//!
//! Threading: one thread waits for instructions; any thread tells. Errors: a leader that is gone is the end of the worker.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use ringstorm_types::assignment::Assignment;

use crate::worker::agent::assignments::{AssignmentNews, Assignments};
use crate::worker::agent::commanded::{WorkerOrder, WorkerReport};
use crate::worker::talk::{self, FromWorker, ToWorker};

/// Whom a worker tells what happens.
#[derive(Clone)]
pub(crate) enum Superior {
    /// The process that leads.
    Leader(Arc<Mutex<UnixStream>>),
    /// Whoever reads standard error.
    Log,
    /// The control thread of this process.
    Control(Arc<dyn Fn(WorkerReport) + Send + Sync>),
}

impl Superior {
    pub(crate) fn tell(&self, message: &FromWorker) {
        match self {
            // One that is gone is noticed by the reader.
            Self::Leader(stream) => {
                let _ = talk::write(&mut *stream.lock().unwrap_or_else(PoisonError::into_inner), message);
            }
            Self::Log => {
                if let Some(line) = line(message) {
                    eprintln!("{line}");
                }
            }
            Self::Control(report) => {
                if let Some(said) = WorkerReport::of(message) {
                    report(said);
                }
            }
        }
    }

    /// Reports what only a control thread wants to know.
    pub(crate) fn report(&self, make: impl FnOnce() -> Option<WorkerReport>) {
        if let Self::Control(report) = self
            && let Some(said) = make()
        {
            report(said);
        }
    }

    /// Whether a process leads the run, beside which this one does not decide that it ends.
    pub(crate) fn leads(&self) -> bool {
        matches!(self, Self::Leader(_))
    }

    /// Whether somebody says besides the assignment whether spouts are active.
    pub(crate) fn orders_spouts(&self) -> bool {
        matches!(self, Self::Leader(_) | Self::Control(_))
    }

    /// Whether somebody wants to know of progress and figures.
    pub(crate) fn wants_figures(&self) -> bool {
        matches!(self, Self::Control(_))
    }
}

fn line(message: &FromWorker) -> Option<String> {
    Some(match message {
        FromWorker::Ready => "note: every task and every connection is ready".to_owned(),
        FromWorker::Failed { component, task, text, .. } => format!("error: {component}, task {task}: {text}"),
        FromWorker::Reported { component, task: 0, text } => format!("error: {component}: {text}"),
        FromWorker::Reported { component, task, text } => format!("error: {component}, task {task}: {text}"),
        FromWorker::MoreReported { count } => format!("error: {count} more, whose texts were not kept"),
        FromWorker::Debug { line } => format!("debug: {line}"),
        FromWorker::Note { text } => format!("note: {text}"),
        FromWorker::StopAsked => "note: a component asks for a stop, which is for whoever assigns to do".to_owned(),
        _ => return None,
    })
}

/// What a worker is told.
#[derive(Debug)]
pub(crate) enum Instruction {
    Assignment(Box<Assignment>),
    /// From a leader.
    Other(ToWorker),
    /// From a control thread.
    Ordered(WorkerOrder),
    /// For whoever runs this.
    Note(String),
    /// Take nothing new, drain and end.
    Drain,
    /// There is nothing to do any more.
    End,
}

/// Hears from the leader, which was reached at `path`, until it is gone. One that was killed has left its socket.
pub(crate) fn hear_leader(mut stream: UnixStream, path: &Path, tell: impl Fn(Instruction) -> bool) {
    while let Ok(Some(message)) = talk::read(&mut stream) {
        let instruction = match message {
            ToWorker::Assignment(assignment) => Instruction::Assignment(assignment),
            other => Instruction::Other(other),
        };
        if !tell(instruction) {
            return;
        }
    }
    // It, or another worker, may have been faster.
    let _ = std::fs::remove_file(path);
    let _ = path.parent().map(std::fs::remove_dir);
    tell(Instruction::End);
}

/// Hears from a source of assignments until there are none any more.
pub(crate) fn hear_assignments(source: &mut dyn Assignments, tell: impl Fn(Instruction) -> bool) {
    loop {
        let (instruction, is_over) = match source.next() {
            AssignmentNews::Current(assignment) => (Instruction::Assignment(assignment), false),
            AssignmentNews::Unreadable(why) => (Instruction::Note(format!("{why}; what ran before goes on")), false),
            AssignmentNews::Withdrawn => (Instruction::End, true),
        };
        if !tell(instruction) || is_over {
            return;
        }
    }
}

/// A way to send instructions into a channel of other things.
pub(crate) fn into<T: Send + 'static>(
    inputs: Sender<T>,
    wrap: impl Fn(Instruction) -> T,
) -> impl Fn(Instruction) -> bool {
    move |instruction| inputs.send(wrap(instruction)).is_ok()
}
