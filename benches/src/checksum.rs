//! Proof that a sink read every byte: the wrapping sum of the eight words of each tuple.
//!
//! Engine bolt and raw control call the same function and print the sum over the same first tuples, so equal
//! checksums mean that both read the same bytes. The sum over all tuples is compared with its closed form as well.
//! Threading: each sink owns its checksum. Errors: none; whoever reports compares.

use crate::payload::{BODY_BYTES, sum_of_salts};

/// The wrapping sum of the eight little-endian words of one tuple. The compiler cannot leave it out, because the sum
/// is printed.
#[inline]
pub fn sum_of_words(sequence: u64, body: &[u8; BODY_BYTES]) -> u64 {
    let (words, _) = body.as_chunks::<8>();
    words.iter().fold(sequence, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// The sum over the tuples `0..tuples` if every one arrives once and unchanged.
pub fn expected(tuples: u64) -> u64 {
    // Each of the eight words holds the sequence number, seven of them plus a salt.
    let sum_of_sequences = (u128::from(tuples) * u128::from(tuples.saturating_sub(1)) / 2) as u64;
    sum_of_sequences.wrapping_mul(8).wrapping_add(tuples.wrapping_mul(sum_of_salts()))
}

/// The running sum of a sink, and its value after the first `prefix_tuples`.
#[derive(Debug, Clone)]
pub struct Checksum {
    sum: u64,
    tuples: u64,
    prefix_tuples: u64,
    prefix_sum: u64,
}

impl Checksum {
    /// A checksum whose prefix is the first `prefix_tuples` tuples.
    pub fn new(prefix_tuples: u64) -> Self {
        Checksum { sum: 0, tuples: 0, prefix_tuples, prefix_sum: 0 }
    }

    /// Reads one tuple.
    #[inline]
    pub fn read(&mut self, sequence: u64, body: &[u8; BODY_BYTES]) {
        self.sum = self.sum.wrapping_add(sum_of_words(sequence, body));
        self.tuples += 1;
        if self.tuples == self.prefix_tuples {
            self.prefix_sum = self.sum;
        }
    }

    /// The sum over the first `prefix_tuples` tuples, or `None` if fewer arrived.
    pub fn prefix(&self) -> Option<u64> {
        (self.tuples >= self.prefix_tuples).then_some(self.prefix_sum)
    }

    /// Tuples read.
    pub fn tuples(&self) -> u64 {
        self.tuples
    }

    /// Whether the tuples `0..tuples()` arrived, each once and unchanged.
    pub fn is_as_expected(&self) -> bool {
        self.sum == expected(self.tuples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::fill_body;

    fn read_all(sequences: impl IntoIterator<Item = u64>, prefix_tuples: u64) -> Checksum {
        let mut checksum = Checksum::new(prefix_tuples);
        let mut body = [0; BODY_BYTES];
        for sequence in sequences {
            fill_body(&mut body, sequence);
            checksum.read(sequence, &body);
        }
        checksum
    }

    #[test]
    fn the_closed_form_is_the_sum() {
        for tuples in [0, 1, 2, 3, 63, 64, 1000, 4097] {
            let checksum = read_all(0..tuples, 0);
            assert!(checksum.is_as_expected(), "{tuples} tuples");
        }
        // Far beyond 32 bits, where the product overflows 64.
        assert_eq!(expected(1 << 40).wrapping_sub(expected((1 << 40) - 1)), {
            let mut body = [0; BODY_BYTES];
            fill_body(&mut body, (1 << 40) - 1);
            sum_of_words((1 << 40) - 1, &body)
        });
    }

    #[test]
    fn the_prefix_does_not_depend_on_what_follows() {
        let (short, long) = (read_all(0..100, 100), read_all(0..1000, 100));
        assert_eq!(short.prefix(), long.prefix());
        assert_eq!(short.prefix(), Some(expected(100)));
        assert_eq!(read_all(0..99, 100).prefix(), None);
    }

    #[test]
    fn a_lost_doubled_or_changed_tuple_shows() {
        assert!(!read_all((0..100).filter(|sequence| *sequence != 50), 0).is_as_expected());
        assert!(!read_all((0..100).chain([99]), 0).is_as_expected());
        let mut checksum = read_all(0..100, 0);
        let mut body = [0; BODY_BYTES];
        fill_body(&mut body, 100);
        body[55] ^= 1;
        checksum.read(100, &body);
        assert!(!checksum.is_as_expected());
    }
}
