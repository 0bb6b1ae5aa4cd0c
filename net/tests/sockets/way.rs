//! The two ways that sockets go, each as a core has it, for one test at a time.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use io_uring::IoUring;
use ringstorm_net::{Completion, Message, OnUring, Operations, Readiness, SocketsWay, Uring};

/// One of them. A test has two sides, so that the larger variant costs nothing.
#[allow(clippy::large_enum_variant, reason = "there are two in each test")]
pub(crate) enum Way {
    Uring(OnUring<Plain>),
    Readiness(Readiness),
}

impl Way {
    pub(crate) fn new(way: SocketsWay) -> Self {
        match way {
            SocketsWay::Uring => Self::Uring(OnUring(Plain::new())),
            SocketsWay::Readiness => Self::Readiness(Readiness::new().unwrap()),
        }
    }

    /// Waits for an operation to end, as a core does that parks.
    pub(crate) fn wait(&mut self, timeout: Duration) {
        match self {
            Self::Uring(uring) => uring.0.wait(timeout),
            Self::Readiness(readiness) => {
                if readiness.has_completions() {
                    return;
                }
                let fd = readiness.as_fd();
                let timeout = rustix::event::Timespec::try_from(timeout).unwrap();
                let mut waited = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
                assert!(rustix::event::poll(&mut waited, Some(&timeout)).unwrap() > 0, "nothing wakes it");
            }
        }
    }
}

impl Operations for Way {
    unsafe fn receive(&mut self, peer: usize, socket: BorrowedFd<'_>, space: *mut [u8]) {
        // SAFETY: the caller's, for both.
        unsafe {
            match self {
                Self::Uring(uring) => uring.receive(peer, socket, space),
                Self::Readiness(readiness) => readiness.receive(peer, socket, space),
            }
        }
    }

    unsafe fn send(&mut self, peer: usize, socket: BorrowedFd<'_>, message: *const Message) {
        // SAFETY: the caller's, for both.
        unsafe {
            match self {
                Self::Uring(uring) => uring.send(peer, socket, message),
                Self::Readiness(readiness) => readiness.send(peer, socket, message),
            }
        }
    }

    fn submit(&mut self) {
        match self {
            Self::Uring(uring) => uring.submit(),
            Self::Readiness(readiness) => readiness.submit(),
        }
    }

    fn collect(&mut self) {
        match self {
            Self::Uring(uring) => uring.collect(),
            Self::Readiness(readiness) => readiness.collect(),
        }
    }

    fn completion(&mut self) -> Option<Completion> {
        match self {
            Self::Uring(uring) => uring.completion(),
            Self::Readiness(readiness) => readiness.completion(),
        }
    }
}

/// An io_uring of its own.
pub(crate) struct Plain(IoUring);

impl Plain {
    fn new() -> Self {
        Self(IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(64).unwrap())
    }

    fn wait(&mut self, timeout: Duration) {
        let timeout = io_uring::types::Timespec::from(timeout);
        let arguments = io_uring::types::SubmitArgs::new().timespec(&timeout);
        let waited = self.0.submitter().submit_with_args(1, &arguments);
        assert!(waited.is_ok(), "nothing wakes it: {waited:?}");
    }
}

impl Uring for Plain {
    unsafe fn push(&mut self, entry: &io_uring::squeue::Entry) {
        // SAFETY: the caller's.
        while unsafe { self.0.submission().push(entry) }.is_err() {
            self.0.submit().unwrap();
        }
    }

    fn submit(&mut self) {
        self.0.submitter().submit_and_wait(0).unwrap();
        // With deferred task work only an enter that asks for events posts completions.
        // SAFETY: no arguments are passed.
        unsafe { self.0.submitter().enter::<libc::sigset_t>(0, 0, 1, None) }.unwrap();
    }

    fn completion(&mut self) -> Option<(u64, i32)> {
        let entry = self.0.completion().next()?;
        Some((entry.user_data(), entry.result()))
    }
}
