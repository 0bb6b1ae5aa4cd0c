//! Folds what one core sends to the ackers within a turn, so that little is sent.
//!
//! Plain acks and inits of consecutive roots become ranges (`runs`); everything else is folded per root by exclusive
//! or. One core has one folder; whoever empties it decides which ring or socket leads to the acker of a message's
//! lane. If that is full, folding goes on; what is kept is bounded by the pending roots.
//!
//! What belongs to no tree ([`RootId::UNTRACKED`]) is ignored: acking it costs nothing.
//!
//! # Order
//!
//! A fail or a reset stays where it is among the messages of its root. All ranges go before all single messages, so
//! once a root has a fail or a reset, its plain acks are folded as values.

mod runs;

use crate::edge::EdgeKey;
use crate::message::AckMessage;
use crate::root::RootId;
use runs::Runs;

/// Places of the table at the start; a power of two.
const MIN_PLACES: usize = 256;
/// A table that stays nearly empty for this many turns is halved.
const PATIENCE_TURNS: u32 = 1024;

/// What a core has to tell the ackers.
///
/// ```
/// # use ringstorm_acking::{AckMessage, EdgeKey, Folder, Lane, RootId};
/// let mut folder = Folder::new(EdgeKey::new(1));
/// let root = RootId::new(Lane(0), 7);
/// folder.ack_derived(root, 0);
/// folder.ack_derived(root.offset(1), 0);
/// folder.ack(root.offset(9), 0b0110);
/// folder.ack(root.offset(9), 0b0101);
/// let mut messages = Vec::new();
/// folder.flush(|message| { messages.push(message); true });
/// assert_eq!(messages, [
///     AckMessage::AckRange { first: root, stride: 1, count: 2, position: 0 },
///     AckMessage::Ack { root: root.offset(9), value: 0b0011 },
/// ]);
/// ```
#[derive(Debug)]
pub struct Folder {
    key: EdgeKey,
    runs: Runs,
    /// Single messages in order; never a range.
    singles: Vec<AckMessage>,
    /// The last single message of each root: open addressing with linear probing, sized to stay at most half full.
    places: Vec<Place>,
    turn: u32,
    /// How many fails and resets are among the single messages.
    ordered: usize,
    /// How many flushes in a row found the table nearly empty.
    idle_turns: u32,
}

/// Points to a single message, if it is of the present turn.
#[derive(Clone, Copy, Default, Debug)]
struct Place {
    turn: u32,
    single: u32,
}

impl Folder {
    /// An empty folder.
    pub fn new(key: EdgeKey) -> Folder {
        Folder {
            key,
            runs: Runs::new(),
            singles: Vec::new(),
            places: vec![Place::default(); MIN_PLACES],
            turn: 1,
            ordered: 0,
            idle_turns: 0,
        }
    }

    /// The tuple that a spout sent to `position` under this root is acked and had no children.
    #[inline]
    pub fn ack_derived(&mut self, root: RootId, position: u16) {
        if self.ordered > 0 && self.find(root).is_some() {
            return self.ack(root, self.key.edge(root, position));
        }
        if root.is_tracked() {
            self.runs.ack(root, position);
        }
    }

    /// As [`Folder::ack_derived`] for `count` consecutive roots: those of a whole run of a frame.
    #[inline]
    pub fn ack_derived_run(&mut self, first: RootId, count: u32, position: u16) {
        if self.ordered == 0 && first.is_tracked() && self.runs.extend_ack(first, count, position) {
            return;
        }
        for root in first.range(1, count) {
            self.ack_derived(root, position);
        }
    }

    /// A tuple of this root is acked: `value` is the exclusive or of its edge and those of its children.
    #[inline]
    pub fn ack(&mut self, root: RootId, value: u64) {
        let place = self.probe(root);
        match self.last_at(place) {
            // Before any reset or fail the order within a root does not matter, so an ack may join an init.
            Some(AckMessage::Ack { value: folded, .. } | AckMessage::Init { value: folded, .. }) => *folded ^= value,
            _ => self.push(place, AckMessage::Ack { root, value }),
        }
    }

    /// A spout emitted this root to targets at positions 0 to `positions - 1`.
    #[inline]
    pub fn init_derived(&mut self, root: RootId, positions: u16) {
        if self.ordered > 0 && self.find(root).is_some() {
            return self.init(root, self.key.initial_value(root, positions));
        }
        if root.is_tracked() {
            self.runs.init(root, positions);
        }
    }

