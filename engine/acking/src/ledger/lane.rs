//! One lane of the ledger: its window, its stragglers, and where a sequence number belongs.
//!
//! - Within [`NEAR`] above the window: the window is extended to it.
//! - Within [`NEAR`] below: a straggler, a late message for a root of which nothing was seen yet, or, else, one that
//!   has had its outcome and is ignored.
//! - Farther away, or in a lane without a window: of another life of the spout task. Its init starts the window anew
//!   there (only the spout task sends inits, and in order); anything else waits among the stragglers for that init.

use super::entry::{Change, Context, Entry, Step};
use super::stragglers::{GENERATIONS, Stragglers};
use super::window::Window;
use crate::message::{FailReason, Outcome};
use crate::root::{Lane, RootId, ahead, step};

/// How far around its window a lane knows its own sequence numbers: more than one spout task has pending, and little
/// enough that a random start hits it once in half a million times.
const NEAR: i64 = 1 << 28;
/// How many roots are compared, and if equal changed, at once.
const CHUNK: usize = 64;

#[derive(Debug)]
pub(super) struct LaneLedger {
    lane: Lane,
    started: bool,
    window: Window,
    stragglers: Stragglers,
    /// The window's top at the begin of each of the rotations before this one, the latest first: below the last of
    /// them, all that was ever seen is due in this rotation.
    tops: [u64; GENERATIONS - 1],
    /// What the expiry under way still has to look at.
    scan: u64,
    scan_end: u64,
    /// Where the base was after the last expiry.
    base_before: u64,
}

impl LaneLedger {
    pub(super) fn new(lane: Lane) -> LaneLedger {
        LaneLedger {
            lane,
            started: false,
            window: Window::default(),
            stragglers: Stragglers::default(),
            tops: [0; GENERATIONS - 1],
            scan: 0,
            scan_end: 0,
            base_before: 0,
        }
    }

    pub(super) fn open_count(&self) -> usize {
        self.window.open + self.stragglers.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<LaneLedger>() + self.window.memory_bytes() + self.stragglers.memory_bytes()
    }

    /// Forgets everything, as if the lane had never been used.
    pub(super) fn clear(&mut self) {
        *self = LaneLedger::new(self.lane);
    }

    /// Applies a change to one root.
    ///
    /// Always inlined, so that only the code for one kind of change is left where that is known.
    #[inline(always)]
    pub(super) fn apply(&mut self, sequence: u64, change: Change, context: &Context, outcomes: &mut Vec<Outcome>) {
        if !self.window.covers(sequence) && !self.bring_into_window(sequence, change, context) {
            return self.apply_to_straggler(sequence, change, context, outcomes);
        }
        if self.apply_in_window(sequence, change, context, outcomes) && sequence == self.window.base() {
            self.window.advance();
        }
    }

    /// As [`LaneLedger::apply`], for changes that are not worth the code.
    #[inline(never)]
    pub(super) fn apply_rare(&mut self, sequence: u64, change: Change, context: &Context, outcomes: &mut Vec<Outcome>) {
        self.apply(sequence, change, context, outcomes);
    }

    /// Applies a change made of positions only to `count` roots.
    pub(super) fn apply_range(
        &mut self,
        mut first: u64,
        stride: u64,
        mut count: u64,
        change: Change,
        context: &Context,
        outcomes: &mut Vec<Outcome>,
    ) {
        while count > 0 && !self.is_near_or_in_window(first) {
            self.apply_rare(first, change, context, outcomes);
            (first, count) = (step(first, stride), count - 1);
        }
        if count == 0 {
            return;
        }
        self.window.extend_to(step(first, stride * (count - 1)), &mut self.stragglers, context.rotation);
        while count > 0 && ahead(first, self.window.base()) < 0 {
            self.apply_to_straggler(first, change, context, outcomes);
            (first, count) = (step(first, stride), count - 1);
        }
        while count > 0 {
            let done = match stride {
                1 => self.apply_chunk::<true>(first, 1, count, change, context, outcomes),
                stride => self.apply_chunk::<false>(first, stride as usize, count, change, context, outcomes),
            };
            (first, count) = (step(first, stride * done), count - done);
        }
        self.window.advance();
    }

