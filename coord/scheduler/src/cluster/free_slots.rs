//! The free ports of each supervisor, in the order in which Storm's schedulers take slots.
//!
//! Kept in that order while slots come and go, so that a topology that needs ten of ten thousand slots looks at ten.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::collections::btree_set;

/// Supervisors are numbered in the order of their ids.
#[derive(Debug, Clone)]
pub(super) struct FreeSlots {
    /// For each supervisor its free ports, ascending.
    ports: Vec<Vec<u16>>,
    /// Supervisors with the number of their free ports: those with most come first, then by their number.
    by_count: BTreeSet<(Reverse<usize>, usize)>,
    len: usize,
}

impl FreeSlots {
    /// The free ports of each supervisor, ascending and each once.
    pub(super) fn new(ports: impl Iterator<Item = Vec<u16>>) -> Self {
        let ports: Vec<Vec<u16>> = ports.collect();
        let by_count = ports.iter().enumerate().map(|(supervisor, ports)| (Reverse(ports.len()), supervisor)).collect();
        let len = ports.iter().map(Vec::len).sum();
        Self { ports, by_count, len }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes a port away, if it is free.
    pub(super) fn remove(&mut self, supervisor: usize, port: u16) {
        if let Ok(at) = self.ports[supervisor].binary_search(&port) {
            self.change(supervisor, |ports| {
                ports.remove(at);
            });
        }
    }

    /// Makes a port free.
    pub(super) fn insert(&mut self, supervisor: usize, port: u16) {
        if let Err(at) = self.ports[supervisor].binary_search(&port) {
            self.change(supervisor, |ports| ports.insert(at, port));
        }
    }

    fn change(&mut self, supervisor: usize, change: impl FnOnce(&mut Vec<u16>)) {
        let ports = &mut self.ports[supervisor];
        let before = ports.len();
        change(ports);
        let after = ports.len();
        self.by_count.remove(&(Reverse(before), supervisor));
        self.by_count.insert((Reverse(after), supervisor));
        self.len = self.len - before + after;
    }

    /// All free slots, as supervisor and port: the first port of each supervisor, then the second of each that has two,
    /// and so on; supervisors always in the order of [`FreeSlots::by_count`].
    pub(super) fn in_turn(&self) -> InTurn<'_> {
        InTurn { free: self, round: 0, supervisors: self.by_count.iter() }
    }
}

/// See [`FreeSlots::in_turn`].
pub(super) struct InTurn<'a> {
    free: &'a FreeSlots,
    /// How many ports of each supervisor were taken in the rounds before.
    round: usize,
    supervisors: btree_set::Iter<'a, (Reverse<usize>, usize)>,
}

impl Iterator for InTurn<'_> {
    type Item = (usize, u16);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((Reverse(count), supervisor)) = self.supervisors.next()
            && *count > self.round
        {
            return Some((*supervisor, self.free.ports[*supervisor][self.round]));
        }
        // All that follow in this round have as few or fewer.
        self.round += 1;
        self.supervisors = self.free.by_count.iter();
        let (Reverse(count), supervisor) = self.supervisors.next()?;
        (*count > self.round).then(|| (*supervisor, self.free.ports[*supervisor][self.round]))
    }
}
