//! Truth values, integers and floats: fixed size, little-endian, no alignment.

use rkyv::primitive::{
    ArchivedF32, ArchivedF64, ArchivedI16, ArchivedI32, ArchivedI64, ArchivedU16, ArchivedU32, ArchivedU64,
};

use super::Field;
use crate::archived::{ArchivedField, ArchivedValue};
use crate::{EncodeError, Encoder, FieldRef, Kind, Slot, Stored};

macro_rules! number {
    ($native:ty, $archived:ty, $kind:expr, $to_archived:expr, $to_native:expr, $from_dynamic:expr, $field:expr) => {
        // SAFETY: `resolve` writes a whole archived number, which has no padding; the kind is this type's alone.
        unsafe impl Field for $native {
            type Archived = $archived;
            type Native<'v> = $native;

            const KIND: Kind = $kind;
            const FIXED: bool = true;
            const LEVELS: usize = 0;

            #[inline]
            fn store(&self, _: &mut Encoder<'_>) -> Result<Stored, EncodeError> {
                Ok(0)
            }

            #[inline]
            unsafe fn resolve(&self, _: Stored, slot: Slot<Self::Archived>) {
                let to_archived: fn($native) -> $archived = $to_archived;
                // SAFETY: valid for writes, as the caller promises; alignment 1.
                unsafe { slot.pointer().write(to_archived(*self)) };
            }

            #[inline]
            fn native(archived: &Self::Archived) -> Self::Native<'_> {
                let to_native: fn($archived) -> $native = $to_native;
                to_native(*archived)
            }

            #[inline]
            fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>> {
                let from_dynamic: fn(FieldRef<'_>) -> Option<$native> = $from_dynamic;
                from_dynamic(value.field_ref())
            }

            #[inline]
            fn field_ref(&self) -> FieldRef<'_> {
                let field: fn($native) -> FieldRef<'static> = $field;
                field(*self)
            }
        }
    };
}

macro_rules! small_integer {
    ($native:ty, $archived:ty, $kind:expr) => {
        number!(
            $native,
            $archived,
            $kind,
            |value| <$archived>::from(value),
            |archived| archived.into(),
            |field| <$native>::try_from(field.as_i64()?).ok(),
            |value| FieldRef::Int(i64::from(value))
        );
    };
}

number!(bool, bool, Kind::Bool, |value| value, |archived| archived, |field| field.as_bool(), FieldRef::Bool);
small_integer!(i8, i8, Kind::I8);
small_integer!(i16, ArchivedI16, Kind::I16);
small_integer!(i32, ArchivedI32, Kind::I32);
small_integer!(i64, ArchivedI64, Kind::I64);
small_integer!(u8, u8, Kind::U8);
small_integer!(u16, ArchivedU16, Kind::U16);
small_integer!(u32, ArchivedU32, Kind::U32);
number!(
    u64,
    ArchivedU64,
    Kind::U64,
    ArchivedU64::from_native,
    ArchivedU64::to_native,
    |field| field.as_u64(),
    FieldRef::UInt
);
number!(
    f32,
    ArchivedF32,
    Kind::F32,
    ArchivedF32::from_native,
    ArchivedF32::to_native,
    |field| field.as_f64().map(|value| value as f32),
    |value| FieldRef::Float(f64::from(value))
);
number!(
    f64,
    ArchivedF64,
    Kind::F64,
    ArchivedF64::from_native,
    ArchivedF64::to_native,
    |field| field.as_f64(),
    FieldRef::Float
);
