//! An ensemble in memory: ZooKeeper's semantics for what is used of it, deterministic, with faults on demand.
//!
//! [`Ensemble`] is a pure machine: operations go in, outcomes and watch events come out at once, and whoever drives it
//! decides when each of them travels. That is all that a simulator needs: it applies a request when it "arrives", loses
//! or delays the outcome, holds back members, expires sessions, restores older states. [`MemoryStore`] is a client of a
//! shared ensemble with the interface of every store, and switches for the same faults, for tests.
//!
//! How it stands to ZooKeeper: writes are done by one head, in one order, and numbered; each member applies them in that
//! order, at once or when it is let; reads and watches are those of the member to which a session is attached. A member
//! never lags behind the writes of its own sessions. All of that is ZooKeeper's guarantee, and no more than that.
//!
//! Left out, since nothing here uses them: quotas, containers, nodes with a time to live, recursive watches.
//!
//! Threading: an ensemble is plain data; clients share it behind a lock. Errors: conditions in outcomes.

mod client;
mod ensemble;
mod rules;
mod tree;

pub use client::{Loss, MemoryStore, SharedEnsemble};
pub use ensemble::{Behind, Dumped, Ensemble};

#[cfg(test)]
mod tests;
