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
                archived.as_str()
            }

            #[inline]
            fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>> {
                if let ArchivedValue::Str(text) = value { Some(text.as_str()) } else { None }
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
