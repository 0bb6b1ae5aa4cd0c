//! Who is still there: the two flags with which the ends of a ring tell each other that they are gone.
//!
//! The disruptor crate tells a producer nothing when its poller is dropped (the ring just fills up), and tells a
//! poller about a dropped producer only by the error of a poll. So each end sets a flag of its own when it is dropped.
//!
//! The producer's flag is released after its last publish and acquired before the consumer's last look: a consumer that
//! sees the flag and then an empty ring has read everything. The consumer's flag promises nothing about items: one that
//! was published just before the consumer went is never read.

use crate::sync::{AtomicBool, Ordering, OwnLine};

/// The flags of one ring, shared by its ends. Each is written once, so both may share a line that is otherwise only
/// read.
#[derive(Debug)]
pub struct Ends {
    flags: OwnLine<Flags>,
}

#[derive(Debug)]
struct Flags {
    producer_is_gone: AtomicBool,
    consumer_is_gone: AtomicBool,
}

impl Default for Ends {
    fn default() -> Self {
        Self::new()
    }
}

impl Ends {
    /// The flags of a new ring: both ends are there.
    #[must_use]
    pub fn new() -> Self {
        let flags = Flags { producer_is_gone: AtomicBool::new(false), consumer_is_gone: AtomicBool::new(false) };
        Self { flags: OwnLine(flags) }
    }

    /// Called by the producer after its last publish.
    pub fn producer_leaves(&self) {
        self.flags.producer_is_gone.store(true, Ordering::Release);
    }

    /// Whether the producer has left. All that it published is visible to a caller that reads `true`.
    #[inline]
    #[must_use]
    pub fn producer_is_gone(&self) -> bool {
        self.flags.producer_is_gone.load(Ordering::Acquire)
    }

    /// Called by the consumer after its last read.
    pub fn consumer_leaves(&self) {
        self.flags.consumer_is_gone.store(true, Ordering::Release);
    }

    /// Whether the consumer has left.
    #[inline]
    #[must_use]
    pub fn consumer_is_gone(&self) -> bool {
        self.flags.consumer_is_gone.load(Ordering::Acquire)
    }
}
