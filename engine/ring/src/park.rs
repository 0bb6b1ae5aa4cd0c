//! Parking a core until its doorbell rings or a time is over.
//!
//! A [`Parker`] owns an io_uring of its own on which the doorbell's eventfd is polled for ever (a multishot poll), so
//! that one park and wake-up is one system call: a blocking `io_uring_enter` with the time-out as its argument. Where
//! io_uring cannot be set up (an old kernel, a container that forbids it) it falls back to `ppoll`, and
//! [`Parker::kind`] says so. If the kernel ever refuses a wait that it accepted before, the parker changes to `ppoll` for
//! good: parking never fails. With either way one more descriptor can be watched.
//!
//! Threading: a parker stays on the thread that made it, since the kernel allows only that thread to submit.

mod ppoll;
mod uring;

use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::Doorbell;
use uring::UringWait;

/// No single wait is longer: the kernel refuses times that do not fit its clock, and a core may wake once a day.
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

/// How a [`Parker`] waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParkKind {
    /// On an io_uring with a single issuer and deferred task work (Linux 6.1 and later).
    UringDeferred,
    /// On an io_uring without them (Linux 5.13 and later).
    Uring,
    /// With `ppoll`, as io_uring is not available.
    Ppoll,
}

impl std::fmt::Display for ParkKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::UringDeferred => "io_uring with deferred task work",
            Self::Uring => "io_uring",
            Self::Ppoll => "ppoll",
        })
    }
}

/// The end of an operation of the owner, see [`Parker::push`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// What the operation was queued with.
    pub user_data: u64,
    /// Its result: negative is an error of the operating system.
    pub result: i32,
}

/// Why no parker was made.
#[derive(Debug, thiserror::Error)]
pub enum ParkerError {
    /// Two parkers would take each other's rings.
    #[error("this doorbell already has a parker; make one doorbell for each core")]
    Taken,
}

/// Puts the core that owns it to sleep; see the module.
#[derive(Debug)]
pub struct Parker {
    doorbell: Doorbell,
    wait: Wait,
    watched: Option<Arc<OwnedFd>>,
    /// Keeps the parker on its thread.
    not_send: PhantomData<*const ()>,
}

#[derive(Debug)]
enum Wait {
    Uring(Box<UringWait>),
    Ppoll,
}

impl Parker {
    /// The parker of `doorbell`, for use on the calling thread only.
    ///
    /// # Errors
    ///
    /// [`ParkerError::Taken`] if the doorbell has a parker already.
    pub fn new(doorbell: &Doorbell) -> Result<Self, ParkerError> {
        Self::with(doorbell, |doorbell| UringWait::new(doorbell).map(Box::new).map_or(Wait::Ppoll, Wait::Uring))
    }

    /// As [`Parker::new`], with `ppoll` even where io_uring is available: for comparison and for tests.
    ///
    /// # Errors
    ///
    /// As for [`Parker::new`].
    pub fn with_ppoll(doorbell: &Doorbell) -> Result<Self, ParkerError> {
        Self::with(doorbell, |_| Wait::Ppoll)
    }

    fn with(doorbell: &Doorbell, wait: impl FnOnce(&Doorbell) -> Wait) -> Result<Self, ParkerError> {
        if !doorbell.claim_parker() {
            return Err(ParkerError::Taken);
        }
        Ok(Self { doorbell: doorbell.clone(), wait: wait(doorbell), watched: None, not_send: PhantomData })
    }

    /// How this parker waits now.
    #[must_use]
    pub fn kind(&self) -> ParkKind {
        match &self.wait {
            Wait::Uring(wait) => wait.kind(),
            Wait::Ppoll => ParkKind::Ppoll,
        }
    }

    /// Announces that the core is about to park. From now on every ring reaches it.
    ///
    /// After `true` the caller looks at everything that others publish to it *once more*, and then calls either
    /// [`Parker::park`] (nothing there) or [`Parker::cancel_park`]. `false` means that a [`Doorbell::waker`] was woken
    /// since the last call: the core is awake and must poll what its wakers stand for.
    #[must_use = "after `false` the core must not park"]
    #[inline]
    pub fn prepare_park(&mut self) -> bool {
        self.doorbell.prepare_park()
    }

    /// Takes back [`Parker::prepare_park`], when the second look found something.
    #[inline]
    pub fn cancel_park(&mut self) {
        self.doorbell.leave_park();
    }

