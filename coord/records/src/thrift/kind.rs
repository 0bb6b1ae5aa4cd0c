//! The wire types of Thrift's binary protocol.
//!
//! Source: the code of `TType` and `TBinaryProtocol` in Apache Thrift 0.22, which Storm 2.8.2 ships.

/// What kind of value follows, as its one byte on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// One byte, 1 for true.
    Bool = 2,
    /// One signed byte.
    Byte = 3,
    /// Eight bytes, IEEE 754.
    Double = 4,
    /// Two bytes, big-endian as all numbers.
    I16 = 6,
    /// Four bytes. Enumerations are numbers of this kind.
    I32 = 8,
    /// Eight bytes.
    I64 = 10,
    /// A length in four bytes and as many bytes: text in UTF-8, or anything.
    String = 11,
    /// Fields until a zero byte: structs, unions and exceptions.
    Struct = 12,
    /// Kinds of key and value, a count in four bytes, as many pairs.
    Map = 13,
    /// The kind of element, a count in four bytes, as many elements.
    Set = 14,
    /// As a set.
    List = 15,
    /// Sixteen bytes. Storm has none; a field that is not ours may be one.
    Uuid = 16,
}

impl Kind {
    /// The kind that a byte stands for, if any.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            2 => Self::Bool,
            3 => Self::Byte,
            4 => Self::Double,
            6 => Self::I16,
            8 => Self::I32,
            10 => Self::I64,
            11 => Self::String,
            12 => Self::Struct,
            13 => Self::Map,
            14 => Self::Set,
            15 => Self::List,
            16 => Self::Uuid,
            _ => return None,
        })
    }

    /// The byte that stands for the kind.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The fewest bytes that a value of this kind takes. A container that claims more elements than this allows for
    /// cannot be whole.
    pub const fn least_bytes(self) -> usize {
        match self {
            Self::Bool | Self::Byte | Self::Struct => 1,
            Self::I16 => 2,
            Self::I32 | Self::String => 4,
            Self::Set | Self::List => 5,
            Self::Map => 6,
            Self::Double | Self::I64 => 8,
            Self::Uuid => 16,
        }
    }

    /// The kind in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Byte => "byte",
            Self::Double => "double",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::String => "string",
            Self::Struct => "struct",
            Self::Map => "map",
            Self::Set => "set",
            Self::List => "list",
            Self::Uuid => "uuid",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn a_code_stands_for_the_kind_that_has_it() {
        let kinds: Vec<Kind> = (0..=u8::MAX).filter_map(Kind::from_code).collect();
        assert_eq!(kinds.len(), 12);
        assert!(kinds.iter().all(|kind| Kind::from_code(kind.code()) == Some(*kind)));
    }
}