    /// As [`Folder::init_derived`] for `count` consecutive roots.
    #[inline]
    pub fn init_derived_run(&mut self, first: RootId, count: u32, positions: u16) {
        if self.ordered == 0 && first.is_tracked() && self.runs.extend_init(first, count, positions) {
            return;
        }
        for root in first.range(1, count) {
            self.init_derived(root, positions);
        }
    }

    /// A spout emitted this root; `value` is the exclusive or of its edges.
    #[inline]
    pub fn init(&mut self, root: RootId, value: u64) {
        let place = self.probe(root);
        match self.last_at(place) {
            Some(last @ AckMessage::Ack { .. }) => {
                let AckMessage::Ack { value: folded, .. } = *last else { return };
                *last = AckMessage::Init { root, value: folded ^ value };
            }
            _ => self.push(place, AckMessage::Init { root, value }),
        }
    }

    /// A task failed a tuple of this root.
    pub fn fail(&mut self, root: RootId, by: u32) {
        self.push_ordered(AckMessage::Fail { root, by });
    }

    /// A tuple of this root needs more time.
    pub fn reset_timeout(&mut self, root: RootId) {
        self.push_ordered(AckMessage::ResetTimeout { root });
    }

    /// The spout gave this root up.
    pub fn forget(&mut self, root: RootId) {
        self.push_ordered(AckMessage::Forget { root });
    }

    /// Hands everything over, in an order that keeps that of each root's fails and resets. `sink` returns whether it
    /// took the message; once it did not, it is not called again, the rest stays, and the result is `false`.
    pub fn flush(&mut self, mut sink: impl FnMut(AckMessage) -> bool) -> bool {
        if !self.runs.flush(&mut sink) {
            return false;
        }
        // An ack that folded to nothing says nothing.
        let is_empty = |message: &AckMessage| matches!(message, AckMessage::Ack { value: 0, .. });
        let taken = self.singles.iter().take_while(|message| is_empty(message) || sink(**message)).count();
        if taken == self.singles.len() {
            self.end_turn();
            return true;
        }
        let rest = self.singles.split_off(taken);
        self.end_turn();
        for message in rest {
            match message {
                AckMessage::Ack { root, value } => self.ack(root, value),
                AckMessage::Init { root, value } => self.init(root, value),
                ordered => self.push_ordered(ordered),
            }
        }
        false
    }

    /// Whether there is nothing to hand over.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.runs.is_empty()
    }

    /// The memory this folder holds, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Folder>()
            + self.runs.memory_bytes()
            + self.singles.capacity() * size_of::<AckMessage>()
            + self.places.capacity() * size_of::<Place>()
    }

    fn push_ordered(&mut self, message: AckMessage) {
        let place = self.probe(message.root());
        if self.last_at(place).is_some_and(|last| *last == message) {
            return;
        }
        self.push(place, message);
        self.ordered += 1;
    }

    #[inline]
    fn push(&mut self, place: usize, message: AckMessage) {
        if !message.root().is_tracked() {
            return;
        }
        self.places[place] = Place { turn: self.turn, single: self.singles.len() as u32 };
        self.singles.push(message);
        if self.singles.len() * 2 > self.places.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.places = vec![Place::default(); self.places.len() * 2];
        for single in 0..self.singles.len() {
            let place = self.probe(self.singles[single].root());
            self.places[place] = Place { turn: self.turn, single: single as u32 };
        }
    }

    fn end_turn(&mut self) {
        if self.places.len() > MIN_PLACES && self.singles.len() * 16 < self.places.len() {
            self.idle_turns += 1;
        } else {
            self.idle_turns = 0;
        }
        self.singles.clear();
        self.ordered = 0;
        self.turn = self.turn.wrapping_add(1);
        if self.idle_turns == PATIENCE_TURNS {
            self.idle_turns = 0;
            self.places = vec![Place::default(); self.places.len() / 2];
            self.singles.shrink_to(self.places.len() / 2);
        } else if self.turn == 0 {
            self.places.fill(Place::default());
        }
        self.turn = self.turn.max(1);
    }

    /// The place of a root: where its last single message is, or the free one where it goes.
    #[inline]
    fn probe(&self, root: RootId) -> usize {
        let mask = self.places.len() - 1;
        let spread = root.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut place = (spread >> (64 - self.places.len().trailing_zeros())) as usize;
        loop {
            let known = self.places[place];
            if known.turn != self.turn || self.singles[known.single as usize].root() == root {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    #[inline]
    fn last_at(&mut self, place: usize) -> Option<&mut AckMessage> {
        let known = self.places[place];
        if known.turn == self.turn { self.singles.get_mut(known.single as usize) } else { None }
    }

    fn find(&mut self, root: RootId) -> Option<&mut AckMessage> {
        self.last_at(self.probe(root))
    }
}
