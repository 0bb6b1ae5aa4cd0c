//! What the ledger knows of one root, in 16 bytes, and how a message changes it.
//!
//! Edges whose ids can be computed again (a root and a position below [`POSITION_BITS`]) are kept as one bit each and
//! not as their mixes, which makes the entries of a fresh range equal to each other and spares the mixing. The value
//! of the tree is the exclusive or of `value` and the edges of those bits; they are folded into `value` only when the
//! two meet.

use crate::edge::EdgeKey;
use crate::root::RootId;

/// How many positions are kept as bits.
pub(super) const POSITION_BITS: u16 = 48;

const POSITIONS: u64 = (1 << POSITION_BITS) - 1;
const AGE_SHIFT: u32 = 48;
const OPEN: u64 = 1 << 50;
const INITIALISED: u64 = 1 << 51;
const FAILED: u64 = 1 << 52;
const CLOSED: u64 = 1 << 53;

/// One root. All zero means that nothing was seen of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The exclusive or of the edges that are not kept as bits.
    pub(super) value: u64,
    /// Low 48 bits: the toggled positions, or once failed the task that failed it. Above: the rotation (modulo 4) of
    /// its creation, reset or failure; then the flags.
    pub(super) meta: u64,
}

/// What a message does to a root.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Init { positions: u64, value: u64 },
    Ack { positions: u64, value: u64 },
    Fail { by: u32 },
    Reset,
    Forget,
}

/// What became of the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It is (still) open and there is nothing to say.
    Open,
    /// It is open, and the spout task should hear of the reset.
    Reset,
    /// It is closed: complete.
    Acked,
    /// It is closed: failed by that task.
    Failed { by: u32 },
    /// It is closed without an outcome, now or before.
    Closed,
}

/// What all entries of a ledger share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) key: EdgeKey,
    /// How many rotations began so far.
    pub(super) rotation: u64,
}

impl Context {
    /// The entry of a root that is seen for the first time.
    #[inline]
    fn opened(&self) -> u64 {
        OPEN | (self.rotation & 3) << AGE_SHIFT
    }
}

impl Entry {
    /// A root that has had its outcome.
    pub(super) const CLOSED: Entry = Entry { value: 0, meta: CLOSED };

    #[inline]
    pub(super) fn is_unseen(self) -> bool {
        self.meta == 0
    }

    #[inline]
    pub(super) fn is_open(self) -> bool {
        self.meta & OPEN != 0
    }

    #[inline]
    pub(super) fn is_closed(self) -> bool {
        self.meta & CLOSED != 0
    }

    /// Whether a change made of positions only does the same to every root with an equal entry.
    #[inline]
    pub(super) fn is_same_for_all_roots(self) -> bool {
        self.value == 0 && self.meta & FAILED == 0
    }

    /// How many rotations ago it was created, reset or failed: 0 to 3.
    pub(super) fn age(self, rotation: u64) -> usize {
        (rotation.wrapping_sub(self.meta >> AGE_SHIFT) & 3) as usize
    }

    /// Sets how many rotations ago it was created, reset or failed.
    pub(super) fn set_age(&mut self, age: usize, rotation: u64) {
        self.meta = self.meta & !(3 << AGE_SHIFT) | (rotation.wrapping_sub(age as u64) & 3) << AGE_SHIFT;
    }

    /// Applies a change. After a closing step the caller replaces or removes the entry.
    ///
    /// Always inlined, so that only the code for one kind of change is left where that is known.
    #[inline(always)]
    pub(super) fn apply(&mut self, root: RootId, change: Change, context: &Context) -> Step {
        if self.meta == 0 {
            self.meta = context.opened();
        } else if self.is_closed() {
            return Step::Closed;
        }
        let mut reset = false;
        match change {
            // The flag, and not the value, says whether the tree is initialised: a second init changes nothing.
            Change::Init { .. } if self.meta & INITIALISED != 0 => return Step::Open,
            Change::Init { positions, value } => {
                self.meta |= INITIALISED;
                self.toggle(root, positions, value, context.key);
            }
            Change::Ack { positions, value } => self.toggle(root, positions, value, context.key),
            Change::Fail { by } => {
                if self.meta & FAILED == 0 {
                    self.fold(root, context.key);
                    self.meta |= FAILED | u64::from(by);
                }
                self.set_age(0, context.rotation);
            }
            Change::Reset => {
                self.set_age(0, context.rotation);
                reset = true;
            }
            Change::Forget => return Step::Closed,
        }
        if self.meta & INITIALISED == 0 {
            return Step::Open;
        }
        if self.meta & FAILED == 0 && self.value != 0 && self.meta & POSITIONS != 0 {
            self.fold(root, context.key);
        }
        // Complete wins over failed, as in Storm's Acker.
        match (self.value, self.meta & FAILED != 0) {
            (0, true) => Step::Acked,
            (0, false) if self.meta & POSITIONS == 0 => Step::Acked,
            (_, true) => Step::Failed { by: self.meta as u32 },
            (_, false) if reset => Step::Reset,
            (_, false) => Step::Open,
        }
    }

    #[inline]
    fn toggle(&mut self, root: RootId, positions: u64, value: u64, key: EdgeKey) {
        self.value ^= value;
        if self.meta & FAILED == 0 {
            self.meta ^= positions;
        } else {
            self.value ^= edges(root, positions, key);
        }
    }

    /// Moves the edges kept as bits into the value.
    #[inline(never)]
    fn fold(&mut self, root: RootId, key: EdgeKey) {
        self.value ^= edges(root, self.meta & POSITIONS, key);
        self.meta &= !POSITIONS;
    }

    /// The value of the tree so far.
    #[cfg(test)]
    pub(super) fn tree_value(mut self, root: RootId, key: EdgeKey) -> u64 {
        if self.meta & FAILED == 0 {
            self.fold(root, key);
        }
        self.value
    }
}

/// The exclusive or of the edges of a root at these positions.
#[inline]
fn edges(root: RootId, mut positions: u64, key: EdgeKey) -> u64 {
    let mut value = 0;
    while positions != 0 {
        value ^= key.edge(root, positions.trailing_zeros() as u16);
        positions &= positions - 1;
    }
    value
}
