//! What a record looks like, as data: for rendering, for tests and for the comparison with Storm's own classes.

use super::Kind;

/// A struct, union or exception.
#[derive(Debug, PartialEq, Eq)]
pub struct Schema {
    /// Storm's name.
    pub name: &'static str,
    /// Whether exactly one field is set.
    pub is_union: bool,
    /// Whether fields that are not known are written back.
    pub keeps_unknown: bool,
    /// By ascending id.
    pub fields: &'static [FieldSchema],
}

impl Schema {
    /// The field with an id.
    pub fn field(&self, id: i16) -> Option<&'static FieldSchema> {
        self.fields.iter().find(|field| field.id == id)
    }
}

/// A field of a record.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldSchema {
    /// Storm's number.
    pub id: i16,
    /// Storm's name.
    pub name: &'static str,
    /// Whether a record without it cannot be read. Members of unions are not.
    pub is_required: bool,
    /// What it holds.
    pub holds: Type,
}

/// The names of an enumeration.
#[derive(Debug, PartialEq, Eq)]
pub struct EnumSchema {
    /// Storm's name.
    pub name: &'static str,
    /// Storm's numbers and names.
    pub values: &'static [(i32, &'static str)],
}

impl EnumSchema {
    /// The name that a number has.
    pub fn name_of(&self, number: i32) -> Option<&'static str> {
        self.values.iter().find(|(of, _)| *of == number).map(|(_, name)| *name)
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the types of the interface definition")]
pub enum Type {
    Bool,
    I32,
    I64,
    Double,
    /// Text.
    String,
    /// Any bytes.
    Binary,
    Enum(&'static EnumSchema),
    /// A struct, union or exception.
    Record(&'static Schema),
    List(&'static Type),
    Set(&'static Type),
    Map(&'static Type, &'static Type),
}

impl Type {
    /// How it travels.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Bool => Kind::Bool,
            Self::I32 | Self::Enum(_) => Kind::I32,
            Self::I64 => Kind::I64,
            Self::Double => Kind::Double,
            Self::String | Self::Binary => Kind::String,
            Self::Record(_) => Kind::Struct,
            Self::List(_) => Kind::List,
            Self::Set(_) => Kind::Set,
            Self::Map(..) => Kind::Map,
        }
    }
}
