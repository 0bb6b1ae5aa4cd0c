//! Root ids and lanes: what a tracked root is called, and which acker tracks it.
//!
//! A lane joins one spout task and one acker, so that the acker of a root and the spout task that waits for it both
//! follow from the root id alone: no table, and moving an acker to another worker changes nothing. Pure values,
//! usable from any thread.

use thiserror::Error;

/// Bits of a root id that hold the sequence number.
const SEQUENCE_BITS: u32 = 48;
/// The sequence part of a root id.
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;
/// How many lanes there are.
const LANE_COUNT: u32 = 1 << 16;

/// The pair of one spout task and one acker; see [`Lanes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lane(pub u16);

/// The id of a tuple tree: its lane in the high 16 bits and its sequence number within the lane in the low 48.
///
/// `RootId(0)` is [`RootId::UNTRACKED`]: the tuple belongs to no tree. It is never the first root of a lane, as
/// [`RootId::first`] never starts at zero.
///
/// ```
/// # use ringstorm_acking::{Lane, RootId};
/// let root = RootId::new(Lane(3), 77);
/// assert_eq!((root.lane(), root.sequence()), (Lane(3), 77));
/// assert_eq!(root.offset(2).distance(root), 2);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RootId(pub u64);

impl RootId {
    /// The root id of a tuple that belongs to no tree.
    pub const UNTRACKED: RootId = RootId(0);

    /// The root with this sequence number in this lane. Only the low 48 bits of `sequence` count.
    #[inline]
    pub const fn new(lane: Lane, sequence: u64) -> RootId {
        RootId((lane.0 as u64) << SEQUENCE_BITS | (sequence & SEQUENCE_MASK))
    }

    /// The first root of a lane for one incarnation of a spout task, from any random number.
    ///
    /// A random start keeps messages about the former life of a restarted worker from being taken for its new one.
    /// The result lies in the lower half of the sequence numbers and is not zero, so that 2^47 roots follow before
    /// the numbers wrap.
    pub const fn first(lane: Lane, random: u64) -> RootId {
        let sequence = random & (SEQUENCE_MASK >> 1);
        RootId::new(lane, if sequence == 0 { 1 } else { sequence })
    }

    /// The lane of this root.
    #[inline]
    pub const fn lane(self) -> Lane {
        Lane((self.0 >> SEQUENCE_BITS) as u16)
    }

    /// The sequence number of this root within its lane, 0 to 2^48 - 1.
    #[inline]
    pub const fn sequence(self) -> u64 {
        self.0 & SEQUENCE_MASK
    }

    /// The root `n` sequence numbers later in the same lane; the numbers wrap within 48 bits.
    #[inline]
    #[must_use]
    pub const fn offset(self, n: u64) -> RootId {
        RootId(self.0 & !SEQUENCE_MASK | (self.0.wrapping_add(n) & SEQUENCE_MASK))
    }

    /// The roots from this one on: `count` in all, `stride` sequence numbers apart.
    #[inline]
    pub fn range(self, stride: u32, count: u32) -> impl Iterator<Item = RootId> {
        (0..u64::from(count)).map(move |index| self.offset(index * u64::from(stride)))
    }

    /// How many sequence numbers this root comes after `earlier`, negative if it comes before it, by the shorter way
    /// around the 48-bit circle. Lanes are not compared.
    #[inline]
    pub const fn distance(self, earlier: RootId) -> i64 {
        ahead(self.0, earlier.0)
    }

    /// Whether a tree is tracked under this id, that is, whether it is not [`RootId::UNTRACKED`].
    #[inline]
    pub const fn is_tracked(self) -> bool {
        self.0 != 0
    }
}

/// How far sequence number `sequence` lies ahead of `from` on the 48-bit circle; negative if behind.
#[inline]
pub(crate) const fn ahead(sequence: u64, from: u64) -> i64 {
    (sequence.wrapping_sub(from) << (64 - SEQUENCE_BITS)) as i64 >> (64 - SEQUENCE_BITS)
}

/// Sequence number `sequence` plus `n` on the 48-bit circle; `n` may stand for a negative number.
#[inline]
pub(crate) const fn step(sequence: u64, n: u64) -> u64 {
    sequence.wrapping_add(n) & SEQUENCE_MASK
}

/// A topology has more spout tasks than there are lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "the topology has {spout_task_count} spout tasks, but acking tells at most {LANE_COUNT} apart: lower the \
     parallelism of its spouts or turn acking off (topology.acker.executors: 0)"
)]
pub struct TooManySpoutTasks {
    /// How many spout tasks the topology has.
    pub spout_task_count: u32,
}

/// Which lane joins which spout task and acker.
///
/// Lane = spout task index x acker count + acker index, where the index of a task is its rank among all spout tasks
/// (or acker tasks) of the topology by task id. If that takes more than 65,536 lanes, each spout task uses as many
/// ackers as fit, starting at the acker that has the same relative place among the ackers as the spout task has among
/// the spout tasks.
///
/// ```
/// # use ringstorm_acking::{Lane, Lanes};
/// let lanes = Lanes::new(3, 2)?;
/// assert_eq!(lanes.lane(2, 1), Some(Lane(5)));
/// assert_eq!((lanes.spout_task_index(Lane(5)), lanes.acker_index(Lane(5))), (Some(2), Some(1)));
/// # Ok::<(), ringstorm_acking::TooManySpoutTasks>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    spout_task_count: u32,
    acker_count: u32,
    lanes_per_spout_task: u32,
}

