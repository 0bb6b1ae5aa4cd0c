//! What a slot does, and what is wanted of it. Threading: plain data.

use super::process::Process;
use crate::share::Share;
use crate::stopping::Stopping;

/// What the newest assignment wants of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing.
    Nothing,
    /// To run this.
    Run(Share),
}

/// What a slot does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no process.
    Vacant(Vacancy),
    /// A process was started and has not come up.
    Starting(Process),
    /// A process has come up.
    Running(Process),
    /// A process is being ended.
    Stopping {
        /// It.
        process: Process,
        /// Why.
        reason: Reason,
        /// How far that is.
        stopping: Stopping,
    },
}

/// Why there is no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vacancy {
    /// None is wanted, or that is not known, or its topology seems to be gone, or the slot may not act.
    Empty,
    /// Another process that must go first lives in the slot.
    Occupied,
    /// The slot is withdrawn.
    Withdrawn,
    /// The worker died soon after its start.
    BackingOff,
    /// The topology's code is fetched.
    BlobLocalization,
    /// The topology's code is fetched anew.
    BlobUpdate,
}

/// Why a process is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The slot is to run something else, or nothing.
    AssignmentChanged,
    /// It does not work, and is to be started again.
    Relaunch,
    /// Its topology's code changed.
    CodeChanged,
}

impl Wanted {
    /// Whether it is to run just that.
    pub(super) fn is_for(&self, share: &Share) -> bool {
        matches!(self, Self::Run(wanted) if wanted == share)
    }
}

impl State {
    /// Storm's name of the state, or that of one of ours.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Vacant(Vacancy::Empty) => "EMPTY",
            Self::Vacant(Vacancy::Occupied) => "WAITING_FOR_OTHER_PROCESS",
            Self::Vacant(Vacancy::Withdrawn) => "WITHDRAWN",
            Self::Vacant(Vacancy::BackingOff) => "BACKING_OFF",
            Self::Vacant(Vacancy::BlobLocalization) => "WAITING_FOR_BLOB_LOCALIZATION",
            Self::Vacant(Vacancy::BlobUpdate) => "WAITING_FOR_BLOB_UPDATE",
            Self::Starting(_) => "WAITING_FOR_WORKER_START",
            Self::Running(_) => "RUNNING",
            Self::Stopping { reason: Reason::AssignmentChanged, .. } => "KILL",
            Self::Stopping { reason: Reason::Relaunch, .. } => "KILL_AND_RELAUNCH",
            Self::Stopping { reason: Reason::CodeChanged, .. } => "KILL_BLOB_UPDATE",
        }
    }
}
