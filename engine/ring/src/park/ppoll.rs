//! Waiting for the eventfd with `ppoll`: works everywhere, at two system calls per wake-up.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until `signal` was written or `timeout` is over, and takes the count. Returns whether it was written; signals
/// of the operating system end the wait early.
pub(super) fn wait(signal: &impl AsFd, timeout: Duration) -> bool {
    let Ok(timeout) = Timespec::try_from(timeout) else { return false };
    let mut waited = [PollFd::new(signal, PollFlags::IN)];
    match poll(&mut waited, Some(&timeout)) {
        Ok(ready) if ready > 0 => {
            // Cannot block: the fd is readable and has no other reader. Without it the next wait would return at once.
            let mut count = [0; 8];
            let _ = rustix::io::read(signal, &mut count);
            true
        }
        _ => false,
    }
}
