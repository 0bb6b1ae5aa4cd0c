//! The acker ledger, the spout pending table, lanes, edge ids and folding; no I/O, no clock.
//!
//! Storm tracks a tree of tuples with one 64-bit word: the exclusive or of the ids of all its edges, each of which
//! enters it twice, once when the edge is created and once when its tuple is acked. The word is zero exactly when no
//! edge is open. This crate holds the state machines of that scheme, made cheap for runs of consecutive roots:
//!
//! - [`RootId`], [`Lane`], [`Lanes`]: what a root is called, and which acker tracks it (a pure function, no table).
//! - [`EdgeKey`], [`EdgeGenerator`]: edge ids that can be recomputed for a whole range, and those of child tuples.
//! - [`Folder`]: on every core, folds what goes to the ackers within one turn.
//! - [`AckMessage`], [`Outcome`]: what goes to an acker and what comes back to the spout task.
//! - [`Ledger`]: the acker's side. [`Pending`] and [`EmitTimes`]: the spout task's side.
//!
//! The way of one tuple: the spout emits to its targets, calls [`Pending::insert`] and [`Folder::init_derived`]; each
//! bolt that is done with the tuple calls [`Folder::ack_derived`] or [`Folder::ack`]; at the end of the turn
//! [`Folder::flush`] hands messages over, which reach [`Ledger::apply`] in any order; its [`Outcome`]s reach
//! [`Pending::complete`], [`Pending::complete_range`] or [`Pending::fail`].
//!
//! # Invariants
//!
//! - Per lane the spout task uses consecutive sequence numbers, each for one root.
//! - A tree completes only when it is initialised and its value is zero; whatever is duplicated, late or unknown can
//!   never complete a tree wrongly and never panics. If a message is lost, the tree times out at the spout.
//! - A root has at most one terminal outcome ([`Outcome::Acked`], [`Outcome::AckedRange`] or [`Outcome::Failed`]).
//!
//! # Threading
//!
//! Every type is plain data for one core; nothing is shared and nothing blocks. Randomness, time and rotation come
//! from the caller.

#![forbid(unsafe_code)]

mod edge;
mod emit_times;
mod folder;
mod hash;
mod lane_index;
mod ledger;
mod message;
mod pending;
mod root;

pub use edge::{EdgeGenerator, EdgeKey};
pub use emit_times::EmitTimes;
pub use folder::Folder;
pub use ledger::Ledger;
pub use message::{AckMessage, BadMessage, FailReason, MAX_RANGE_COUNT, MAX_RANGE_STRIDE, Outcome};
pub use pending::Pending;
pub use root::{Lane, Lanes, RootId, TooManySpoutTasks};
