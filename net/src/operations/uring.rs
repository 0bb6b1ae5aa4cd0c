//! Operations as entries of an io_uring that somebody else owns too.
//!
//! Invariants and threading: see [`super`]. The number of an entry is its peer, and what it does in the lowest bit.

use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{opcode, types};

use super::{Completion, Message, Operation, Operations};

/// An io_uring that belongs to one thread.
pub trait Uring {
    /// Queues an entry; the next [`Uring::submit`] starts it.
    ///
    /// # Safety
    /// Memory and descriptors that the entry names stay valid, and memory that it writes is not otherwise used, until its
    /// completion came out of [`Uring::completion`].
    unsafe fn push(&mut self, entry: &io_uring::squeue::Entry);

    /// Starts what is queued and has the kernel post what is done. Does not wait.
    fn submit(&mut self);

    /// The number (`user_data`) and the result of the next entry that was queued here and is done.
    fn completion(&mut self) -> Option<(u64, i32)>;
}

/// [`Operations`] on an io_uring.
#[derive(Debug)]
pub struct OnUring<U>(pub U);

fn number_of(operation: Operation, peer: usize) -> u64 {
    (peer as u64) << 1 | u64::from(operation == Operation::Send)
}

impl<U: Uring> Operations for OnUring<U> {
    unsafe fn receive(&mut self, peer: usize, socket: BorrowedFd<'_>, space: *mut [u8]) {
        let length = u32::try_from(space.len()).unwrap_or(u32::MAX);
        let entry = opcode::Recv::new(types::Fd(socket.as_raw_fd()), space.cast(), length);
        // SAFETY: the caller's, who keeps both until the completion.
        unsafe { self.0.push(&entry.build().user_data(number_of(Operation::Receive, peer))) };
    }

    unsafe fn send(&mut self, peer: usize, socket: BorrowedFd<'_>, message: *const Message) {
        let entry = opcode::SendMsg::new(types::Fd(socket.as_raw_fd()), message).flags(libc::MSG_NOSIGNAL as u32);
        // SAFETY: the caller's, who keeps both until the completion.
        unsafe { self.0.push(&entry.build().user_data(number_of(Operation::Send, peer))) };
    }

    fn submit(&mut self) {
        self.0.submit();
    }

    fn collect(&mut self) {
        self.0.submit();
    }

    fn completion(&mut self) -> Option<Completion> {
        let (number, result) = self.0.completion()?;
        let operation = if number & 1 == 1 { Operation::Send } else { Operation::Receive };
        Some(Completion { operation, peer: (number >> 1) as usize, result })
    }
}
