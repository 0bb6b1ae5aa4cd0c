//! How a worker ends.
//!
//! | code | means |
//! | --- | --- |
//! | 0 | it was asked to end, or has nothing to do any more, and ended in order |
//! | 1 | it could not start, or could not go on: a component fails over and over, or what it was given is wrong |
//! | 2 | the command line is wrong |
//! | 3 | it was asked to end, and some of what was under way was not done in the time that there was |
//! | 5 | it cannot use its slot: the port is taken or the address is not one of this host |
//! | 6 | other workers know of a newer process in its slot |
//! | 130, 143 | a second signal ended it at once |
//!
//! Threading: plain data. Errors: none.

use std::process::ExitCode;

/// How a worker has ended. Its number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerExit {
    /// In order.
    Done = 0,
    /// It could not start, or could not go on.
    Failed = 1,
    /// In order, with something left undone.
    Left = 3,
    /// It cannot use its slot.
    Slot = 5,
    /// A newer process has taken its place.
    Superseded = 6,
}

impl From<WorkerExit> for ExitCode {
    fn from(exit: WorkerExit) -> Self {
        Self::from(exit as u8)
    }
}
