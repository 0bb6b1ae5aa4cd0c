//! The 64 bytes that engine and control move: a sequence number and a body that is refilled for each tuple.
//!
//! The body follows from the sequence number by one addition per word, so filling it costs what writing 56 bytes
//! costs, nothing is constant, and the sum over any number of tuples has a closed form (see [`crate::checksum`]).
//! Threading: plain data. Errors: none.

/// Bytes of the body.
pub const BODY_BYTES: usize = 56;

/// Words of the body.
const BODY_WORDS: usize = BODY_BYTES / 8;

/// What is added to the sequence number for each word of the body (the digits of pi, as good as any).
const SALTS: [u64; BODY_WORDS] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6c,
    0xc0ac_29b7_c97c_50dd,
];

/// One event of the raw ring: the same bytes as a tuple of the const spout, on a cache line of its own, which is the
/// layout that suits the ring best.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Payload {
    /// Position of the tuple in the stream, from zero.
    pub sequence: u64,
    /// The rest of the 64 bytes, see [`fill_body`].
    pub body: [u8; BODY_BYTES],
}

impl Payload {
    /// An event that no source has filled yet.
    pub const EMPTY: Payload = Payload { sequence: 0, body: [0; BODY_BYTES] };

    /// Writes all 64 bytes for the tuple `sequence`.
    #[inline]
    pub fn refill(&mut self, sequence: u64) {
        self.sequence = sequence;
        fill_body(&mut self.body, sequence);
    }
}

/// Writes the body of the tuple `sequence`.
#[inline]
pub fn fill_body(body: &mut [u8; BODY_BYTES], sequence: u64) {
    let (words, _) = body.as_chunks_mut::<8>();
    for (word, salt) in words.iter_mut().zip(SALTS) {
        *word = sequence.wrapping_add(salt).to_le_bytes();
    }
}

/// The wrapping sum of all salts, for the closed form of the checksum.
pub(crate) fn sum_of_salts() -> u64 {
    SALTS.iter().fold(0, |sum, salt| sum.wrapping_add(*salt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_one_cache_line() {
        assert_eq!((size_of::<Payload>(), align_of::<Payload>()), (64, 64));
    }

    #[test]
    fn every_byte_of_the_body_is_written_and_differs_between_tuples() {
        let (mut first, mut second) = ([0xff_u8; BODY_BYTES], [0_u8; BODY_BYTES]);
        fill_body(&mut first, 7);
        fill_body(&mut second, 7);
        assert_eq!(first, second, "the body follows from the sequence alone");
        fill_body(&mut second, 8);
        assert!(first.chunks(8).zip(second.chunks(8)).all(|(left, right)| left != right));
    }
}
