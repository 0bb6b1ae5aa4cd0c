//! What users of the crate write against: components, collectors, tuples, and the builder that puts them together.

pub mod anchor;
pub mod async_emitter;
pub mod async_spout;
pub mod asynchronous;
pub mod bolt;
pub mod builder;
pub mod collector;
pub mod context;
pub mod declare;
pub mod emittable;
pub mod flat_map;
pub mod grouping;
pub mod input;
pub mod spout;
