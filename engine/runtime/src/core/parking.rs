//! How a core waits, and has the operations of its sockets done: on one io_uring, or with what there is instead.
//!
//! Invariants: whatever ends an operation ends a park too.
//!
//! Threading: belongs to one core. Errors: an io_uring that fails under operations ends the core, since it cannot be known
//! what became of them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use ringstorm_net::{Completion, Message, OnUring, Operations, Readiness, SocketsWay, Uring};
use ringstorm_ring::Parker;

/// A core's parker, and its sockets' operations if it has sockets.
pub(crate) struct CoreParker {
    parker: Parker,
    /// In place of the parker's io_uring.
    readiness: Option<Readiness>,
}

impl CoreParker {
    /// For a core with sockets, or without. Where `parker` has no io_uring, sockets go by readiness.
    pub(crate) fn new(mut parker: Parker, way: SocketsWay, has_sockets: bool) -> io::Result<Self> {
        let by_readiness = way == SocketsWay::Readiness || !parker.has_uring();
        let readiness = (has_sockets && by_readiness).then(Readiness::new).transpose()?;
        if let Some(readiness) = &readiness {
            parker.watch(readiness.as_fd().try_clone_to_owned()?);
        }
        Ok(Self { parker, readiness })
    }

    /// See [`Parker::prepare_park`].
    pub(crate) fn prepare_park(&mut self) -> bool {
        self.parker.prepare_park()
    }

    /// See [`Parker::cancel_park`].
    pub(crate) fn cancel_park(&mut self) {
        self.parker.cancel_park();
    }

    /// See [`Parker::park`].
    pub(crate) fn park(&mut self, timeout: Option<Duration>) {
        self.parker.park(timeout);
    }

    /// Whether operations may be over.
    #[inline]
    pub(crate) fn has_news(&mut self) -> bool {
        self.readiness.as_ref().is_some_and(Readiness::has_completions) || self.parker.has_news()
    }

    fn on_uring(&mut self) -> OnUring<ParkersUring<'_>> {
        OnUring(ParkersUring(&mut self.parker))
    }
}

impl Operations for CoreParker {
    unsafe fn receive(&mut self, peer: usize, socket: BorrowedFd<'_>, space: *mut [u8]) {
        // SAFETY: the caller's, for both.
        unsafe {
            match &mut self.readiness {
                Some(readiness) => readiness.receive(peer, socket, space),
                None => self.on_uring().receive(peer, socket, space),
            }
        }
    }

    unsafe fn send(&mut self, peer: usize, socket: BorrowedFd<'_>, message: *const Message) {
        // SAFETY: the caller's, for both.
        unsafe {
            match &mut self.readiness {
                Some(readiness) => readiness.send(peer, socket, message),
                None => self.on_uring().send(peer, socket, message),
            }
        }
    }

    fn submit(&mut self) {
        match &mut self.readiness {
            Some(readiness) => readiness.submit(),
            None => self.on_uring().submit(),
        }
    }

    fn collect(&mut self) {
        match &mut self.readiness {
            Some(readiness) if self.parker.take_readable() => readiness.collect(),
            Some(_) => {}
            None => self.on_uring().collect(),
        }
    }

    fn completion(&mut self) -> Option<Completion> {
        match &mut self.readiness {
            Some(readiness) => readiness.completion(),
            None => self.on_uring().completion(),
        }
    }
}

/// A core's io_uring as its sockets see it.
struct ParkersUring<'a>(&'a mut Parker);

impl Uring for ParkersUring<'_> {
    unsafe fn push(&mut self, entry: &io_uring::squeue::Entry) {
        // SAFETY: the caller's.
        if let Err(error) = unsafe { self.0.push(entry) } {
            panic!("the io_uring of a core takes no operations: {error}");
        }
    }

    fn submit(&mut self) {
        if let Err(error) = self.0.submit() {
            panic!("the io_uring of a core starts nothing: {error}");
        }
    }

    fn completion(&mut self) -> Option<(u64, i32)> {
        match self.0.completion() {
            Ok(completion) => completion.map(|completion| (completion.user_data, completion.result)),
            Err(error) => panic!("the io_uring of a core has failed: {error}"),
        }
    }
}
