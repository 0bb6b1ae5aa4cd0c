//! What is asked of an io_uring, so that a core's sockets can share the one on which the core parks.

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What the operation was queued with.
    pub user_data: u64,
    /// Its result: negative is an error of the operating system.
    pub result: i32,
}

/// An io_uring that belongs to one thread.
pub trait Uring {
    /// Queues an operation; the next [`Uring::submit`] starts it.
    ///
    /// # Safety
    /// Memory and descriptors that the operation names stay valid, and memory that it writes is not otherwise used, until
    /// its completion came out of [`Uring::completion`].
    unsafe fn push(&mut self, operation: &io_uring::squeue::Entry);

    /// Starts what is queued and has the kernel post what is done. Does not wait.
    fn submit(&mut self);

    /// The next completion of an operation that was queued here, if one was posted.
    fn completion(&mut self) -> Option<Completion>;
}
