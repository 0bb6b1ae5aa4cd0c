//! The face from outside: examples as processes, and runs of one process by their metrics.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod behaviour;
mod examples;
mod metrics;
mod names;
mod note;
mod processes;
mod signals;
mod word_count;
mod workers;
