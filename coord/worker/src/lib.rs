//! The control thread of a worker in a cluster, as a state machine: what the tree wants of the worker, told to its data
//! path, and what the worker is doing, told to the tree.
//!
//! - [`settings`]: who the worker is, what it knows of its topology, what can be set.
//! - [`interface`]: what the machine is told, and what it wants done.
//! - [`assigning`]: Storm's record of an assignment as the one that the data path takes.
//! - [`control`]: the machine.
//!
//! What keeps a worker of the past out are [generations](ringstorm_types::generations): the version of the assignment and
//! the incarnation of each process. No clock and no lease is involved, so that a worker without ZooKeeper runs on for as
//! long as it likes.
//!
//! Invariants: no I/O, no clock, no randomness. Losing the tree stops nothing. Threading: plain data but for procedures,
//! one caller at a time. Errors: troubles with the tree are tried again after a pause that grows.
#![forbid(unsafe_code)]

pub mod assigning;
pub mod control;
pub mod interface;
pub mod settings;

pub use control::WorkerControl;
pub use interface::{CoresEvent, Peer, PeerEvent, StopReason, WorkerEffect, WorkerInput};
pub use settings::{Identity, TopologyFacts, WorkerSettings};
