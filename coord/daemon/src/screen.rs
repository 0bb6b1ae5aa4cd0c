//! Standard error for whoever must not wait.
//!
//! Standard error may be a pipe that nobody reads any more. Before each part the kernel is asked whether it takes one;
//! what it does not take within a moment is left out. A part is no longer than what a pipe takes at once.
//!
//! Threading: the thread of the log. Errors: none; there is nobody left to tell.

use std::io::{self, Write as _};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What a pipe that is ready takes without a wait (`PIPE_BUF` of Linux).
const PART_BYTES: usize = 4096;

/// How long to wait for a reader that is slow, in nanoseconds.
const PATIENCE_NS: i64 = 100_000_000;

/// Standard error.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// Whether the last part was not taken. Then there is no patience.
    is_stuck: bool,
}

impl Screen {
    /// Writes a line, or leaves out what is not taken.
    pub(crate) fn write(&mut self, line: &[u8]) {
        let stderr = io::stderr();
        for part in line.chunks(PART_BYTES) {
            let patience = Timespec { tv_sec: 0, tv_nsec: if self.is_stuck { 0 } else { PATIENCE_NS } };
            let is_ready = matches!(poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], Some(&patience)), Ok(1..));
            self.is_stuck = !is_ready || stderr.lock().write_all(part).is_err();
            if self.is_stuck {
                return;
            }
        }
    }
}
