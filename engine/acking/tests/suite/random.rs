//! A small generator of random numbers, so that a history follows from one seed.

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// 0 to `end - 1`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Lets an element be overtaken by those up to `reach` places behind it.
    pub(crate) fn shuffle<T>(&mut self, elements: &mut Vec<T>, reach: u64) {
        let mut placed: Vec<(u64, T)> = (0..).zip(elements.drain(..)).collect();
        for (place, _) in &mut placed {
            *place += self.below(reach + 1);
        }
        placed.sort_by_key(|(place, _)| *place);
        elements.extend(placed.into_iter().map(|(_, element)| element));
    }
}
