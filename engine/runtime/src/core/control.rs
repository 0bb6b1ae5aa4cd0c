//! What cores tell each other besides tuples, and how it lies in the cells of a control ring.
//!
//! Invariants: messages of one link stay in order; a cell holds at most [`BATCH_MESSAGES_MAX`] of them, so that what a
//! burst has made a cell grow to is bounded.
//!
//! Threading: a batch is written by the producer while the cell is its own, read by the consumer.

use ringstorm_acking::{AckMessage, Outcome};

/// Messages of one cell at most.
pub(crate) const BATCH_MESSAGES_MAX: usize = 256;

/// What cores tell each other besides tuples.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ControlMessage {
    /// For the acker task.
    Ack { acker: u32, message: AckMessage },
    /// For the spout task.
    Outcome { spout: u32, outcome: Outcome },
    /// The tasks `first..=last` have enough to do; do not emit to them.
    Pause { first: u32, last: u32 },
    /// They have room again.
    Resume { first: u32, last: u32 },
}

/// What lies in a cell of a control ring: some messages, the first of them in the cell itself, so that the reader of
/// only one asks for one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct ControlBatch {
    first: Option<ControlMessage>,
    more: Vec<ControlMessage>,
}

impl ControlBatch {
    /// Makes these messages the whole content.
    #[inline]
    pub(crate) fn fill(&mut self, messages: &[ControlMessage]) {
        self.first = messages.first().copied();
        self.more.clear();
        self.more.extend_from_slice(messages.get(1..).unwrap_or_default());
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ControlMessage> {
        self.first.iter().chain(&self.more)
    }
}
