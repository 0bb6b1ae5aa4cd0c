//! Joins plain acks and inits into ranges and masks.
//!
//! A few open runs at a time, placed by lane and position, as a core's spouts and bolts take turns within a run of a
//! frame at most; what does not continue the run in its place closes it.

use crate::message::{AckMessage, MAX_RANGE_COUNT, MAX_RANGE_STRIDE};
use crate::root::RootId;

/// How many runs may be open.
const OPEN_RUNS: usize = 32;

#[derive(Debug)]
pub(super) struct Runs {
    open: [Run; OPEN_RUNS],
    /// Which of `open` are in use, one bit each.
    used: u32,
    closed: Vec<AckMessage>,
}

/// What a run is made of: acks of a position, or inits with so many positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tag(u32);

impl Tag {
    const INIT: u32 = 1 << 16;
    const MASK: u32 = 1 << 17;
    /// The run is not in use.
    const NONE: Tag = Tag(u32::MAX);

    #[inline]
    const fn ack(position: u16) -> Tag {
        Tag(position as u32)
    }

    #[inline]
    const fn init(positions: u16) -> Tag {
        Tag(positions as u32 | Tag::INIT)
    }

    /// The same acks, kept as a mask.
    const fn masked(self) -> Tag {
        Tag(self.0 | Tag::MASK)
    }

    const fn is_init(self) -> bool {
        self.0 & Tag::INIT != 0
    }

    const fn is_mask(self) -> bool {
        self.0 & Tag::MASK != 0
    }

    #[inline]
    const fn place(self, root: RootId) -> usize {
        (root.lane().0 as usize * 2 + self.0 as usize * 6 + (self.0 >> 16) as usize) % OPEN_RUNS
    }
}

/// A range, or a mask of acks.
#[derive(Clone, Copy, Debug)]
struct Run {
    tag: Tag,
    stride: u32,
    count: u32,
    first: RootId,
    /// The root that a range expects next, or the mask.
    next_or_mask: u64,
}

impl Runs {
    pub(super) fn new() -> Runs {
        let unused = Run { tag: Tag::NONE, stride: 1, count: 0, first: RootId::UNTRACKED, next_or_mask: 0 };
        Runs { open: [unused; OPEN_RUNS], used: 0, closed: Vec::new() }
    }

    #[inline]
    pub(super) fn ack(&mut self, root: RootId, position: u16) {
        self.add(Tag::ack(position), root);
    }

    #[inline]
    pub(super) fn init(&mut self, root: RootId, positions: u16) {
        self.add(Tag::init(positions), root);
    }

    /// Adds consecutive roots at once; returns whether it could.
    #[inline]
    pub(super) fn extend_ack(&mut self, first: RootId, count: u32, position: u16) -> bool {
        self.extend(Tag::ack(position), first, count)
    }

    /// Adds consecutive roots at once; returns whether it could.
    #[inline]
    pub(super) fn extend_init(&mut self, first: RootId, count: u32, positions: u16) -> bool {
        self.extend(Tag::init(positions), first, count)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0 && self.closed.is_empty()
    }

    /// Hands all runs over; stops and returns `false` once the sink takes no more.
    pub(super) fn flush(&mut self, sink: &mut impl FnMut(AckMessage) -> bool) -> bool {
        let taken = self.closed.iter().take_while(|message| sink(**message)).count();
        if taken < self.closed.len() {
            self.closed.drain(..taken);
            return false;
        }
        self.closed.clear();
        while self.used != 0 {
            let place = self.used.trailing_zeros() as usize;
            if !sink(self.open[place].message()) {
                return false;
            }
            self.open[place].tag = Tag::NONE;
            self.used &= self.used - 1;
        }
        true
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<AckMessage>()
    }

    #[inline]
    fn add(&mut self, tag: Tag, root: RootId) {
        let place = tag.place(root);
        let run = &mut self.open[place];
        if run.tag == tag && run.next_or_mask == root.0 && run.count < MAX_RANGE_COUNT {
            run.count += 1;
            run.next_or_mask = root.offset(run.stride.into()).0;
        } else if !run.add_irregular(tag, root) {
            self.begin(place, Run::new(tag, root, 1));
        }
    }

    #[inline]
    fn extend(&mut self, tag: Tag, first: RootId, count: u32) -> bool {
        if count == 0 || count > MAX_RANGE_COUNT {
            return count == 0;
        }
        let place = tag.place(first);
        let run = &mut self.open[place];
        if run.tag == tag && run.next_or_mask == first.0 && run.stride == 1 && run.count + count <= MAX_RANGE_COUNT {
            run.count += count;
            run.next_or_mask = first.offset(count.into()).0;
        } else {
            self.begin(place, Run::new(tag, first, count));
        }
        true
    }

    /// Puts another run in the place of the one that is there.
    fn begin(&mut self, place: usize, run: Run) {
        if self.used & 1 << place != 0 {
            self.closed.push(self.open[place].message());
        }
        self.used |= 1 << place;
        self.open[place] = run;
    }
}

impl Run {
    /// Consecutive roots; a single one is taken for the begin of a range of stride 1.
    #[inline]
    fn new(tag: Tag, first: RootId, count: u32) -> Run {
        Run { tag, stride: 1, count, first, next_or_mask: first.offset(count.into()).0 }
    }

    /// Adds a root that is not the next one of a range, if it fits: as the second one of a range with another stride,
    /// or as a bit of a mask.
    fn add_irregular(&mut self, tag: Tag, root: RootId) -> bool {
        if (self.tag != tag && self.tag != tag.masked()) || self.first.lane() != root.lane() {
            return false;
        }
        let offset = root.distance(self.first);
        if self.count == 1 && (1..=i64::from(MAX_RANGE_STRIDE)).contains(&offset) {
            self.stride = offset as u32;
            self.count = 2;
            self.next_or_mask = root.offset(offset as u64).0;
            return true;
        }
        let last = u64::from(self.stride) * u64::from(self.count.saturating_sub(1));
        if tag.is_init() || last >= 64 || !(0..64).contains(&offset) {
            return false;
        }
        let mask = if self.tag.is_mask() {
            self.next_or_mask
        } else {
            (0..self.count).fold(0, |mask, index| mask | 1 << (index * self.stride))
        };
        // A root acked twice must count twice.
        let fits = mask & 1 << offset == 0;
        if fits {
            *self = Run { tag: tag.masked(), stride: 0, count: 0, first: self.first, next_or_mask: mask | 1 << offset };
        }
        fits
    }

    fn message(&self) -> AckMessage {
        let (first, stride, count, position) = (self.first, self.stride, self.count, self.tag.0 as u16);
        if self.tag.is_mask() {
            AckMessage::AckMask { first, mask: self.next_or_mask, position }
        } else if self.tag.is_init() {
            AckMessage::InitRange { first, stride, count, positions: position }
        } else {
            AckMessage::AckRange { first, stride, count, position }
        }
    }
}
