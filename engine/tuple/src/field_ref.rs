//! One field of a tuple, borrowed, whatever the tuple's type: what groupings, JSON and bolts that read by name see.

use std::fmt;

use rkyv::vec::ArchivedVec;

use crate::Value;
use crate::archived::{ArchivedEntry, ArchivedField};
use crate::field::Field;

/// The value of one field, borrowed from a payload or from a tuple that is not written yet.
///
/// Integers up to 32 bits and `i64` show as [`Int`](FieldRef::Int), `u64` as [`UInt`](FieldRef::UInt), both float
/// types as [`Float`](FieldRef::Float), enums of units by name. `==` compares numbers by value: `Int(5)` equals
/// `UInt(5)`.
#[derive(Debug, Clone, Copy)]
pub enum FieldRef<'v> {
    /// Nothing: a null, or an option that is empty.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(&'v str),
    /// Bytes.
    Bytes(&'v [u8]),
    /// Values in order.
    List(ListRef<'v>),
    /// Values by name.
    Map(MapRef<'v>),
}

impl<'v> FieldRef<'v> {
    /// Whether this is null.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self, FieldRef::Null)
    }

    /// The truth value, if it is one.
    #[inline]
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        if let FieldRef::Bool(value) = self { Some(value) } else { None }
    }

    /// The integer, if it is one and fits.
    #[inline]
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self {
            FieldRef::Int(value) => Some(value),
            FieldRef::UInt(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The integer, if it is one and not negative.
    #[inline]
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self {
            FieldRef::Int(value) => u64::try_from(value).ok(),
            FieldRef::UInt(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if it is a float, or an integer that a float holds exactly (up to 2^53).
    #[inline]
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self {
            FieldRef::Float(value) => Some(value),
            FieldRef::Int(value) if value.unsigned_abs() <= MAX_EXACT_INTEGER => Some(value as f64),
            FieldRef::UInt(value) if value <= MAX_EXACT_INTEGER => Some(value as f64),
            _ => None,
        }
    }

    /// The text, if it is text.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> Option<&'v str> {
        if let FieldRef::Str(value) = self { Some(value) } else { None }
    }

    /// The bytes, if it is bytes.
    #[inline]
    #[must_use]
    pub fn as_bytes(self) -> Option<&'v [u8]> {
        if let FieldRef::Bytes(value) = self { Some(value) } else { None }
    }

    /// The list, if it is one.
    #[inline]
    #[must_use]
    pub fn as_list(self) -> Option<ListRef<'v>> {
        if let FieldRef::List(value) = self { Some(value) } else { None }
    }

    /// The map, if it is one.
    #[inline]
    #[must_use]
    pub fn as_map(self) -> Option<MapRef<'v>> {
        if let FieldRef::Map(value) = self { Some(value) } else { None }
    }

    /// What this is, in words, for error texts.
    #[must_use]
    pub fn kind_name(self) -> &'static str {
        match self {
            FieldRef::Null => "null",
            FieldRef::Bool(_) => "a bool",
            FieldRef::Int(_) => "an integer",
            FieldRef::UInt(_) => "an unsigned integer",
            FieldRef::Float(_) => "a float",
            FieldRef::Str(_) => "a string",
            FieldRef::Bytes(_) => "bytes",
            FieldRef::List(_) => "a list",
            FieldRef::Map(_) => "a map",
        }
    }

    /// An owned copy.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            FieldRef::Null => Value::Null,
            FieldRef::Bool(value) => Value::Bool(value),
            FieldRef::Int(value) => Value::Int(value),
            FieldRef::UInt(value) => Value::from(value),
            FieldRef::Float(value) => Value::Float(value),
            FieldRef::Str(value) => Value::Str(value.to_owned()),
            FieldRef::Bytes(value) => Value::Bytes(value.to_owned()),
            FieldRef::List(list) => Value::List(list.iter().map(FieldRef::to_value).collect()),
            FieldRef::Map(map) => {
                Value::Map(map.iter().map(|(key, value)| (key.to_owned(), value.to_value())).collect())
            }
        }
    }
}

/// The largest integer below which a 64-bit float holds every integer exactly.
pub(crate) const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// Text as it is; everything else as JSON.
impl fmt::Display for FieldRef<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldRef::Str(text) => formatter.pad(text),
            other => formatter.pad(&other.to_json().to_string()),
        }
    }
}

