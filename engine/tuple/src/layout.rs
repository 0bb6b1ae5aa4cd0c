//! What a typed tuple looks like: the kind of each field, and one number that stands for all of them.
//!
//! Both ends of a connection compare [`LayoutHash`]es in their handshake, and a stream compares its own with the one
//! of the type that a bolt reads: equal hashes mean equal names, kinds and order, and therefore equal archives.

use std::fmt;

/// The kind of one field. It decides how the field lies in an archive, so it is part of the layout hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `bool`.
    Bool,
    /// `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `u8`.
    U8,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `&str` or `String`.
    Str,
    /// `&[u8]` or `Vec<u8>`.
    Bytes,
    /// `[u8; N]`.
    FixedBytes(usize),
    /// `Option` of another kind.
    Option(&'static Kind),
    /// A list of another kind.
    List(&'static Kind),
    /// An enum of units, with the names of its variants in order.
    Enum(&'static [&'static str]),
    /// A dynamic [`Value`](crate::Value).
    Value,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Kind::Bool => "bool",
            Kind::I8 => "i8",
            Kind::I16 => "i16",
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::U8 => "u8",
            Kind::U16 => "u16",
            Kind::U32 => "u32",
            Kind::U64 => "u64",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::Str => "string",
            Kind::Bytes => "bytes",
            Kind::Value => "value",
            Kind::FixedBytes(length) => return write!(formatter, "{length} bytes"),
            Kind::Option(inner) => return write!(formatter, "optional {inner}"),
            Kind::List(inner) => return write!(formatter, "list of {inner}"),
            Kind::Enum(names) => return write!(formatter, "one of {}", names.join(", ")),
        };
        formatter.write_str(name)
    }
}

/// A number that stands for the layout of a stream's tuples: the names and kinds of their fields, in order.
///
/// It is the same on every machine and in every build, so it can be compared across workers. [`LayoutHash::DYNAMIC`]
/// (zero) stands for all dynamic tuples; no typed layout has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LayoutHash(pub u64);

impl LayoutHash {
    /// The layout of dynamic tuples.
    pub const DYNAMIC: LayoutHash = LayoutHash(0);

    /// Whether this is the layout of dynamic tuples.
    #[inline]
    #[must_use]
    pub const fn is_dynamic(self) -> bool {
        self.0 == 0
    }

    /// The layout of typed tuples whose fields have these names and kinds, in this order.
    #[must_use]
    pub const fn of(names: &[&str], kinds: &[Kind]) -> LayoutHash {
        let mut hash = mix_number(FNV_OFFSET, names.len() as u64);
        let mut index = 0;
        while index < names.len() {
            hash = mix_text(hash, names[index]);
            hash = mix_kind(hash, &kinds[index]);
            index += 1;
        }
        // Zero is taken by dynamic tuples.
        LayoutHash(if hash == 0 { 1 } else { hash })
    }
}

impl fmt::Display for LayoutHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_dynamic() { formatter.write_str("dynamic") } else { write!(formatter, "{:016x}", self.0) }
    }
}

// FNV-1a with 64 bits: it can be computed in a constant and spreads short names well. Its constants are from
// draft-eastlake-fnv.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

const fn mix_byte(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(FNV_PRIME)
}

const fn mix_number(mut hash: u64, number: u64) -> u64 {
    let bytes = number.to_le_bytes();
    let mut index = 0;
    while index < bytes.len() {
        hash = mix_byte(hash, bytes[index]);
        index += 1;
    }
    hash
}

/// The length goes first, so that "ab", "c" and "a", "bc" differ.
const fn mix_text(mut hash: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    hash = mix_number(hash, bytes.len() as u64);
    let mut index = 0;
    while index < bytes.len() {
        hash = mix_byte(hash, bytes[index]);
        index += 1;
    }
    hash
}

/// The numbers are part of the wire format: never change one, only add.
const fn mix_kind(hash: u64, kind: &Kind) -> u64 {
    match kind {
        Kind::Bool => mix_byte(hash, 1),
        Kind::I8 => mix_byte(hash, 2),
        Kind::I16 => mix_byte(hash, 3),
        Kind::I32 => mix_byte(hash, 4),
        Kind::I64 => mix_byte(hash, 5),
        Kind::U8 => mix_byte(hash, 6),
        Kind::U16 => mix_byte(hash, 7),
        Kind::U32 => mix_byte(hash, 8),
        Kind::U64 => mix_byte(hash, 9),
        Kind::F32 => mix_byte(hash, 10),
        Kind::F64 => mix_byte(hash, 11),
        Kind::Str => mix_byte(hash, 12),
        Kind::Bytes => mix_byte(hash, 13),
        Kind::FixedBytes(length) => mix_number(mix_byte(hash, 14), *length as u64),
        Kind::Option(inner) => mix_kind(mix_byte(hash, 15), inner),
        Kind::List(inner) => mix_kind(mix_byte(hash, 16), inner),
        Kind::Enum(names) => {
            let mut hash = mix_number(mix_byte(hash, 17), names.len() as u64);
            let mut index = 0;
            while index < names.len() {
                hash = mix_text(hash, names[index]);
                index += 1;
            }
            hash
        }
        Kind::Value => mix_byte(hash, 18),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_kinds_and_order_all_count() {
        let base = LayoutHash::of(&["a", "b"], &[Kind::Str, Kind::U64]);
        for (names, kinds) in [
            (["b", "a"], [Kind::Str, Kind::U64]),
            (["a", "b"], [Kind::U64, Kind::Str]),
            (["a", "c"], [Kind::Str, Kind::U64]),
            (["ab", ""], [Kind::Str, Kind::U64]),
            (["a", "b"], [Kind::Str, Kind::I64]),
            (["a", "b"], [Kind::Str, Kind::Option(&Kind::U64)]),
            (["a", "b"], [Kind::Str, Kind::List(&Kind::U64)]),
            (["a", "b"], [Kind::FixedBytes(1), Kind::FixedBytes(2)]),
        ] {
            assert_ne!(base, LayoutHash::of(&names, &kinds), "{names:?} {kinds:?}");
        }
    }

    #[test]
    fn no_typed_layout_is_dynamic() {
        const { assert!(!LayoutHash::of(&[], &[]).is_dynamic()) };
    }

    #[test]
    fn the_hash_is_the_same_in_every_build() {
        // Workers of different builds compare these numbers: a change here is a change of the wire format.
        assert_eq!(LayoutHash::of(&["word", "count"], &[Kind::Str, Kind::U64]), LayoutHash(0x191a_a574_68bc_c30e));
    }
}
