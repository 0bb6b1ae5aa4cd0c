//! The ring of one lane's recent tuples: message ids by sequence number and one bit each for "pending".
//!
//! It covers `span` sequence numbers from `base` on; the bit of `base` is set unless the span is 0, and the bits of
//! all slots outside are clear. Doubled when full; but when fewer than one in eight slots is pending, or at
//! [`MAX_CAPACITY`] slots, the lower half is handed out instead, for the owner to keep elsewhere. A large ring that is
//! nearly empty for two laps shrinks, so that a cache holds it.

use crate::root::{ahead, step};

/// The most slots of one lane's window.
const MAX_CAPACITY: usize = 1 << 22;
/// The fewest slots of a window that has any; a multiple of 64.
const MIN_CAPACITY: usize = 256;
/// Below this many slots a window always doubles.
const STRAGGLING_CAPACITY: usize = 1024;
/// Up to this many slots a cache holds the window, so that it costs nothing to be too large.
const CACHED_CAPACITY: usize = 1 << 15;

#[derive(Debug, Default)]
pub(super) struct Window {
    message_ids: Vec<u64>,
    bits: Vec<u64>,
    base: u64,
    span: u64,
    /// How many are pending.
    count: usize,
    /// It was nearly empty at the end of the last lap.
    was_nearly_empty: bool,
}