impl PartialEq for FieldRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (FieldRef::Null, FieldRef::Null) => true,
            (FieldRef::Bool(one), FieldRef::Bool(two)) => one == two,
            (FieldRef::Int(one), FieldRef::Int(two)) => one == two,
            (FieldRef::UInt(one), FieldRef::UInt(two)) => one == two,
            (FieldRef::Int(int), FieldRef::UInt(uint)) | (FieldRef::UInt(uint), FieldRef::Int(int)) => {
                u64::try_from(int) == Ok(uint)
            }
            (FieldRef::Float(one), FieldRef::Float(two)) => one == two,
            (FieldRef::Str(one), FieldRef::Str(two)) => one == two,
            (FieldRef::Bytes(one), FieldRef::Bytes(two)) => one == two,
            (FieldRef::List(one), FieldRef::List(two)) => one.iter().eq(two.iter()),
            (FieldRef::Map(one), FieldRef::Map(two)) => one.iter().eq(two.iter()),
            _ => false,
        }
    }
}

/// Something that shows itself as a list of fields.
pub trait List {
    /// How many items there are.
    fn length(&self) -> usize;

    /// The item at that index, or `None` past the end.
    fn item(&self, index: usize) -> Option<FieldRef<'_>>;
}

impl<A: ArchivedField> List for ArchivedVec<A> {
    #[inline]
    fn length(&self) -> usize {
        self.as_slice().len()
    }

    #[inline]
    fn item(&self, index: usize) -> Option<FieldRef<'_>> {
        self.as_slice().get(index).map(ArchivedField::field_ref)
    }
}

impl<T: Field> List for Vec<T> {
    #[inline]
    fn length(&self) -> usize {
        self.len()
    }

    #[inline]
    fn item(&self, index: usize) -> Option<FieldRef<'_>> {
        self.get(index).map(Field::field_ref)
    }
}

impl<T: Field> List for &[T] {
    #[inline]
    fn length(&self) -> usize {
        self.len()
    }

    #[inline]
    fn item(&self, index: usize) -> Option<FieldRef<'_>> {
        self.get(index).map(Field::field_ref)
    }
}

/// A list, borrowed.
#[derive(Clone, Copy)]
pub struct ListRef<'v>(&'v (dyn List + 'v));

impl<'v> ListRef<'v> {
    /// The list that something shows itself as.
    #[inline]
    #[must_use]
    pub fn new(list: &'v (dyn List + 'v)) -> Self {
        ListRef(list)
    }

    /// How many items there are.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.0.length()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The item at that index, or `None` past the end.
    #[inline]
    #[must_use]
    pub fn get(self, index: usize) -> Option<FieldRef<'v>> {
        self.0.item(index)
    }

    /// The items in order.
    pub fn iter(self) -> impl Iterator<Item = FieldRef<'v>> {
        (0..self.len()).map_while(move |index| self.0.item(index))
    }
}

impl fmt::Debug for ListRef<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// A map with names as keys, borrowed, in the order in which it was written.
#[derive(Clone, Copy)]
pub struct MapRef<'v>(Entries<'v>);

#[derive(Clone, Copy)]
enum Entries<'v> {
    Owned(&'v [(String, Value)]),
    Archived(&'v [ArchivedEntry]),
}

impl<'v> MapRef<'v> {
    pub(crate) fn owned(entries: &'v [(String, Value)]) -> Self {
        MapRef(Entries::Owned(entries))
    }

    pub(crate) fn archived(entries: &'v [ArchivedEntry]) -> Self {
        MapRef(Entries::Archived(entries))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self.0 {
            Entries::Owned(entries) => entries.len(),
            Entries::Archived(entries) => entries.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The entry at that index, or `None` past the end.
    #[must_use]
    pub fn entry(self, index: usize) -> Option<(&'v str, FieldRef<'v>)> {
        match self.0 {
            Entries::Owned(entries) => entries.get(index).map(|(key, value)| (key.as_str(), value.field_ref())),
            Entries::Archived(entries) => entries.get(index).map(|entry| (entry.key.as_str(), entry.value.field_ref())),
        }
    }

    /// The value of that name, or `None` if there is none. Walks the entries.
    #[must_use]
    pub fn get(self, name: &str) -> Option<FieldRef<'v>> {
        self.iter().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The entries in order.
    pub fn iter(self) -> impl Iterator<Item = (&'v str, FieldRef<'v>)> {
        (0..self.len()).map_while(move |index| self.entry(index))
    }
}

impl fmt::Debug for MapRef<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}
