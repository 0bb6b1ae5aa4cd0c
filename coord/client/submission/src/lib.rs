//! A topology as Storm's records and configuration: what its executable submits.
//!
//! - [`topology`]: components, streams, groupings and numbers as a `StormTopology`.
//! - [`component`]: what stands in it for the code of a component.
//! - [`conf`]: the configuration, and what makes a worker of the file.
//! - [`executable`]: whether a file is a topology's executable, and what it was built with.
//!
//! Nimbus reads no code: the records are for people and tools, for validation, and for the numbers of tasks and executors.
//! What runs is built by the executable itself, from the same words that were given when it was submitted.
//!
//! Invariants: the tasks and executors that nimbus numbers by what is made here are those that the engine numbers. Equal
//! topologies give equal records. Threading: pure functions. Errors: settings that cannot be read.
#![forbid(unsafe_code)]

pub mod component;
pub mod conf;
pub mod executable;
pub mod topology;

pub use conf::submitted_conf;
pub use topology::storm_topology;
