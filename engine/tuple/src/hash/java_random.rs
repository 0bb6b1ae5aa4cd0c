//! `java.util.Random`, as its documentation specifies it: a 48-bit linear congruential generator.

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;

/// Java's generator, for choices that must be the same as Storm's.
#[derive(Debug, Clone)]
pub struct JavaRandom {
    state: u64,
}

impl JavaRandom {
    /// The generator with that seed.
    #[must_use]
    pub fn new(seed: i64) -> Self {
        JavaRandom { state: (seed.cast_unsigned() ^ MULTIPLIER) & MASK }
    }

    /// The next `bits` bits, at most 31, so that the result is never negative.
    fn next(&mut self, bits: u32) -> i32 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        (self.state >> (48 - bits)) as i32
    }

    /// A number from 0 up to, but not including, `bound`; 0 if `bound` is not positive (where Java throws).
    pub fn next_int(&mut self, bound: i32) -> i32 {
        if bound <= 0 {
            return 0;
        }
        let mut bits = self.next(31);
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(bits)) >> 31) as i32;
        }
        loop {
            let value = bits % bound;
            // Rejects the last, incomplete stretch of the range, which shows as an overflow in Java.
            if bits.wrapping_sub(value).wrapping_add(bound - 1) >= 0 {
                return value;
            }
            bits = self.next(31);
        }
    }
}
