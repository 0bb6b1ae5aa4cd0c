//! Faults on purpose: each breaks one rule, at the place where it stands, so that the simulator can show that it would
//! be found. Without the feature `planted-bugs` there are none. Threading: plain data.

use std::collections::BTreeSet;

/// A rule that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plant {
    /// An id that another live session holds is used all the same.
    ClonedIdAccepted,
    /// After an interruption of the session nothing is read again.
    StaleAfterInterruption,
    /// A worker is started with the incarnation of the one before.
    OldIncarnationReused,
}

/// The rules that are broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plants {
    broken: BTreeSet<Plant>,
}

impl Plants {
    /// Breaks rules.
    #[cfg(feature = "planted-bugs")]
    pub fn new(broken: impl IntoIterator<Item = Plant>) -> Self {
        Self { broken: broken.into_iter().collect() }
    }

    pub(crate) fn has(&self, plant: Plant) -> bool {
        cfg!(feature = "planted-bugs") && self.broken.contains(&plant)
    }
}
