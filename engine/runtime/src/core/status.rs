//! What a core and the coordinator of its worker tell each other.
//!
//! A core publishes plain numbers that only it writes; the coordinator reads them whenever it likes. Commands go the
//! other way through a small box with a flag, so that a turn without commands costs one load.
//!
//! The drain reads `executed` of all cores first and `sent` afterwards, twice: equal sums in both readings mean that no
//! tuple is on its way. For that a core shows a tuple as sent before another core can take it, and what a call emitted
//! before it shows the call as executed; control messages likewise.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use ringstorm_net::Lost;
use ringstorm_ring::Doorbell;

use crate::core::failure::TaskFailure;
use crate::core::together::Together;
use crate::metrics::{CoreSnapshot, ExecutorFigures};
use crate::worker::blueprint::{Blueprint, Place};

/// Numbers of one core; written by it alone.
///
/// What goes to other workers is balanced by its confirmations: a unit counts as away once it is among the unconfirmed
/// bytes, and as having come before it is confirmed.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CoreStatus {
    pub(crate) turns: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) executed: AtomicU64,
    /// What this core's spouts have left, see [`SpoutsLeft`].
    pub(crate) spouts: AtomicU64,
    /// Control messages sent and received.
    pub(crate) control_sent: AtomicU64,
    pub(crate) control_received: AtomicU64,
    /// Tuples, and control messages, that were handed over to connections; part of what was sent.
    pub(crate) sent_away: AtomicU64,
    pub(crate) control_sent_away: AtomicU64,
    /// Tuples, and control messages, that came on connections; the latter are part of what was received.
    pub(crate) came: AtomicU64,
    pub(crate) control_came: AtomicU64,
    /// Bytes on connections that their peers have not confirmed.
    pub(crate) unconfirmed: AtomicU64,
    /// The number of the component whose slice runs now, plus 1; 0 outside of slices.
    pub(crate) running: AtomicU32,
    /// When that slice began, by the runtime's clock.
    pub(crate) running_since_ns: AtomicU64,
}

/// What the spouts of a core have left: messages pending, and whether any spout may yet emit. One number, because a
/// message that fails moves from the one to the other, and whoever reads two numbers could find it in neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpoutsLeft(u64);

impl SpoutsLeft {
    const MAY_EMIT: u64 = 1 << 63;

    pub(crate) fn new(pending: u64, finished: bool) -> Self {
        Self(pending | if finished { 0 } else { Self::MAY_EMIT })
    }

    pub(crate) fn pending(self) -> u64 {
        self.0 & !Self::MAY_EMIT
    }

    /// Whether a spout may yet emit.
    pub(crate) fn may_emit(self) -> bool {
        self.0 & Self::MAY_EMIT != 0
    }

    /// Whether nothing is pending and nothing will ever be.
    pub(crate) fn is_nothing(self) -> bool {
        self.0 == 0
    }
}

impl CoreStatus {
    pub(crate) fn spouts_left(&self) -> SpoutsLeft {
        SpoutsLeft(self.spouts.load(Ordering::Acquire))
    }

    /// Counts what came on connections, before it is handled.
    pub(crate) fn count_came(&self, tuples: u64, control: u64) {
        let add = |number: &AtomicU64, count| number.store(number.load(Ordering::Relaxed) + count, Ordering::Release);
        add(&self.came, tuples);
        add(&self.control_came, control);
    }

    /// Counts control messages that were handled; by the core alone.
    pub(crate) fn count_control_received(&self, count: u64) {
        let total = self.control_received.load(Ordering::Relaxed) + count;
        self.control_received.store(total, Ordering::Release);
    }

    pub(crate) fn show_spouts_left(&self, left: SpoutsLeft) {
        self.spouts.store(left.0, Ordering::Release);
    }
}

/// What the coordinator asks of a core.
#[derive(Debug)]
pub(crate) enum Command {
    /// Spouts may be asked for tuples.
    Activate,
    /// Spouts may not be asked for tuples.
    Deactivate,
    /// Spouts may be asked for as many tuples as messages fail from now on, and for nothing else.
    AskForReplays,
    /// Nothing but the end of a turn, by which whoever leads sees that the core lives.
    EndTurn,
    /// No tick tuples any more.
    StopTicks,
    /// Tell the coordinator whenever the core falls idle.
    ReportIdle,
    /// Call `finish` of the component with this number.
    Finish { component: u32 },
    /// Go on with this connection to a peer of its sockets, on which these bytes came behind the handshake.
    Attach { peer: usize, socket: OwnedFd, received: Vec<u8> },
    /// A process is gone for ever, and another takes its place: what these peers, cores of its worker, have not confirmed is
    /// lost.
    Forget { worker: u64, peers: Vec<usize> },
    /// These peers, cores of a worker, are away for too long: what is for them is lost until they are back.
    GiveUp { worker: u64, peers: Vec<usize> },
    /// Others run what other workers ran; `new_peers` are behind the peers that the core has.
    Rewire { blueprint: Arc<Blueprint>, new_peers: Vec<Place>, together: Arc<Together> },
    /// The assignment has this version now, and nothing else that concerns the core has changed.
    TakeVersion { version: i64 },
    /// Units of this version are to be taken although its assignment has not come.
    AcceptVersion { version: i64 },
    /// Copy counters and histograms.
    Snapshot(Sender<CoreSnapshot>),
    /// Copy counters.
    Figures(Sender<Vec<ExecutorFigures>>),
    /// Call `close` and `cleanup` and end.
    Stop { orderly: bool },
}

/// What a core tells the coordinator.
#[derive(Debug)]
pub(crate) enum Event {
    /// Every task of the core is opened or prepared.
    Ready { core: usize },
    /// User code failed.
    Failed { failure: TaskFailure },
    /// User code reported an error.
    Reported { component: String, task: u32, text: String },
    /// User code reported so many more errors, whose texts were not kept.
    MoreReported { count: u64 },
    /// User code asks for a stop of the run.
    StopAsked,
    /// The core has nothing to do.
    Idle,
    /// The `finish` command for a component was carried out.
    Finished { core: usize, component: u32 },
    /// A connection of the core's sockets is gone.
    ConnectionLost { core: usize, peer: usize, lost: Lost },
    /// A connection of the core's sockets is ready, on both sides.
    Connected { core: usize, peer: usize },
    /// A peer runs by an assignment of this version, and what it sends waits until that has come here too.
    Ahead { version: i64 },
    /// Something about connections that whoever runs this should know.
    Noted { text: String },
    /// A member that is a process of its own is gone without a word.
    Died { core: usize },
    /// The core's thread is over; a text says why it ended before it was told to.
    Ended { core: usize, panic: Option<String> },
}

/// Commands on their way to a core.
#[derive(Debug)]
pub(crate) struct CommandBox {
    waiting: AtomicBool,
    commands: Mutex<VecDeque<Command>>,
    doorbell: Doorbell,
}

impl CommandBox {
    pub(crate) fn new(doorbell: Doorbell) -> Self {
        Self { waiting: AtomicBool::new(false), commands: Mutex::default(), doorbell }
    }

    pub(crate) fn send(&self, command: Command) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        self.waiting.store(true, Ordering::Release);
        self.doorbell.ring();
    }

    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    pub(crate) fn take(&self) -> VecDeque<Command> {
        self.waiting.store(false, Ordering::Relaxed);
        std::mem::take(&mut self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
