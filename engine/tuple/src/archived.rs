//! The bytes of values: what lies in a payload, how it is checked, and how it shows itself.
//!
//! All of these types have alignment 1 and no padding. Their layout is the wire format: a change here is a new version
//! of it. Numbers are little-endian.
//!
//! | field | bytes in its parent | out of line, before its parent |
//! |---|---|---|
//! | `bool`, integers, floats | their own 1 to 8 | |
//! | `[u8; N]` | N | |
//! | enum of units | 1: the index of the variant | |
//! | string of at most 8 bytes | 8: the text, then 0xff | |
//! | longer string | 8: length with the bits 10 put in above its sixth, offset | the text |
//! | bytes, list | 8: offset, length | the bytes; the items side by side |
//! | option | 1: 0 or 1, then the room of its value | what the value has |
//! | dynamic value | 1: which, then 8 of one of the above | what the value has |
//! | entry of a map | 8: its name, then 9: its value | what they have |
//!
//! Offsets are signed, 32-bit, from the place of the offset itself (for a string, from the start of its eight bytes). A
//! typed tuple is its fields side by side, a dynamic one a list of values; either way the root is the end of the
//! payload. Out-of-line data lies in the order of the fields.

use std::fmt;
use std::marker::PhantomData;

use rkyv::Portable;
use rkyv::bytecheck::CheckBytes;
use rkyv::primitive::{
    ArchivedF32, ArchivedF64, ArchivedI16, ArchivedI32, ArchivedI64, ArchivedU16, ArchivedU32, ArchivedU64,
};
use rkyv::rancor::{Failure, Fallible, Source, Strategy};
use rkyv::string::ArchivedString;
use rkyv::validation::ArchiveContext;
use rkyv::validation::archive::ArchiveValidator;
use rkyv::vec::ArchivedVec;

use crate::field::text_of;
use crate::{FieldRef, ListRef, MapRef};

/// What checks untrusted bytes: bounds, tags, UTF-8, and a limit on depth. Its errors carry no text, for speed.
pub type Validator<'c> = Strategy<ArchiveValidator<'c>, Failure>;

/// An archived type that can be a field.
pub trait ArchivedField: Portable + for<'c> CheckBytes<Validator<'c>> + 'static {
    /// The field as groupings, JSON and bolts that read by name see it.
    fn field_ref(&self) -> FieldRef<'_>;
}

/// An archived type of which lists can be made: all but `u8`, whose lists are bytes.
pub trait ArchivedItem: ArchivedField {}

macro_rules! archived_numbers {
    ($($archived:ty => |$value:ident| $field:expr;)*) => {
        $(impl ArchivedField for $archived {
            #[inline]
            fn field_ref(&self) -> FieldRef<'_> {
                let $value = *self;
                $field
            }
        })*
    };
}

archived_numbers! {
    bool => |value| FieldRef::Bool(value);
    i8 => |value| FieldRef::Int(i64::from(value));
    ArchivedI16 => |value| FieldRef::Int(i64::from(value.to_native()));
    ArchivedI32 => |value| FieldRef::Int(i64::from(value.to_native()));
    ArchivedI64 => |value| FieldRef::Int(value.to_native());
    u8 => |value| FieldRef::Int(i64::from(value));
    ArchivedU16 => |value| FieldRef::Int(i64::from(value.to_native()));
    ArchivedU32 => |value| FieldRef::Int(i64::from(value.to_native()));
    ArchivedU64 => |value| FieldRef::UInt(value.to_native());
    ArchivedF32 => |value| FieldRef::Float(f64::from(value.to_native()));
    ArchivedF64 => |value| FieldRef::Float(value.to_native());
}

impl ArchivedField for ArchivedString {
    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        FieldRef::Str(text_of(self))
    }
}

impl ArchivedField for ArchivedVec<u8> {
    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        FieldRef::Bytes(self.as_slice())
    }
}

impl<const N: usize> ArchivedField for [u8; N] {
    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        FieldRef::Bytes(self)
    }
}

impl<A: ArchivedItem> ArchivedField for ArchivedVec<A> {
    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        FieldRef::List(ListRef::new(self))
    }
}

impl<A: ArchivedField> ArchivedField for rkyv::option::ArchivedOption<A> {
    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        match self {
            rkyv::option::ArchivedOption::None => FieldRef::Null,
            rkyv::option::ArchivedOption::Some(value) => value.field_ref(),
        }
    }
}

macro_rules! archived_items {
    ($($archived:ty),*) => { $(impl ArchivedItem for $archived {})* };
}

archived_items!(bool, i8, ArchivedI16, ArchivedI32, ArchivedI64, ArchivedU16, ArchivedU32, ArchivedU64);
archived_items!(ArchivedF32, ArchivedF64, ArchivedString, ArchivedVec<u8>, ArchivedValue);
impl<const N: usize> ArchivedItem for [u8; N] {}
impl<A: ArchivedItem> ArchivedItem for ArchivedVec<A> {}
impl<A: ArchivedField> ArchivedItem for rkyv::option::ArchivedOption<A> {}
impl<E: UnitEnum> ArchivedItem for ArchivedEnum<E> {}

