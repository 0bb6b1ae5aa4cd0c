//! One worker: its share of a topology brought up on cores, watched over, drained and taken down.
//!
//! [`blueprint`] decides everything before a thread is started (who lives where, who talks to whom); [`assemble`] builds
//! each core from it on the core's own thread; [`coordinator`] leads the run from another thread, in bursts.
//!
//! Where a topology has several workers, each is a process of its own that runs an [`agent`]; [`fleet`] starts and leads
//! them on one machine, and [`talk`] is what those two say to each other.

pub(crate) mod agent;
pub(crate) mod assemble;
pub(crate) mod blueprint;
pub(crate) mod coordinator;
pub(crate) mod cores;
pub(crate) mod cpus;
pub(crate) mod error_thread;
pub(crate) mod evenly;
pub(crate) mod fleet;
pub(crate) mod members;
pub(crate) mod owner;
pub(crate) mod random;
mod stalls;
mod talk;
