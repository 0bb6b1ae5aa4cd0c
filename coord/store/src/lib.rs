//! The znode tree as one typed interface: what nimbus, supervisors, workers and clients read and write there.
//!
//! - [`path`], [`acl`], [`operation`], [`outcome`]: raw operations as data, and how they end.
//! - [`store`]: the interface of every store, and the contract that all of them keep.
//! - [`procedure`], [`desk`], [`control`]: conversations of several operations, driven by hand, many at once, or by a
//!   thread that waits.
//! - [`cluster`]: Storm's cluster state, expressed in such conversations.
//! - [`memory`]: a whole ensemble in memory, deterministic, for tests and the simulator.
//!
//! The store on a real ZooKeeper is the package `ringstorm-zookeeper`. It is apart, so that what decides can be reached by
//! the simulator and by Miri without any I/O.
//!
//! Invariants: no I/O, no randomness; the only clock is for the limits of those who wait ([`control::Control`],
//! [`memory::MemoryStore`]). Everything else is a function of what it is given. What cannot be read is reported, skipped, and never a reason to remove anything.
//! Threading: plain data, but for the client in memory, which is shared. Errors: [`outcome`] says how an operation
//! ends, [`cluster::Trouble`] how a conversation does.
#![forbid(unsafe_code)]

pub mod acl;
pub mod cluster;
pub mod control;
pub mod desk;
pub mod memory;
pub mod operation;
pub mod outcome;
pub mod path;
pub mod procedure;
pub mod store;
