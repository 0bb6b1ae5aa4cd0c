//! A worker that a control thread of the same process commands, as in a cluster: what it is started with, what it is
//! ordered, and what it reports.
//!
//! The control thread knows what the cluster wants; the worker runs its cores, judges its peers by
//! [`Generations`](ringstorm_types::generations::Generations), and says what it sees. Neither waits for the other.
//!
//! Invariants: spouts are asked for tuples only between [`WorkerOrder::SetActive`] orders that say so. Orders are carried
//! out in their order. Reports of one source come in the order of what they report.
//!
//! Threading: [`run_commanded_worker`] belongs to the thread that calls it, reports come from it and from threads of its
//! own. Errors: returned; the control thread hears of the cause before, as an error or a note.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ringstorm_types::assignment::Assignment;

use super::Input;
use super::start::{Start, WorkerEnd, hear};
use super::superior::{Instruction, Superior, into};
use crate::api::builder::BuiltTopology;
use crate::error::StartError;
use crate::metrics::ExecutorFigures;
use crate::worker::cpus;
use crate::worker::talk::FromWorker;

/// What a commanded worker is started with.
#[derive(Debug)]
pub struct WorkerStart {
    /// The name of the topology.
    pub name: String,
    /// The topology, with the numbers of executors that the assignment was made of.
    pub topology: BuiltTopology,
    /// The number of this worker in the assignment.
    pub number: u64,
    /// The first assignment. The incarnation that it gives to this worker is that of this process.
    pub assignment: Assignment,
    /// Where peers reach it.
    pub listener: TcpListener,
    /// The CPUs of its cores, in the order in which these take them; empty: all that the process may use. Fewer than it
    /// has cores leave these unpinned.
    pub cpus: Vec<usize>,
    /// How often figures are reported.
    pub figures_period: Duration,
}

/// What a control thread orders.
#[derive(Debug)]
pub enum WorkerOrder {
    /// The assignment is this one now. One that is older than what is known here, or not one for the topology, is left,
    /// with a note; one that takes away what this worker runs ends it.
    Assign(Box<Assignment>),
    /// Spouts are asked for tuples from now on, or are not.
    SetActive(bool),
    /// Spouts are asked only for as many tuples as messages fail from now on, and after so long for none at all.
    Drain {
        /// How long.
        limit: Duration,
    },
    /// Processes of a worker below this incarnation are of the past.
    Renew {
        /// The number of the worker.
        worker: u64,
        /// The lowest incarnation that is current.
        incarnation: u64,
    },
    /// The worker ends: it takes nothing new, finishes what is under way for at most so long if it is given that time, and
    /// closes its components.
    End {
        /// How long to drain.
        drain: Option<Duration>,
    },
}

/// What a commanded worker reports.
#[derive(Debug)]
pub enum WorkerReport {
    /// Every core runs its executors. Comes once.
    Started,
    /// Every connection that the cores need was ready once. Comes once, after [`Self::Started`].
    Ready,
    /// When each core last ended a turn; those that rest were rung before. Threads of blocking executors, which may stay
    /// in a call for as long as they like, are not among them. Comes about once a second.
    Progress(Vec<Instant>),
    /// What executors have counted since they began. Those of a core that did not answer in time are missing.
    Figures(Vec<ExecutorFigures>),
    /// User code failed or reported an error.
    Error {
        /// The component.
        component: String,
        /// Its task; 0 where it is not one task's.
        task: u32,
        /// What went wrong.
        text: String,
    },
    /// There were so many more errors, whose texts were not kept.
    MoreErrors(u64),
    /// A process of another worker has shaken hands.
    Met {
        /// The number of the worker.
        worker: u64,
        /// Which process of it.
        incarnation: u64,
        /// The version of the assignment that it runs.
        version: i64,
    },
    /// Another worker runs by an assignment of this version, which is newer than that which runs here.
    Ahead {
        /// The version.
        version: i64,
    },
    /// A connection to another worker is lost.
    PeerLost {
        /// The number of the worker.
        worker: u64,
        /// Which process of it.
        incarnation: u64,
    },
    /// Another worker has refused this process since it knows of a newer one in its place.
    Stale {
        /// The lowest incarnation of this worker that is current there.
        newest: u64,
    },
    /// Something that whoever runs this should know.
    Note(String),
    /// A line of `topology.debug`.
    Debug(String),
}

impl WorkerReport {
    /// What a control thread hears of what a worker says.
    pub(super) fn of(message: &FromWorker) -> Option<Self> {
        Some(match message {
            FromWorker::Ready => Self::Ready,
            FromWorker::Failed { component, task, text, .. } => {
                let task = u32::try_from(*task).unwrap_or(0);
                Self::Error { component: component.clone(), task, text: text.clone() }
            }
            FromWorker::Reported { component, task, text } => {
                Self::Error { component: component.clone(), task: *task, text: text.clone() }
            }
            FromWorker::MoreReported { count } => Self::MoreErrors(*count),
            FromWorker::Debug { line } => Self::Debug(line.clone()),
            FromWorker::Note { text } => Self::Note(text.clone()),
            FromWorker::StopAsked => {
                Self::Note("a component asks for a stop; a topology in a cluster is killed by its owner".into())
            }
            FromWorker::Hello { .. }
            | FromWorker::Idle
            | FromWorker::Finished { .. }
            | FromWorker::Ended { .. }
            | FromWorker::Answer { .. } => return None,
        })
    }
}

/// Runs a worker by the orders of a control thread, until they or a new assignment end it, or it cannot go on.
///
/// # Errors
/// When it cannot be started, or cannot go on: then what is wrong was reported as an error before.
pub fn run_commanded_worker(
    start: WorkerStart,
    orders: Receiver<WorkerOrder>,
    report: impl Fn(WorkerReport) + Send + Sync + 'static,
) -> Result<WorkerEnd, StartError> {
    let WorkerStart { name, topology, number, assignment, listener, cpus, figures_period } = start;
    let Some(position) = assignment.position_of(number) else {
        return Err(StartError::Worker(format!("the assignment has no worker {number}")));
    };
    let cpus = if cpus.is_empty() { cpus::usable().cpus } else { cpus };
    let (inputs, inbox) = channel();
    let superior = Superior::Control(Arc::new(report));
    let start = Start { name: &name, topology: Arc::new(topology), position, cpus: &cpus, listener, figures_period };
    let agent = start.start(assignment, &superior, &inputs)?;
    let tell = into(inputs, Input::Instruction);
    hear("ringstorm-orders", move || {
        for order in orders {
            if !tell(Instruction::Ordered(order)) {
                return;
            }
        }
        // Nobody is left who could say what to do.
        tell(Instruction::End);
    })?;
    agent.run(&inbox)
}
