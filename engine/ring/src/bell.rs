//! The protocol that lets a core sleep without missing a ring, apart from how it sleeps.
//!
//! One *sleeper* (the core) and any number of *ringers* share a [`Bell`].
//!
//! | sleeper | ringer |
//! |---|---|
//! | P1 stores `PARKED` | R1 publishes (a release store to some ring) |
//! | P2 SeqCst fence | R2 SeqCst fence |
//! | P3 looks at every ring once more | R3 loads the state; if `PARKED`: swaps it for `AWAKE` by CAS, |
//! | P4 blocks until the signal is raised | and whoever wins the CAS raises the signal |
//! | P5 stores `AWAKE` and polls its rings again | |
//!
//! **No ring is missed.** The two fences are ordered. If R2 comes before P2, then P3 sees what R1 published and the
//! sleeper does not block. If P2 comes before R2, then R3 reads P1's `PARKED` or something newer:
//! * `PARKED`: one ringer wins the CAS and raises the signal, so that P4 returns.
//! * `AWAKE` from another ringer's CAS: that ringer raises the signal, with the same effect.
//! * `AWAKE` from P5, or anything later: the sleeper has left P4 already. Let P2' be the fence of its next sleep. If P2'
//!   came before R2, R3 would have read P1' or newer; it read something older, so R2 comes before P2', and P3' sees
//!   what R1 published.
//!
//! **Signals are never discarded between P1 and P4.** A signal that is raised late (its ringer won the CAS of a sleep
//! which then ended by its time-out) makes one later P4 return early. So P4 may return early, and the sleeper always looks at
//! its rings and its clock afterwards. What P4 may not do is to drop a signal and block.
//!
//! **Wakers** have no ring that P3 could look at, so [`Bell::wake`] sets a flag first (it is R1), and
//! [`Bell::prepare_park`] looks at it (as part of P3).
//!
//! `tests/loom_bell.rs` checks all of this for two ringers, both ends closing, and time-outs.

use crate::sync::{AtomicBool, AtomicU32, Ordering, OwnLine, fence};

const AWAKE: u32 = 0;
const PARKED: u32 = 1;

/// What wakes a blocked sleeper. Raising it before the sleeper blocks must keep it from blocking.
pub trait Signal {
    /// Wakes the sleeper, or the next one to block.
    fn raise(&self);
}

/// The state shared by a sleeper and its ringers; see the [module](self).
#[derive(Debug)]
pub struct Bell<S> {
    /// On lines of its own: written once per sleep and wake-up, read at each ring.
    state: OwnLine<AtomicU32>,
    /// Whether a waker was woken since the last `prepare_park`.
    woken: OwnLine<AtomicBool>,
    signal: S,
}

impl<S: Signal> Bell<S> {
    /// A bell whose sleeper is awake.
    pub fn new(signal: S) -> Self {
        Self { state: OwnLine(AtomicU32::new(AWAKE)), woken: OwnLine(AtomicBool::new(false)), signal }
    }

    /// What the sleeper blocks on.
    pub fn signal(&self) -> &S {
        &self.signal
    }

    /// R2 and R3: called after something was published for the sleeper.
    #[inline]
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        self.ring_after_fence();
    }

    /// R3 alone, for a ringer that has passed a SeqCst fence of its own since it published: one fence serves any number
    /// of bells.
    #[inline]
    pub fn ring_after_fence(&self) {
        if self.state.load(Ordering::Relaxed) == PARKED {
            self.raise();
        }
    }

    /// Rings for something that no ring holds: the sleeper's next `prepare_park` returns `false`.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.ring();
    }

    /// P1 and P2. Returns `false`, and leaves the sleeper awake, if it was woken by [`Bell::wake`] since the last call.
    pub fn prepare_park(&self) -> bool {
        self.state.store(PARKED, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // Checked by a load first: the line stays shared while nobody uses wakers.
        if self.woken.load(Ordering::Relaxed) && self.woken.swap(false, Ordering::Acquire) {
            self.leave_park();
            return false;
        }
        true
    }

    /// P5, also after a P3 that found something.
    pub fn leave_park(&self) {
        self.state.store(AWAKE, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn raise(&self) {
        if self.state.compare_exchange(PARKED, AWAKE, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.signal.raise();
        }
    }
}
