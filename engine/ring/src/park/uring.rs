//! Waiting for the eventfd with an io_uring, on which its owner may have operations of its own: their completions end the
//! wait too, and are kept for it.
//!
//! The poll is armed once and posts a completion for each write of the eventfd, whatever its count; so the count is
//! never read back, and a wake-up needs no second system call. The ringers write only while the core is parked, so that
//! completions are few.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;

use super::{Completion, ParkKind};
use crate::Doorbell;

/// Operations that are queued before the kernel is asked to take them; the completion queue is twice as long, and what it
/// cannot hold the kernel keeps.
const ENTRIES: u32 = 128;
/// What the poll of the eventfd is queued with; the owner's operations have smaller numbers.
const DOORBELL: u64 = u64::MAX;
/// And the poll of the watched descriptor.
const WATCHED: u64 = u64::MAX - 1;

/// An io_uring with the poll of one doorbell's eventfd.
pub(super) struct UringWait {
    /// Declared before the doorbell, so that the poll ends before the eventfd is closed.
    ring: IoUring,
    doorbell: Doorbell,
    kind: ParkKind,
    armed: bool,
    /// Behind the ring too.
    watched: Option<Watched>,
    enter: EnterFlags,
    /// Completions of the owner's operations.
    completions: VecDeque<Completion>,
}

struct Watched {
    descriptor: Arc<OwnedFd>,
    armed: bool,
    /// It became readable and its owner was not told.
    is_readable: bool,
}

impl std::fmt::Debug for UringWait {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("UringWait")
            .field("kind", &self.kind)
            .field("armed", &self.armed)
            .finish_non_exhaustive()
    }
}

impl UringWait {
    /// # Errors
    ///
    /// The operating system's, when no io_uring can be set up or it cannot wait with a time-out.
    pub(super) fn new(doorbell: &Doorbell) -> io::Result<Self> {
        let deferred =
            IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(ENTRIES);
        let (ring, kind) = match deferred {
            Ok(ring) => (ring, ParkKind::UringDeferred),
            Err(_) => (IoUring::builder().build(ENTRIES)?, ParkKind::Uring),
        };
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        // Otherwise a parked core shows up as one that waits for a disk.
        let enter = if ring.params().is_feature_no_iowait() { EnterFlags::NO_IOWAIT } else { EnterFlags::empty() };
        let (doorbell, completions) = (doorbell.clone(), VecDeque::new());
        let mut wait = Self { ring, doorbell, kind, armed: false, watched: None, enter, completions };
        wait.arm()?;
        // A kernel that does not know multishot polls says so now.
        wait.ring.submit()?;
        wait.reap()?;
        Ok(wait)
    }

    pub(super) fn kind(&self) -> ParkKind {
        self.kind
    }

