//! What the machine is told, and what it wants done.
//!
//! Plain data, so that a trace can print it. Threading: none of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_control::time::Moment;
use ringstorm_records::records::{ExecutorInfo, ExecutorStats, LogConfig};
use ringstorm_types::assignment::Assignment;

/// What the machine is told.
#[derive(Clone, Debug)]
pub enum WorkerInput {
    /// The tree said something.
    Store(FromStore),
    /// The cores said something.
    Cores(CoresEvent),
    /// Something came from another worker.
    Peer(PeerEvent),
    /// The process is asked to end, by its supervisor or an operator (SIGTERM).
    End,
}

/// What the cores of this worker say.
#[derive(Clone, Debug)]
pub enum CoresEvent {
    /// Every core runs its executors.
    Started,
    /// Every connection that the cores need was ready once. Comes once, after [`Self::Started`].
    Ready,
    /// When each core, by its number, last ended a turn; none is left out. Whoever reads has rung those that rest, so
    /// that a core which has nothing to do ends turns too. On the clock of the machine's times.
    Progress(Vec<Moment>),
    /// What executors have counted, in Storm's windows. Those that are left out keep what they had.
    Statistics(BTreeMap<ExecutorInfo, ExecutorStats>),
    /// A component reports an error.
    Error {
        /// The component.
        component: String,
        /// The task.
        task: u32,
        /// What went wrong.
        text: String,
        /// When, as the time since 1970 (UTC).
        time: Duration,
    },
}

/// A process of another worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// The number of its slot, see [`slot_number`](crate::assigning::slot_number).
    pub worker: u64,
    /// Which process of it.
    pub incarnation: u64,
}

/// What comes from other workers.
///
/// A data path that shakes hands on a thread of its own judges there, by the same
/// [`Generations`](ringstorm_types::generations::Generations), and tells the machine what it met, so that this looks at
/// the tree when there is something newer.
#[derive(Clone, Debug)]
pub enum PeerEvent {
    /// A process that knows the secret offers a connection, or takes the one that was offered to it. One
    /// [`WorkerEffect::Accept`] or [`WorkerEffect::Refuse`] follows.
    Offered {
        /// Who.
        peer: Peer,
        /// The version of the assignment that it runs.
        version: i64,
    },
    /// Somebody runs by an assignment of this version.
    Ahead {
        /// The version.
        version: i64,
    },
    /// A connection is lost.
    Lost {
        /// To whom it was.
        peer: Peer,
    },
    /// Another worker has refused this process since it knows of a newer one.
    RefusedAsStale {
        /// The lowest incarnation of this worker that is current there.
        newest: u64,
    },
}

/// What the machine wants done, in this order.
#[derive(Clone, Debug)]
pub enum WorkerEffect {
    /// An operation of the tree.
    Store(ToStore),
    /// The assignment is this one now; the first starts the cores. Its version never falls; its incarnations are the
    /// lowest that are current. What concerns the executors of this worker never changes. Spouts that have not been
    /// activated by [`Self::SetActive`] are inactive in it.
    Assign(Box<Assignment>),
    /// Spouts are asked for tuples from now on, or are not.
    SetActive(bool),
    /// Spouts are asked for as many tuples as messages fail, so that they replay and take nothing new, and what is under
    /// way is finished, for at most this long; then they are not asked any more. [`Self::SetActive`] ends it.
    Drain {
        /// How long.
        limit: Duration,
    },
    /// The connection that was offered is accepted. From now on nothing is accepted from older processes of the worker.
    Accept {
        /// Of whom.
        peer: Peer,
    },
    /// The connection that was offered is closed.
    Refuse {
        /// Of whom.
        peer: Peer,
        /// Why; told to the peer.
        why: String,
    },
    /// Processes of a worker below an incarnation are of the past: whatever is open to them is closed, and nothing that
    /// came on it is accepted any more.
    Renew {
        /// The lowest that is current.
        lowest: Peer,
    },
    /// The levels of loggers are these now.
    SetLogLevels(LogConfig),
    /// The process ends, in order as far as a short time allows. The last effect but for operations of the tree.
    Stop {
        /// Why.
        why: StopReason,
    },
    /// A line for the log of operators.
    Note(String),
}

/// Why a worker ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It was asked to.
    Asked,
    /// The topology has no assignment any more.
    NoAssignment,
    /// The assignment has nothing for this slot any more.
    NothingAssigned,
    /// The slot has other executors now. Another process has to run them.
    OtherExecutors,
    /// The topology has other numbers of executors than when this process started. Another process has to be built from
    /// them.
    OtherNumbering,
    /// Other workers know of a newer process in this slot. Its supervisor starts none with this incarnation or a lower
    /// one.
    Superseded {
        /// The lowest incarnation that is current.
        newest: u64,
    },
}

impl fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Asked => "it was asked to",
            Self::NoAssignment => "the topology has no assignment any more",
            Self::NothingAssigned => "the assignment has nothing for this slot any more",
            Self::OtherExecutors => "the assignment gives this slot other executors, which a new process has to run",
            Self::OtherNumbering => {
                "the topology has other numbers of executors, which a new process has to be built from"
            }
            Self::Superseded { newest } => {
                return write!(
                    formatter,
                    "another worker knows of incarnation {newest} in this slot: a newer process has taken the place of \
                     this one, or its supervisor lost count and has to start one with incarnation {newest} or above"
                );
            }
        })
    }
}
