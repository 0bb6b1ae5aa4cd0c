//! A hash for maps by root or sequence number, which nobody outside chooses: one multiplication.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by root or sequence number.
pub(crate) type NumberMap<Value> = HashMap<u64, Value, BuildHasherDefault<NumberHasher>>;

#[derive(Default, Clone, Copy)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        // The map takes its place from the low bits and a tag from the high ones: both must depend on all of them.
        let product = u128::from(self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
