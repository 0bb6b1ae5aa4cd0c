//! Joins plain acks and inits into ranges and masks.
//!
//! A few open runs at a time, placed by lane and position, as a core's spouts and bolts take turns within a run of a
//! frame at most; what does not continue the run in its place closes it.

use crate::message::{AckMessage, MAX_RANGE_COUNT, MAX_RANGE_STRIDE};
use crate::root::RootId;

/// How many runs may be open; a power of two.
const OPEN_RUNS: usize = 32;

#[derive(Debug)]
pub(super) struct Runs {
    open: [Run; OPEN_RUNS],
    /// Which of `open` are in use, one bit each.
    used: u32,
    closed: Vec<AckMessage>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Kind {
    #[default]
    Ack,
    Init,
}

#[derive(Clone, Copy, Default, Debug)]
struct Run {
    kind: Kind,
    /// The position acked, or how many positions are initialised.
    position: u16,
    /// 0 while the run is a mask.
    stride: u32,
    count: u32,
    first: RootId,
    /// The root that a range expects next, or the mask of a mask.
    next_or_mask: u64,
}

impl Runs {
    pub(super) fn new() -> Runs {
        Runs { open: [Run::default(); OPEN_RUNS], used: 0, closed: Vec::new() }
    }

    #[inline]
    pub(super) fn ack(&mut self, root: RootId, position: u16) {
        self.add(Kind::Ack, root, position);
    }

    #[inline]
    pub(super) fn init(&mut self, root: RootId, positions: u16) {
        self.add(Kind::Init, root, positions);
    }

    /// Adds consecutive roots at once; returns whether it could.
    #[inline]
    pub(super) fn extend_ack(&mut self, first: RootId, count: u32, position: u16) -> bool {
        self.extend(Kind::Ack, first, count, position)
    }

    /// Adds consecutive roots at once; returns whether it could.
    #[inline]
    pub(super) fn extend_init(&mut self, first: RootId, count: u32, positions: u16) -> bool {
        self.extend(Kind::Init, first, count, positions)
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
            self.used &= self.used - 1;
        }
        true
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.closed.capacity() * size_of::<AckMessage>()
    }

    #[inline]
    fn add(&mut self, kind: Kind, root: RootId, position: u16) {
        let place = place(kind, root, position);
        let run = &mut self.open[place];
        if self.used & 1 << place != 0 {
            if run.is_of(kind, root, position) && run.add(root) {
                return;
            }
            self.closed.push(run.message());
        }
        self.used |= 1 << place;
        *run = Run::new(kind, root, position);
    }

    #[inline]
    fn extend(&mut self, kind: Kind, first: RootId, count: u32, position: u16) -> bool {
        if count == 0 || count > MAX_RANGE_COUNT {
            return count == 0;
        }
        let place = place(kind, first, position);
        let run = &mut self.open[place];
        if self.used & 1 << place != 0 {
            if run.is_of(kind, first, position) && run.extend(first, count) {
                return true;
            }
            self.closed.push(run.message());
        }
        self.used |= 1 << place;
        *run = Run { count, next_or_mask: first.offset(count.into()).0, ..Run::new(kind, first, position) };
        true
    }
}

#[inline]
fn place(kind: Kind, root: RootId, position: u16) -> usize {
    (usize::from(root.lane().0) * 2 + usize::from(position) * 6 + kind as usize) % OPEN_RUNS
}

impl Run {
    /// A run of one root, taken for the begin of a range of stride 1.
    #[inline]
    fn new(kind: Kind, root: RootId, position: u16) -> Run {
        Run { kind, position, stride: 1, count: 1, first: root, next_or_mask: root.offset(1).0 }
    }

    #[inline]
    fn is_of(&self, kind: Kind, root: RootId, position: u16) -> bool {
        self.kind == kind && self.position == position && self.first.lane() == root.lane()
    }

    /// Adds a root if it fits.
    #[inline]
    fn add(&mut self, root: RootId) -> bool {
        if self.stride != 0 && root.0 == self.next_or_mask && self.count < MAX_RANGE_COUNT {
            self.count += 1;
            self.next_or_mask = root.offset(self.stride.into()).0;
            return true;
        }
        self.add_irregular(root)
    }

    fn add_irregular(&mut self, root: RootId) -> bool {
        let offset = root.distance(self.first);
        if self.stride != 0 {
            if self.count == 1 && (1..=i64::from(MAX_RANGE_STRIDE)).contains(&offset) {
                self.stride = offset as u32;
                self.count = 2;
                self.next_or_mask = root.offset(offset as u64).0;
                return true;
            }
            let last = u64::from(self.stride) * u64::from(self.count - 1);
            if self.kind == Kind::Init || last >= 64 || !(0..64).contains(&offset) {
                return false;
            }
            let mask = (0..self.count).fold(0, |mask, index| mask | 1 << (index * self.stride));
            if mask & 1 << offset != 0 {
                return false;
            }
            (self.stride, self.next_or_mask) = (0, mask | 1 << offset);
            return true;
        }
        let bit = if (0..64).contains(&offset) { 1 << offset } else { 0 };
        let fits = bit != 0 && self.next_or_mask & bit == 0;
        if fits {
            self.next_or_mask |= bit;
        }
        fits
    }

    #[inline]
    fn extend(&mut self, first: RootId, count: u32) -> bool {
        let fits = self.stride == 1 && first.0 == self.next_or_mask && self.count + count <= MAX_RANGE_COUNT;
        if fits {
            self.count += count;
            self.next_or_mask = first.offset(count.into()).0;
        }
        fits
    }

    fn message(&self) -> AckMessage {
        let (first, stride, count, position) = (self.first, self.stride, self.count, self.position);
        match self.kind {
            Kind::Ack if stride == 0 => AckMessage::AckMask { first, mask: self.next_or_mask, position },
            Kind::Ack => AckMessage::AckRange { first, stride, count, position },
            Kind::Init => AckMessage::InitRange { first, stride, count, positions: position },
        }
    }
}
