//! Checking bytes that came from another machine, before anything reads them.

use std::alloc::Layout;
use std::num::NonZeroUsize;

use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::{Failure, Strategy};
use rkyv::validation::ArchiveContextExt;
use rkyv::validation::archive::ArchiveValidator;

use crate::archived::Validator;
use crate::{Field, ValidateError};

/// Checks the payload of a typed tuple: its size, then its fields in order.
///
/// `levels` is how deep its data may lie below the root; that bounds the stack.
///
/// # Errors
///
/// [`ValidateError::Size`], and what `fields` returns.
pub fn check_record<A>(
    payload: &[u8],
    fixed: bool,
    levels: usize,
    fields: impl FnOnce(*const A, &mut Validator<'_>) -> Result<(), ValidateError>,
) -> Result<(), ValidateError> {
    const { assert!(align_of::<A>() == 1, "archived types need rkyv's `unaligned` feature") };
    let wanted = size_of::<A>();
    let size_error = ValidateError::Size { wanted, found: payload.len() };
    if payload.len() < wanted || (fixed && payload.len() != wanted) {
        return Err(size_error);
    }
    let root = payload[payload.len() - wanted..].as_ptr();
    // The root itself is one level, and the validator refuses to reach its limit.
    let mut validator = ArchiveValidator::with_max_depth(payload, NonZeroUsize::new(levels + 2));
    let validator: &mut Validator<'_> = Strategy::wrap(&mut validator);
    // The validator's own errors carry nothing.
    let mut found = size_error;
    let walked = validator.in_subtree_raw(root, Layout::new::<A>(), |validator| {
        fields(root.cast(), validator).map_err(|error| {
            found = error;
            Failure
        })
    });
    walked.map_err(|Failure| found)
}

/// Checks one field of a typed tuple.
///
/// # Errors
///
/// [`ValidateError::Field`].
///
/// # Safety
///
/// `field` points to the field, within the subtree that the validator is in.
pub unsafe fn check_field<F: Field>(
    field: *const F::Archived,
    index: usize,
    name: &'static str,
    validator: &mut Validator<'_>,
) -> Result<(), ValidateError> {
    // SAFETY: as the caller promises.
    unsafe { F::Archived::check_bytes(field, validator) }.map_err(|_| ValidateError::Field {
        index,
        name,
        kind: F::KIND,
    })
}
