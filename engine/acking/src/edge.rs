//! Edge ids: the random-looking words whose exclusive or tells whether a tree is complete.
//!
//! They must be unpredictable as a set (1 xor 2 xor 3 is 0: counters would complete trees that are not), and the ones
//! of a spout's tuples must be computable again from root and position, so that a range of them needs no bytes. So
//! each is a keyed 64-bit mix. Pure values; one generator per task.

use std::fmt;

use crate::root::RootId;

/// 2^64 divided by the golden ratio, odd: successive multiples are spread evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijection of 64-bit words in which every input bit changes about half of the output bits
/// (the finaliser of SplitMix64, David Stafford's variant 13).
#[inline]
const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Zero would be no edge at all.
#[inline]
const fn not_zero(word: u64) -> u64 {
    word | (word == 0) as u64
}

/// The secret of one run of a topology from which its edge ids follow. All workers of the run share it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EdgeKey(u64);

impl EdgeKey {
    /// A key from 64 random bits.
    pub const fn new(secret: u64) -> EdgeKey {
        EdgeKey(mix(secret.wrapping_add(GOLDEN)))
    }

    /// The id of the edge from the spout to the target at `position`, never zero.
    ///
    /// Position `p` is the `p`-th tuple that one emit sends, in the order in which it is sent.
    #[inline]
    pub const fn edge(self, root: RootId, position: u16) -> u64 {
        not_zero(mix((root.0 ^ self.0).wrapping_add((position as u64).wrapping_mul(GOLDEN))))
    }

    /// The initial value of a root emitted to `positions` targets: the exclusive or of its edges, 0 if there are none.
    #[inline]
    pub fn initial_value(self, root: RootId, positions: u16) -> u64 {
        (0..positions).fold(0, |value, position| value ^ self.edge(root, position))
    }
}

/// Keeps the secret out of logs.
impl fmt::Debug for EdgeKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EdgeKey(secret)")
    }
}

/// The ids of the edges that one task creates when it emits anchored tuples.
///
/// A counter under a keyed mix: no id repeats within 2^64, and those of different tasks are unrelated.
#[derive(Clone, Debug)]
pub struct EdgeGenerator {
    counter: u64,
}

impl EdgeGenerator {
    /// A generator for one task; `random` must differ for each incarnation of it.
    pub const fn new(key: EdgeKey, task: u32, random: u64) -> EdgeGenerator {
        EdgeGenerator { counter: mix(key.0 ^ mix(random ^ (task as u64).wrapping_mul(GOLDEN))) }
    }

    /// A fresh edge id, never zero.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "it never ends, and an Option would have to be unwrapped")]
    pub const fn next(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(GOLDEN);
        not_zero(mix(self.counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Lane;
    use std::collections::HashSet;

    #[test]
    fn edges_are_distinct_and_no_small_set_cancels() {
        let key = EdgeKey::new(1);
        let mut edges = Vec::new();
        for sequence in 1..=64 {
            for position in 0..16 {
                edges.push(key.edge(RootId::new(Lane(0), sequence), position));
            }
        }
        let mut generator = EdgeGenerator::new(key, 4, 9);
        edges.extend((0..1024).map(|_| generator.next()));
        let all: HashSet<u64> = edges.iter().copied().collect();
        assert_eq!(all.len(), edges.len());
        assert!(!all.contains(&0));
        // No three cancel (some pair would equal a third), and no four (two pairs would be equal).
        let mut pairs = HashSet::new();
        for (index, one) in edges.iter().enumerate() {
            for other in &edges[..index] {
                assert!(!all.contains(&(one ^ other)), "three edges cancel");
                assert!(pairs.insert(one ^ other), "four edges cancel");
            }
        }
    }

    #[test]
    fn one_bit_of_root_position_or_key_changes_half_of_the_edge() {
        let mut flips = [0_u32; 3];
        let rounds = 4096_u32;
        for round in 0..rounds {
            let root = RootId::new(Lane(round as u16 % 5), 1_000_000 + u64::from(round));
            let (key, position) = (EdgeKey::new(u64::from(round)), (round % 7) as u16);
            let edge = key.edge(root, position);
            flips[0] += (edge ^ key.edge(RootId(root.0 ^ 1 << (round % 64)), position)).count_ones();
            flips[1] += (edge ^ key.edge(root, position ^ 1 << (round % 16))).count_ones();
            flips[2] += (edge ^ EdgeKey(key.0 ^ 1 << (round % 64)).edge(root, position)).count_ones();
        }
        for flipped in flips {
            let mean = f64::from(flipped) / f64::from(rounds);
            assert!((31.0..33.0).contains(&mean), "{mean} bits of 64");
        }
    }

    #[test]
    fn tasks_and_incarnations_generate_different_edges() {
        let key = EdgeKey::new(5);
        let mut all = HashSet::new();
        for (task, random) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
            let mut generator = EdgeGenerator::new(key, task, random);
            all.extend((0..1000).map(|_| generator.next()));
        }
        assert_eq!(all.len(), 4000);
        assert_eq!(format!("{key:?}"), "EdgeKey(secret)");
    }
}
