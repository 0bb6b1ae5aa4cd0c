//! What the suites share: a source of messages outside of all workers, and the processes of a run.
//!
//! Threading: each type says. Errors: a test fails by a panic that says what was expected.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub mod assigned;
pub mod outside;
pub mod proxy;
pub mod run;
