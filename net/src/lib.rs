//! Units of the wire protocol on the sockets of cores.
//!
//! - [`Sockets`]: the connections of one core, driven from its turn.
//! - [`Operations`]: what they have the kernel do, on the core's io_uring ([`OnUring`]) or by [`Readiness`]; [`SocketsWay`]
//!   chooses.
//! - [`Keeper`]: a thread beside the cores that dials, accepts, shakes hands, and hands connections to their cores.
//!
//! Invariants: a core never waits here; bytes are received where units are read and sent from where they were written;
//! a connection's fault ends that connection and nothing else.
//!
//! Threading: [`Sockets`] belongs to one core, [`Keeper`] is a thread of its own; they meet only through what the owner of
//! both passes between them. Errors: [`Lost`] says why a connection is gone; the keeper makes the next one.

mod keeper;
mod operations;
mod sockets;
mod system;

pub use keeper::{Admission, Keeper, KeeperEvent, Route};
pub use operations::{
    ChosenWay, Completion, Message, OnUring, Operation, Operations, Readiness, SocketsWay, Uring, UringFacts,
    WayRefused,
};
pub use sockets::{Lost, PeerCounts, Sockets, SocketsSettings};
