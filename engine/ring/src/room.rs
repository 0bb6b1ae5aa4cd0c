//! How a core that is parked because a ring is full learns that there is room again.
//!
//! The consumer of a ring does not ring its producer for each cell that it frees: the producer seldom waits. One that does
//! says so first, in a flag that both share beside the ring.
//!
//! | producer | consumer |
//! |---|---|
//! | A1 sets the flag ([`RoomWanted::ask`]) | B1 frees cells (a release store) |
//! | P1, P2 announces its park, with a SeqCst fence (see [`bell`](crate::bell)) | B2 SeqCst fence |
//! | P3 looks whether the ring has room | B3 reads the flag ([`RoomWanted::is_asked_after_fence`]); |
//! | P4 blocks | if it is set: rings the producer's doorbell |
//! | A2 clears the flag ([`RoomWanted::withdraw`]) | |
//!
//! **No room is missed.** If B2 comes before P2, P3 sees the room. Otherwise B3 sees the flag, and the doorbell that is
//! rung after B2 finds the producer parked (or rung already).
//!
//! **Only the producer writes the flag.** Were it cleared by B3, it might be that of a *later* A1 than the one that B3 saw,
//! cleared between that A1 and its P1: the bell would find the producer awake, and the next room would ring no bell.
//!
//! `tests/loom_room.rs` checks it. Threading: one producer, one consumer. There are no errors.

use crate::sync::{AtomicBool, Ordering, OwnLine};

/// The flag; see the [module](self).
#[derive(Debug)]
pub struct RoomWanted {
    /// On a line of its own: the consumer reads it each time that it has freed cells.
    flag: OwnLine<AtomicBool>,
}

impl Default for RoomWanted {
    fn default() -> Self {
        Self { flag: OwnLine(AtomicBool::new(false)) }
    }
}

impl RoomWanted {
    /// A1: by the producer, before it announces its park.
    pub fn ask(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// A2: by the producer, once it is awake. Until then each turn of the consumer rings.
    pub fn withdraw(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// B3: by the consumer, after it has freed cells and passed a SeqCst fence. Whether the producer's doorbell is to be
    /// rung.
    #[inline]
    #[must_use = "a producer that asked waits for its doorbell"]
    pub fn is_asked_after_fence(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}
