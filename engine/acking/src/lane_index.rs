//! Finds the state of a lane: a table from lane number to place, which spans only the lanes in use.

use crate::root::Lane;

/// Marks a lane without a place.
const NONE: u32 = u32::MAX;

/// Places of lanes in a list that its owner keeps; places are given out in order.
#[derive(Debug, Default)]
pub(crate) struct LaneIndex {
    lowest: u16,
    places: Vec<u32>,
    count: u32,
}

impl LaneIndex {
    /// The place of a lane, if it has one.
    #[inline]
    pub(crate) fn get(&self, lane: Lane) -> Option<usize> {
        let place = *self.places.get(usize::from(lane.0.wrapping_sub(self.lowest)))?;
        (place != NONE).then_some(place as usize)
    }

    /// Gives a lane that has none the next place.
    #[cold]
    pub(crate) fn add(&mut self, lane: Lane) -> usize {
        if self.places.is_empty() {
            self.lowest = lane.0;
        } else if lane.0 < self.lowest {
            self.places.splice(0..0, std::iter::repeat_n(NONE, usize::from(self.lowest - lane.0)));
            self.lowest = lane.0;
        }
        let at = usize::from(lane.0 - self.lowest);
        if at >= self.places.len() {
            self.places.resize(at + 1, NONE);
        }
        self.places[at] = self.count;
        self.count += 1;
        self.count as usize - 1
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.places.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_keep_their_places() {
        let mut index = LaneIndex::default();
        let lanes = [500, 3, 700, 65_535, 0, 4].map(Lane);
        for (place, lane) in lanes.into_iter().enumerate() {
            assert_eq!(index.get(lane), None);
            assert_eq!(index.add(lane), place);
        }
        for (place, lane) in lanes.into_iter().enumerate() {
            assert_eq!(index.get(lane), Some(place));
        }
        assert_eq!(index.get(Lane(5)), None);
    }
}
