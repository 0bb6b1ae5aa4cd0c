//! The supervisor of a host as a state machine: it runs in its slots what the assignments name.
//!
//! A [`Supervisor`] is told what the tree says, what became of worker processes, what became of code, and what an
//! operator wants. It says which workers to start and to stop, which code to fetch and to remove, and what to remember on
//! disk. It does none of that itself: whoever runs it has the processes, the files, the clock and the store.
//!
//! - [`settings`]: Storm's keys and their defaults.
//! - [`local_state`]: what outlives the daemon.
//! - [`events`]: what the machine is told, and what it wants done.
//! - [`share`]: what a slot is to run.
//! - [`slot`]: one slot: Storm's slot states, as a machine of its own.
//! - [`supervisor`]: all of it.
//!
//! # What is promised
//!
//! - **A slot has one live process at most.** Nothing is started in a slot before whatever lived there has ended, and an
//!   incarnation is on disk before its worker is started. Incarnations of a slot only grow.
//! - **A slot runs what the newest assignment says that was seen**, also by the daemon before a restart. An assignment
//!   with a lower version, one that cannot be read, and a read that failed change nothing.
//! - **ZooKeeper is not needed to keep running.** Without it, workers go on, and dead ones are started again.
//! - **Nothing is stopped because something seems to be missing**, until two fresh reads some seconds apart agree that
//!   the topology has neither an assignment nor a base that lives.
//! - **An id that another live session holds is not used**: nothing is started and nothing stopped until that session is
//!   gone.
//!
//! # What whoever runs it promises
//!
//! - Effects are done in their order. [`SupervisorEffect::SaveState`] is on disk
//!   before the next effect is begun; where it cannot be saved, the daemon ends and does none of the effects that follow.
//!   Workers go on without it, and the next daemon adopts them.
//! - Each [`StartWorker`](events::StartWorker) is answered by `Started` or `StartFailed`, and each process that was
//!   started by one `Exited`, which comes last. A [`StopWorker`](events::SupervisorEffect::StopWorker) for a process that
//!   is not there is answered by `Exited`, too.
//! - Each `FetchCode` is answered by `Fetched` or `Failed`, each `RemoveCode` by `Removed`.
//!
//! Invariants: no I/O, no clock, no randomness. Threading: plain data. Errors: what goes wrong is said in notes and tried
//! again, with pauses; only a root that a live Apache Storm uses stops the machine.
#![forbid(unsafe_code)]

pub mod events;
pub mod local_state;
pub mod plants;
pub mod settings;
pub mod share;
pub mod slot;
pub mod supervisor;

mod assigned;
mod chore;
mod code;
mod look;
mod notes;
mod stopping;

pub use events::{SupervisorEffect, SupervisorInput};
pub use local_state::LocalState;
pub use settings::{Host, Settings};
pub use supervisor::{Start, Supervisor};