    /// Applies a change to at most a chunk of roots that the window covers, and returns to how many. With `DENSE` the
    /// stride is 1, a constant, so that the loops over the chunk become vector instructions.
    fn apply_chunk<const DENSE: bool>(
        &mut self,
        first: u64,
        stride: usize,
        count: u64,
        change: Change,
        context: &Context,
        outcomes: &mut Vec<Outcome>,
    ) -> u64 {
        let stride = if DENSE { 1 } else { stride };
        let at_base = DENSE && first == self.window.base();
        let slots = self.window.slots_from(first);
        let length = slots.len().div_ceil(stride).min(count as usize).min(CHUNK);
        let slots = &mut slots[..(length - 1) * stride + 1];
        let mut entry = slots[0];
        let mut different = [0, 0];
        for_each(slots, stride, |slot| {
            different[0] |= slot.value ^ entry.value;
            different[1] |= slot.meta ^ entry.meta;
        });
        if different != [0, 0] || !entry.is_same_for_all_roots() {
            for index in 0..length {
                let sequence = step(first, (index * stride) as u64);
                self.apply_in_window(sequence, change, context, outcomes);
            }
            return length as u64;
        }
        let was_open = entry.is_open();
        let root = RootId::new(self.lane, first);
        match entry.apply(root, change, context) {
            Step::Acked => {
                let closed = if at_base { Entry::default() } else { Entry::CLOSED };
                for_each(slots, stride, |slot| *slot = closed);
                if at_base {
                    self.window.pass(length as u64);
                }
                if was_open {
                    self.window.open -= length;
                }
                Outcome::push_acked(outcomes, root, stride as u32, length as u32);
            }
            Step::Closed => {}
            Step::Open | Step::Reset | Step::Failed { .. } => {
                for_each(slots, stride, |slot| *slot = entry);
                if !was_open {
                    self.window.open += length;
                }
            }
        }
        length as u64
    }

    /// Applies a change to a root that the window covers. Returns whether the root is closed, so that the window can
    /// advance; not at once, as it may not pass roots of a range that is still being applied.
    #[inline(always)]
    fn apply_in_window(
        &mut self,
        sequence: u64,
        change: Change,
        context: &Context,
        outcomes: &mut Vec<Outcome>,
    ) -> bool {
        let root = RootId::new(self.lane, sequence);
        let slot = self.window.slot(sequence);
        let was_open = slot.is_open();
        let step = slot.apply(root, change, context);
        match step {
            Step::Open | Step::Reset => {
                if step == Step::Reset {
                    outcomes.push(Outcome::ResetTimeout { root });
                }
                self.window.open += usize::from(!was_open);
                false
            }
            Step::Acked | Step::Failed { .. } | Step::Closed => {
                *slot = Entry::CLOSED;
                self.window.open -= usize::from(was_open);
                tell_end(root, step, outcomes);
                true
            }
        }
    }

    #[cold]
    fn apply_to_straggler(&mut self, sequence: u64, change: Change, context: &Context, outcomes: &mut Vec<Outcome>) {
        let root = RootId::new(self.lane, sequence);
        let (mut entry, mut age) = match self.stragglers.take(sequence) {
            Some(known) => known,
            // Below the window, what was seen once and is no straggler any more has had its outcome.
            None if self.is_known(sequence) && !self.stragglers.take_unseen(sequence, self.window.base()) => return,
            None => (Entry::default(), 0),
        };
        let step = entry.apply(root, change, context);
        match step {
            Step::Open | Step::Reset => {
                if matches!(change, Change::Fail { .. } | Change::Reset) {
                    age = 0;
                }
                if step == Step::Reset {
                    outcomes.push(Outcome::ResetTimeout { root });
                }
                self.stragglers.put(sequence, entry, age);
            }
            Step::Acked | Step::Failed { .. } | Step::Closed => tell_end(root, step, outcomes),
        }
    }

    /// Whether the window covers a sequence number or may be extended to it.
    #[inline]
    fn is_near_or_in_window(&self, sequence: u64) -> bool {
        let offset = ahead(sequence, self.window.base());
        self.started && offset >= 0 && offset < self.window.span() as i64 + NEAR
    }

    /// Whether it is near below the window.
    fn is_known(&self, sequence: u64) -> bool {
        self.started && (-NEAR..0).contains(&ahead(sequence, self.window.base()))
    }

