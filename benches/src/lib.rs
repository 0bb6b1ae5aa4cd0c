//! Benchmark programs: storm-perf topologies beside raw controls, with HdrHistogram reports.
//!
//! A claim here is always a *ratio*: the engine's figure over the figure of a raw control that ran in the same
//! process, right before or after it, because absolute figures change with the host. One run is a
//! sequence of [`pairs`], each a control [`leg`] and an engine leg in alternating order, with the
//! [cache-line round trip](control::cache_line) of the moment read around each. Pairs during which the machine
//! changed are thrown away and counted.
//!
//! How one leg is measured, the same way for control and engine:
//! - a [`load::Generator`] in the source decides which tuples are due: as many as possible, or tuple `i` at
//!   `start + i / rate` (open loop);
//! - a [`meter::Meter`] where the tuples (or their acks) arrive counts them inside the [window](window::LegWindow)
//!   and records latency: under an open loop for every tuple and from the time it was due, else for every 1,024th
//!   tuple from its emit;
//! - a [`checksum::Checksum`] reads every byte of each tuple;
//! - a [`sampler::Sampler`] reads allocations and CPU time just outside both ends of the window.
//!
//! Threading: source and sink run on two pinned CPUs; the sampler sleeps except at the ends of the window; whoever
//! runs the legs only waits. Errors are [`error::BenchError`]: each ends the run with one message.

pub mod allocations;
pub mod arguments;
pub mod checksum;
pub mod clock;
pub mod control;
pub mod cpu;
pub mod engine;
pub mod error;
pub mod figure;
pub mod fingerprint;
pub mod harness;
pub mod histogram;
pub mod leg;
pub mod load;
pub mod meter;
pub mod pairs;
pub mod payload;
pub mod placement;
pub mod process;
pub mod report;
pub mod sampler;
pub mod window;
