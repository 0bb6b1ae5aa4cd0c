//! The supervisor on an ensemble in memory, with a host that does what it says; and laws of the slot alone.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod adoption;
mod assignments;
mod host;
mod identity;
mod laws;
#[cfg(feature = "planted-bugs")]
mod planted;
mod slot_laws;
mod workers;
mod world;
