//! What a supervisor is told, and what it wants done. Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use ringstorm_control::talks::{FromStore, ToStore};

use crate::local_state::LocalState;
use crate::share::{ExecutorId, Share};

/// What the machine is told.
#[derive(Clone, Debug, PartialEq)]
pub enum SupervisorInput {
    /// By the tree.
    Store(FromStore),
    /// Of a worker process.
    Process(ProcessEvent),
    /// Of a topology's code.
    Code(CodeEvent),
    /// By an operator.
    Operator(OperatorEvent),
}

/// What became of a worker process. Processes are known by the port of their slot and their incarnation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It was started.
    Started {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// Its process id.
        pid: u32,
    },
    /// It could not be started; there is no process. Also said when a process found out that it cannot use its slot, and
    /// has ended.
    StartFailed {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// What kind of failure it is.
        kind: StartFailure,
        /// Why, in words.
        why: String,
    },
    /// It has come up, so that it will beat from now on. A beat says as much.
    Ready {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
    },
    /// It says that it lives: Storm's local heartbeat of workers, once a second (`worker.heartbeat.frequency.secs`).
    Beat {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
    },
    /// Its peers refuse it, since they know of a newer incarnation in its slot.
    Stale {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// The newest one that they know of.
        newest: u64,
    },
    /// It is not there any more. Nothing else is said of it afterwards.
    Exited {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// How it ended.
        how: Exit,
    },
}

/// Why a worker could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartFailure {
    /// Another process has the port.
    PortTaken,
    /// The host has no memory, files or processes left.
    ResourcesExhausted,
    /// A disk of the host is full, or what this user may have of it.
    DiskFull,
    /// The address cannot be used.
    AddressUnusable,
    /// Something else: the code cannot be run, for instance. It says nothing of the slot.
    Other,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// In order, since by the tree it has nothing to do in its slot any more, as it said. This host may see that later.
    Done,
    /// By a signal.
    Signal(i32),
    /// Nobody knows: it was adopted, or was not there.
    Unknown,
}

/// What became of a topology's code on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeEvent {
    /// It is here, whole and checked.
    Fetched {
        /// The topology's id.
        topology: String,
        /// What its configuration says of its workers.
        timeouts: WorkerTimeouts,
    },
    /// It could not be fetched.
    Failed {
        /// The topology's id.
        topology: String,
        /// Why.
        why: String,
        /// What is to blame.
        cause: FetchFailure,
    },
    /// What is here is not what the cluster has any more. Its workers are stopped, and it is fetched anew. Of code that
    /// is not here nothing changes.
    Changed {
        /// The topology's id.
        topology: String,
    },
    /// What is here is not what was checked when it came, and nothing was run of it. It is fetched anew; what runs already
    /// goes on.
    Damaged {
        /// The topology's id.
        topology: String,
        /// What is wrong with it.
        why: String,
    },
    /// It was removed.
    Removed {
        /// The topology's id.
        topology: String,
    },
}

/// Why code could not be fetched, as far as it tells whether another host would be better off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchFailure {
    /// Nobody gives it at present. Other hosts have the same nimbuses.
    Unreachable,
    /// It was not what it should be, or not there, which may be otherwise the next time.
    Passing,
    /// Something is wrong with it, or with what this host is told, and stays so.
    Lasting,
    /// This host cannot store it: its disk is full or broken.
    Host,
}

/// What a topology's configuration says of its workers. It can only make the supervisor's own times longer, as in Storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerTimeouts {
    /// `topology.worker.timeout.secs`, at most `worker.max.timeout.secs`.
    pub worker: Option<Duration>,
    /// `supervisor.worker.start.timeout.secs`, where the topology has its own.
    pub start: Option<Duration>,
}

/// What an operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorEvent {
    /// No new work for this host. What runs goes on until nimbus has moved it.
    OutOfService,
    /// Work again.
    InService,
}

/// What the machine wants done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum SupervisorEffect {
    /// Asks the tree.
    Store(ToStore),
    /// Starts a worker.
    StartWorker(StartWorker),
    /// Ends a worker. May be said more than once.
    StopWorker {
        /// The port of its slot.
        port: u16,
        /// Its incarnation.
        incarnation: u64,
        /// How.
        how: StopHow,
        /// Why.
        why: StopReason,
    },
    /// Fetches a topology's code.
    FetchCode {
        /// The topology's id.
        topology: String,
    },
    /// Removes a topology's code.
    RemoveCode {
        /// The topology's id.
        topology: String,
    },
    /// Saves the local state, so that it outlives a power failure, before anything that follows is done.
    SaveState(LocalState),
    /// Tells the topology's users, among its errors, what keeps a slot from running its share.
    Report {
        /// The port of the slot.
        port: u16,
        /// What the slot is to run.
        share: Share,
        /// Why it does not.
        text: String,
    },
    /// One line for operators.
    Note(String),
    /// Ends the daemon. Workers go on.
    Stop {
        /// Why.
        why: String,
    },
}

/// A worker to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartWorker {
    /// The port of its slot.
    pub port: u16,
    /// Its topology's id.
    pub topology: String,
    /// Its incarnation: higher than any that this slot had.
    pub incarnation: u64,
    /// What it runs.
    pub executors: BTreeSet<ExecutorId>,
    /// What it may use, see [`Share::resources`](crate::share::Share::resources).
    pub resources: BTreeMap<String, i64>,
    /// How many cores its slot has; at least one.
    pub cores: u32,
    /// The version of the assignment that names it; zero if that has none.
    pub version: i64,
}

/// How a worker is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopHow {
    /// It is asked to (SIGTERM), and may finish what it does.
    Ask,
    /// At once (SIGKILL).
    Kill,
}

/// Why a worker is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its slot is to run something else, or nothing.
    AssignmentChanged,
    /// What it runs is not what the cluster has any more.
    CodeChanged,
    /// It has not come up in time.
    NotUp,
    /// It was not heard for too long.
    Silent,
    /// Its peers know of a newer process in its slot.
    Superseded,
    /// It is not the process of its slot.
    Stray,
}

impl ProcessEvent {
    /// The process that it is of: port and incarnation.
    pub fn process(&self) -> (u16, u64) {
        match self {
            Self::Started { port, incarnation, .. }
            | Self::StartFailed { port, incarnation, .. }
            | Self::Ready { port, incarnation }
            | Self::Beat { port, incarnation }
            | Self::Stale { port, incarnation, .. }
            | Self::Exited { port, incarnation, .. } => (*port, *incarnation),
        }
    }
}

impl fmt::Display for StartFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::PortTaken => "another process has its port",
            Self::ResourcesExhausted => "the host has no memory, files or processes left",
            Self::DiskFull => "the disk of the host is full",
            Self::AddressUnusable => "its address cannot be used",
            Self::Other => "it could not be started",
        })
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AssignmentChanged => "its slot is to run something else, or nothing",
            Self::CodeChanged => "the topology's code or configuration changed",
            Self::NotUp => "it did not come up in time",
            Self::Silent => "it did not beat in time",
            Self::Superseded => "its peers know of a newer process in its slot",
            Self::Stray => "it is not the process of its slot",
        })
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "ended with code {code}"),
            Self::Done => formatter.write_str("ended with code 0"),
            Self::Signal(signal) => write!(formatter, "was ended by signal {signal}"),
            Self::Unknown => formatter.write_str("is not there any more"),
        }
    }
}
