//! The face from outside: examples as processes, and runs of one process by their metrics.

mod behaviour;
mod examples;
mod metrics;
mod processes;
mod signals;
mod word_count;
