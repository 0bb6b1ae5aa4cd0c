//! A process: an actor with its clocks, its connection to the tree, and what the world did to it.
//!
//! Invariant: what was planned for one life of a process never reaches another. Threading: plain data.

use std::collections::{BTreeMap, VecDeque};

use ringstorm_store::desk::Question;
use ringstorm_store::store::{SessionId, WatchEvent};

use crate::actor::{Actor, At, Factory, Input, Role};
use crate::clock::Clock;
use crate::world::disk::Disk;

/// Which process, as an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub usize);

/// Which host, as an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub usize);

/// A process.
pub struct Process {
    /// Its name in traces.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Where it runs.
    pub host: HostId,
    /// Makes its actor.
    pub(crate) factory: Factory,
    /// Counts its starts and ends.
    pub(crate) life: u64,
    /// What runs; `None` while it is down.
    pub(crate) actor: Option<Box<dyn Actor>>,
    pub(crate) clock: Clock,
    pub(crate) link: Link,
    /// While it is frozen: what it will be told when it thaws.
    pub(crate) frozen: Option<Vec<Input>>,
    /// Whether it is to be started again after its end.
    pub(crate) is_restarted: bool,
    /// Counts planned wake-ups, of which the last one counts.
    pub(crate) wake_number: u64,
    /// When it was woken last, and how often at that time.
    pub(crate) woken: (At, u32),
    /// How many operations it asked for in the second that began then.
    pub(crate) asked: (At, u32),
    /// After how many of its next effects it crashes.
    pub(crate) crash_after: Option<usize>,
    /// What outlives it.
    pub disk: Disk,
    /// In this life, its node was its own at some time.
    pub(crate) was_admitted: bool,
    /// What happens to its next write.
    pub(crate) doubt: Option<Doubtful>,
}

/// How the outcome of a write becomes unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubtful {
    /// The write is lost with the connection.
    Before,
    /// The write is done, and the answer is lost with the connection.
    After,
}

/// The client's side of a connection to the tree.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) state: LinkState,
    /// Changes whenever the connection begins or ends.
    pub(crate) number: u64,
    pub(crate) submitted: u64,
    pub(crate) in_flight: VecDeque<Question>,
    pub(crate) watches: BTreeMap<u64, WatchEvent>,
    pub(crate) next_watch: u64,
    /// What will be told as missed when the session goes on.
    pub(crate) missed: Vec<WatchEvent>,
    pub(crate) last_arrival: At,
    pub(crate) last_delivery: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum LinkState {
    #[default]
    None,
    Open(SessionId),
    Suspended(SessionId),
}

impl Link {
    pub(crate) fn session(&self) -> Option<SessionId> {
        match self.state {
            LinkState::None => None,
            LinkState::Open(session) | LinkState::Suspended(session) => Some(session),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, LinkState::Open(_))
    }
}

impl Process {
    pub(crate) fn new(name: String, role: Role, host: HostId, clock: Clock, factory: Factory) -> Self {
        Self {
            name,
            role,
            host,
            factory,
            life: 0,
            actor: None,
            clock,
            link: Link::default(),
            frozen: None,
            is_restarted: true,
            wake_number: 0,
            woken: (At::ZERO, 0),
            asked: (At::ZERO, 0),
            crash_after: None,
            disk: Disk::default(),
            was_admitted: false,
            doubt: None,
        }
    }

    /// Whether it runs, frozen or not.
    pub fn is_up(&self) -> bool {
        self.actor.is_some()
    }
}
