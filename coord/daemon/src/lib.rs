//! What the daemons have in common. A daemon is a state machine, and a loop that does for real what it wants done.
//!
//! - [`Clock`]: the time that machines are told.
//! - [`Inbox`], [`Sender`], [`Waker`]: what other threads tell the loop.
//! - [`run()`]: the loop around a [`Runner`](ringstorm_control::runner::Runner).
//! - [`Log`], [`RotatedFile`]: lines for operators, on standard error and in a file that never fills a disk.
//! - [`Signals`]: Ctrl-C and SIGTERM.
//! - [`DirectoryLock`]: one daemon per local directory.
//!
//! Invariants: the loop waits for nothing but its inbox, and nothing here makes it wait: not a full disk, nor a log that
//! nobody reads. Threading: said with each. Errors: of the start, returned; of logs, told once and survived.
#![forbid(unsafe_code)]

mod clock;
mod inbox;
mod lock;
mod log;
mod rotated;
mod run;
mod screen;
mod signals;

pub use clock::Clock;
pub use inbox::{Inbox, Sender, Waker};
pub use lock::{DirectoryLock, LockError};
pub use log::Log;
pub use rotated::{FileNews, RotatedFile, Rotation, old_file};
pub use run::run;
pub use signals::{Signal, Signals};
