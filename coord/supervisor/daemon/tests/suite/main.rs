//! A supervisor's daemon as a process, with workers as processes, over a real ensemble; the test writes the assignments.
//!
//! Where ZooKeeper is not installed all of it is skipped, loudly, see [`ringstorm_ensemble`].

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod identity;
mod limits;
mod processes;
mod slots;
mod world;