    /// Waits until the eventfd was written since the last wait or `timeout` is over. Returns whether it was written;
    /// signals of the operating system end the wait early.
    ///
    /// # Errors
    ///
    /// When the kernel refuses to wait or to poll. No write is lost: the eventfd keeps its count.
    pub(super) fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        if !self.armed {
            self.arm()?;
        }
        self.arm_watched();
        // A completion that is here already is a ring. It may be for this very sleep, so it must not be skipped.
        if self.reap()? {
            return Ok(true);
        }
        let timeout = Timespec::from(timeout);
        let arguments = SubmitArgs::new().timespec(&timeout);
        let waited = self.ring.submitter().submit_with_args_and_flags(1, &arguments, self.enter);
        waited.map(drop).or_else(ignore_interruptions)?;
        self.reap()
    }

    /// Queues an operation of the owner.
    ///
    /// # Safety
    /// See [`Parker::push`](super::Parker::push).
    pub(super) unsafe fn push(&mut self, operation: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's.
        while unsafe { self.ring.submission().push(operation) }.is_err() {
            self.submit()?;
        }
        Ok(())
    }

    /// Starts what is queued and has the kernel post what is done, without waiting. One load if there is neither.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        self.arm_watched();
        let submission = self.ring.submission();
        let (queued, posts) = (submission.len(), submission.taskrun() || submission.cq_overflow());
        drop(submission);
        if queued == 0 && !posts {
            return Ok(());
        }
        // SAFETY: no arguments are passed; what is queued was pushed under the promise of `push`.
        let entered =
            unsafe { self.ring.submitter().enter::<()>(queued as u32, 0, EnterFlags::GETEVENTS.bits(), None) };
        entered.map(drop).or_else(ignore_interruptions)
    }

    /// Whether there are completions, or the kernel would post some.
    pub(super) fn has_news(&mut self) -> bool {
        !self.completions.is_empty()
            || !self.ring.completion().is_empty()
            || self.ring.submission().taskrun()
            || self.watched.as_ref().is_some_and(|watched| watched.is_readable || !watched.armed)
    }

    /// Polls a descriptor for ever; what it posts ends a wait.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn watch(&mut self, descriptor: Arc<OwnedFd>) -> io::Result<()> {
        self.watched = Some(Watched { descriptor, armed: false, is_readable: false });
        self.submit()
    }

    /// Whether the watched descriptor became readable since the last call.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn take_readable(&mut self) -> io::Result<bool> {
        self.submit()?;
        self.reap()?;
        Ok(self.watched.as_mut().is_some_and(|watched| std::mem::take(&mut watched.is_readable)))
    }

    /// The next completion of an operation of the owner.
    pub(super) fn completion(&mut self) -> io::Result<Option<Completion>> {
        if self.completions.is_empty() {
            self.reap()?;
        }
        Ok(self.completions.pop_front())
    }

    /// Takes all completions and keeps the owner's. Returns whether there was one.
    fn reap(&mut self) -> io::Result<bool> {
        let mut any = !self.completions.is_empty() || self.watched.as_ref().is_some_and(|watched| watched.is_readable);
        for completion in self.ring.completion() {
            any = true;
            let (user_data, result) = (completion.user_data(), completion.result());
            let ended = !cqueue::more(completion.flags());
            match (user_data, &mut self.watched) {
                (DOORBELL, _) => self.armed &= !ended,
                (WATCHED, Some(watched)) => {
                    watched.is_readable = true;
                    watched.armed &= !ended;
                }
                _ => {
                    self.completions.push_back(Completion { user_data, result });
                    continue;
                }
            }
            if result < 0 {
                return Err(io::Error::from_raw_os_error(-result));
            }
        }
        Ok(any)
    }

    /// Queues the poll of the eventfd; the next submit arms it.
    fn arm(&mut self) -> io::Result<()> {
        self.poll(self.doorbell.as_fd().as_raw_fd(), DOORBELL)?;
        self.armed = true;
        Ok(())
    }

    /// Likewise the poll of the watched descriptor, if there is one that is not polled. While the queue is full it waits.
    fn arm_watched(&mut self) {
        let Some(watched) = self.watched.as_ref().filter(|watched| !watched.armed) else { return };
        let armed = self.poll(watched.descriptor.as_raw_fd(), WATCHED).is_ok();
        self.watched.iter_mut().for_each(|watched| watched.armed = armed);
    }

    fn poll(&mut self, descriptor: RawFd, number: u64) -> io::Result<()> {
        let poll = opcode::PollAdd::new(Fd(descriptor), rustix::event::PollFlags::IN.bits().into()).multi(true);
        let poll = poll.build().user_data(number);
        // SAFETY: a poll carries no pointers; its descriptor is kept open by `self.doorbell` or `self.watched` for as long
        // as the ring exists. Attacked by the tests in `tests/park.rs`.
        let queued = unsafe { self.ring.submission().push(&poll) };
        queued.map_err(|_| io::Error::other("the submission queue of a parker is full"))
    }
}

fn ignore_interruptions(error: io::Error) -> io::Result<()> {
    match Errno::from_io_error(&error) {
        Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
        _ => Err(error),
    }
}
