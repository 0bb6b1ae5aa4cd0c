//! Strings and bytes. A string of at most eight bytes lies in its place; a longer one, and bytes, lie out of line.

use rkyv::string::ArchivedString;
use rkyv::string::repr::{ArchivedStringRepr, INLINE_CAPACITY};
use rkyv::vec::{ArchivedVec, VecResolver};

use super::Field;
use crate::archived::ArchivedValue;
use crate::{EncodeError, Encoder, FieldRef, Kind, Slot, Stored};

#[inline]
fn store_text(text: &str, encoder: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
    if text.len() <= INLINE_CAPACITY { Ok(0) } else { encoder.bytes(text.as_bytes()) }
}

/// # Safety
///
/// As for [`Field::resolve`].
#[inline]
unsafe fn resolve_text(text: &str, stored: Stored, slot: Slot<ArchivedString>) {
    // SAFETY: `ArchivedString` is a transparent wrapper of its representation. The place was zeroed, so the bytes that
    // a short string leaves out are initialised. A long one fits: `Encoder::bytes` allowed it.
    unsafe {
        let place = slot.zeroed().cast_unchecked::<ArchivedStringRepr>();
        if text.len() <= INLINE_CAPACITY {
            ArchivedStringRepr::emplace_inline(text, place.ptr());
        } else {
            ArchivedStringRepr::emplace_out_of_line(text, stored as usize, place);
        }
    }
}

/// The text of an archived string.
///
/// `ArchivedString::as_str` looks for the end of a short string byte by byte; this finds it in one step.
#[inline]
pub(crate) fn text_of(archived: &ArchivedString) -> &str {
    const { assert!(size_of::<ArchivedString>() == INLINE_CAPACITY && INLINE_CAPACITY == 8) };
    let start: *const u8 = std::ptr::from_ref(archived).cast();
    // SAFETY: an archived string is eight bytes, all initialised.
    let word = u64::from_le(unsafe { start.cast::<u64>().read_unaligned() });
    // A long string has the bits 10 at the top of its first byte, which no UTF-8 text starts with.
    if word & 0xc0 == 0x80 {
        return archived.as_str();
    }
    // 0xff fills what a short string leaves over (at least its first byte) and is never part of UTF-8. So the length is
    // the index of the first zero byte of the complement, found by the borrow that it causes.
    let complement = !word;
    let borrows = complement.wrapping_sub(0x0101_0101_0101_0101) & word & 0x8080_8080_8080_8080;
    let length = (borrows.trailing_zeros() / 8) as usize;
    // SAFETY: the text lies in these bytes up to that length, at most eight, and is UTF-8: it was written from a `str`
    // or validated. The tests `every_short_text_...` compare this with `as_str`.
    unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(start, length)) }
}

macro_rules! text {
    ($type:ty) => {
        // SAFETY: `resolve_text` initialises the slot; every text type has the same archive.
        unsafe impl Field for $type {
            type Archived = ArchivedString;
            type Native<'v> = &'v str;

            const KIND: Kind = Kind::Str;
            const FIXED: bool = false;
            const LEVELS: usize = 1;

            #[inline]
            fn store(&self, encoder: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
                store_text(self, encoder)
            }

            #[inline]
            unsafe fn resolve(&self, stored: Stored, slot: Slot<Self::Archived>) {
                // SAFETY: as the caller promises.
                unsafe { resolve_text(self, stored, slot) };
            }

            #[inline]
            fn native(archived: &Self::Archived) -> Self::Native<'_> {
                text_of(archived)
            }

            #[inline]
            fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>> {
                if let ArchivedValue::Str(text) = value { Some(text_of(text)) } else { None }
            }

            #[inline]
            fn field_ref(&self) -> FieldRef<'_> {
                FieldRef::Str(self)
            }

            #[inline]
            fn out_of_line_bytes(&self) -> usize {
                if self.len() <= INLINE_CAPACITY { 0 } else { self.len() }
            }
        }
    };
}

text!(&str);
text!(String);

macro_rules! bytes {
    ($type:ty) => {
        // SAFETY: `resolve` zeroes and then fills the slot; both types have the same archive.
        unsafe impl Field for $type {
            type Archived = ArchivedVec<u8>;
            type Native<'v> = &'v [u8];

            const KIND: Kind = Kind::Bytes;
            const FIXED: bool = false;
            const LEVELS: usize = 1;

            #[inline]
            fn store(&self, encoder: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
                encoder.bytes(self)
            }

            #[inline]
            unsafe fn resolve(&self, stored: Stored, slot: Slot<Self::Archived>) {
                // SAFETY: as the caller promises.
                let place = unsafe { slot.zeroed() };
                ArchivedVec::resolve_from_len(self.len(), VecResolver::from_pos(stored as usize), place);
            }

            #[inline]
            fn native(archived: &Self::Archived) -> Self::Native<'_> {
                archived.as_slice()
            }

            #[inline]
            fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>> {
                if let ArchivedValue::Bytes(bytes) = value { Some(bytes.as_slice()) } else { None }
            }

            #[inline]
            fn field_ref(&self) -> FieldRef<'_> {
                FieldRef::Bytes(self)
            }

            #[inline]
            fn out_of_line_bytes(&self) -> usize {
                self.len()
            }
        }
    };
}

bytes!(&[u8]);
bytes!(Vec<u8>);

// SAFETY: `resolve` copies all bytes of the slot; the length is part of the kind.
unsafe impl<const N: usize> Field for [u8; N] {
    type Archived = [u8; N];
    type Native<'v> = &'v [u8; N];

    const KIND: Kind = Kind::FixedBytes(N);
    const FIXED: bool = true;
    const LEVELS: usize = 0;

    #[inline]
    fn store(&self, _: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
        Ok(0)
    }

    #[inline]
    unsafe fn resolve(&self, _: Stored, slot: Slot<Self::Archived>) {
        // SAFETY: valid for writes, as the caller promises; the output cannot overlap a value that is borrowed.
        unsafe { slot.pointer().copy_from_nonoverlapping(self, 1) };
    }

    #[inline]
    fn native(archived: &Self::Archived) -> Self::Native<'_> {
        archived
    }

    #[inline]
    fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>> {
        if let ArchivedValue::Bytes(bytes) = value { bytes.as_slice().try_into().ok() } else { None }
    }

    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        FieldRef::Bytes(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{encode, root};

    #[test]
    fn every_short_text_and_every_length_is_read_as_rkyv_reads_it() {
        let texts = ["", "a", "storm", "\0\0", "\u{7f}", "é", "ééé", "\u{10ffff}", "\u{10ffff}\u{10ffff}", "\u{1}\0"];
        let lengths = (0..200).map(|length| "x".repeat(length));
        for text in texts.iter().map(|text| (*text).to_owned()).chain(lengths) {
            let mut payload = Vec::new();
            // SAFETY: the slot is resolved.
            unsafe {
                encode::<ArchivedString, 1>(
                    &mut payload,
                    false,
                    0,
                    |encoder| Ok([text.store(encoder)?]),
                    |[stored], slot| text.resolve(stored, slot),
                )
            }
            .unwrap();
            // SAFETY: written just now.
            let archived: &ArchivedString = unsafe { root(&payload) };
            assert_eq!(text_of(archived), text);
            assert_eq!(archived.as_str(), text);
        }
    }
}
