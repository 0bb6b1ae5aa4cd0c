//! What every tuple can do, typed or dynamic.

use std::fmt;

use crate::archived::ArchivedValues;
use crate::{EncodeError, FieldRef, Kind, LayoutHash, Schema, ValidateError, ViewError};

/// A tuple: named fields, written once, read in place.
///
/// Use `#[derive(Tuple)]` on a struct with named fields and at most one lifetime. It also makes the view,
/// `<Name>View<'v>`, which is `Copy` and has one method per field, of that name, that returns the native value. The
/// dynamic tuple is [`Values`](crate::Values).
///
/// # Safety
///
/// Implemented by the derive only. [`serialize`](Self::serialize) appends what [`view`](Self::view) and
/// [`archived_field`](Self::archived_field) can read; [`validate`](Self::validate) accepts nothing else; types with
/// equal [`LAYOUT`](Self::LAYOUT) have the same archives.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple",
    label = "not a tuple",
    note = "add #[derive(Tuple)] to the struct, or use Values for a dynamic tuple"
)]
pub unsafe trait Tuple: Sized {
    /// The root of a payload.
    type Archived: 'static;

    /// What a bolt reads.
    type View<'v>: Copy + fmt::Debug;

    /// The names of the fields, in order. Empty for dynamic tuples: their stream declares them.
    const FIELDS: &'static [&'static str];

    /// The kinds of the fields, in order.
    const KINDS: &'static [Kind];

    /// Stands for the names and kinds of the fields. Never [`LayoutHash::DYNAMIC`] for a typed tuple.
    const LAYOUT: LayoutHash;

    /// The size in bytes that every payload of this type has, if they are all of one size.
    const FIXED_SIZE: Option<usize>;

    /// How many bytes the payload has at least: the fixed part, and the strings and bytes that lie out of line.
    fn size_hint(&self) -> usize;

    /// Appends the payload to `out`, its root at the end.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`] and [`EncodeError::TooDeep`]; then `out` is as it was.
    fn serialize(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// The field at that index, before the tuple is written; null past the end.
    fn field(&self, index: usize) -> FieldRef<'_>;

    /// How many fields this tuple has.
    #[inline]
    fn count(&self) -> usize {
        Self::FIELDS.len()
    }

    /// The schema of streams that carry this type. For [`Values`](crate::Values) it has no fields: use
    /// [`Schema::dynamic`] there.
    #[must_use]
    fn schema() -> Schema {
        Schema::typed::<Self>()
    }

    /// Reads a payload in place.
    ///
    /// # Safety
    ///
    /// The payload was written by a tuple of this layout, or validated for it.
    #[must_use]
    unsafe fn view(payload: &[u8]) -> Self::View<'_>;

    /// Reads a dynamic tuple as this type: field by field, by position. Kinds are checked here, once; that the names of
    /// its stream are those of the type is for [`view_as`](Self::view_as) to check.
    ///
    /// # Errors
    ///
    /// [`ViewError::Count`] and [`ViewError::Field`].
    fn view_values(values: &ArchivedValues) -> Result<Self::View<'_>, ViewError>;

    /// Reads a payload of another schema as this type. Called by [`Schema::view`] when the layouts differ.
    ///
    /// # Errors
    ///
    /// [`ViewError::Names`] and those of [`view_values`](Self::view_values) for a dynamic schema; [`ViewError::Layout`]
    /// for a typed one.
    ///
    /// # Safety
    ///
    /// The payload was written for this schema, or validated by it.
    #[cold]
    unsafe fn view_as<'v>(schema: &'v Schema, payload: &'v [u8]) -> Result<Self::View<'v>, ViewError> {
        if schema.layout().is_dynamic() {
            if !schema.has_names_of::<Self>() {
                return Err(ViewError::names(schema.fields(), Self::FIELDS));
            }
            // SAFETY: a payload of a dynamic schema, as the caller promises.
            Self::view_values(unsafe { crate::encode::root(payload) })
        } else {
            Err(ViewError::layout(schema.fields(), schema.kinds(), Self::FIELDS, Self::KINDS))
        }
    }

    /// One field of a payload; null past the end.
    ///
    /// # Safety
    ///
    /// As for [`view`](Self::view).
    unsafe fn archived_field(payload: &[u8], index: usize) -> FieldRef<'_>;

    /// Checks bytes from another machine before they are read.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    fn validate(payload: &[u8]) -> Result<(), ValidateError>;
}

/// The most levels of out-of-line data that any of the fields has.
#[must_use]
pub const fn levels(of_fields: &[usize]) -> usize {
    let mut most = 0;
    let mut index = 0;
    while index < of_fields.len() {
        if of_fields[index] > most {
            most = of_fields[index];
        }
        index += 1;
    }
    most
}
