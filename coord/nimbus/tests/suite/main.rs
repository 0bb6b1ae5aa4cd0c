//! Nimbus over an ensemble in memory: one or several of them, with supervisors and workers that are only nodes.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod amendments;
mod chaos;
mod code;
mod crashes;
mod damage;
mod faults;
mod leaders;
mod life;
mod start;
mod topologies;
mod world;
