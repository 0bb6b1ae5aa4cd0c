//! The spout task's side: which of its tuples are pending, and their time-outs.
//!
//! Storm's rotating map with two buckets, without a bucket per tuple: sequence numbers grow with time, so one number
//! per lane and rotation tells the buckets apart (`window`). The few tuples for which that does not hold, those whose
//! time-out was reset and those that stay pending while the window moves on, are kept in two maps.
//!
//! Each message id comes out exactly once: by [`Pending::complete`], [`Pending::complete_range`], [`Pending::fail`],
//! [`Pending::expire_slice`] or [`Pending::drain_where`]. What is late or unknown is ignored.

mod window;

use std::collections::hash_map::IntoIter;

use crate::hash::NumberMap;
use crate::lane_index::LaneIndex;
use crate::root::{Lane, RootId, ahead, step};
use window::Window;

/// The message ids of one spout task's pending tuples, by root.
///
/// ```
/// # use ringstorm_acking::{Lane, Pending, RootId};
/// let mut pending = Pending::new();
/// let first = RootId::new(Lane(0), 100);
/// for message_id in 0..4 {
///     pending.insert(first.offset(message_id), message_id);
/// }
/// let mut acked = Vec::new();
/// pending.complete_range(first, 1, 3, |_root, message_id| acked.push(message_id));
/// assert_eq!(acked, [0, 1, 2]);
/// assert_eq!(pending.fail(first.offset(3)), Some(3));
/// assert!(pending.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Pending {
    index: LaneIndex,
    lanes: Vec<PendingLane>,
    /// By root: reset or inserted in the present rotation, and in the one before.
    maps: [NumberMap<u64>; 2],
    /// Maps whose time is up.
    due_maps: Vec<IntoIter<u64, u64>>,
    /// Single tuples whose time is up.
    due: Vec<(RootId, u64)>,
    /// The lane at which expiry goes on.
    expiring: usize,
    /// How many are pending in all, so that asking before each emit costs nothing.
    len: usize,
}

#[derive(Debug)]
struct PendingLane {
    lane: Lane,
    window: Window,
    /// Tuples from here on were inserted after the last rotation.
    mark: u64,
    /// Tuples below are due.
    due_end: u64,
}

impl Pending {
    /// Nothing pending.
    pub fn new() -> Pending {
        Pending::default()
    }

    /// Notes a tuple that was emitted under this root, and returns the message id that it replaces: none, unless the
    /// caller uses a root twice. Meant for ascending sequence numbers per lane; others work, but slower.
    #[inline]
    pub fn insert(&mut self, root: RootId, message_id: u64) -> Option<u64> {
        let place = match self.index.get(root.lane()) {
            Some(place) => place,
            None => self.add_lane(root),
        };
        let lane = &mut self.lanes[place];
        let (number, mark, due_end) = (lane.lane, lane.mark, lane.due_end);
        if ahead(root.sequence(), mark) < 0 || ahead(root.sequence(), lane.window.base()) < 0 {
            return self.insert_in_map(root, message_id);
        }
        let (maps, due) = (&mut self.maps, &mut self.due);
        let before = lane.window.insert(root.sequence(), message_id, |sequence, message_id| {
            let root = RootId::new(number, sequence);
            if ahead(sequence, due_end) < 0 {
                due.push((root, message_id));
            } else {
                maps[usize::from(ahead(sequence, mark) < 0)].insert(root.0, message_id);
            }
        });
        self.len += usize::from(before.is_none());
        before
    }

    /// As [`Pending::insert`] for consecutive roots of one lane that were never used before.
    #[inline]
    pub fn insert_run(&mut self, first: RootId, message_ids: &[u64]) {
        if let Some(place) = self.index.get(first.lane())
            && self.lanes[place].window.append_run(first.sequence(), message_ids)
        {
            self.len += message_ids.len();
            return;
        }
        for (root, message_id) in first.range(1, message_ids.len() as u32).zip(message_ids) {
            self.insert(root, *message_id);
        }
    }

    /// Takes out the message id of a root whose tree is complete.
    #[inline]
    pub fn complete(&mut self, root: RootId) -> Option<u64> {
        let place = self.index.get(root.lane())?;
        let taken = match self.lanes[place].window.take(root.sequence()) {
            Some(message_id) => Some(message_id),
            None => self.take_from_maps(root),
        };
        self.len -= usize::from(taken.is_some());
        taken
    }

    /// Takes out the message ids of the roots `first`, `first + stride`, and so on, `count` in all; the unknown ones
    /// are skipped. What comes from another process must have passed [`Outcome::validate`](crate::Outcome::validate):
    /// the count bounds the work.
    #[inline]
    pub fn complete_range(&mut self, first: RootId, stride: u32, count: u32, mut completed: impl FnMut(RootId, u64)) {
        let Some(place) = self.index.get(first.lane()) else { return };
        let lane = first.lane();
        let window = &mut self.lanes[place].window;
        let last = step(first.sequence(), u64::from(count.saturating_sub(1)));
        let mut left = count;
        if stride == 1 && window.covers(first.sequence()) && window.covers(last) {
            window.take_run(first.sequence(), count.into(), |sequence, message_id| {
                left -= 1;
                completed(RootId::new(lane, sequence), message_id);
            });
            self.len -= (count - left) as usize;
            if left == 0 || self.maps.iter().all(NumberMap::is_empty) {
                return;
            }
        }
        for root in first.range(stride, count) {
            if let Some(message_id) = self.complete(root) {
                completed(root, message_id);
            }
        }
    }

