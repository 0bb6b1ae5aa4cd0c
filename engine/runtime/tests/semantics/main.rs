//! What a knowledgeable user of Storm relies on, one module for each promise. Every test may run beside every other.

#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

#[path = "../harness/lib.rs"]
mod harness;

mod async_spouts;
mod asynchronous;
mod bad_emits;
mod blocking;
mod bolt_failures;
mod copies;
mod cycles;
mod debugging;
mod deferring;
mod evenness;
mod flat_map;
mod flushing;
mod forwarding;
mod grouping;
mod hostile_code;
mod joins;
mod large;
mod lifecycle;
mod load;
mod order;
mod pending;
mod random;
mod reliability;
mod spout_failures;
mod stopping;
mod streams;
mod ticks;
mod timeouts;