    /// Blocks until the doorbell rings or `timeout` is over (`None`: for as long as it takes). Returns whether it was
    /// rung.
    ///
    /// It may return early, with either answer: the caller looks at its rings and its clock in any case, and
    /// prepares again before it parks again. Without [`Parker::prepare_park`] no ring ends the wait.
    pub fn park(&mut self, timeout: Option<Duration>) -> bool {
        let timeout = timeout.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        let rung = match &mut self.wait {
            Wait::Uring(wait) => wait.wait(timeout),
            Wait::Ppoll => Ok(ppoll::wait(&self.doorbell, self.watched.as_deref(), timeout)),
        };
        self.doorbell.leave_park();
        rung.unwrap_or_else(|_: io::Error| {
            // The eventfd still holds every ring, so nothing is lost with the io_uring.
            self.wait = Wait::Ppoll;
            false
        })
    }
}

/// Operations of the owner on the parker's io_uring, whose completions end a park. Where the parker uses `ppoll`, it has
/// none: [`Parker::has_uring`] says so.
impl Parker {
    /// Whether operations can be queued.
    #[must_use]
    pub fn has_uring(&self) -> bool {
        matches!(self.wait, Wait::Uring(_))
    }

    /// Queues an operation, whose number (`user_data`) is below `u64::MAX`. The next [`Parker::submit`] or park starts it.
    ///
    /// # Safety
    /// Memory and descriptors that it names stay valid, and memory that it writes is not otherwise used, until its
    /// completion came out of [`Parker::completion`].
    ///
    /// # Errors
    /// The operating system's, or when there is no io_uring. Then the operation was not queued.
    pub unsafe fn push(&mut self, operation: &io_uring::squeue::Entry) -> io::Result<()> {
        match &mut self.wait {
            // SAFETY: the caller's.
            Wait::Uring(wait) => unsafe { wait.push(operation) },
            Wait::Ppoll => Err(io::Error::from(io::ErrorKind::Unsupported)),
        }
    }

    /// Starts what is queued and has the kernel post what is done. Does not wait.
    ///
    /// # Errors
    /// The operating system's.
    pub fn submit(&mut self) -> io::Result<()> {
        match &mut self.wait {
            Wait::Uring(wait) => wait.submit(),
            Wait::Ppoll => Ok(()),
        }
    }

    /// Whether [`Parker::submit`] and [`Parker::completion`] would have something, or the watched descriptor may be
    /// readable. Two loads; with `ppoll`, a call to the kernel if a descriptor is watched.
    #[inline]
    #[must_use]
    pub fn has_news(&mut self) -> bool {
        match &mut self.wait {
            Wait::Uring(wait) => wait.has_news(),
            Wait::Ppoll => self.watched.as_deref().is_some_and(ppoll::is_readable),
        }
    }

    /// The next completion of an operation, in the order of their ends.
    ///
    /// # Errors
    /// The operating system's.
    pub fn completion(&mut self) -> io::Result<Option<Completion>> {
        match &mut self.wait {
            Wait::Uring(wait) => wait.completion(),
            Wait::Ppoll => Ok(None),
        }
    }
}

/// A descriptor of the owner that ends a park when it becomes readable.
impl Parker {
    /// Watches `descriptor` from now on. There is one for each parker: a second call changes nothing.
    pub fn watch(&mut self, descriptor: OwnedFd) {
        if self.watched.is_some() {
            return;
        }
        let descriptor = Arc::new(descriptor);
        self.watched = Some(Arc::clone(&descriptor));
        if let Wait::Uring(wait) = &mut self.wait
            && wait.watch(descriptor).is_err()
        {
            self.wait = Wait::Ppoll;
        }
    }

    /// Whether the watched descriptor may have become readable since the last call. After `true` the caller takes all that
    /// it has, or is not told of it again.
    pub fn take_readable(&mut self) -> bool {
        match &mut self.wait {
            Wait::Uring(wait) => wait.take_readable().unwrap_or_else(|_: io::Error| {
                self.wait = Wait::Ppoll;
                true
            }),
            Wait::Ppoll => self.watched.is_some(),
        }
    }
}

impl Drop for Parker {
    fn drop(&mut self) {
        self.doorbell.release_parker();
    }
}
