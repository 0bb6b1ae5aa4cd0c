//! What goes to an acker and what comes back to the spout task.
//!
//! Small `Copy` values without a wire format of their own: the control ring carries them as they are, and whoever
//! reads them from a socket calls [`AckMessage::validate`] (or lets `Ledger::apply` do it).

use std::fmt;

use thiserror::Error;

use crate::root::RootId;

/// The largest count of one range.
pub const MAX_RANGE_COUNT: u32 = 4096;

/// The largest stride of one range. With [`MAX_RANGE_COUNT`] it keeps a range within 2^20 sequence numbers.
pub const MAX_RANGE_STRIDE: u32 = 256;

/// A message to the acker of a root's lane.
///
/// In a range the roots are `first`, `first + stride`, and so on, `count` in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckMessage {
    /// From the spout task: these roots exist; each was sent to targets at positions 0 to `positions - 1`, so that its
    /// initial value is the exclusive or of those edges. With 0 positions it completes at once.
    InitRange {
        /// The first root.
        first: RootId,
        /// The step from root to root.
        stride: u32,
        /// How many roots.
        count: u32,
        /// How many targets each root was sent to.
        positions: u16,
    },
    /// From the spout task: this root exists and has this initial value.
    Init {
        /// The root.
        root: RootId,
        /// The exclusive or of its edges.
        value: u64,
    },
    /// The tuples at `position` of these roots are acked and had no children.
    AckRange {
        /// The first root.
        first: RootId,
        /// The step from root to root.
        stride: u32,
        /// How many roots.
        count: u32,
        /// The position that is acked.
        position: u16,
    },
    /// As `AckRange`, for irregular roots: bit `i` of `mask` stands for the root `first + i`.
    AckMask {
        /// The root of bit 0.
        first: RootId,
        /// Which of the 64 roots from `first` on.
        mask: u64,
        /// The position that is acked.
        position: u16,
    },
    /// Tuples of this root are acked: `value` is the exclusive or of their edges and those of their children.
    Ack {
        /// The root.
        root: RootId,
        /// The ack value.
        value: u64,
    },
    /// A tuple of this root failed.
    Fail {
        /// The root.
        root: RootId,
        /// The id of the task that failed it.
        by: u32,
    },
    /// A tuple of this root needs more time: its time-out starts anew.
    ResetTimeout {
        /// The root.
        root: RootId,
    },
    /// From the spout task: this root is given up (failed as lost); its entry goes without an outcome. Needed when
    /// time-outs are off, harmless otherwise.
    Forget {
        /// The root.
        root: RootId,
    },
}

impl AckMessage {
    /// A root of this message, which tells its lane.
    #[inline]
    pub const fn root(&self) -> RootId {
        match *self {
            AckMessage::InitRange { first, .. }
            | AckMessage::AckRange { first, .. }
            | AckMessage::AckMask { first, .. } => first,
            AckMessage::Init { root, .. }
            | AckMessage::Ack { root, .. }
            | AckMessage::Fail { root, .. }
            | AckMessage::ResetTimeout { root }
            | AckMessage::Forget { root } => root,
        }
    }

    /// Checks what a message from another process may get wrong.
    ///
    /// # Errors
    ///
    /// [`BadMessage`] if a range is empty or larger than [`MAX_RANGE_COUNT`], or its stride is not 1 to
    /// [`MAX_RANGE_STRIDE`].
    #[inline]
    pub const fn validate(&self) -> Result<(), BadMessage> {
        match *self {
            AckMessage::InitRange { first, stride, count, .. } | AckMessage::AckRange { first, stride, count, .. } => {
                validate_range(first, stride, count)
            }
            _ => Ok(()),
        }
    }
}

#[inline]
const fn validate_range(first: RootId, stride: u32, count: u32) -> Result<(), BadMessage> {
    if count.wrapping_sub(1) < MAX_RANGE_COUNT && stride.wrapping_sub(1) < MAX_RANGE_STRIDE {
        Ok(())
    } else {
        Err(BadMessage { first, stride, count })
    }
}

/// A range that breaks the limits. Nothing of it was applied; its sender is at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "a message names {count} roots with stride {stride} from root {:#018x}, but a range holds 1 to {MAX_RANGE_COUNT} \
     roots with stride 1 to {MAX_RANGE_STRIDE}: it was ignored; check that both workers run the same version",
    first.0
)]
pub struct BadMessage {
    /// The first root of the range.
    pub first: RootId,
    /// Its stride.
    pub stride: u32,
    /// Its count.
    pub count: u32,
}

/// What an acker tells the spout task of a root's lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The trees of these roots are complete: `first`, `first + stride`, and so on, `count` in all.
    AckedRange {
        /// The first root.
        first: RootId,
        /// The step from root to root, 1 to [`MAX_RANGE_STRIDE`].
        stride: u32,
        /// How many roots, 2 to [`MAX_RANGE_COUNT`].
        count: u32,
    },
    /// The tree of this root is complete.
    Acked {
        /// The root.
        root: RootId,
    },
    /// The tree of this root failed.
    Failed {
        /// The root.
        root: RootId,
        /// Why.
        reason: FailReason,
    },
    /// The time-out of this root starts anew.
    ResetTimeout {
        /// The root.
        root: RootId,
    },
}

impl Outcome {
    /// A root of this outcome, which tells its lane.
    #[inline]
    pub const fn root(&self) -> RootId {
        match *self {
            Outcome::AckedRange { first, .. } => first,
            Outcome::Acked { root } | Outcome::Failed { root, .. } | Outcome::ResetTimeout { root } => root,
        }
    }