impl Lanes {
    /// The lanes of a topology. With no ackers or no spout tasks there are none.
    ///
    /// # Errors
    ///
    /// [`TooManySpoutTasks`] if there are ackers and more than 65,536 spout tasks.
    pub fn new(spout_task_count: u32, acker_count: u32) -> Result<Lanes, TooManySpoutTasks> {
        if acker_count > 0 && spout_task_count > LANE_COUNT {
            return Err(TooManySpoutTasks { spout_task_count });
        }
        let lanes_per_spout_task = LANE_COUNT.checked_div(spout_task_count).unwrap_or(0).min(acker_count);
        Ok(Lanes { spout_task_count, acker_count, lanes_per_spout_task })
    }

    /// How many lanes each spout task has; all its ackers, unless that were more than 65,536 lanes in all.
    pub fn lanes_per_spout_task(&self) -> u32 {
        self.lanes_per_spout_task
    }

    /// The lane of this spout task and this acker; `None` if either does not exist or they do not work together.
    pub fn lane(&self, spout_task_index: u32, acker_index: u32) -> Option<Lane> {
        if spout_task_index >= self.spout_task_count || acker_index >= self.acker_count {
            return None;
        }
        let place = (acker_index + self.acker_count - self.first_acker(spout_task_index)) % self.acker_count;
        (place < self.lanes_per_spout_task).then(|| Lane((spout_task_index * self.lanes_per_spout_task + place) as u16))
    }

    /// The lanes of this spout task, each with the index of its acker.
    pub fn lanes_of_spout_task(&self, spout_task_index: u32) -> impl Iterator<Item = (Lane, u32)> + use<> {
        let lanes = *self;
        let count = if spout_task_index < self.spout_task_count { self.lanes_per_spout_task } else { 0 };
        (0..count).map(move |place| {
            let acker_index = (lanes.first_acker(spout_task_index) + place) % lanes.acker_count;
            (Lane((spout_task_index * lanes.lanes_per_spout_task + place) as u16), acker_index)
        })
    }

    /// The index of the spout task that this lane belongs to; `None` if there is no such lane.
    pub fn spout_task_index(&self, lane: Lane) -> Option<u32> {
        u32::from(lane.0).checked_div(self.lanes_per_spout_task).filter(|index| *index < self.spout_task_count)
    }

    /// The index of the acker that tracks the roots of this lane; `None` if there is no such lane.
    pub fn acker_index(&self, lane: Lane) -> Option<u32> {
        let spout_task_index = self.spout_task_index(lane)?;
        let place = u32::from(lane.0) % self.lanes_per_spout_task;
        Some((self.first_acker(spout_task_index) + place) % self.acker_count)
    }

    /// Where the ackers of a spout task begin: at 0 if it uses them all.
    fn first_acker(&self, spout_task_index: u32) -> u32 {
        if self.lanes_per_spout_task == self.acker_count {
            return 0;
        }
        (u64::from(spout_task_index) * u64::from(self.acker_count) / u64::from(self.spout_task_count)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_wraps_within_the_lane() {
        let last = RootId::new(Lane(7), SEQUENCE_MASK);
        assert_eq!(last.offset(3), RootId::new(Lane(7), 2));
        assert_eq!(last.offset(3).distance(last), 3);
        assert_eq!(last.distance(last.offset(3)), -3);
        assert_eq!(RootId::new(Lane(0), 5).offset(u64::MAX), RootId::new(Lane(0), 4));
    }

    #[test]
    fn first_is_never_zero() {
        for random in [0, u64::MAX, 1 << 47, 1 << 48, 12_345] {
            let root = RootId::first(Lane(0), random);
            assert!(root.is_tracked() && root.sequence() >> 47 == 0, "{root:?}");
        }
    }

    #[test]
    fn every_lane_leads_back_to_its_pair() {
        for (spouts, ackers) in [(1, 1), (3, 2), (256, 256), (300, 400), (65_536, 3), (7, 20_000), (1, 100_000)] {
            let lanes = Lanes::new(spouts, ackers).unwrap();
            for spout in (0..spouts).step_by(1 + spouts as usize / 50) {
                let mut count = 0;
                for (lane, acker) in lanes.lanes_of_spout_task(spout) {
                    assert_eq!(lanes.spout_task_index(lane), Some(spout));
                    assert_eq!(lanes.acker_index(lane), Some(acker));
                    assert_eq!(lanes.lane(spout, acker), Some(lane));
                    count += 1;
                }
                assert_eq!(count, lanes.lanes_per_spout_task());
                assert!(count >= 1);
            }
        }
    }

    #[test]
    fn what_does_not_exist_has_no_lane() {
        let lanes = Lanes::new(3, 2).unwrap();
        assert_eq!((lanes.lane(3, 0), lanes.lane(0, 2)), (None, None));
        assert_eq!((lanes.spout_task_index(Lane(6)), lanes.acker_index(Lane(6))), (None, None));
        assert_eq!(lanes.lanes_of_spout_task(3).count(), 0);
        for lanes in [Lanes::new(0, 5).unwrap(), Lanes::new(100_000, 0).unwrap()] {
            assert_eq!((lanes.lane(0, 0), lanes.spout_task_index(Lane(0))), (None, None));
            assert_eq!(lanes.lanes_of_spout_task(0).count(), 0);
        }
        let error = Lanes::new(65_537, 1).unwrap_err();
        assert!(error.to_string().contains("65537 spout tasks"), "{error}");
    }
}
