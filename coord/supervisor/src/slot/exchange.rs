//! What a slot is told, what it must know, and what it wants done. Threading: plain data.

use std::collections::BTreeMap;

use ringstorm_control::time::{Moment, Now};

use super::state::Wanted;
use crate::events::{ProcessEvent, StopHow, StopReason, WorkerTimeouts};
use crate::plants::Plants;
use crate::settings::Settings;
use crate::share::Share;

/// What a slot is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotInput {
    /// Nothing but the time.
    Time,
    /// What the newest assignment wants.
    Want(Wanted),
    /// Something of its process. What is of another one is passed over.
    Process(ProcessEvent),
    /// The code of a topology changed.
    CodeChanged(String),
    /// Whoever hears the beats has heard nothing for a while: no silence so far counts.
    SilenceIsExcused,
}

/// What a slot wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotAction {
    /// Start a worker, once the incarnation is saved.
    Start {
        /// Its incarnation.
        incarnation: u64,
        /// What it runs.
        share: Share,
    },
    /// End a worker.
    Stop {
        /// Its incarnation.
        incarnation: u64,
        /// How.
        how: StopHow,
        /// Why.
        why: StopReason,
    },
    /// A line for operators.
    Note(String),
}

/// What a slot must know besides itself.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The time.
    pub now: Now,
    /// How to behave.
    pub settings: &'a Settings,
    /// Whether anything may be started or stopped.
    pub may_act: bool,
    /// Whether no process other than the slot's own lives in it.
    pub is_free: bool,
    /// The topologies that seem to be gone. A worker may see that and end before it is sure here; another one is not
    /// started.
    pub gone: &'a BTreeMap<String, Moment>,
    /// The topologies whose code is here.
    pub code: &'a BTreeMap<String, WorkerTimeouts>,
    /// Rules that are broken on purpose.
    pub plants: &'a Plants,
}
