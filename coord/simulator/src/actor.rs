//! What the world runs: a state machine behind the words of the world.
//!
//! Each machine of the control plane has an adapter that turns the world's inputs into its own, and its effects into the
//! world's. Invariants: an actor has no other source of time, chance or news than what it is given. Threading: plain
//! data.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_control::time::{Moment, Now};
use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_nimbus::{NimbusEffect, NimbusInput};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_supervisor::supervisor::FoundWorker;
use ringstorm_supervisor::{SupervisorEffect, SupervisorInput};
use ringstorm_worker::{WorkerEffect, WorkerInput};

use crate::brief::{brief_debug, brief_from_store, brief_to_store};
use crate::checks::Mirror;
use crate::random::Random;
use crate::world::disk::Disk;

/// What a process is, which decides what it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It accepts topologies and assigns them.
    Nimbus,
    /// It runs workers.
    Supervisor,
    /// It runs a share of a topology.
    Worker,
    /// It asks nimbus for something.
    Client,
}

/// What a process is told.
#[derive(Clone, Debug)]
pub enum Input {
    /// By the tree.
    Store(FromStore),
    /// What only a nimbus is told.
    Nimbus(Box<NimbusInput>),
    /// What only a supervisor is told.
    Supervisor(Box<SupervisorInput>),
    /// What only a worker is told.
    Worker(Box<WorkerInput>),
    /// What only a client is told.
    Client(Box<News>),
}

/// What a client is told.
#[derive(Clone, Debug)]
pub enum News {
    /// Its user wants something.
    Wanted {
        /// By which the verdict is known.
        wish: u64,
        /// What.
        request: Request,
    },
    /// A call has come to an end.
    Ended {
        /// Which.
        call: u64,
        /// How.
        end: CallEnd,
    },
    /// An upload has come to an end.
    Uploaded {
        /// Which.
        call: u64,
        /// What it is called there; `None` if it is not there.
        name: Option<String>,
    },
}

/// How a call ends.
#[derive(Clone, Debug)]
pub enum CallEnd {
    /// Nobody was there: nothing was asked.
    NotConnected,
    /// It was answered.
    Answered(Result<Reply, Refusal>),
    /// The connection was lost: nobody knows.
    Lost,
}

/// What a client wants.
#[derive(Clone, Debug)]
pub enum Errand {
    /// To call a nimbus.
    Call {
        /// By which its end is known.
        call: u64,
        /// Whom.
        to: NimbusAddress,
        /// What for.
        request: Box<Request>,
    },
    /// To send the file of a topology to a nimbus.
    Upload {
        /// By which its end is known.
        call: u64,
        /// Whom.
        to: NimbusAddress,
    },
    /// To tell its user what became of a wish.
    Tell {
        /// Which.
        wish: u64,
        /// What.
        verdict: Verdict,
    },
}

/// What a user is told of a wish.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It was done.
    Done(Reply),
    /// It was asked for without an answer, and later the topology was found to be killed, or gone.
    FoundKilled,
    /// As [`Self::FoundKilled`]: it rebalances.
    FoundRebalancing,
    /// As [`Self::FoundKilled`]: it is active.
    FoundActive,
    /// As [`Self::FoundKilled`]: it is inactive.
    FoundInactive,
    /// There is no such topology.
    NotAlive,
    /// It was not done, and will not be.
    NotDone(String),
    /// Nobody knows.
    Unknown(String),
}

/// What a process wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// An operation on the tree.
    Store(ToStore),
    /// A line for operators.
    Note(String),
    /// What only a nimbus wants.
    Nimbus(Box<NimbusEffect>),
    /// What only a supervisor wants.
    Supervisor(Box<SupervisorEffect>),
    /// What only a worker wants.
    Worker(Box<WorkerEffect>),
    /// What only a client wants.
    Client(Box<Errand>),
}

/// A state machine in the words of the world.
pub trait Actor {
    /// Takes an input.
    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect>;

    /// Takes the time alone.
    fn wake(&mut self, now: Now) -> Vec<Effect>;

    /// When it has something to do if nothing is said before.
    fn wake_at(&self) -> Option<Moment>;
}

/// What a process is born with.
///
/// Disks outlive processes; what runs on the host, too.
pub struct Birth<'a> {
    /// Which life of it this is, from 1.
    pub life: u64,
    /// The time on its clocks.
    pub now: Now,
    /// Chance, for random texts and numbers.
    pub random: &'a mut Random,
    /// What is on its disk.
    pub disk: &'a Disk,
    /// The workers that it started in earlier lives and that still run.
    pub found: Vec<FoundWorker>,
    /// What the tree says of topologies.
    pub mirror: &'a Mirror,
}

/// Makes the actor of a process, at each of its starts; `None` if it ends at once.
pub type Factory = Rc<dyn Fn(Birth<'_>) -> Option<Box<dyn Actor>>>;

impl fmt::Display for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(said) => formatter.write_str(&brief_from_store(said)),
            Self::Nimbus(it) => write!(formatter, "<- {}", brief_debug(it)),
            Self::Supervisor(it) => write!(formatter, "<- {}", brief_debug(it)),
            Self::Worker(it) => write!(formatter, "<- {}", brief_debug(it)),
            Self::Client(it) => write!(formatter, "<- {}", brief_debug(it)),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(asked) => formatter.write_str(&brief_to_store(asked)),
            Self::Note(line) => write!(formatter, "notes: {line}"),
            Self::Nimbus(it) => formatter.write_str(&brief_debug(it)),
            Self::Supervisor(it) => formatter.write_str(&brief_debug(it)),
            Self::Worker(it) => formatter.write_str(&brief_debug(it)),
            Self::Client(it) => formatter.write_str(&brief_debug(it)),
        }
    }
}

/// A time of the world, since its beginning.
pub type At = Duration;
