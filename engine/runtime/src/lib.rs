//! The runtime of one worker: topology API, executors, groupings, cores, acking, metrics and local mode.
//!
//! A topology is declared with a [`TopologyBuilder`], checked by [`TopologyBuilder::build`], and run by a
//! [`LocalCluster`]. Underneath, `worker` plans who lives where, `core` runs executors in turns on pinned threads, and
//! everything they say to each other goes through rings. The rooms, from the outside in:
//!
//! - [`api`]: what users write against;
//! - [`library`]: ready-made components;
//! - `worker`: one process's share of a topology, planned, started, led and stopped;
//! - `core`: one thread's share of a worker;
//! - [`describe`], [`metrics`], [`report`]: what it will be, and what it all came to;
//! - `debug`: `topology.debug`, a line for every tuple that is emitted.

pub mod api;
pub mod clock;
mod core;
mod debug;
pub mod describe;
mod error;
pub mod library;
mod local;
pub mod metrics;
pub mod report;
pub mod side_runtime;
mod worker;

pub use api::anchor::{Anchor, Anchoring, Unanchored};
pub use api::async_emitter::AsyncEmitter;
pub use api::async_spout::AsyncSpout;
pub use api::asynchronous::AsyncBolt;
pub use api::bolt::{Bolt, SimpleBolt};
pub use api::builder::{BoltDeclarer, BuiltTopology, SpoutDeclarer, StreamRef, TopologyBuilder};
pub use api::collector::{BoltCollector, Emitter, SpoutCollector};
pub use api::context::TopologyContext;
pub use api::declare::Declarer;
pub use api::flat_map::FlatMap;
pub use api::grouping::{CustomGrouping, GroupedTuple};
pub use api::input::{AckHandle, Input, OwnedTuple, TupleCopy, TupleRef, UnknownField};
pub use api::spout::{Next, Spout};
pub use error::{BoxError, BuildError, Result, StartError};
pub use local::{LocalCluster, LocalOptions, Observer, RunningTopology, StopHandle, submit_to_workers};
pub use report::{ErrorReport, Outcome, RunReport};
pub use ringstorm_acking::FailReason;
pub use worker::agent::assignments::{AssignmentFile, AssignmentNews, Assignments};
pub use worker::agent::commanded::{WorkerOrder, WorkerReport, WorkerStart, run_commanded_worker};
pub use worker::agent::start::{WorkerEnd, run_assigned_worker, run_worker};
pub use worker::fleet::WorkerCommand;
