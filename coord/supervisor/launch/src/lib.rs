//! What a supervisor gives to a worker that it starts, and what workers and operators say to a supervisor.
//!
//! - [`launch`]: the file that a worker finds in its folder. A supervisor runs
//!   `<code file> ringstorm-worker <launch file>`, in the worker's folder and in a process group of its own, with standard
//!   output and error as pipes to a log writer.
//! - [`says`]: the datagrams of the supervisor's control socket.
//!
//! A worker's executable may have been built with another version of Ringstorm than the supervisor. Fields that a reader
//! does not know are passed over; a new field of a later version has a default.
//!
//! Invariants: what was read is in range, and no larger than its limit. Threading: plain data. Errors: bytes that make no
//! sense give one error, with what is wrong.
#![forbid(unsafe_code)]

pub mod launch;
pub mod says;

pub use launch::{InvalidLaunch, Launch};
pub use says::{Datagram, InvalidDatagram, OperatorSays, SlotTrouble, WorkerSays};

/// The command of a topology's executable that makes it a worker; the path of the launch file follows.
pub const WORKER_COMMAND: &str = "ringstorm-worker";

/// The name of the launch file in the worker's folder.
pub const LAUNCH_FILE: &str = "launch.json";

/// Where a supervisor's control socket lies, from `storm.local.dir`.
pub const CONTROL_SOCKET: &str = "supervisor/control.sock";
