//! A worker process of a cluster: who it is stands in the file that its supervisor wrote, what it runs in ZooKeeper.
//!
//! [`run`] is the whole life of such a process. The calling thread is the control thread: it drives the
//! [machine](ringstorm_worker::WorkerControl) over a real ensemble, and says to the supervisor that the process lives. The
//! [runtime](ringstorm_runtime::run_commanded_worker) runs on threads of its own, and neither waits for the other.
//!
//! - [`launch`]: what the launch file says, in the words of the machine and of the runtime.
//! - [`exit`]: how a worker ends, and its exit codes.
//! - `beginning`: the look at the tree that comes before everything: by which numbers of executors the topology is built.
//! - `figures`: what executors count, as Storm's records.
//! - `program`: what is done of what the machine wants.
//! - `levels`, `lines`: what is said in the log, and by whom.
//! - `slot`, `supervisor`: the port of the slot; the supervisor's socket.
//!
//! Invariants: the port is bound before anything else, so that a slot that cannot be used is told at once. What runs goes
//! on whatever becomes of the session with ZooKeeper and of the supervisor. The supervisor hears of this process only while
//! every core ends turns; before the cores run it hears nothing, so that it may end one that never comes up.
//!
//! Threading: the control thread; the runtime's; the client of ZooKeeper's; one that watches signals. Errors: lines on
//! standard error, which the supervisor's log writer keeps, and the exit code.
#![forbid(unsafe_code)]

mod beginning;
pub mod exit;
mod figures;
pub mod launch;
mod levels;
mod lines;
mod program;
mod slot;
mod supervisor;

use ringstorm_launch::Launch;
use ringstorm_runtime::BuiltTopology;
use ringstorm_types::config::Config;

pub use exit::WorkerExit;

/// Runs a worker to its end. `build` makes the topology with the configuration of the cluster.
pub fn run(launch: &Launch, build: impl FnOnce(&Config) -> Result<BuiltTopology, String>) -> WorkerExit {
    match program::run(launch, build) {
        Ok(exit) => exit,
        Err(text) => {
            lines::error(&text);
            WorkerExit::Failed
        }
    }
}
