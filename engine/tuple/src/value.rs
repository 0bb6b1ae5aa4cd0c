//! Dynamic values: what other languages emit, what YAML topologies pass along, and what JSON can say.

use crate::{FieldRef, ListRef, MapRef};

/// How deep lists and maps may nest: a list of numbers is one deep.
///
/// Everything that walks a value can then use the stack. A tuple that nests deeper is refused when it is written, or,
/// if it came from elsewhere, when it is validated.
pub const MAX_DEPTH: usize = 64;

/// A dynamic value.
///
/// Integers are held as [`Int`](Value::Int); [`UInt`](Value::UInt) is for those beyond `i64` (as `From<u64>` and JSON
/// use it). Dropping, cloning or comparing a value that *you* nested tens of thousands deep overflows the stack, as it
/// does for any recursive type; parsers never build one.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond `i64::MAX`.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Values in order.
    List(Vec<Value>),
    /// Values by name. The names should be unique: nothing checks it, lookups find the first.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The value, borrowed.
    #[inline]
    #[must_use]
    pub fn field_ref(&self) -> FieldRef<'_> {
        match self {
            Value::Null => FieldRef::Null,
            Value::Bool(value) => FieldRef::Bool(*value),
            Value::Int(value) => FieldRef::Int(*value),
            Value::UInt(value) => FieldRef::UInt(*value),
            Value::Float(value) => FieldRef::Float(*value),
            Value::Str(value) => FieldRef::Str(value),
            Value::Bytes(value) => FieldRef::Bytes(value),
            Value::List(items) => FieldRef::List(ListRef::new(items)),
            Value::Map(entries) => FieldRef::Map(MapRef::owned(entries)),
        }
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $result:expr;)*) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $result
            }
        })*
    };
}

from! {
    () => |_value| Value::Null;
    bool => |value| Value::Bool(value);
    i8 => |value| Value::Int(i64::from(value));
    i16 => |value| Value::Int(i64::from(value));
    i32 => |value| Value::Int(i64::from(value));
    i64 => |value| Value::Int(value);
    u8 => |value| Value::Int(i64::from(value));
    u16 => |value| Value::Int(i64::from(value));
    u32 => |value| Value::Int(i64::from(value));
    u64 => |value| i64::try_from(value).map_or(Value::UInt(value), Value::Int);
    f32 => |value| Value::Float(f64::from(value));
    f64 => |value| Value::Float(value);
    &str => |value| Value::Str(value.to_owned());
    String => |value| Value::Str(value);
    &[u8] => |value| Value::Bytes(value.to_owned());
    Vec<u8> => |value| Value::Bytes(value);
    Vec<Value> => |value| Value::List(value);
    Vec<(String, Value)> => |value| Value::Map(value);
    FieldRef<'_> => |value| value.to_value();
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(value: &[u8; N]) -> Self {
        Value::Bytes(value.to_vec())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}