/// A dynamic value in a payload: one byte that says which, and eight bytes.
///
/// The numbers of the variants are part of the wire format.
#[derive(CheckBytes)]
#[bytecheck(
    crate = rkyv::bytecheck,
    bounds(__C: ArchiveContext, <__C as Fallible>::Error: Source)
)]
#[repr(u8)]
#[allow(missing_docs, reason = "the variants are those of `Value`")]
pub enum ArchivedValue {
    Null = 0,
    Bool(bool) = 1,
    Int(ArchivedI64) = 2,
    UInt(ArchivedU64) = 3,
    Float(ArchivedF64) = 4,
    Str(ArchivedString) = 5,
    Bytes(ArchivedVec<u8>) = 6,
    List(#[bytecheck(omit_bounds)] ArchivedVec<ArchivedValue>) = 7,
    Map(#[bytecheck(omit_bounds)] ArchivedVec<ArchivedEntry>) = 8,
}

// SAFETY: `repr(u8)`, portable fields, no interior mutability. (The derive would ask for a bound on itself.)
unsafe impl Portable for ArchivedValue {}

impl ArchivedField for ArchivedValue {
    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        match self {
            ArchivedValue::Null => FieldRef::Null,
            ArchivedValue::Bool(value) => FieldRef::Bool(*value),
            ArchivedValue::Int(value) => FieldRef::Int(value.to_native()),
            ArchivedValue::UInt(value) => FieldRef::UInt(value.to_native()),
            ArchivedValue::Float(value) => FieldRef::Float(value.to_native()),
            ArchivedValue::Str(value) => FieldRef::Str(text_of(value)),
            ArchivedValue::Bytes(value) => FieldRef::Bytes(value.as_slice()),
            ArchivedValue::List(value) => FieldRef::List(ListRef::new(value)),
            ArchivedValue::Map(value) => FieldRef::Map(MapRef::archived(value.as_slice())),
        }
    }
}

impl fmt::Debug for ArchivedValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.field_ref().fmt(formatter)
    }
}

/// One entry of a dynamic map in a payload.
#[derive(CheckBytes)]
#[bytecheck(
    crate = rkyv::bytecheck,
    bounds(__C: ArchiveContext, <__C as Fallible>::Error: Source)
)]
#[repr(C)]
pub struct ArchivedEntry {
    pub(crate) key: ArchivedString,
    #[bytecheck(omit_bounds)]
    pub(crate) value: ArchivedValue,
}

// SAFETY: `repr(C)`, portable fields, no interior mutability.
unsafe impl Portable for ArchivedEntry {}

/// A dynamic tuple in a payload: its values, in the order of its stream's fields.
#[derive(CheckBytes)]
#[bytecheck(crate = rkyv::bytecheck, bounds(__C: ArchiveContext, <__C as Fallible>::Error: Source))]
#[repr(transparent)]
pub struct ArchivedValues {
    values: ArchivedVec<ArchivedValue>,
}

// SAFETY: `repr(transparent)` over a portable type.
unsafe impl Portable for ArchivedValues {}

impl ArchivedValues {
    /// The values.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[ArchivedValue] {
        self.values.as_slice()
    }
}

/// An enum of units, as `#[derive(TupleField)]` implements it.
pub trait UnitEnum: Copy + fmt::Debug + 'static {
    /// The names of the variants, in order; at most 256.
    const NAMES: &'static [&'static str];

    /// The index of this variant in [`NAMES`](Self::NAMES).
    fn index(self) -> u8;

    /// The variant with that index, or `None` if there is none.
    fn from_index(index: u8) -> Option<Self>;
}

/// An enum of units in a payload: the index of its variant.
#[repr(transparent)]
pub struct ArchivedEnum<E> {
    index: u8,
    of: PhantomData<E>,
}

// SAFETY: `repr(transparent)` over a byte.
unsafe impl<E> Portable for ArchivedEnum<E> {}

// SAFETY: any byte can be read; only those that name a variant are accepted.
unsafe impl<E: UnitEnum, C: Fallible + ?Sized> CheckBytes<C> for ArchivedEnum<E>
where
    C::Error: Source,
{
    unsafe fn check_bytes(value: *const Self, _: &mut C) -> Result<(), C::Error> {
        // SAFETY: the caller passes a pointer that is valid for reads.
        let index = unsafe { value.cast::<u8>().read() };
        if usize::from(index) < E::NAMES.len() { Ok(()) } else { Err(Source::new(Failure)) }
    }
}

impl<E: UnitEnum> ArchivedEnum<E> {
    /// The archived form of a variant.
    #[inline]
    #[must_use]
    pub fn new(variant: E) -> Self {
        ArchivedEnum { index: variant.index(), of: PhantomData }
    }

    /// The variant.
    #[inline]
    #[must_use]
    pub fn get(&self) -> E {
        E::from_index(self.index).expect("the payload was written from a variant or validated")
    }
}

impl<E: UnitEnum> ArchivedField for ArchivedEnum<E> {
    #[inline]
    fn field_ref(&self) -> FieldRef<'_> {
        E::NAMES.get(usize::from(self.index)).map_or(FieldRef::Null, |name| FieldRef::Str(name))
    }
}

/// The variant of that name, or `None` if there is none.
#[must_use]
pub fn variant_named<E: UnitEnum>(value: &ArchivedValue) -> Option<E> {
    let name = value.field_ref().as_str()?;
    let index = E::NAMES.iter().position(|variant| *variant == name)?;
    E::from_index(u8::try_from(index).ok()?)
}

const _: () = {
    assert!(size_of::<ArchivedValue>() == 9 && align_of::<ArchivedValue>() == 1);
    assert!(size_of::<ArchivedEntry>() == 17 && align_of::<ArchivedEntry>() == 1);
    assert!(size_of::<ArchivedValues>() == 8 && align_of::<ArchivedValues>() == 1);
};
