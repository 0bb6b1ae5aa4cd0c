//! The few roots of a lane that are not in its window: those that stay open while the window moves on.
//!
//! Three generations of maps, as in Storm's rotating map, so that expiry drops a whole map. Besides them, the
//! sequence numbers below the window of which nothing was seen yet, as intervals: whatever is neither here nor there
//! has had its outcome.

use super::entry::Entry;
use crate::hash::NumberMap;
use crate::root::{ahead, step};

/// How many rotations an entry may live through: it is gone when the third one after its creation is done.
pub(super) const GENERATIONS: usize = 3;
/// The most intervals that are told apart; beyond, the two lowest become one.
const MAX_INTERVALS: usize = 1024;

/// Sequence numbers `start` to before `end` of which nothing was seen.
#[derive(Clone, Copy, Debug)]
struct Interval {
    start: u64,
    end: u64,
    /// The rotation in which it was noted.
    rotation: u64,
}

#[derive(Debug, Default)]
pub(super) struct Stragglers {
    /// By age in rotations.
    generations: [NumberMap<Entry>; GENERATIONS],
    /// Ascending by sequence number.
    unseen: Vec<Interval>,
}

impl Stragglers {
    pub(super) fn len(&self) -> usize {
        self.generations.iter().map(NumberMap::len).sum()
    }

    /// Takes an entry out, with its age.
    pub(super) fn take(&mut self, sequence: u64) -> Option<(Entry, usize)> {
        let mut generations = self.generations.iter_mut().enumerate();
        generations.find_map(|(age, map)| map.remove(&sequence).map(|entry| (entry, age)))
    }

    /// Keeps an entry of this age; too old a one is dropped.
    pub(super) fn put(&mut self, sequence: u64, entry: Entry, age: usize) {
        if let Some(map) = self.generations.get_mut(age) {
            map.insert(sequence, entry);
        }
    }

    /// Takes out the entries whose sequence number satisfies `wanted`.
    pub(super) fn take_where(&mut self, mut wanted: impl FnMut(u64) -> bool) -> Vec<(u64, Entry, usize)> {
        let mut taken = Vec::new();
        for (age, map) in self.generations.iter_mut().enumerate() {
            map.retain(|&sequence, entry| {
                let take = wanted(sequence);
                if take {
                    taken.push((sequence, *entry, age));
                }
                !take
            });
        }
        taken
    }

    /// Notes that nothing was seen of `count` sequence numbers from `start` on, all above those noted before.
    pub(super) fn add_unseen(&mut self, start: u64, count: u64, rotation: u64) {
        if count == 0 {
            return;
        }
        let end = step(start, count);
        match self.unseen.last_mut() {
            Some(last) if last.end == start => {
                last.end = end;
                last.rotation = rotation;
            }
            _ => self.unseen.push(Interval { start, end, rotation }),
        }
        self.limit_unseen();
    }

    /// Whether nothing was seen of this sequence number, which lies below `base`; it counts as seen from now on.
    pub(super) fn take_unseen(&mut self, sequence: u64, base: u64) -> bool {
        let below = ahead(sequence, base);
        let at = self.unseen.partition_point(|interval| ahead(interval.end, base) <= below);
        let Some(interval) = self.unseen.get_mut(at) else { return false };
        if ahead(interval.start, base) > below {
            return false;
        }
        let whole = *interval;
        match (sequence == whole.start, step(sequence, 1) == whole.end) {
            (true, true) => drop(self.unseen.remove(at)),
            (true, false) => interval.start = step(sequence, 1),
            (false, true) => interval.end = sequence,
            (false, false) => {
                interval.start = step(sequence, 1);
                self.unseen.insert(at, Interval { end: sequence, ..whole });
                self.limit_unseen();
            }
        }
        true
    }

    /// Joins the two lowest intervals if there are too many. Roots between them count as unseen again; a duplicate
    /// for one of them makes a useless entry, but losing a root that is only late would cost a time-out.
    fn limit_unseen(&mut self) {
        if self.unseen.len() > MAX_INTERVALS {
            self.unseen[1].start = self.unseen[0].start;
            self.unseen.remove(0);
        }
    }

    /// Drops what has become too old by the begin of this rotation, and returns how many entries that were.
    pub(super) fn rotate(&mut self, rotation: u64) -> usize {
        self.generations.rotate_right(1);
        let expired = std::mem::take(&mut self.generations[0]).len();
        self.unseen.retain(|interval| rotation - interval.rotation < GENERATIONS as u64);
        expired
    }

    pub(super) fn clear(&mut self) {
        *self = Stragglers::default();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        // A map's table has one control byte for each place besides the pair itself.
        let places: usize = self.generations.iter().map(NumberMap::capacity).sum();
        places * (size_of::<(u64, Entry)>() + 1) * 8 / 7 + self.unseen.capacity() * size_of::<Interval>()
    }
}
