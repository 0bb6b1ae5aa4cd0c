//! The control thread of a worker over an ensemble in memory.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod assignments;
mod beats;
mod errors;
mod laws;
mod peers;
mod rig;
mod spouts;
mod tree;
