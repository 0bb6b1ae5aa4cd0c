//! What a core's sockets have the kernel do, whichever way it is done.
//!
//! - [`OnUring`]: entries of an io_uring that the owner shares, usually the one on which its core parks.
//! - [`Readiness`]: calls that do not wait, and an epoll descriptor that tells when to call again.
//!
//! Invariants: a peer has at most one receive and one send under way; each that was started has exactly one
//! [`Completion`].
//!
//! Threading: an implementation belongs to one core. Errors: those of an operation are its result.

mod readiness;
mod uring;
mod way;

use std::os::fd::BorrowedFd;

pub use readiness::Readiness;
pub use uring::{OnUring, Uring};
pub use way::{ChosenWay, SocketsWay, UringFacts, WayRefused};

/// A message as the kernel takes it: pieces of memory.
pub type Message = libc::msghdr;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Receives bytes.
    Receive,
    /// Sends bytes.
    Send,
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What it did.
    pub operation: Operation,
    /// For whom.
    pub peer: usize,
    /// How many bytes; negative is an error of the operating system.
    pub result: i32,
}

/// Receives and sends of one core.
pub trait Operations {
    /// Asks for a receive into `space`. It ends with the first bytes that come, or with 0 when no more will.
    ///
    /// # Safety
    /// Until the completion came out of [`Operations::completion`], the socket stays open, and `space` stays allocated and is
    /// not otherwise used. The peer has no other receive under way.
    unsafe fn receive(&mut self, peer: usize, socket: BorrowedFd<'_>, space: *mut [u8]);

    /// Asks for a send of a message, or as much of it as the kernel takes at once.
    ///
    /// # Safety
    /// Until the completion came out of [`Operations::completion`], the socket stays open, and the message and all that it
    /// points to stay where they are and do not change. The peer has no other send under way.
    unsafe fn send(&mut self, peer: usize, socket: BorrowedFd<'_>, message: *const Message);

    /// Starts what was asked for. Does not wait.
    fn submit(&mut self);

    /// Has the kernel say what is done. Does not wait.
    fn collect(&mut self);

    /// The next completion, if there is one.
    fn completion(&mut self) -> Option<Completion>;
}
