//! The supervisor of a host for real: the machine of `ringstorm-supervisor`, and everything that it wants done.
//!
//! - [`run`], [`DaemonSettings`]: the daemon.
//! - [`log_writer`]: the process that writes a worker's log; a hidden command of whatever program runs the daemon.
//! - [`history`]: why workers started and ended.
//! - [`kill_workers`]: all workers of a host, killed by whoever has its folder.
//!
//! # A worker
//!
//! A worker is `<executable> ringstorm-worker <launch file>`, in a folder and a process group of its own; its output goes by
//! a pipe to a log writer, so that neither needs the supervisor. Its supervisor hears of its end by a pidfd, whether it is
//! its child or was adopted, and only then is the slot free: after the group was killed, and everything that carries the
//! worker's mark. It has limits of memory, of what is in its folder, and of open files. What became of it is in the supervisor's log, in the history,
//! and, if it is a trouble, among the errors of its topology.
//!
//! # After a crash
//!
//! Nothing that the daemon needs is in its memory alone: who it is and what it runs is in the local state, which is on disk
//! before anything is done about it; what runs is found by the workers' folders and by `/proc`. Files come into place by
//! a rename, with what is in them on disk.
//!
//! # Bad input
//!
//! Whatever workers, user code and the disk do costs lines and restarts, paced by the machine. The daemon's memory does not
//! grow with it.
//!
//! Invariants: those of the parts. Threading: [`run`] takes the calling thread. Errors: [`Failure`] for the program that
//! runs the daemon, lines of the log for operators.
#![forbid(unsafe_code)]

mod code;
mod control;
mod cpus;
mod daemon;
mod disk;
mod folder_limit;
pub mod history;
mod host;
mod layout;
mod log_flood;
pub mod log_writer;
mod memory;
mod old_logs;
mod processes;
mod procfs;
mod report;
mod service;
mod settings;
mod state;

pub use daemon::{Failure, run};
pub use host::this_host;
pub use processes::{Killed, kill_workers};
pub use service::{NotTold, Told, tell_service};
pub use settings::{DaemonSettings, InvalidSettings, MemoryRule};
pub use state::supervisor_id;
