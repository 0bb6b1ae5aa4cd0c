//! Worker processes of a cluster, led by a tree that is written by hand, on a real ensemble: they start, say that they
//! live, heed the topology's status, take new assignments, drain, and end; and nothing that runs stops when ZooKeeper does.
//!
//! Where ZooKeeper is not installed all of it is skipped, loudly, see [`ringstorm_ensemble`].

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod faults;
mod host;
mod life;
mod tree;
