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

    /// The next event that is due by a time.
    pub fn pop_due(&mut self, by: At) -> Option<(At, E)> {
        let first = self.planned.first_entry().filter(|first| first.key().0 <= by)?;
        let ((at, _), event) = first.remove_entry();
        Some((at, event))
    }
}
