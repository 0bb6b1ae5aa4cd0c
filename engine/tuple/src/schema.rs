//! What one stream carries: the names of its fields, its layout, and how to read a payload of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::tuple::Tuple;
use crate::{EncodeError, FieldRef, Fields, Kind, LayoutHash, ValidateError, Values, ViewError};

/// The schema of a stream. A clone costs one counter; threads may share it.
#[derive(Clone)]
pub struct Schema {
    // Beside the shared part, so that comparing layouts follows no pointer.
    layout: LayoutHash,
    shared: Arc<Shared>,
}

struct Shared {
    fields: Fields,
    kinds: &'static [Kind],
    field: for<'v> unsafe fn(&'v [u8], usize) -> FieldRef<'v>,
    validate: fn(&[u8]) -> Result<(), ValidateError>,
    fixed_size: Option<usize>,
    /// The layout hash of the type whose field names were last found to be these; [`LayoutHash::DYNAMIC`] for none. A
    /// memory only: whoever reads another number than its own compares the names.
    same_names: AtomicU64,
}

impl Schema {
    /// The schema of streams that carry a typed tuple.
    #[must_use]
    pub fn typed<T: Tuple>() -> Schema {
        Schema::with_fields::<T>(Fields::new(T::FIELDS.iter().copied()))
    }

    /// The schema of streams that carry dynamic tuples with these fields.
    ///
    /// The names should be unique; whoever declares a stream checks it with [`Fields::duplicate`].
    pub fn dynamic(fields: impl IntoIterator<Item = impl Into<String>>) -> Schema {
        Schema::with_fields::<Values>(Fields::new(fields))
    }

    fn with_fields<T: Tuple>(fields: Fields) -> Schema {
        let shared = Shared {
            fields,
            kinds: T::KINDS,
            field: T::archived_field,
            validate: T::validate,
            fixed_size: T::FIXED_SIZE,
            same_names: AtomicU64::new(LayoutHash::DYNAMIC.0),
        };
        Schema { layout: T::LAYOUT, shared: Arc::new(shared) }
    }

    /// The names of the fields.
    #[inline]
    #[must_use]
    pub fn fields(&self) -> &Fields {
        &self.shared.fields
    }

    /// The kinds of the fields, in order; empty for dynamic tuples.
    #[inline]
    #[must_use]
    pub fn kinds(&self) -> &'static [Kind] {
        self.shared.kinds
    }

    /// The layout that both ends of a connection compare.
    #[inline]
    #[must_use]
    pub fn layout(&self) -> LayoutHash {
        self.layout
    }

    /// The size in bytes of every payload, if they are all of one size.
    #[inline]
    #[must_use]
    pub fn fixed_size(&self) -> Option<usize> {
        self.shared.fixed_size
    }

    /// The index of the field with that name, or `None` if there is none.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields().index_of(name)
    }

    /// Whether a tuple may be emitted to this stream: it has its layout, and, if dynamic, one value per field.
    ///
    /// # Errors
    ///
    /// [`EncodeError::Layout`] and [`EncodeError::Count`].
    #[inline]
    pub fn check<T: Tuple>(&self, tuple: &T) -> Result<(), EncodeError> {
        if T::LAYOUT != self.layout {
            return Err(EncodeError::Layout { wanted: self.layout, found: T::LAYOUT });
        }
        if T::LAYOUT.is_dynamic() && tuple.count() != self.fields().len() {
            return Err(EncodeError::Count { wanted: self.fields().len(), found: tuple.count() });
        }
        Ok(())
    }

    /// One field of a payload; null past the end.
    ///
    /// # Safety
    ///
    /// The payload was written for this schema, or validated by it.
    #[inline]
    #[must_use]
    pub unsafe fn field<'v>(&self, payload: &'v [u8], index: usize) -> FieldRef<'v> {
        // SAFETY: as the caller promises.
        unsafe { (self.shared.field)(payload, index) }
    }

    /// Checks bytes from another machine before their first use. What it accepts can be read safely, to a bounded
    /// depth, for as long as the bytes stay as they are.
    ///
    /// # Errors
    ///
    /// What is wrong with them, as far as that is known.
    pub fn validate(&self, payload: &[u8]) -> Result<(), ValidateError> {
        (self.shared.validate)(payload)?;
        if self.layout.is_dynamic() {
            // SAFETY: it was validated just now.
            let values: &crate::ArchivedValues = unsafe { crate::encode::root(payload) };
            let (wanted, found) = (self.fields().len(), values.as_slice().len());
            if wanted != found {
                return Err(ValidateError::Count { wanted, found });
            }
        }
        Ok(())
    }

    /// Whether the fields have the names of those of a typed tuple, in the same order.
    #[inline]
    pub(crate) fn has_names_of<T: Tuple>(&self) -> bool {
        self.shared.same_names.load(Ordering::Relaxed) == T::LAYOUT.0 || self.compare_names::<T>()
    }

    #[cold]
    fn compare_names<T: Tuple>(&self) -> bool {
        let same = self.fields().iter().eq(T::FIELDS.iter().copied());
        if same {
            self.shared.same_names.store(T::LAYOUT.0, Ordering::Relaxed);
        }
        same
    }

    /// Reads a payload as `T`: in place if that is what the stream carries; field by field if it carries dynamic tuples
    /// whose fields have the names of those of `T`, in the same order. `Values` reads any stream, by index and by name.
    ///
    /// # Errors
    ///
    /// [`ViewError`] if the tuple cannot be read as `T`.
    ///
    /// # Safety
    ///
    /// The payload was written for this schema, or validated by it.
    #[inline]
    pub unsafe fn view<'v, T: Tuple>(&'v self, payload: &'v [u8]) -> Result<T::View<'v>, ViewError> {
        if self.layout == T::LAYOUT && !T::LAYOUT.is_dynamic() {
            // SAFETY: equal layouts have the same archives, and the payload is as the caller promises.
            Ok(unsafe { T::view(payload) })
        } else {
            // SAFETY: as the caller promises.
            unsafe { T::view_as(self, payload) }
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Schema")
            .field("fields", &self.fields())
            .field("kinds", &self.kinds())
            .field("layout", &self.layout)
            .finish()
    }
}

/// Equal names and layout: tuples of one are tuples of the other.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.layout == other.layout && self.fields() == other.fields()
    }
}

impl Eq for Schema {}
