//! The interface of every store.
//!
//! Requests are data and nothing waits: [`Store::submit`] hands one in and gives a ticket, [`Store::poll`] gives what
//! has happened. So a pure state machine can ask for operations among its effects and take what comes of them as
//! events, a simulator can put itself between the two, and a daemon can serve many things from one control thread.
//! Whoever wants to wait uses a [`Control`](crate::control::Control); longer conversations are
//! [procedures](crate::procedure::Procedure).
//!
//! What every store keeps to (the contract, tried on each of them by one suite):
//!
//! - Each ticket gets exactly one outcome, and outcomes come in the order of the submits.
//! - Operations of one session are done in the order of the submits.
//! - An operation is done in the session that it was asked for, or not at all. What was meant for a session that is
//!   over never slips into the next one.
//! - A watch is never lost while its session lasts: it is told once, late perhaps, and perhaps needlessly. After an
//!   interruption every watch that was armed is told as [`Change::Missed`], so that whoever relies on one reads again.
//!   Who may not read a node is not told of it.
//! - Reads may be stale, but never older than what the session has read or written before. [`Operation::Sync`] makes
//!   the next one fresh.
//! - After [`SessionEvent::Suspended`] nobody may rely on what the session holds: a leader stops to act.
//!
//! Threading: a store belongs to one thread. Errors: outcomes and session events, never panics.

use std::fmt;
use std::time::Duration;

use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::path::ZnodePath;

/// A session, by the number that the ensemble gave it. No two have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub i64);

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Which submit an outcome belongs to. Counted by each store for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An operation ended.
    Outcome {
        /// Which.
        ticket: Ticket,
        /// How.
        outcome: Outcome,
    },
    /// A watch was told; it is no longer armed.
    Watch(WatchEvent),
    /// The session changed.
    Session(SessionEvent),
}

/// What a watch saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// The node that was watched.
    pub path: ZnodePath,
    /// What of it.
    pub kind: WatchKind,
    /// What became of it.
    pub change: Change,
}

/// What of a node is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WatchKind {
    /// The node: armed by [`Operation::Get`] and [`Operation::Exists`].
    Node,
    /// Its children: armed by [`Operation::Children`].
    Children,
}

/// What became of what is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The node was made.
    Created,
    /// Its data changed.
    Data,
    /// Children came or went.
    Children,
    /// It was deleted.
    Deleted,
    /// Nobody knows: the connection was interrupted. Read again.
    Missed,
}

/// What became of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// A session began. Of an earlier one nothing is left: no watch, no ephemeral node that would last.
    Opened {
        /// It.
        session: SessionId,
        /// After how long a silence it expires, as agreed with the ensemble.
        timeout: Duration,
    },
    /// The connection is lost. The session goes on at the ensemble for a while, and others may have taken over before
    /// this side hears of its end: whoever leads stops to act now.
    Suspended {
        /// It.
        session: SessionId,
    },
    /// The session is connected again. All armed watches are told as [`Change::Missed`].
    Resumed {
        /// It.
        session: SessionId,
    },
    /// The session is over; its ephemeral nodes are gone, or will be soon. The next event is [`Self::Opened`], or
    /// [`Self::Unreachable`].
    Expired {
        /// It.
        session: SessionId,
    },
    /// No session could be opened. The store goes on trying.
    Unreachable {
        /// Why, in words that say whom to ask.
        why: String,
    },
}

/// A tree that can be asked.
pub trait Store {
    /// Asks for an operation in a session. Its outcome comes as an event, whatever happens.
    fn submit(&mut self, session: SessionId, operation: Operation) -> Ticket;

    /// What has happened, if anything has.
    fn poll(&mut self) -> Option<Event>;

    /// As [`Self::poll`], but waits up to a limit for something to happen.
    fn wait(&mut self, limit: Duration) -> Option<Event>;
}
