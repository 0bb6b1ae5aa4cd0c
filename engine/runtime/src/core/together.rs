//! A change that all cores of a worker take over before any of them goes on.
//!
//! What one core sends by a new assignment may come by ring to one that still sends by the old, to a worker that is gone by
//! the new. So each waits for the others, but not for one that user code holds: what goes astray then is left to the
//! time-out of messages.
//!
//! Threading: shared by the cores of a worker. Errors: none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A core is back in its turn after a tenth of a millisecond, unless user code or the kernel holds it.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// Counts the cores that have taken over the change.
#[derive(Debug)]
pub(crate) struct Together {
    missing: AtomicUsize,
}

impl Together {
    pub(crate) fn new(cores: usize) -> Self {
        Self { missing: AtomicUsize::new(cores) }
    }

    /// The calling core has taken it over; returns when all have, or after 50 ms.
    pub(crate) fn wait_for_all(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let since = Instant::now();
        while self.missing.load(Ordering::Acquire) > 0 && since.elapsed() < WAIT_MAX {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn nobody_goes_on_before_the_last_and_one_that_is_held_holds_nobody_for_long() {
        let (together, last_came) = (Arc::new(Together::new(2)), Arc::new(AtomicBool::new(false)));
        let (of_first, came) = (Arc::clone(&together), Arc::clone(&last_came));
        let first = std::thread::spawn(move || {
            let since = Instant::now();
            of_first.wait_for_all();
            came.load(Ordering::Acquire) || since.elapsed() >= WAIT_MAX
        });
        last_came.store(true, Ordering::Release);
        together.wait_for_all();
        assert!(first.join().expect("it does not panic"));
        Together::new(2).wait_for_all();
    }
}
