//! Units of the wire protocol on io_uring sockets.
//!
//! - [`Sockets`]: the connections of one core, driven from its turn on its own io_uring.
//! - [`Keeper`]: a thread beside the cores that dials, accepts, shakes hands, and hands connections to their cores.
//!
//! Invariants: a core never waits here; bytes are received where units are read and sent from where they were written;
//! a connection's fault ends that connection and nothing else.
//!
//! Threading: [`Sockets`] belongs to one core, [`Keeper`] is a thread of its own; they meet only through what the owner of
//! both passes between them. Errors: [`Lost`] says why a connection is gone; the keeper makes the next one.

mod keeper;
mod sockets;
mod uring;

pub use keeper::{Admission, Keeper, KeeperEvent, Route};
pub use sockets::{Lost, PeerCounts, Sockets, SocketsSettings};
pub use uring::{Completion, Uring};
