//! The hash that places keys, equal to Storm's.
//!
//! Storm's fields grouping sends a tuple to task `floorMod(Arrays.deepHashCode(values), tasks)`. The values here are
//! canonical, so that typed and dynamic tuples of any producer agree: every integer hashes as Java's `Long` (`u64` by
//! its bits), every float as `Double`, strings over their UTF-16 units, bytes as `byte[]` (also inside lists, where
//! Java would take the identity), lists as `List`, maps as `Map`, nothing as `null`. So a key goes where Storm would
//! send it if its producers use `Long` and `Double`. Note that 1 and 1.0 are different keys, as in Java.

mod java_random;
mod java_text;

use std::fmt;

use crate::{FieldRef, MAX_DEPTH};

pub use java_random::JavaRandom;

/// Deeper than this, values count as null. It is beyond what can be written; a tuple is grouped before it is written,
/// and one that nests too deep must not take the stack with it.
const MAX_HASH_DEPTH: usize = 2 * MAX_DEPTH;

/// The hash of one value, as Java's `hashCode`.
#[inline]
#[must_use]
pub fn java_hash(field: FieldRef<'_>) -> i32 {
    match field {
        FieldRef::Null => 0,
        FieldRef::Bool(value) => bool_hash(value),
        FieldRef::Int(value) => long_hash(value),
        FieldRef::UInt(value) => long_hash(value.cast_signed()),
        FieldRef::Float(value) => double_hash(value),
        FieldRef::Str(text) => string_hash(text),
        FieldRef::Bytes(bytes) => bytes_hash(bytes),
        FieldRef::List(_) | FieldRef::Map(_) => nested_hash(field, 0),
    }
}

fn nested_hash(field: FieldRef<'_>, depth: usize) -> i32 {
    if depth == MAX_HASH_DEPTH {
        return 0;
    }
    match field {
        FieldRef::List(list) => {
            list.iter().fold(1, |hash: i32, item| hash.wrapping_mul(31).wrapping_add(nested_hash(item, depth + 1)))
        }
        FieldRef::Map(map) => map
            .iter()
            .fold(0, |hash: i32, (key, value)| hash.wrapping_add(string_hash(key) ^ nested_hash(value, depth + 1))),
        other => java_hash(other),
    }
}

/// The hash of the values of a grouping's fields, as `Arrays.deepHashCode`.
#[inline]
#[must_use]
pub fn fields_hash<'v>(fields: impl IntoIterator<Item = FieldRef<'v>>) -> i32 {
    fields.into_iter().fold(1, |hash: i32, field| hash.wrapping_mul(31).wrapping_add(java_hash(field)))
}

/// The index of the task among `tasks` that a hash belongs to, as `Math.floorMod`. Zero if there are no tasks.
#[inline]
#[must_use]
pub fn fields_task_index(hash: i32, tasks: usize) -> usize {
    // Task counts fit an `i32`, as in Storm; a larger one would only use its lower part.
    match i32::try_from(tasks) {
        Ok(0) => 0,
        Ok(tasks) => hash.rem_euclid(tasks) as usize,
        Err(_) => hash.rem_euclid(i32::MAX) as usize,
    }
}

/// The two tasks, by index, among which a partial-key grouping on these fields chooses: the less loaded, the first one
/// if they are equal.
///
/// As in Storm's `PartialKeyGrouping` with fields: the hashes of the values, four bytes each, seed Java's generator.
#[must_use]
pub fn partial_key_choices<'v>(fields: impl IntoIterator<Item = FieldRef<'v>>, tasks: usize) -> (usize, usize) {
    let seed = fields.into_iter().fold(1, |hash, field| fold_bytes(hash, &java_hash(field).to_be_bytes()));
    two_choices(seed, tasks)
}

/// The same for a partial-key grouping without fields: the key is the first value's text, as Java's `toString` writes
/// it, in UTF-8.
///
/// Where Storm would throw or take an identity, contents count: nothing is the text `null`, bytes are their numbers. The
/// text of a float is that of Java 19 and later.
#[must_use]
pub fn partial_key_choices_of_first(value: FieldRef<'_>, tasks: usize) -> (usize, usize) {
    let mut hash = TextHash(1);
    // The hash takes whatever is written.
    let _ = java_text::write_text(&mut hash, value);
    two_choices(hash.0, tasks)
}

/// The hash of the bytes of a text that is written piece by piece.
struct TextHash(i32);

impl fmt::Write for TextHash {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = fold_bytes(self.0, text.as_bytes());
        Ok(())
    }
}

fn two_choices(seed: i32, tasks: usize) -> (usize, usize) {
    let bound = i32::try_from(tasks).unwrap_or(i32::MAX);
    if bound == 0 {
        return (0, 0);
    }
    let mut random = JavaRandom::new(i64::from(seed));
    let first = random.next_int(bound);
    let second = random.next_int(bound);
    let second = if first == second { (second + 1) % bound } else { second };
    (first as usize, second as usize)
}

#[inline]
fn bool_hash(value: bool) -> i32 {
    if value { 1231 } else { 1237 }
}

#[inline]
fn long_hash(value: i64) -> i32 {
    let bits = value.cast_unsigned();
    ((bits ^ (bits >> 32)) as u32).cast_signed()
}

/// Every NaN hashes as Java's canonical one; zero and negative zero differ.
#[inline]
fn double_hash(value: f64) -> i32 {
    const CANONICAL_NAN: i64 = 0x7ff8_0000_0000_0000;
    long_hash(if value.is_nan() { CANONICAL_NAN } else { value.to_bits().cast_signed() })
}

#[inline]
fn bytes_hash(bytes: &[u8]) -> i32 {
    fold_bytes(1, bytes)
}

/// `hash = 31 * hash + byte`, for each signed byte.
#[inline]
fn fold_bytes(hash: i32, bytes: &[u8]) -> i32 {
    let (chunks, rest) = bytes.as_chunks::<STRIDE>();
    let hash = chunks.iter().fold(hash, |hash: i32, chunk| {
        let sum = chunk
            .iter()
            .zip(POWERS)
            .fold(0, |sum: i32, (byte, power)| sum.wrapping_add(i32::from(byte.cast_signed()).wrapping_mul(power)));
        hash.wrapping_mul(POWERS[0].wrapping_mul(31)).wrapping_add(sum)
    });
    rest.iter().fold(hash, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed())))
}

/// Bytes that are folded at once: the chain of multiplications is then an eighth as long.
const STRIDE: usize = 8;

/// 31 to the power of 7, 6, ... 0.
const POWERS: [i32; STRIDE] = {
    let mut powers = [1; STRIDE];
    let mut index = STRIDE - 1;
    while index > 0 {
        powers[index - 1] = 31i32.wrapping_mul(powers[index]);
        index -= 1;
    }
    powers
};

#[inline]
fn string_hash(text: &str) -> i32 {
    if text.is_ascii() {
        // Each byte is one UTF-16 unit, and not negative.
        fold_bytes(0, text.as_bytes())
    } else {
        text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
    }
}
