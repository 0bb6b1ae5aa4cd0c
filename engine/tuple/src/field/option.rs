//! Options: one byte that says whether there is a value, then its place.

use rkyv::option::ArchivedOption;

use super::Field;
use crate::archived::{ArchivedField, ArchivedValue};
use crate::{EncodeError, Encoder, FieldRef, Kind, Slot, Stored};

/// Where the value of an archived option starts: behind its tag, without padding.
const VALUE_OFFSET: usize = 1;

// SAFETY: `resolve` zeroes an empty option, and fills tag and value of another; the kind names the inner kind.
unsafe impl<T: Field> Field for Option<T> {
    type Archived = ArchivedOption<T::Archived>;
    type Native<'v> = Option<T::Native<'v>>;

    const KIND: Kind = Kind::Option(&T::KIND);
    const FIXED: bool = T::FIXED;
    const LEVELS: usize = T::LEVELS;

    #[inline]
    fn store(&self, encoder: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
        self.as_ref().map_or(Ok(0), |value| value.store(encoder))
    }

    #[inline]
    unsafe fn resolve(&self, stored: Stored, slot: Slot<Self::Archived>) {
        const {
            assert!(size_of::<ArchivedOption<T::Archived>>() == VALUE_OFFSET + size_of::<T::Archived>());
        }
        match self {
            // SAFETY: valid for writes, as the caller promises. The tag of an empty option is zero.
            None => unsafe { slot.pointer().write_bytes(0, 1) },
            // SAFETY: as above; the size that was just asserted leaves one byte for the tag, which `repr(u8)` puts
            // first, and the value at the offset behind it.
            Some(value) => unsafe {
                slot.pointer().cast::<u8>().write(1);
                value.resolve(stored, slot.part(VALUE_OFFSET));
            },
        }
    }

    #[inline]
    fn native(archived: &Self::Archived) -> Self::Native<'_> {
        match archived {
            ArchivedOption::None => None,
            ArchivedOption::Some(value) => Some(T::native(value)),
        }
    }

    #[inline]
    fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>> {
        if value.field_ref().is_null() { Some(None) } else { T::from_dynamic(value).map(Some) }
    }

    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        self.as_ref().map_or(FieldRef::Null, Field::field_ref)
    }

    #[inline]
    fn out_of_line_bytes(&self) -> usize {
        self.as_ref().map_or(0, Field::out_of_line_bytes)
    }
}
