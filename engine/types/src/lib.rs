//! Shared vocabulary of Ringstorm: ids, topology, configuration, validation, numbering, placement and description.
//!
//! Everything here is data or a pure function of data: no I/O, no clock, no randomness, no threads. The engine, the
//! network layer and the control plane meet in this crate and nowhere else, so that each can be tested alone.
//!
//! The usual path of a topology through the crate:
//!
//! 1. a builder fills a [`Topology`](topology::Topology) and a [`Config`](config::Config);
//! 2. [`validate`](validate::validate) names everything that is wrong with it at once;
//! 3. [`number`](numbering::number) gives every task its id and groups tasks into executors, as Storm does;
//! 4. [`place`](placement::place) says which executor lives on which core;
//! 5. [`Plan`](describe::Plan) shows the result as JSON or as text.
//!
//! Every type is `Send` and `Sync`; nothing here recovers from errors, it only reports them in words that say what to
//! change.
#![forbid(unsafe_code)]

pub mod assignment;
pub mod config;
pub mod cpus;
pub mod describe;
pub mod fnv;
pub mod generations;
pub mod graph;
pub mod id;
mod names;
pub mod numbering;
pub mod placement;
#[cfg(test)]
mod testing;
pub mod throttle;
pub mod topology;
pub mod validate;
pub mod wire_format;

pub use id::{ComponentId, CoreIndex, DEFAULT_STREAM, ExecutorId, MessageId, StreamId, TaskId};
pub use names::{nearest, one_line};
