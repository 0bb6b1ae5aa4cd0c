//! One worker: its share of a topology brought up on cores, watched over, drained and taken down.
//!
//! [`blueprint`] decides everything before a thread is started (who lives where, who talks to whom); [`assemble`] builds
//! each core from it on the core's own thread; [`coordinator`] leads the run from another thread, in bursts.

pub(crate) mod admission;
pub(crate) mod agent;
pub(crate) mod assemble;
pub(crate) mod assignments;
pub(crate) mod blueprint;
mod change;
pub(crate) mod coordinator;
pub(crate) mod cores;
pub(crate) mod cpus;
pub(crate) mod error_thread;
pub(crate) mod evenly;
pub(crate) mod fleet;
pub(crate) mod members;
pub(crate) mod owner;
mod peers;
mod stalls;
mod superior;
mod talk;
