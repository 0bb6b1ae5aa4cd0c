//! What is behind the view of a typed tuple: a payload of its own layout, or the values of a dynamic one.

use std::marker::PhantomData;

use crate::archived::{ArchivedField, ArchivedValue, ArchivedValues};
use crate::field::Field;
use crate::{Kind, Tuple, ViewError};

/// The fields of one `T`, decoded when they are asked for.
pub enum Record<'v, T: Tuple> {
    /// The root of a payload of the type's own layout.
    Typed(&'v T::Archived),
    /// As many values as the type has fields, each of which fits its field: [`check_value`] said so.
    Dynamic(&'v ArchivedValues),
}

impl<T: Tuple> Clone for Record<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Tuple> Copy for Record<'_, T> {}

impl<'v, T: Tuple> Record<'v, T> {
    /// One field: where it lies in the root, or its index among the values.
    #[inline]
    pub fn get<F: Field>(
        self,
        in_root: impl FnOnce(&'v T::Archived) -> &'v F::Archived,
        index: usize,
    ) -> F::Native<'v> {
        match self {
            Record::Typed(root) => F::native(in_root(root)),
            Record::Dynamic(values) => from_dynamic::<F>(values, index),
        }
    }
}

/// Can be named only if `F` is a field type.
pub struct IsField<F: Field>(PhantomData<F>);

/// Not inlined: it would bury the typed path, which is the fast one.
#[inline(never)]
fn from_dynamic<F: Field>(values: &ArchivedValues, index: usize) -> F::Native<'_> {
    F::from_dynamic(&values.as_slice()[index]).expect("the value was found to fit when the view was made")
}

/// The values of a dynamic tuple, if there are as many as the type has fields.
///
/// # Errors
///
/// [`ViewError::Count`].
pub fn check_count(values: &ArchivedValues, wanted: usize) -> Result<&[ArchivedValue], ViewError> {
    let values = values.as_slice();
    if values.len() == wanted { Ok(values) } else { Err(ViewError::Count { wanted, found: values.len() }) }
}

/// Whether a value of a dynamic tuple fits its field.
///
/// # Errors
///
/// [`ViewError::Field`].
pub fn check_value<F: Field>(value: &ArchivedValue, index: usize, name: &'static str) -> Result<(), ViewError> {
    if F::from_dynamic(value).is_some() {
        return Ok(());
    }
    let wanted: Kind = F::KIND;
    Err(ViewError::field(index, name, wanted, value.field_ref()))
}
