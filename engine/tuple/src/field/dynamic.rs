//! A dynamic value as a field, of a typed tuple or of a dynamic one.

use rkyv::string::repr::INLINE_CAPACITY;
use rkyv::vec::{ArchivedVec, VecResolver};

use super::Field;
use crate::archived::{ArchivedEntry, ArchivedField, ArchivedValue};
use crate::{EncodeError, Encoder, FieldRef, Kind, MAX_DEPTH, Slot, Stored, Value};

/// Where the content of an archived value starts: behind its tag, without padding.
const CONTENT_OFFSET: usize = 1;

// SAFETY: `resolve` zeroes the slot before it fills what the value needs of it.
unsafe impl Field for Value {
    type Archived = ArchivedValue;
    type Native<'v> = FieldRef<'v>;

    const KIND: Kind = Kind::Value;
    const FIXED: bool = false;
    // The lists and maps, and a string below the deepest.
    const LEVELS: usize = MAX_DEPTH + 1;

    #[inline]
    fn store(&self, encoder: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
        match self {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => Ok(0),
            Value::Str(text) => text.store(encoder),
            Value::Bytes(bytes) => bytes.store(encoder),
            Value::List(items) => encoder.nested(|encoder| encoder.list(items)),
            Value::Map(entries) => encoder.nested(|encoder| {
                encoder.map::<_, _, ArchivedEntry>(entries, std::mem::offset_of!(ArchivedEntry, value))
            }),
        }
    }

    #[inline]
    unsafe fn resolve(&self, stored: Stored, slot: Slot<ArchivedValue>) {
        // SAFETY: valid for writes, as the caller promises. Zeros come first, so that what a small value leaves out is
        // initialised; then the tag, which `repr(u8)` puts first; then the content, which has alignment 1 and
        // therefore lies directly behind the tag. That the numbers are those of `ArchivedValue` is tested by every
        // round trip.
        unsafe {
            slot.pointer().write_bytes(0, 1);
            let tag = match self {
                Value::Null => 0,
                Value::Bool(value) => {
                    value.resolve(stored, slot.part(CONTENT_OFFSET));
                    1
                }
                Value::Int(value) => {
                    value.resolve(stored, slot.part(CONTENT_OFFSET));
                    2
                }
                Value::UInt(value) => {
                    value.resolve(stored, slot.part(CONTENT_OFFSET));
                    3
                }
                Value::Float(value) => {
                    value.resolve(stored, slot.part(CONTENT_OFFSET));
                    4
                }
                Value::Str(text) => {
                    text.resolve(stored, slot.part(CONTENT_OFFSET));
                    5
                }
                Value::Bytes(bytes) => {
                    bytes.resolve(stored, slot.part(CONTENT_OFFSET));
                    6
                }
                Value::List(items) => {
                    items.resolve(stored, slot.part(CONTENT_OFFSET));
                    7
                }
                Value::Map(entries) => {
                    let place = slot.part::<ArchivedVec<ArchivedEntry>>(CONTENT_OFFSET).zeroed();
                    ArchivedVec::resolve_from_len(entries.len(), VecResolver::from_pos(stored as usize), place);
                    8
                }
            };
            slot.pointer().cast::<u8>().write(tag);
        }
    }

    #[inline]
    fn native(archived: &ArchivedValue) -> FieldRef<'_> {
        archived.field_ref()
    }

    #[inline]
    fn from_dynamic(value: &ArchivedValue) -> Option<FieldRef<'_>> {
        Some(value.field_ref())
    }

    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        Value::field_ref(self)
    }

    #[inline]
    fn out_of_line_bytes(&self) -> usize {
        match self {
            Value::Str(text) if text.len() > INLINE_CAPACITY => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(items) => items.len().saturating_mul(size_of::<ArchivedValue>()),
            Value::Map(entries) => entries.len().saturating_mul(size_of::<ArchivedEntry>()),
            _ => 0,
        }
    }
}