    /// Makes the window cover a sequence number if it belongs there.
    #[inline]
    fn bring_into_window(&mut self, sequence: u64, change: Change, context: &Context) -> bool {
        if !self.is_near_or_in_window(sequence) {
            if self.is_known(sequence) || !matches!(change, Change::Init { .. }) {
                return false;
            }
            self.restart(sequence, context);
        }
        self.window.extend_to(sequence, &mut self.stragglers, context.rotation);
        self.window.covers(sequence)
    }

    /// Starts the window anew at the first init of another life of the spout task. What is open from the former life
    /// is dropped: nobody waits for it. What came ahead of this init is kept.
    #[cold]
    fn restart(&mut self, base: u64, context: &Context) {
        let kept = self.stragglers.take_where(|sequence| ahead(sequence, base).abs() < NEAR);
        self.stragglers.clear();
        self.window.restart(base);
        self.started = true;
        self.tops = [base; GENERATIONS - 1];
        (self.scan, self.scan_end) = (base, base);
        self.stragglers.add_unseen(step(base, (-NEAR) as u64), NEAR as u64, context.rotation);
        for (sequence, mut entry, age) in kept {
            entry.set_age(age, context.rotation);
            if ahead(sequence, base) >= 0 {
                self.window.extend_to(sequence, &mut self.stragglers, context.rotation);
            }
            if self.window.covers(sequence) {
                *self.window.slot(sequence) = entry;
                self.window.open += 1;
            } else if self.stragglers.take_unseen(sequence, self.window.base()) {
                self.stragglers.put(sequence, entry, age);
            }
        }
    }

    /// Begins a rotation; the expiry before it is done.
    pub(super) fn rotate(&mut self, rotation: u64) {
        self.stragglers.rotate(rotation);
        (self.scan, self.scan_end) = (self.window.base(), self.window.top());
        if !self.started {
            self.scan_end = self.scan;
        }
    }

    /// Expires what is too old among at most `budget` entries, lowers the budget by those looked at, and returns
    /// whether this rotation's expiry is done.
    pub(super) fn expire(&mut self, budget: &mut usize, rotation: u64) -> bool {
        if ahead(self.scan, self.window.base()) < 0 {
            self.scan = self.window.base();
        }
        while ahead(self.scan_end, self.scan) > 0 {
            if *budget == 0 {
                self.window.advance();
                return false;
            }
            *budget -= 1;
            // A root of which nothing was seen although higher ones are due was lost on its way.
            let passed = ahead(self.scan, self.tops[GENERATIONS - 2]) < 0;
            let slot = self.window.slot(self.scan);
            if slot.is_open() && slot.age(rotation) == GENERATIONS {
                *slot = Entry::CLOSED;
                self.window.open -= 1;
            } else if slot.is_unseen() && passed {
                *slot = Entry::CLOSED;
            }
            self.scan = step(self.scan, 1);
        }
        self.window.advance();
        self.tops.rotate_right(1);
        self.tops[0] = self.scan_end;
        self.window.shrink(self.base_before == self.window.base());
        self.base_before = self.window.base();
        true
    }

    /// The value of an open tree.
    #[cfg(test)]
    pub(super) fn tree_value(&mut self, root: RootId, context: &Context) -> Option<u64> {
        let sequence = root.sequence();
        let entry = if self.window.covers(sequence) {
            *self.window.slot(sequence)
        } else {
            let (entry, age) = self.stragglers.take(sequence)?;
            self.stragglers.put(sequence, entry, age);
            entry
        };
        entry.is_open().then(|| entry.tree_value(root, context.key))
    }
}

/// Visits every `stride`th slot. (The loop of `step_by` costs twice as much.)
#[inline(always)]
fn for_each(slots: &mut [Entry], stride: usize, mut visit: impl FnMut(&mut Entry)) {
    let mut index = 0;
    while let Some(slot) = slots.get_mut(index) {
        visit(slot);
        index += stride;
    }
}

fn tell_end(root: RootId, step: Step, outcomes: &mut Vec<Outcome>) {
    match step {
        Step::Acked => Outcome::push_acked(outcomes, root, 1, 1),
        Step::Failed { by } => outcomes.push(Outcome::Failed { root, reason: FailReason::FailedBy { task: by } }),
        Step::Open | Step::Reset | Step::Closed => {}
    }
}
