//! The kinds of fields that a typed tuple may have, and how each lies in a payload.
//!
//! A field is written in two steps: [`store`](Field::store) appends what lies out of line (a long string, the items of
//! a list) and returns where that is; [`resolve`](Field::resolve) then fills the field's fixed place in the root.

mod dynamic;
mod list;
mod number;
mod option;
mod text;

use std::fmt;

pub use list::ListView;
pub(crate) use text::text_of;

use crate::archived::{ArchivedField, ArchivedValue};
use crate::{EncodeError, Encoder, FieldRef, Kind, Slot, Stored};

/// A type that can be a field of a typed tuple.
///
/// Implemented for `bool`, the integers up to 64 bits, `f32`, `f64`, `&str`, `String`, `&[u8]`, `Vec<u8>`, `[u8; N]`,
/// `Option`, lists (`&[T]`, `Vec<T>`), [`Value`](crate::Value), and enums with `#[derive(TupleField)]`.
///
/// # Safety
///
/// [`resolve`](Self::resolve) must initialise every byte of its slot, with an archive that is valid for
/// [`Archived`](Self::Archived). [`KIND`](Self::KIND) must determine `Archived`: two types of the same kind have the
/// same archive. [`FIXED`](Self::FIXED) may be true only if `store` appends nothing and `resolve` ignores its result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a tuple",
    label = "not a field type",
    note = "fields are bool, i8 to i64, u8 to u64, f32, f64, &str, String, &[u8], Vec<u8>, [u8; N], Option<T>, &[T], \
            Vec<T>, Value, and enums with #[derive(TupleField)]",
    note = "for usize use u64, for isize i64: their size differs between machines; for char use a string"
)]
pub unsafe trait Field {
    /// How the field lies in a payload.
    type Archived: ArchivedField;

    /// How a view returns the field.
    type Native<'v>: Copy + fmt::Debug;

    /// What the field is; it goes into the layout hash and into error texts.
    const KIND: Kind;

    /// Whether the field has no out-of-line data, ever.
    const FIXED: bool;

    /// How many levels of out-of-line data the field may have, one below the other.
    const LEVELS: usize;

    /// Appends the field's out-of-line data, if it has any, and returns where that starts.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`], and [`EncodeError::TooDeep`] for dynamic values.
    fn store(&self, encoder: &mut Encoder<'_>) -> Result<Stored, EncodeError>;

    /// Fills the field's place in its parent.
    ///
    /// # Safety
    ///
    /// `slot` is valid for writes, and `stored` is what `store` returned for this very value in the same payload.
    unsafe fn resolve(&self, stored: Stored, slot: Slot<Self::Archived>);

    /// The native value of an archived field.
    fn native(archived: &Self::Archived) -> Self::Native<'_>;

    /// The native value of a dynamic one, or `None` if its kind does not fit.
    ///
    /// Integers fit if they are in range. Floats take floats, and integers that they hold exactly (a language that
    /// writes `1.0` as `1` may feed them); `f32` takes the nearest. Options take null. Enums take the name of a
    /// variant. `[u8; N]` takes bytes of that length. Lists fit if every item does.
    fn from_dynamic(value: &ArchivedValue) -> Option<Self::Native<'_>>;

    /// The field as groupings, JSON and bolts that read by name see it, before it is written.
    fn field_ref(&self) -> FieldRef<'_>;

    /// The same for a field that is written.
    #[inline]
    fn archived_ref(archived: &Self::Archived) -> FieldRef<'_> {
        archived.field_ref()
    }

    /// How many bytes the out-of-line data has at least.
    #[inline]
    fn out_of_line_bytes(&self) -> usize {
        0
    }
}

/// A field of which lists can be made: every one but `u8`, whose lists are bytes.
#[diagnostic::on_unimplemented(
    message = "lists of `{Self}` cannot be a field of a tuple",
    label = "not an item type",
    note = "items are the field types other than u8; Vec<u8> and &[u8] are bytes"
)]
pub trait Item: Field<Archived: crate::archived::ArchivedItem> {}

macro_rules! items {
    ($($type:ty),*) => { $(impl Item for $type {})* };
}

items!(bool, i8, i16, i32, i64, u16, u32, u64, f32, f64, &str, String, &[u8], Vec<u8>, crate::Value);
impl<const N: usize> Item for [u8; N] {}
impl<T: Field> Item for Option<T> {}
impl<T: Item> Item for Vec<T> {}
impl<T: Item> Item for &[T] {}
