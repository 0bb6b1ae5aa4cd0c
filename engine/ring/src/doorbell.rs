//! The doorbell of a core: what other threads ring after they have published something for it.
//!
//! Threading: `Send`, `Sync` and cheap to clone; any thread may ring. A core that is awake is not disturbed. The
//! protocol and its lost-wake-up argument stand in the `bell` module. The signal is an eventfd, because it can be waited
//! for by io_uring, by `ppoll` and by any other runtime.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use rustix::event::{EventfdFlags, eventfd};

use crate::bell::{Bell, Signal};

/// Rings one core. Clones ring the same core.
#[derive(Debug, Clone)]
pub struct Doorbell {
    core: Arc<Core>,
}

#[derive(Debug)]
struct Core {
    bell: Bell<EventFd>,
    has_parker: AtomicBool,
}

/// An eventfd whose count is only ever increased: the parker waits for the writes, not for a count above zero.
#[derive(Debug)]
struct EventFd(OwnedFd);

impl Signal for EventFd {
    fn raise(&self) {
        // The write of an eventfd fails or blocks only when its count would pass 2^64 - 2.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl Wake for Core {
    fn wake(self: Arc<Self>) {
        self.bell.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.bell.wake();
    }
}

impl Doorbell {
    /// A doorbell for a core that is awake. It may be made and handed out before the core's thread exists.
    ///
    /// # Errors
    ///
    /// The operating system's, when it has no file descriptor left for the eventfd.
    pub fn new() -> io::Result<Self> {
        let signal = EventFd(eventfd(0, EventfdFlags::CLOEXEC)?);
        Ok(Self { core: Arc::new(Core { bell: Bell::new(signal), has_parker: AtomicBool::new(false) }) })
    }

    /// Wakes the core if it is parked. Call it after publishing, once for any number of items and rings.
    ///
    /// One fence and one load if the core is awake; a system call if it is parked.
    #[inline]
    pub fn ring(&self) {
        self.core.bell.ring();
    }

    /// As [`Doorbell::ring`], for a caller that has passed a SeqCst fence since it published: one fence, which costs more
    /// than all the rest, then serves any number of doorbells.
    #[inline]
    pub fn ring_after_fence(&self) {
        self.core.bell.ring_after_fence();
    }

    /// A waker that wakes the core: the core's next [`prepare_park`](crate::Parker::prepare_park) returns `false`, even
    /// if the core was awake when it was woken.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.core))
    }

    pub(crate) fn prepare_park(&self) -> bool {
        self.core.bell.prepare_park()
    }

    pub(crate) fn leave_park(&self) {
        self.core.bell.leave_park();
    }

    /// Whether the caller is the first to ask, and so may park.
    pub(crate) fn claim_parker(&self) -> bool {
        !self.core.has_parker.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn release_parker(&self) {
        self.core.has_parker.store(false, Ordering::Release);
    }
}

impl AsFd for Doorbell {
    /// The eventfd that is written when the parked core is rung. Its count is never read back by the parker, so that it
    /// says little; each write is what counts (an edge, not a level).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.core.bell.signal().0.as_fd()
    }
}
