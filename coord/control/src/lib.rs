//! What nimbus, supervisor, worker control and client have in common: each is a state machine over the tree.
//!
//! A daemon is one [`Machine`](machine::Machine): it takes inputs (what the tree said, what somebody asked, what a process did) with the
//! time, and gives effects. It never waits and never does anything itself, so that a simulator may crash it between any
//! two inputs, and whoever runs it for real is a loop that does what the effects say.
//!
//! - [`time`]: moments of one process, and the time of day.
//! - [`machine`]: the interface.
//! - [`pause`]: how long to wait after troubles in a row.
//! - [`runner`]: one machine over one store, for daemons.
//! - [`session`]: which session of the tree may be used now.
//! - [`talks`]: conversations with the tree that are under way.
//! - [`tickets`]: what a store's outcomes answer, for whoever runs a machine over a
//!   [`Store`](ringstorm_store::store::Store).
//!
//! Invariants: no I/O, no clock, no randomness. Threading: plain data. Errors: none of their own.
#![forbid(unsafe_code)]

pub mod machine;
pub mod pause;
pub mod runner;
pub mod session;
pub mod talks;
pub mod tickets;
pub mod time;
