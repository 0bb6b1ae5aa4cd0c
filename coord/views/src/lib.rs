//! What nimbus answers to those who look: lists, pages, figures and configurations, as Storm's clients read them.
//!
//! - [`reads`]: the methods of nimbus that only look, each a conversation with the tree that ends with its answer.
//! - [`gather`]: what these conversations read: just what a method needs.
//! - [`definition`]: a topology's code and configuration, made ready once for all that is asked about it.
//! - [`cluster`], [`topologies`], [`executors`], [`topology_page`], [`component_page`], [`workers`], [`owners`],
//!   [`history`], [`profiling`]: the answers, as pure functions of what was gathered, definitions, and the time of day.
//! - [`statistics`]: how figures of executors become those of components and topologies.
//!
//! Source: `Nimbus`, `StatsUtil`, `TopologyResources` of Storm 2.8.2, whose answers these are, field for field, for the
//! default scheduler without security. Storm's lists come in the order of Java's hashes; here all are in order.
//!
//! Invariants: no I/O and no clock. Nothing is written. What cannot be read is never taken for what is not there: it ends
//! the answer with [`NoAnswer`], or is passed over where the answer is a list, and is then named in [`Answer::skipped`].
//! Figures of a stranger's beats cost wrong figures, never a panic.
//!
//! Threading: plain data. Errors: [`NoAnswer`], for the client that asked.
#![forbid(unsafe_code)]

mod answer;
pub mod cluster;
pub mod component_page;
pub mod definition;
pub mod executors;
pub mod gather;
pub mod history;
pub mod owners;
pub mod placing;
pub mod profiling;
pub mod reads;
pub mod statistics;
pub mod topologies;
pub mod topology_page;
pub mod workers;

pub use answer::{Answer, NoAnswer};
pub use definition::Definition;
pub use reads::{Local, Read, Reads};
