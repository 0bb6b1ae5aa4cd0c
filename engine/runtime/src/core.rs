//! One core: the executors that live on one thread, what comes in for them and what goes out.
//!
//! A core repeats its *turn* (see `core/turn.rs`): control messages, frames, a slice for each ready executor, and at the
//! end every frame that has something is published. Batches come from what is queued, never from waiting: an idle
//! topology moves frames of one tuple, a saturated one full frames, and there is no knob between.
//!
//! Invariants:
//! - rings are always emptied in the turn, whatever an executor does: no executor can hold a ring cell;
//! - user code runs only in a slice, inside `catch_unwind`, and never inside another component's emit;
//! - a core parks only after it has published everything and looked at its rings once more.
//!
//! Threading: everything here belongs to one thread; only rings, doorbells and the atomics of [`status`] are shared.
//! glommio is named only in `core/host.rs`.

pub(crate) mod acker_executor;
pub(crate) mod bolt_executor;
pub(crate) mod bolt_failure;
pub(crate) mod control;
mod control_bytes;
mod deadlines;
pub(crate) mod events;
pub(crate) mod failure;
pub(crate) mod frame_cell;
pub(crate) mod gate;
pub(crate) mod grouper;
pub(crate) mod host;
mod inbox;
pub(crate) mod link;
mod lost;
mod obey;
pub(crate) mod outlet;
pub(crate) mod output;
mod paced_fails;
pub(crate) mod parking;
mod remote;
pub(crate) mod reports;
mod rest;
pub(crate) mod rewire;
pub(crate) mod shuffle;
pub(crate) mod small_random;
mod snapshot;
pub(crate) mod spout_executor;
mod spout_rebuild;
pub(crate) mod spout_task;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod together;
pub(crate) mod tracker;
pub(crate) mod transfer;
mod turn;

use std::collections::VecDeque;
use std::sync::Arc;

use ringstorm_ring::IdlePolicy;

use crate::api::input::Source;
use crate::core::acker_executor::AckerExecutor;
use crate::core::bolt_executor::BoltExecutor;
use crate::core::events::EventSender;
use crate::core::link::{Feeder, Inbound};
use crate::core::parking::CoreParker;
use crate::core::spout_executor::SpoutExecutor;
use crate::core::status::{CommandBox, CoreStatus};
use crate::core::transfer::Transfer;

/// An executor of this core, by kind and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalExecutor {
    Bolt(u32),
    Spout(u32),
    Acker(u32),
}

/// Inbox marks: where an executor has enough, and where it has room again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InboxMarks {
    pub(crate) high_bytes: usize,
    pub(crate) low_bytes: usize,
}

/// Work waiting for longer than this is enough, however few bytes it is: more would only add latency.
const INBOX_WAIT_HIGH_NS: u64 = 100_000_000;
/// Tuples that an inbox may hold whatever they cost.
const INBOX_TUPLES_MIN: usize = 8;
/// Tuples that an inbox may hold before anything is known of their cost.
const INBOX_TUPLES_UNKNOWN: usize = 64;

pub(crate) struct Core {
    /// The number of its worker.
    pub(crate) worker: u64,
    pub(crate) index: usize,
    /// This is the thread of an executor whose code may wait: nothing is left unsent when it is called again.
    pub(crate) may_wait: bool,
    pub(crate) transfer: Transfer,
    pub(crate) inbound: Vec<Inbound>,
    /// Doorbells of the cores that feed each inbound link, in the same order.
    pub(crate) feeders: Vec<Feeder>,
    pub(crate) bolts: Vec<BoltExecutor>,
    pub(crate) spouts: Vec<SpoutExecutor>,
    pub(crate) ackers: Vec<AckerExecutor>,
    /// By task id.
    pub(crate) locals: Vec<Option<LocalExecutor>>,
    /// Bolt executors with something to do, in turn.
    pub(crate) ready: VecDeque<u32>,
    /// Bolt executors whose work may be woken from outside.
    pub(crate) watched: Vec<u32>,
    /// Paused bolt executors, by index.
    pub(crate) paused: Vec<bool>,
    /// Links whose cores feed each bolt executor.
    pub(crate) pause_links: Vec<Vec<u32>>,
    pub(crate) marks: InboxMarks,
    pub(crate) sources: Vec<Vec<Arc<Source>>>,
    pub(crate) component_numbers: Vec<u32>,
    pub(crate) policy: IdlePolicy,
    pub(crate) status: Arc<CoreStatus>,
    pub(crate) commands: Arc<CommandBox>,
    pub(crate) events: EventSender,
    /// The gates' version when executors last had their turn: what opened since makes the core run again.
    pub(crate) gate_version_seen: u64,
    /// Tell the coordinator whenever this core falls idle.
    pub(crate) report_idle: bool,
    pub(crate) idle_reported: bool,
    pub(crate) next_deadline_ns: u64,
    pub(crate) next_tick_ns: u64,
    pub(crate) stopping: bool,
    /// By peer of the sockets: times that its tasks paused those here.
    pub(crate) pauses_by_peer: Vec<u64>,
    pub(crate) idle_since_ns: u64,
    /// When peers were told last what came, while this core span.
    pub(crate) told_ns: u64,
    pub(crate) tick_payload: Vec<u8>,
    /// Absent only while it is used. Behind the sockets in `transfer`, whose operations it has under way.
    pub(crate) parker: Option<CoreParker>,
}
