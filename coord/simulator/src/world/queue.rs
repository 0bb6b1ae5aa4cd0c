//! What will happen, by time and then by the order in which it was planned.
//!
//! Threading: plain data.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::actor::At;

/// Planned events.
#[derive(Debug)]
pub struct Queue<E> {
    planned: BinaryHeap<Planned<E>>,
    next: u64,
}

/// An event, compared by nothing but its place: the sooner it is, the greater. No two have the same.
#[derive(Debug)]
struct Planned<E> {
    place: Reverse<(At, u64)>,
    event: E,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { planned: BinaryHeap::new(), next: 0 }
    }
}

impl<E> Queue<E> {
    /// Plans an event.
    pub fn push(&mut self, at: At, event: E) {
        self.planned.push(Planned { place: Reverse((at, self.next)), event });
        self.next += 1;
    }

    /// The next event that is due by a time.
    pub fn pop_due(&mut self, by: At) -> Option<(At, E)> {
        self.planned.peek().filter(|first| first.place.0.0 <= by)?;
        let Planned { place: Reverse((at, _)), event } = self.planned.pop()?;
        Some((at, event))
    }
}

impl<E> PartialEq for Planned<E> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<E> Eq for Planned<E> {}

impl<E> PartialOrd for Planned<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Planned<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place.cmp(&other.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sooner_comes_first_and_of_what_is_at_once_what_was_planned_first() {
        let mut queue = Queue::default();
        for (secs, event) in [(3, "d"), (1, "a"), (2, "c"), (1, "b"), (3, "e")] {
            queue.push(At::from_secs(secs), event);
        }
        let mut due = |by| std::iter::from_fn(|| queue.pop_due(At::from_secs(by))).map(|(_, event)| event).collect();
        let (first, second, rest): (Vec<_>, Vec<_>, Vec<_>) = (due(0), due(2), due(9));
        assert_eq!((first, second, rest), (vec![], vec!["a", "b", "c"], vec!["d", "e"]));
    }
}
