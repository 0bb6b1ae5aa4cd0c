//! The acker's side: which trees are open, and when each is complete or failed.
//!
//! Storm's acker semantics with these differences: whether a tree is initialised is an explicit flag, so that a
//! duplicated init can never complete one; a root that has had its outcome stays closed, so that late messages about
//! it are ignored instead of opening it again.
//!
//! Per lane there is a window, a ring of 16-byte entries by sequence number (`window`); roots that stay open while it
//! moves on are kept in maps (`stragglers`). Expired entries vanish silently, as in Storm: the spout's own time-out,
//! which is always the earlier one, tells the spout.

mod entry;
mod lane;
mod stragglers;
mod window;

use crate::edge::EdgeKey;
use crate::lane_index::LaneIndex;
use crate::message::{AckMessage, BadMessage, Outcome};
use crate::root::Lane;
#[cfg(test)]
use crate::root::RootId;
use entry::{Change, Context, POSITION_BITS};
use lane::LaneLedger;

/// The open trees of one acker task.
///
/// ```
/// # use ringstorm_acking::{AckMessage, EdgeKey, Lane, Ledger, Outcome, RootId};
/// let mut ledger = Ledger::new(EdgeKey::new(1));
/// let first = RootId::new(Lane(0), 100);
/// let mut outcomes = Vec::new();
/// ledger.apply(&AckMessage::InitRange { first, stride: 1, count: 8, positions: 1 }, &mut outcomes)?;
/// assert_eq!(ledger.open_count(), 8);
/// ledger.apply(&AckMessage::AckRange { first, stride: 1, count: 8, position: 0 }, &mut outcomes)?;
/// assert_eq!(outcomes, [Outcome::AckedRange { first, stride: 1, count: 8 }]);
/// # Ok::<(), ringstorm_acking::BadMessage>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    context: Context,
    index: LaneIndex,
    lanes: Vec<LaneLedger>,
    /// The lane at which expiry goes on.
    expiring: usize,
}

impl Ledger {
    /// An empty ledger. The key must be that of the tasks whose edges it hears of.
    pub fn new(key: EdgeKey) -> Ledger {
        let context = Context { key, rotation: 0 };
        Ledger { context, index: LaneIndex::default(), lanes: Vec::new(), expiring: 0 }
    }

    /// Applies a message and adds what the spout tasks must hear to `outcomes`. Messages may come in any order, late,
    /// twice, or for roots that are not known.
    ///
    /// Untracked roots ([`RootId::UNTRACKED`](crate::RootId::UNTRACKED)) are ignored.
    ///
    /// # Errors
    ///
    /// [`BadMessage`] for a range that breaks the limits of [`AckMessage::validate`]; nothing of it is applied.
    pub fn apply(&mut self, message: &AckMessage, outcomes: &mut Vec<Outcome>) -> Result<(), BadMessage> {
        message.validate()?;
        let Ledger { context, index, lanes, .. } = self;
        let root = message.root();
        let place = match index.get(root.lane()) {
            Some(place) => place,
            None => {
                lanes.push(LaneLedger::new(root.lane()));
                index.add(root.lane())
            }
        };
        let lane = &mut lanes[place];
        if !root.is_tracked() {
            return Ok(());
        }
        match *message {
            AckMessage::Ack { root, value } => {
                lane.apply(root.sequence(), Change::Ack { positions: 0, value }, context, outcomes);
            }
            AckMessage::Init { root, value } => {
                lane.apply(root.sequence(), Change::Init { positions: 0, value }, context, outcomes);
            }
            AckMessage::AckMask { first, mut mask, position } => {
                while mask != 0 {
                    let root = first.offset(mask.trailing_zeros().into());
                    mask &= mask - 1;
                    let change = if position < POSITION_BITS {
                        Change::Ack { positions: 1 << position, value: 0 }
                    } else {
                        Change::Ack { positions: 0, value: context.key.edge(root, position) }
                    };
                    lane.apply(root.sequence(), change, context, outcomes);
                }
            }
            AckMessage::AckRange { first, stride, count, position } if position < POSITION_BITS => {
                let change = Change::Ack { positions: 1 << position, value: 0 };
                lane.apply_range(first.sequence(), stride.into(), count.into(), change, context, outcomes);
            }
            AckMessage::AckRange { first, stride, count, position } => {
                for root in first.range(stride, count) {
                    let change = Change::Ack { positions: 0, value: context.key.edge(root, position) };
                    lane.apply_rare(root.sequence(), change, context, outcomes);
                }
            }
            AckMessage::InitRange { first, stride, count, positions } if positions <= POSITION_BITS => {
                let change = Change::Init { positions: (1 << positions) - 1, value: 0 };
                lane.apply_range(first.sequence(), stride.into(), count.into(), change, context, outcomes);
            }
            AckMessage::InitRange { first, stride, count, positions } => {
                for root in first.range(stride, count) {
                    let change = Change::Init { positions: 0, value: context.key.initial_value(root, positions) };
                    lane.apply_rare(root.sequence(), change, context, outcomes);
                }
            }
            AckMessage::Fail { root, by } => {
                lane.apply_rare(root.sequence(), Change::Fail { by }, context, outcomes);
            }
            AckMessage::ResetTimeout { root } => {
                lane.apply_rare(root.sequence(), Change::Reset, context, outcomes);
            }
            AckMessage::Forget { root } => lane.apply_rare(root.sequence(), Change::Forget, context, outcomes),
        }
        Ok(())
    }

    /// Begins a rotation; to be called once per message time-out, and never if time-outs are off.
    ///
    /// An entry lives two to three time-outs after its creation, its failure or its last reset, and until
    /// [`Ledger::expire_slice`] reaches it. If the expiry of the rotation before is not done, this does it.
    pub fn rotate(&mut self) {
        while self.expire_slice(usize::MAX) {}
        self.context.rotation += 1;
        for lane in &mut self.lanes {
            lane.rotate(self.context.rotation);
        }
        self.expiring = 0;
    }

    /// Goes on with the expiry that [`Ledger::rotate`] began, looking at no more than about `max_entries` roots and
    /// lanes (one takes a nanosecond or two), and returns whether there is more to do.
    pub fn expire_slice(&mut self, max_entries: usize) -> bool {
        let mut budget = max_entries;
        while let Some(lane) = self.lanes.get_mut(self.expiring) {
            if budget == 0 || !lane.expire(&mut budget, self.context.rotation) {
                return true;
            }
            budget = budget.saturating_sub(1);
            self.expiring += 1;
        }
        false
    }

    /// Forgets a lane, because its spout task is gone or begins a new life, and returns how many trees were open.
    pub fn forget_lane(&mut self, lane: Lane) -> usize {
        let Some(place) = self.index.get(lane) else { return 0 };
        let open_count = self.lanes[place].open_count();
        self.lanes[place].clear();
        open_count
    }

    /// How many trees are open (or failed or acked in part, with their init still to come).
    pub fn open_count(&self) -> usize {
        self.lanes.iter().map(LaneLedger::open_count).sum()
    }

    /// The memory this ledger holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let lanes: usize = self.lanes.iter().map(LaneLedger::memory_bytes).sum();
        size_of::<Ledger>() + self.index.memory_bytes() + lanes
    }

    /// The value of an open tree.
    #[cfg(test)]
    fn tree_value(&mut self, root: RootId) -> Option<u64> {
        let place = self.index.get(root.lane())?;
        self.lanes[place].tree_value(root, &self.context)
    }
}

#[cfg(test)]
mod tests;