impl Window {
    /// Covers nothing, with all to come from `base` on.
    pub(super) fn new(base: u64) -> Window {
        Window { base, ..Window::default() }
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn top(&self) -> u64 {
        step(self.base, self.span)
    }

    #[inline]
    pub(super) fn covers(&self, sequence: u64) -> bool {
        (ahead(sequence, self.base) as u64) < self.span
    }

    /// Inserts a message id, not below the base, and returns the one it replaces. What no longer fits goes to `evicted`.
    #[inline]
    pub(super) fn insert(&mut self, sequence: u64, message_id: u64, evicted: impl FnMut(u64, u64)) -> Option<u64> {
        if self.span == 0 {
            self.base = sequence;
        }
        let needed = ahead(sequence, self.base) + 1;
        if needed > self.message_ids.len() as i64 {
            self.make_room(sequence, evicted);
        }
        self.span = self.span.max((ahead(sequence, self.base) + 1) as u64);
        let (slot, bit) = (self.slot(sequence), 1 << (sequence % 64));
        let word = &mut self.bits[slot / 64];
        let before = (*word & bit != 0).then_some(self.message_ids[slot]);
        *word |= bit;
        self.message_ids[slot] = message_id;
        self.count += usize::from(before.is_none());
        before
    }

    /// Inserts message ids at consecutive sequence numbers that follow on all before; returns whether it could. It can
    /// when there is room for them.
    #[inline]
    pub(super) fn append_run(&mut self, first: u64, message_ids: &[u64]) -> bool {
        if self.span == 0 {
            self.base = first;
        }
        let (length, top) = (message_ids.len() as u64, self.top());
        if first != top || self.span + length > self.message_ids.len() as u64 {
            return false;
        }
        let (mut sequence, mut rest) = (first, message_ids);
        while !rest.is_empty() {
            let slot = self.slot(sequence);
            let (now, later) = rest.split_at(rest.len().min(64 - (sequence % 64) as usize));
            self.message_ids[slot..slot + now.len()].copy_from_slice(now);
            self.bits[slot / 64] |= (u64::MAX >> (64 - now.len())) << (sequence % 64);
            (sequence, rest) = (step(sequence, now.len() as u64), later);
        }
        self.span += length;
        self.count += message_ids.len();
        true
    }

    /// Takes out the message id at a sequence number.
    #[inline]
    pub(super) fn take(&mut self, sequence: u64) -> Option<u64> {
        if !self.covers(sequence) {
            return None;
        }
        let (slot, bit) = (self.slot(sequence), 1 << (sequence % 64));
        let word = &mut self.bits[slot / 64];
        if *word & bit == 0 {
            return None;
        }
        *word &= !bit;
        self.count -= 1;
        let message_id = self.message_ids[slot];
        if sequence == self.base {
            self.advance();
        }
        Some(message_id)
    }

    /// Takes out the message ids of `count` consecutive sequence numbers, all of them covered.
    #[inline]
    pub(super) fn take_run(&mut self, first: u64, count: u64, mut taken: impl FnMut(u64, u64)) {
        let (mut sequence, mut left) = (first, count);
        while left > 0 {
            let slot = self.slot(sequence);
            let length = left.min(64 - (sequence % 64));
            let mask = (u64::MAX >> (64 - length)) << (sequence % 64);
            let mut word = self.bits[slot / 64] & mask;
            self.bits[slot / 64] &= !mask;
            self.count -= word.count_ones() as usize;
            if word == mask {
                let ids = &self.message_ids[slot..slot + length as usize];
                ids.iter().zip(0..).for_each(|(&id, index)| taken(step(sequence, index), id));
            } else {
                while word != 0 {
                    let index = u64::from(word.trailing_zeros()) - sequence % 64;
                    taken(step(sequence, index), self.message_ids[slot + index as usize]);
                    word &= word - 1;
                }
            }
            (sequence, left) = (step(sequence, length), left - length);
        }
        self.advance();
    }

    /// Takes out the lowest pending message if its sequence number is below `end`.
    pub(super) fn take_lowest_below(&mut self, end: u64) -> Option<(u64, u64)> {
        if self.span == 0 || ahead(self.base, end) >= 0 {
            return None;
        }
        let sequence = self.base;
        self.take(sequence).map(|message_id| (sequence, message_id))
    }

    /// Takes out the messages whose sequence number satisfies `wanted`.
    pub(super) fn take_where(&mut self, mut wanted: impl FnMut(u64) -> bool, mut taken: impl FnMut(u64, u64)) {
        for sequence in (0..self.span).map(|offset| step(self.base, offset)) {
            let (slot, bit) = (self.slot(sequence), 1 << (sequence % 64));
            if self.bits[slot / 64] & bit != 0 && wanted(sequence) {
                self.bits[slot / 64] &= !bit;
                self.count -= 1;
                taken(sequence, self.message_ids[slot]);
            }
        }
        self.advance();
    }

    /// Gives memory back if the window is much larger than what it covers.
    pub(super) fn shrink(&mut self) {
        if self.message_ids.len() > MIN_CAPACITY && self.is_nearly_empty() {
            self.resize((self.span as usize * 2).next_power_of_two().max(MIN_CAPACITY));
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.message_ids.capacity() + self.bits.capacity()) * size_of::<u64>()
    }

    #[inline]
    fn slot(&self, sequence: u64) -> usize {
        sequence as usize & (self.message_ids.len() - 1)
    }

    /// Moves the base to the lowest pending message.
    #[inline]
    fn advance(&mut self) {
        let before = self.base;
        while self.span > 0 {
            let word = self.bits[self.slot(self.base) / 64] >> (self.base % 64);
            if word & 1 != 0 {
                break;
            }
            let skip = if word == 0 { 64 - self.base % 64 } else { word.trailing_zeros().into() };
            let skip = skip.min(self.span);
            self.base = step(self.base, skip);
            self.span -= skip;
        }
        let capacity = self.message_ids.len();
        if capacity > CACHED_CAPACITY && (before ^ self.base) & !(capacity as u64 - 1) != 0 {
            self.end_lap();
        }
    }

    #[cold]
    fn end_lap(&mut self) {
        let is_nearly_empty = self.is_nearly_empty();
        if std::mem::replace(&mut self.was_nearly_empty, is_nearly_empty) && is_nearly_empty {
            self.resize((self.span as usize * 4).next_power_of_two().max(CACHED_CAPACITY));
        }
    }

    fn is_nearly_empty(&self) -> bool {
        self.span * 8 <= self.message_ids.len() as u64
    }

    #[cold]
    fn make_room(&mut self, sequence: u64, mut evicted: impl FnMut(u64, u64)) {
        loop {
            let capacity = self.message_ids.len();
            let excess = ahead(sequence, self.base) + 1 - capacity as i64;
            if excess <= 0 {
                return;
            }
            let straggling = capacity >= STRAGGLING_CAPACITY && self.count * 8 <= capacity;
            if capacity == MAX_CAPACITY || straggling {
                let count = (capacity as u64 / 2).max(excess as u64).min(self.span);
                self.take_run(self.base, count, &mut evicted);
                if self.span == 0 {
                    self.base = sequence;
                }
            } else {
                self.resize((capacity * 2).max(MIN_CAPACITY));
            }
        }
    }

    fn resize(&mut self, capacity: usize) {
        let mut larger = Window { message_ids: vec![0; capacity], bits: vec![0; capacity / 64], ..Window::default() };
        (larger.base, larger.span, larger.count) = (self.base, self.span, self.count);
        for sequence in (0..self.span).map(|offset| step(self.base, offset)) {
            let (from, to) = (self.slot(sequence), larger.slot(sequence));
            larger.message_ids[to] = self.message_ids[from];
            larger.bits[to / 64] |= self.bits[from / 64] & 1 << (sequence % 64);
        }
        *self = larger;
    }
}
