//! Which connections there are, and which one gives way when there are too many.
//!
//! The one that has had no call for longest does, also in the middle of a frame; one with a call under way never does.
//! Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};

/// The place of a connection. None is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(u64);

/// Connections `C`.
#[derive(Debug)]
pub(crate) struct Places<C> {
    connections: BTreeMap<Place, (C, Option<u64>)>,
    /// Those that are silent, by since when, counted in changes.
    silent: BTreeSet<(u64, Place)>,
    connections_max: usize,
    changes: u64,
}

impl<C> Places<C> {
    pub(crate) fn new(connections_max: usize) -> Self {
        Self { connections: BTreeMap::new(), silent: BTreeSet::new(), connections_max, changes: 0 }
    }

    /// A place for a connection, and whoever gives way for it. Where all are busy there is one more for a while.
    pub(crate) fn take(&mut self, connection: C) -> (Place, Option<C>) {
        let gives_way = if self.connections.len() >= self.connections_max { self.give_way() } else { None };
        self.changes += 1;
        let place = Place(self.changes);
        self.connections.insert(place, (connection, None));
        self.is_silent(place);
        (place, gives_way)
    }

    /// The connection that has been silent for longest; it has no place any more.
    pub(crate) fn give_way(&mut self) -> Option<C> {
        let (_, place) = self.silent.pop_first()?;
        self.connections.remove(&place).map(|(connection, _)| connection)
    }

    /// It has a call under way.
    pub(crate) fn is_busy(&mut self, place: Place) {
        if let Some((_, since)) = self.connections.get_mut(&place)
            && let Some(since) = since.take()
        {
            self.silent.remove(&(since, place));
        }
    }

    /// It waits for its peer to say something.
    pub(crate) fn is_silent(&mut self, place: Place) {
        self.is_busy(place);
        self.changes += 1;
        if let Some((_, since)) = self.connections.get_mut(&place) {
            *since = Some(self.changes);
            self.silent.insert((self.changes, place));
        }
    }

    /// It has ended. One that gave way has left already.
    pub(crate) fn leave(&mut self, place: Place) {
        self.is_busy(place);
        self.connections.remove(&place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_silent_connection_gives_way_and_none_that_is_busy() {
        let mut places = Places::new(3);
        let (first, _) = places.take("first");
        let (second, _) = places.take("second");
        let (third, _) = places.take("third");
        places.is_busy(first);
        places.is_silent(second);
        // The third has said nothing since it came; the second has.
        assert_eq!(places.take("fourth").1, Some("third"));
        assert_eq!(places.take("fifth").1, Some("second"));
        places.leave(third);
        places.leave(first);
        assert_eq!(places.take("sixth").1, None);
        assert_eq!(places.take("seventh").1, Some("fourth"));
    }

    #[test]
    fn where_all_are_busy_nobody_gives_way() {
        let mut places = Places::new(1);
        let (first, _) = places.take(1);
        places.is_busy(first);
        let (second, gives_way) = places.take(2);
        assert_eq!(gives_way, None);
        places.leave(second);
        places.is_silent(first);
        assert_eq!(places.take(3).1, Some(1));
    }
}