    /// Checks what an outcome from another process may get wrong.
    ///
    /// # Errors
    ///
    /// [`BadMessage`] if a range is empty or larger than [`MAX_RANGE_COUNT`], or its stride is not 1 to
    /// [`MAX_RANGE_STRIDE`].
    #[inline]
    pub const fn validate(&self) -> Result<(), BadMessage> {
        match *self {
            Outcome::AckedRange { first, stride, count } => validate_range(first, stride, count),
            _ => Ok(()),
        }
    }

    /// Adds acked roots to a list of outcomes, as part of its last range if they continue it.
    #[inline]
    pub(crate) fn push_acked(outcomes: &mut Vec<Outcome>, first: RootId, stride: u32, count: u32) {
        let (head, known_stride, known_count) = match outcomes.last() {
            Some(&Outcome::AckedRange { first, stride, count }) => (first, Some(stride), count),
            Some(&Outcome::Acked { root }) => (root, None, 1),
            _ => return outcomes.push(Outcome::acked(first, stride, count)),
        };
        let step = if count > 1 { stride } else { known_stride.unwrap_or(head.distance(first).unsigned_abs() as u32) };
        let continues = head.lane() == first.lane()
            && known_stride.unwrap_or(step) == step
            && step.wrapping_sub(1) < MAX_RANGE_STRIDE
            && first.distance(head) == i64::from(step) * i64::from(known_count)
            && known_count + count <= MAX_RANGE_COUNT;
        if continues {
            if let Some(last) = outcomes.last_mut() {
                *last = Outcome::AckedRange { first: head, stride: step, count: known_count + count };
            }
        } else {
            outcomes.push(Outcome::acked(first, stride, count));
        }
    }

    const fn acked(first: RootId, stride: u32, count: u32) -> Outcome {
        if count == 1 { Outcome::Acked { root: first } } else { Outcome::AckedRange { first, stride, count } }
    }
}

/// Why a spout's tuple failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FailReason {
    /// A bolt failed a tuple of its tree.
    FailedBy {
        /// The id of the task that failed it.
        task: u32,
    },
    /// Its tree was not complete in time.
    TimedOut,
    /// A worker that its tree may have reached is gone.
    Lost {
        /// The number by which the runtime knows that worker.
        worker: u64,
    },
    /// A task panicked while it handled a tuple of its tree.
    Panicked {
        /// The id of the task that panicked.
        task: u32,
    },
}

impl fmt::Display for FailReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailReason::FailedBy { task } => write!(formatter, "failed by task {task}"),
            FailReason::TimedOut => formatter.write_str("timed out"),
            FailReason::Lost { worker } => write!(formatter, "lost with worker {worker}"),
            FailReason::Panicked { task } => write!(formatter, "task {task} panicked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Lane;

    fn root(sequence: u64) -> RootId {
        RootId::new(Lane(1), sequence)
    }

    #[test]
    fn messages_are_small() {
        assert_eq!((size_of::<AckMessage>(), size_of::<Outcome>()), (24, 24));
    }

    #[test]
    fn acked_roots_join_into_ranges() {
        let mut outcomes = Vec::new();
        Outcome::push_acked(&mut outcomes, root(10), 1, 1);
        Outcome::push_acked(&mut outcomes, root(12), 1, 1);
        Outcome::push_acked(&mut outcomes, root(14), 2, 3);
        assert_eq!(outcomes, [Outcome::AckedRange { first: root(10), stride: 2, count: 5 }]);
        Outcome::push_acked(&mut outcomes, root(20), 1, 2);
        Outcome::push_acked(&mut outcomes, root(22), 1, 1);
        Outcome::push_acked(&mut outcomes, root(22), 1, 1);
        Outcome::push_acked(&mut outcomes, RootId::new(Lane(2), 23), 1, 1);
        assert_eq!(
            outcomes[1..],
            [
                Outcome::AckedRange { first: root(20), stride: 1, count: 3 },
                Outcome::Acked { root: root(22) },
                Outcome::Acked { root: RootId::new(Lane(2), 23) },
            ]
        );
    }

    #[test]
    fn acked_ranges_stay_within_the_limit() {
        let mut outcomes = Vec::new();
        for part in 0..3 {
            Outcome::push_acked(&mut outcomes, root(1).offset(part * 3000), 1, 3000);
        }
        assert_eq!(outcomes.len(), 3);
    }

    #[test]
    fn bad_ranges_are_named() {
        let bad = |stride, count| AckMessage::AckRange { first: root(1), stride, count, position: 0 }.validate();
        assert_eq!(bad(1, MAX_RANGE_COUNT), Ok(()));
        assert_eq!(bad(MAX_RANGE_STRIDE, 1), Ok(()));
        for (stride, count) in
            [(1, 0), (0, 1), (1, MAX_RANGE_COUNT + 1), (MAX_RANGE_STRIDE + 1, 1), (u32::MAX, u32::MAX)]
        {
            let error = bad(stride, count).unwrap_err();
            assert!(error.to_string().contains(&format!("{count} roots with stride {stride}")), "{error}");
        }
    }

    #[test]
    fn reasons_read_as_words() {
        assert_eq!(FailReason::FailedBy { task: 7 }.to_string(), "failed by task 7");
        assert_eq!(FailReason::Lost { worker: 2 }.to_string(), "lost with worker 2");
    }
}