    /// Takes out the message id of a root whose tree failed.
    #[inline]
    pub fn fail(&mut self, root: RootId) -> Option<u64> {
        self.complete(root)
    }

    /// Starts the time-out of a root anew, and returns whether it is pending.
    pub fn reset_timeout(&mut self, root: RootId) -> bool {
        let Some(message_id) = self.complete(root) else { return false };
        self.insert_in_map(root, message_id);
        true
    }

    /// Begins a rotation; to be called once per message time-out T for the whole task, and never if time-outs are
    /// off. A tuple is due after T to 2T: at the second rotation after its insertion or last reset.
    pub fn rotate(&mut self) {
        for lane in &mut self.lanes {
            lane.due_end = lane.mark;
            lane.mark = lane.window.top();
        }
        self.maps.swap(0, 1);
        let due = std::mem::take(&mut self.maps[0]);
        if !due.is_empty() {
            self.due_maps.push(due.into_iter());
        }
        self.expiring = 0;
    }

    /// Takes out due tuples, no more than `max_entries`, and returns whether there may be more.
    pub fn expire_slice(&mut self, max_entries: usize, mut expired: impl FnMut(RootId, u64)) -> bool {
        let mut budget = max_entries;
        while budget > 0 {
            if let Some((root, message_id)) = self.next_due() {
                expired(root, message_id);
                self.len -= 1;
                budget -= 1;
                continue;
            }
            let Some(lane) = self.lanes.get_mut(self.expiring) else { return false };
            match lane.window.take_lowest_below(lane.due_end) {
                Some((sequence, message_id)) => {
                    expired(RootId::new(lane.lane, sequence), message_id);
                    self.len -= 1;
                }
                None => {
                    lane.window.shrink();
                    self.expiring += 1;
                }
            }
            budget -= 1;
        }
        true
    }

    /// Takes out the tuples whose root satisfies `wanted`, due or not: those that may have touched a lost worker, or,
    /// at the end of a run, all. Looks at every pending tuple.
    pub fn drain_where(&mut self, mut wanted: impl FnMut(RootId) -> bool, mut drained: impl FnMut(RootId, u64)) {
        let mut count = 0;
        let mut drained = |root, message_id| {
            count += 1;
            drained(root, message_id);
        };
        for lane in &mut self.lanes {
            let number = lane.lane;
            lane.window.take_where(
                |sequence| wanted(RootId::new(number, sequence)),
                |sequence, message_id| drained(RootId::new(number, sequence), message_id),
            );
        }
        for map in &mut self.maps {
            map.retain(|&root, &mut message_id| {
                let take = wanted(RootId(root));
                if take {
                    drained(RootId(root), message_id);
                }
                !take
            });
        }
        while let Some((root, message_id)) = self.next_due_map_entry() {
            self.due.push((root, message_id));
        }
        self.due.retain(|&(root, message_id)| {
            let take = wanted(root);
            if take {
                drained(root, message_id);
            }
            !take
        });
        self.len -= count;
    }

    /// The lowest root of a lane that may still be pending, resets and stragglers aside: emit times of earlier ones
    /// are of little use. `None` if the lane was never used.
    pub fn lowest(&self, lane: Lane) -> Option<RootId> {
        self.index.get(lane).map(|place| RootId::new(lane, self.lanes[place].window.base()))
    }

    /// How many tuples are pending, those included that are due but have not been taken out.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The memory this table holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let windows: usize = self.lanes.iter().map(|lane| lane.window.memory_bytes()).sum();
        let maps: usize = self.maps.iter().map(NumberMap::capacity).sum();
        let due: usize = self.due_maps.iter().map(ExactSizeIterator::len).sum();
        let pair = size_of::<(RootId, u64)>();
        size_of::<Pending>()
            + self.index.memory_bytes()
            + self.lanes.capacity() * size_of::<PendingLane>()
            + windows
            + (maps + due) * (pair + 1) * 8 / 7
            + self.due.capacity() * pair
    }

    #[cold]
    fn add_lane(&mut self, root: RootId) -> usize {
        let start = root.sequence();
        self.lanes.push(PendingLane { lane: root.lane(), window: Window::new(start), mark: start, due_end: start });
        self.index.add(root.lane())
    }

    #[cold]
    fn insert_in_map(&mut self, root: RootId, message_id: u64) -> Option<u64> {
        let before = self.complete(root);
        self.maps[0].insert(root.0, message_id);
        self.len += 1;
        before
    }

    #[inline]
    fn take_from_maps(&mut self, root: RootId) -> Option<u64> {
        self.maps.iter_mut().filter(|map| !map.is_empty()).find_map(|map| map.remove(&root.0))
    }

    fn next_due(&mut self) -> Option<(RootId, u64)> {
        self.due.pop().or_else(|| self.next_due_map_entry())
    }

    fn next_due_map_entry(&mut self) -> Option<(RootId, u64)> {
        loop {
            match self.due_maps.last_mut()?.next() {
                Some((root, message_id)) => return Some((RootId(root), message_id)),
                None => drop(self.due_maps.pop()),
            }
        }
    }
}
