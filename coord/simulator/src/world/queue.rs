//! What will happen, by time and then by the order in which it was planned.
//!
//! Threading: plain data.

use std::collections::BTreeMap;

use crate::actor::At;

/// Planned events.
#[derive(Debug)]
pub struct Queue<E> {
    planned: BTreeMap<(At, u64), E>,
    next: u64,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { planned: BTreeMap::new(), next: 0 }
    }
}

impl<E> Queue<E> {
    /// Plans an event.
    pub fn push(&mut self, at: At, event: E) {
        self.planned.insert((at, self.next), event);
        self.next += 1;
    }

    /// The next event.
    pub fn pop(&mut self) -> Option<(At, E)> {
        self.planned.pop_first().map(|((at, _), event)| (at, event))
    }
}
