//! Waiting for the eventfd with `ppoll`: works everywhere, at two system calls per wake-up.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Waits until `signal` was written, `watched` is readable or `timeout` is over, and takes the count. Returns whether one of
/// the first two is so; signals of the operating system end the wait early.
pub(super) fn wait(signal: &impl AsFd, watched: Option<&OwnedFd>, timeout: Duration) -> bool {
    let Ok(timeout) = Timespec::try_from(timeout) else { return false };
    let signal_again = PollFd::new(signal, PollFlags::IN);
    // Without a watched descriptor the eventfd is asked for twice, which costs nothing.
    let second = watched.map_or(signal_again.clone(), |watched| PollFd::new(watched, PollFlags::IN));
    let mut waited = [signal_again, second];
    match poll(&mut waited, Some(&timeout)) {
        Ok(ready) if ready > 0 => {
            if waited[0].revents().contains(PollFlags::IN) {
                // Cannot block: the fd is readable and has no other reader. Without it the next wait would return at once.
                let mut count = [0; 8];
                let _ = rustix::io::read(signal, &mut count);
            }
            true
        }
        _ => false,
    }
}

/// Whether a descriptor is readable now.
pub(super) fn is_readable(watched: &OwnedFd) -> bool {
    let now = Timespec::default();
    poll(&mut [PollFd::new(watched, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}
