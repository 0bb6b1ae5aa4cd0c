//! The ring of a lane's recent roots: entry by sequence number, doubled when full.
//!
//! It covers `span` sequence numbers from `base` on; the slots of all others are zero, and the slot of `base` is never
//! closed. Its size follows the open roots: when it is full but fewer than one in eight slots is open, the lower half
//! moves to the [`Stragglers`] instead of the ring doubling, so that one old open root cannot hold a large ring. It
//! never has more than [`MAX_CAPACITY`] slots (64 MiB, with half a million or more open roots). A large ring that is
//! nearly empty for two laps halves at least: each root of a lap would ask for a line that no cache holds any more.

use super::entry::Entry;
use super::stragglers::Stragglers;
use crate::root::{ahead, step};

/// The most slots of one lane's window.
pub(super) const MAX_CAPACITY: usize = 1 << 22;
/// The fewest slots of a window that has any.
const MIN_CAPACITY: usize = 256;
/// Below this many slots a window always doubles.
const STRAGGLING_CAPACITY: usize = 1024;
/// Up to this many slots a cache holds the window, so that it costs nothing to be too large.
const CACHED_CAPACITY: usize = 1 << 14;

#[derive(Debug, Default)]
pub(super) struct Window {
    slots: Vec<Entry>,
    base: u64,
    span: u64,
    /// How many slots are open.
    pub(super) open: usize,
    /// It was nearly empty at the end of the last lap.
    was_nearly_empty: bool,
}

impl Window {
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn top(&self) -> u64 {
        step(self.base, self.span)
    }

    pub(super) fn span(&self) -> u64 {
        self.span
    }

    /// Where a sequence number lies; out of reach of [`Window::covers`] if below the base.
    #[inline]
    pub(super) fn covers(&self, sequence: u64) -> bool {
        (ahead(sequence, self.base) as u64) < self.span
    }

    #[inline]
    pub(super) fn slot(&mut self, sequence: u64) -> &mut Entry {
        let mask = self.slots.len() - 1;
        &mut self.slots[sequence as usize & mask]
    }

    /// The slots of the roots from `sequence` on, as far as they lie side by side.
    #[inline]
    pub(super) fn slots_from(&mut self, sequence: u64) -> &mut [Entry] {
        let mask = self.slots.len() - 1;
        &mut self.slots[sequence as usize & mask..]
    }

    /// Starts empty at `base`.
    pub(super) fn restart(&mut self, base: u64) {
        *self = Window { base, ..Window::default() };
    }

    /// Moves over `count` roots at the base whose slots the caller has zeroed.
    #[inline]
    pub(super) fn pass(&mut self, count: u64) {
        self.span -= count;
        self.move_base(step(self.base, count));
    }

    /// Moves the base over closed roots.
    #[inline]
    pub(super) fn advance(&mut self) {
        let (mut base, mut span) = (self.base, self.span);
        let slots = self.slots.as_mut_slice();
        while span > 0 {
            let mask = slots.len() - 1;
            let slot = &mut slots[base as usize & mask];
            if !slot.is_closed() {
                break;
            }
            *slot = Entry::default();
            (base, span) = (step(base, 1), span - 1);
        }
        self.span = span;
        self.move_base(base);
    }

    #[inline]
    fn move_base(&mut self, base: u64) {
        let before = std::mem::replace(&mut self.base, base);
        let capacity = self.slots.len();
        if capacity > CACHED_CAPACITY && (before ^ base) & !(capacity as u64 - 1) != 0 {
            self.end_lap();
        }
    }

    #[cold]
    fn end_lap(&mut self) {
        let is_nearly_empty = self.is_nearly_empty();
        if std::mem::replace(&mut self.was_nearly_empty, is_nearly_empty) && is_nearly_empty {
            self.was_nearly_empty = false;
            self.resize((self.span as usize * 4).next_power_of_two().max(CACHED_CAPACITY));
        }
    }

    fn is_nearly_empty(&self) -> bool {
        self.span * 8 <= self.slots.len() as u64
    }

    /// Extends the window to `last`, unless that lies below its base. For lack of room this may move the base up, at
    /// most to `last`.
    #[inline]
    pub(super) fn extend_to(&mut self, last: u64, stragglers: &mut Stragglers, rotation: u64) {
        let needed = ahead(last, self.base) + 1;
        if needed > self.span as i64 {
            if needed > self.slots.len() as i64 {
                self.make_room(last, stragglers, rotation);
            }
            self.span = (ahead(last, self.base) + 1) as u64;
        }
    }

    #[cold]
    fn make_room(&mut self, last: u64, stragglers: &mut Stragglers, rotation: u64) {
        loop {
            let capacity = self.slots.len();
            let excess = ahead(last, self.base) + 1 - capacity as i64;
            if excess <= 0 {
                return;
            }
            let straggling = capacity >= STRAGGLING_CAPACITY && self.open * 8 <= capacity;
            if capacity == MAX_CAPACITY || straggling {
                self.evict((capacity as u64 / 2).max(excess as u64), stragglers, rotation);
            } else {
                self.resize((capacity * 2).max(MIN_CAPACITY));
            }
        }
    }

    /// Moves the base up by `count`: what is open becomes a straggler, what is unseen is noted as such.
    fn evict(&mut self, count: u64, stragglers: &mut Stragglers, rotation: u64) {
        let covered = count.min(self.span);
        let base = self.base;
        for sequence in (0..covered).map(|offset| step(base, offset)) {
            let entry = std::mem::take(self.slot(sequence));
            if entry.is_open() {
                self.open -= 1;
                stragglers.put(sequence, entry, entry.age(rotation));
            } else if entry.is_unseen() {
                stragglers.add_unseen(sequence, 1, rotation);
            }
        }
        stragglers.add_unseen(step(self.base, covered), count - covered, rotation);
        self.span -= covered;
        self.base = step(self.base, count);
        self.advance();
    }

    fn resize(&mut self, capacity: usize) {
        let mut slots = vec![Entry::default(); capacity];
        let (base, span) = (self.base, self.span);
        for sequence in (0..span).map(|offset| step(base, offset)) {
            slots[sequence as usize & (capacity - 1)] = *self.slot(sequence);
        }
        self.slots = slots;
    }

    /// Gives memory back if the window is much larger than what it covers. `idle`: the lane had nothing to do lately.
    pub(super) fn shrink(&mut self, idle: bool) {
        if self.span == 0 && idle {
            self.slots = Vec::new();
        } else if self.slots.len() > MIN_CAPACITY && self.is_nearly_empty() {
            self.resize(((self.span as usize * 2).next_power_of_two()).max(MIN_CAPACITY));
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Entry>()
    }
}
