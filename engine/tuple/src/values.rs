//! Dynamic tuples, and the view that reads any tuple by index or by name.

use std::fmt;

use rkyv::vec::{ArchivedVec, VecResolver};

use crate::archived::{ArchivedField, ArchivedValues, Validator};
use crate::encode::{encode, root};
use crate::tuple::Tuple;
use crate::{
    EncodeError, Field, FieldRef, Fields, Kind, LayoutHash, MAX_DEPTH, Schema, ValidateError, Value, ViewError,
};

/// A dynamic tuple: one value for each field of its stream, in order.
///
/// ```
/// use ringstorm_tuple::{Value, Values, values};
///
/// let values = values!["storm", 3, 0.5, vec![Value::Null]];
/// assert_eq!(values.0[1], Value::Int(3));
/// assert_eq!(Values::from_iter(["a", "b"]), values!["a", "b"]);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values(pub Vec<Value>);

/// A dynamic tuple of anything that converts into a [`Value`]: `values!["storm", 3]`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        $crate::Values(::std::vec![$($crate::Value::from($value)),*])
    };
}

impl From<Vec<Value>> for Values {
    fn from(values: Vec<Value>) -> Self {
        Values(values)
    }
}

impl<V: Into<Value>> FromIterator<V> for Values {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        Values(values.into_iter().map(Into::into).collect())
    }
}

// SAFETY: the root is the archived list of values, which `serialize` writes, `view` reads and `validate` checks.
unsafe impl Tuple for Values {
    type Archived = ArchivedValues;
    type View<'v> = ValuesView<'v>;

    const FIELDS: &'static [&'static str] = &[];
    const KINDS: &'static [Kind] = &[];
    const LAYOUT: LayoutHash = LayoutHash::DYNAMIC;
    const FIXED_SIZE: Option<usize> = None;

    fn size_hint(&self) -> usize {
        self.0.iter().map(Field::out_of_line_bytes).sum::<usize>() + self.0.out_of_line_bytes() + ROOT_BYTES
    }

    fn serialize(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        // SAFETY: the slot is zeroed, then filled.
        unsafe {
            encode::<ArchivedValues, 1>(
                out,
                false,
                ROOT_BYTES,
                |encoder| Ok([encoder.list(&self.0)?]),
                |[stored], slot| {
                    let place = slot.part::<ArchivedVec<_>>(0).zeroed();
                    ArchivedVec::<crate::ArchivedValue>::resolve_from_len(
                        self.0.len(),
                        VecResolver::from_pos(stored as usize),
                        place,
                    );
                },
            )
        }
    }

    #[inline]
    fn field(&self, index: usize) -> FieldRef<'_> {
        self.0.get(index).map_or(FieldRef::Null, Value::field_ref)
    }

    #[inline]
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline]
    unsafe fn view(payload: &[u8]) -> ValuesView<'_> {
        // SAFETY: as the caller promises.
        ValuesView { source: Source::Values(unsafe { root(payload) }), fields: None }
    }

    #[inline]
    fn view_values(values: &ArchivedValues) -> Result<ValuesView<'_>, ViewError> {
        Ok(ValuesView { source: Source::Values(values), fields: None })
    }

    #[inline]
    unsafe fn view_as<'v>(schema: &'v Schema, payload: &'v [u8]) -> Result<ValuesView<'v>, ViewError> {
        let source = if schema.layout().is_dynamic() {
            // SAFETY: a payload of a dynamic schema, as the caller promises.
            Source::Values(unsafe { root(payload) })
        } else {
            Source::Typed(schema, payload)
        };
        Ok(ValuesView { source, fields: Some(schema.fields()) })
    }

    unsafe fn archived_field(payload: &[u8], index: usize) -> FieldRef<'_> {
        // SAFETY: as the caller promises.
        let values: &ArchivedValues = unsafe { root(payload) };
        values.as_slice().get(index).map_or(FieldRef::Null, ArchivedField::field_ref)
    }

    fn validate(payload: &[u8]) -> Result<(), ValidateError> {
        // One level for the values themselves, and what each may have.
        crate::check::check_record::<ArchivedValues>(payload, false, 1 + Value::LEVELS, |values, validator| {
            // SAFETY: the root lies within the payload, in whose subtree the validator is.
            unsafe { <ArchivedValues as rkyv::bytecheck::CheckBytes<Validator<'_>>>::check_bytes(values, validator) }
                .map_err(|_| ValidateError::Values)
        })
    }
}

const ROOT_BYTES: usize = size_of::<ArchivedValues>();

// The levels of a value include its deepest string; a list of the greatest depth has as many.
const _: () = assert!(<Value as Field>::LEVELS == MAX_DEPTH + 1);

/// Any tuple, dynamic or typed, read by index or by name.
#[derive(Clone, Copy)]
pub struct ValuesView<'v> {
    source: Source<'v>,
    fields: Option<&'v Fields>,
}

#[derive(Clone, Copy)]
enum Source<'v> {
    Values(&'v ArchivedValues),
    /// The payload is one of the schema: whoever made the view promised it.
    Typed(&'v Schema, &'v [u8]),
}

impl<'v> ValuesView<'v> {
    /// How many values there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self.source {
            Source::Values(values) => values.as_slice().len(),
            Source::Typed(schema, _) => schema.fields().len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value at that index, or `None` past the end.
    #[must_use]
    pub fn get(self, index: usize) -> Option<FieldRef<'v>> {
        match self.source {
            Source::Values(values) => values.as_slice().get(index).map(ArchivedField::field_ref),
            Source::Typed(schema, payload) => {
                // SAFETY: a payload of that schema, see `Source::Typed`.
                (index < schema.fields().len()).then(|| unsafe { schema.field(payload, index) })
            }
        }
    }

    /// The value of the field with that name; `None` if there is none, or if the view was made without a schema.
    #[must_use]
    pub fn by_name(self, name: &str) -> Option<FieldRef<'v>> {
        self.get(self.fields?.index_of(name)?)
    }

    /// The names of the fields, if the view was made with a schema ([`Schema::view`]).
    #[must_use]
    pub fn fields(self) -> Option<&'v Fields> {
        self.fields
    }

    /// The values in order.
    pub fn iter(self) -> impl Iterator<Item = FieldRef<'v>> {
        (0..self.len()).map_while(move |index| self.get(index))
    }

    /// An owned copy.
    #[must_use]
    pub fn to_values(self) -> Values {
        Values(self.iter().map(FieldRef::to_value).collect())
    }
}

impl fmt::Debug for ValuesView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fields {
            Some(fields) => formatter.debug_map().entries(fields.iter().zip(self.iter())).finish(),
            None => formatter.debug_list().entries(self.iter()).finish(),
        }
    }
}
