//! What cores tell each other besides tuples, and how it lies in the cells of a control ring.
//!
//! Invariants: messages of one link stay in order; a cell holds at most [`BATCH_MESSAGES_MAX`] of them, so that what a
//! burst has made a cell grow to is bounded.
//!
//! Threading: a batch is written by the producer while the cell is its own, read by the consumer.

use ringstorm_acking::{AckMessage, Outcome};

use crate::core::LocalExecutor;
use crate::core::acker_executor::AckerExecutor;
use crate::core::spout_executor::SpoutExecutor;
use crate::core::transfer::{Load, Transfer};

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
    /// What shuffles and cycles of other workers are to know of these tasks, as the [`TaskBoard`] has it for this worker.
    ///
    /// [`TaskBoard`]: crate::core::transfer::TaskBoard
    Load { first: u32, last: u32, wait_us: u32, tuple_us: u32, over_limit: bool },
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

/// Whom control messages on a core are for.
pub(crate) struct ControlRecipients<'a> {
    pub(crate) transfer: &'a mut Transfer,
    pub(crate) spouts: &'a mut [SpoutExecutor],
    pub(crate) ackers: &'a mut [AckerExecutor],
    pub(crate) locals: &'a [Option<LocalExecutor>],
}

impl ControlRecipients<'_> {
    /// Hands a message to whom it is for; one for a task that is not here is left.
    #[inline]
    pub(crate) fn take(&mut self, message: ControlMessage) {
        match message {
            ControlMessage::Ack { acker, message } => {
                if let Some(Some(LocalExecutor::Acker(index))) = self.locals.get(acker as usize) {
                    self.ackers[*index as usize].push(message);
                }
            }
            ControlMessage::Outcome { spout, outcome } => {
                if let Some(Some(LocalExecutor::Spout(index))) = self.locals.get(spout as usize) {
                    self.spouts[*index as usize].push_outcome(spout, outcome);
                }
            }
            ControlMessage::Pause { first, last } => self.transfer.set_paused(first, last, true),
            ControlMessage::Resume { first, last } => self.transfer.set_paused(first, last, false),
            ControlMessage::Load { first, last, wait_us, tuple_us, over_limit } => {
                self.transfer.board.show(first, last, Load { wait_us, tuple_us, over_limit });
            }
        }
    }
}
