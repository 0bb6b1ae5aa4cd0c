//! Where each byte of a frame header and a run header lies, and the little-endian accessors for them.
//!
//! Invariants: offsets here and in `FORMAT.md` agree (a test reads a golden frame); every integer is little-endian.

/// Bytes of a frame's header.
pub const FRAME_HEADER_BYTES: usize = 64;
/// Bytes of a run's header.
pub const RUN_HEADER_BYTES: usize = 32;
/// Most tuples in one run: it bounds the columns that an open run keeps aside.
pub const RUN_TUPLES_MAX: usize = 4096;

/// Layout version, the first byte that a reader checks.
pub const FRAME_VERSION: u16 = 1;
/// `RSFR`, so that foreign bytes are told from a frame at once.
pub(crate) const FRAME_MAGIC: u32 = u32::from_le_bytes(*b"RSFR");

pub(crate) mod frame_offset {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 4;
    pub(crate) const LENGTH: usize = 8;
    pub(crate) const RUN_COUNT: usize = 12;
    pub(crate) const TUPLE_COUNT: usize = 16;
}

pub(crate) mod run_offset {
    pub(crate) const SOURCE: usize = 0;
    pub(crate) const TARGET: usize = 4;
    pub(crate) const STREAM: usize = 8;
    pub(crate) const KIND: usize = 10;
    pub(crate) const STRIDE: usize = 11;
    pub(crate) const COUNT: usize = 12;
    pub(crate) const POSITION: usize = 14;
    pub(crate) const SIZE: usize = 16;
    pub(crate) const RUN_BYTES: usize = 20;
    pub(crate) const ROOT: usize = 24;
}

/// Low two bits of the kind byte: which anchors the tuples of a run carry.
pub(crate) const ANCHORS_MASK: u8 = 0b11;
pub(crate) const ANCHORS_NONE: u8 = 0;
pub(crate) const ANCHORS_RANGE: u8 = 1;
pub(crate) const ANCHORS_PAIR: u8 = 2;
pub(crate) const ANCHORS_MANY: u8 = 3;
/// The run has a column of payload lengths.
pub(crate) const FLAG_LENGTHS: u8 = 0b100;
/// The run has a column of target tasks.
pub(crate) const FLAG_TARGETS: u8 = 0b1000;
/// Bits of the kind byte that mean nothing and must be zero.
pub(crate) const KIND_UNUSED: u8 = 0b1111_0000;

#[inline]
pub(crate) fn read_u16(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
}

#[inline]
pub(crate) fn read_u32(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

#[inline]
pub(crate) fn read_u64(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

#[inline]
pub(crate) fn put_u16(bytes: &mut [u8], offset: usize, value: u16) {
    bytes[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
}

#[inline]
pub(crate) fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

#[inline]
pub(crate) fn put_u64(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}
