//! What can be emitted: a tuple that has yet to be serialised, or the bytes of one that already is.
//!
//! Groupings look at fields before anything is written; `forward`, async and blocking components hand on bytes. Both
//! sides look the same from here on.

use ringstorm_tuple::{EncodeError, FieldRef, Kind, LayoutHash, Schema, Tuple};

/// A tuple on its way out.
pub trait Emittable {
    /// The bytes of every payload of this type, if they are all of one size.
    const FIXED_SIZE: Option<usize>;
    /// Layout of the payload; dynamic tuples have [`LayoutHash::DYNAMIC`].
    fn layout(&self) -> LayoutHash;
    /// The fields and their kinds, or that the tuple is dynamic: for people.
    fn shape(&self) -> String;
    /// A lower bound of the payload's bytes.
    fn size_hint(&self) -> usize;
    /// Number of fields, where the tuple itself knows it.
    fn field_count(&self) -> usize;
    /// The field at an index, for groupings.
    fn field(&self, index: usize) -> FieldRef<'_>;
    /// Appends the payload.
    ///
    /// # Errors
    /// When a value cannot be encoded; what was appended so far is cut off by the caller.
    fn serialize(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

impl<T: Tuple> Emittable for T {
    const FIXED_SIZE: Option<usize> = T::FIXED_SIZE;
    #[inline]
    fn layout(&self) -> LayoutHash {
        T::LAYOUT
    }
    fn shape(&self) -> String {
        if T::LAYOUT.is_dynamic() {
            return format!("dynamic Values ({})", counted(self.field_count(), "value"));
        }
        typed_shape(T::FIELDS.iter().copied(), T::KINDS)
    }
    #[inline]
    fn size_hint(&self) -> usize {
        Tuple::size_hint(self)
    }
    #[inline]
    fn field_count(&self) -> usize {
        Tuple::count(self)
    }
    #[inline]
    fn field(&self, index: usize) -> FieldRef<'_> {
        Tuple::field(self, index)
    }
    #[inline]
    fn serialize(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Tuple::serialize(self, out)
    }
}

/// A payload that was serialised before, with the schema it was written by.
pub(crate) struct Serialized<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) payload: &'a [u8],
}

impl Emittable for Serialized<'_> {
    const FIXED_SIZE: Option<usize> = None;
    fn layout(&self) -> LayoutHash {
        self.schema.layout()
    }
    fn shape(&self) -> String {
        schema_shape(self.schema)
    }
    fn size_hint(&self) -> usize {
        self.payload.len()
    }
    fn field_count(&self) -> usize {
        self.schema.fields().len()
    }
    fn field(&self, index: usize) -> FieldRef<'_> {
        // SAFETY: the payload was written in this process by a tuple of this schema's layout, or validated against it
        // where it entered; whoever made this value upholds it. Attacked by the forwarding tests and Miri on the tuple
        // crate.
        unsafe { self.schema.field(self.payload, index) }
    }
    fn serialize(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(self.payload);
        Ok(())
    }
}

/// What a stream carries: the fields and their kinds, or that its tuples are dynamic.
pub(crate) fn schema_shape(schema: &Schema) -> String {
    if schema.layout().is_dynamic() {
        return format!("dynamic Values with the fields {}", schema.fields());
    }
    typed_shape(schema.fields().iter(), schema.kinds())
}

fn typed_shape<'a>(names: impl Iterator<Item = &'a str>, kinds: &[Kind]) -> String {
    let fields: Vec<String> = names.zip(kinds).map(|(name, kind)| format!("{name}: {kind}")).collect();
    format!("({})", fields.join(", "))
}

/// `1 field`, `2 fields`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
