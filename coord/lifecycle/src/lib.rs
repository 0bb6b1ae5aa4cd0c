//! What nimbus decides about the life of a topology, from its submission to the removal of its last trace.
//!
//! - [`id`]: names that are allowed, ids of topologies, keys of their blobs.
//! - [`conf`]: how the configurations of the cluster and of a topology become the one that is stored.
//! - [`validate`]: whether a topology may be submitted, with all reasons why not.
//! - [`system`]: the topology with what the system adds to it.
//! - [`executors`]: its tasks and executors.
//! - [`base`]: what nimbus keeps of it, and how that is changed.
//! - [`submission`]: all of that for one submission, in Storm's order.
//! - [`transition`]: what an action makes of a topology in whatever state, and what is to be done later.
//! - [`rebalance`]: which options of a rebalance are taken, and what they do to code and configuration.
//! - [`clean_up`]: which topologies are gone for good, so that what they left may be removed.
//!
//! Source: `org.apache.storm.daemon.nimbus.Nimbus`, `StormCommon` and `StormClusterStateImpl` of Storm 2.8.2. Results are
//! Storm's, content for content; where they are not, the documentation says "unlike Storm".
//!
//! Invariants: pure functions and data; no I/O, no clock, no randomness: times and random texts are arguments. Input of a
//! stranger costs one [`Refusal`] and a bounded amount of memory.
//!
//! Threading: plain data. Errors: a [`Refusal`] goes to the client who asked.
#![forbid(unsafe_code)]

pub mod base;
pub mod clean_up;
pub mod conf;
pub mod executors;
pub mod id;
pub mod rebalance;
mod refusal;
pub mod submission;
pub mod system;
pub mod transition;
pub mod validate;

pub use refusal::{CODE_IS_LOST, Refusal};
