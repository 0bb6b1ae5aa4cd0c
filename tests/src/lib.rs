//! What the suites share: a source of messages outside of all workers, the processes of a run, and what these note.
//!
//! Threading: each type says. Errors: a test fails by a panic that says what was expected.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub mod addresses;
pub mod assigned;
pub mod journal;
pub mod namespaces;
pub mod outside;
pub mod proxy;
pub mod run;
pub mod waiting;
