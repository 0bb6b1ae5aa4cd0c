//! Which slot runs which executor: Storm's even and default schedulers, and the interface for others.
//!
//! A round, as nimbus makes it:
//!
//! 1. [`first_round()`] says whether a cluster that has just started should wait for more supervisors;
//! 2. [`split_living`] takes the dead executors out of the stored assignment of each topology, and says which slots
//!    must not be used in this round;
//! 3. [`Cluster::new`] puts supervisors, topologies and what lives together;
//! 4. a [`Scheduler`], mostly the [`DefaultScheduler`], frees slots and assigns executors in it;
//! 5. [`Cluster::assignment`] is the result for each topology, [`Cluster::shortages`] what could not be had.
//!
//! The schedulers give what those of Apache Storm 2.8.2 give for equal input, executor by executor and slot by slot.
//! Where Storm lets the order of a Java hash map decide, there is an order here; see [`default_scheduler`] and
//! [`Cluster::new`]. Storm's isolation, multitenant and resource-aware schedulers, which it does not use unless it is
//! told to, are not here.
//!
//! Invariants: pure functions and data; no I/O, no clock, no randomness. A slot never runs two topologies. Nothing is
//! placed on a slot that is dead, blacklisted or unknown, whichever scheduler asks for it.
//!
//! Threading: plain data. Errors: an impossible state is refused when it is made; what a scheduler may not do is refused
//! when it tries; both go to whoever called.
#![forbid(unsafe_code)]

pub mod cluster;
pub mod default_scheduler;
mod even_scheduler;
mod first_round;
mod living;
mod scheduler;
mod state;

pub use cluster::{AssignError, Cluster, InvalidCluster, Shortage, TopologyIndex};
pub use default_scheduler::DefaultScheduler;
pub use even_scheduler::EvenScheduler;
pub use first_round::{COLD_START_WAIT, FirstRound, first_round};
pub use living::{Living, split_living};
pub use scheduler::Scheduler;
pub use state::{Assignment, NodeId, Supervisor, Topology, WorkerSlot};
