//! Any value of the binary protocol without its definition: the protocol describes itself but for names.
//!
//! This is how unknown fields and records that lack something are still shown, and how tests compare contents.

use super::{DecodeError, Decoder, Encoder, Kind};

/// A value as it came. Ordered, so that what has no order of its own can be compared after [`Tree::sort`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tree {
    /// See [`Kind::Bool`].
    Bool(bool),
    /// See [`Kind::Byte`].
    Byte(u8),
    /// See [`Kind::I16`].
    I16(i16),
    /// See [`Kind::I32`].
    I32(i32),
    /// See [`Kind::I64`].
    I64(i64),
    /// The bits of a double, so that values can be compared.
    Double(u64),
    /// Text or any bytes.
    Bytes(Vec<u8>),
    /// See [`Kind::Uuid`].
    Uuid([u8; 16]),
    /// Ids and values.
    Struct(Vec<(i16, Kind, Tree)>),
    /// See [`Kind::List`].
    List(Vec<Tree>),
    /// See [`Kind::Set`].
    Set(Vec<Tree>),
    /// Keys and values.
    Map(Vec<(Tree, Tree)>),
}

impl Tree {
    /// Reads a bare struct.
    ///
    /// # Errors
    /// The bytes are not one struct, whole, and nothing else.
    pub fn of_struct(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Decoder::new(bytes);
        let tree = Self::read(Kind::Struct, &mut input)?;
        input.finish()?;
        Ok(tree)
    }

    /// Reads a value of a kind.
    pub(crate) fn read(kind: Kind, input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        input.charge(size_of::<Self>())?;
        Ok(match kind {
            Kind::Bool => Self::Bool(input.bool()?),
            Kind::Byte => Self::Byte(input.byte()?),
            Kind::I16 => Self::I16(input.i16()?),
            Kind::I32 => Self::I32(input.i32()?),
            Kind::I64 => Self::I64(input.i64()?),
            Kind::Double => Self::Double(input.i64()?.cast_unsigned()),
            Kind::String => Self::Bytes(input.binary()?.to_vec()),
            Kind::Uuid => Self::Uuid(input.take(16)?.try_into().expect("sixteen bytes were taken")),
            Kind::Struct => {
                let mut fields = Vec::new();
                input.enter()?;
                while let Some((kind, id)) = input.field()? {
                    fields.push((id, kind, Self::read(kind, input)?));
                }
                input.leave();
                Self::Struct(fields)
            }
            Kind::List | Kind::Set => {
                input.enter()?;
                let ([element], count) = input.any_elements::<1>()?;
                let elements = element.into_iter().cycle().take(count);
                let elements = elements.map(|element| Self::read(element, input)).collect::<Result<_, _>>()?;
                input.leave();
                if kind == Kind::List { Self::List(elements) } else { Self::Set(elements) }
            }
            Kind::Map => {
                input.enter()?;
                let ([key, value], count) = input.any_elements::<2>()?;
                let kinds = key.zip(value).into_iter().cycle().take(count);
                let pairs = kinds.map(|(key, value)| Ok((Self::read(key, input)?, Self::read(value, input)?)));
                let pairs = pairs.collect::<Result<_, _>>()?;
                input.leave();
                Self::Map(pairs)
            }
        })
    }

    /// The kind of the value.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::Byte(_) => Kind::Byte,
            Self::I16(_) => Kind::I16,
            Self::I32(_) => Kind::I32,
            Self::I64(_) => Kind::I64,
            Self::Double(_) => Kind::Double,
            Self::Bytes(_) => Kind::String,
            Self::Uuid(_) => Kind::Uuid,
            Self::Struct(_) => Kind::Struct,
            Self::List(_) => Kind::List,
            Self::Set(_) => Kind::Set,
            Self::Map(_) => Kind::Map,
        }
    }

    /// Appends the value. An empty container, whose kinds were not kept, is one of bytes.
    pub fn write(&self, output: &mut Encoder) {
        let kind_of = |value: Option<&Self>| value.map_or(Kind::Byte, Self::kind);
        match self {
            Self::Bool(value) => output.bool(*value),
            Self::Byte(value) => output.byte(*value),
            Self::I16(value) => output.i16(*value),
            Self::I32(value) => output.i32(*value),
            Self::I64(value) => output.i64(*value),
            Self::Double(bits) => output.i64(bits.cast_signed()),
            Self::Bytes(bytes) => output.binary(bytes),
            Self::Uuid(bytes) => output.raw(bytes),
            Self::Struct(fields) => {
                for (id, kind, value) in fields {
                    output.field(*kind, *id);
                    value.write(output);
                }
                output.stop();
            }
            Self::List(elements) | Self::Set(elements) => {
                output.elements(kind_of(elements.first()), elements.len());
                elements.iter().for_each(|element| element.write(output));
            }
            Self::Map(pairs) => {
                let (key, value) = pairs.first().map(|(key, value)| (key, value)).unzip();
                output.pairs(kind_of(key), kind_of(value), pairs.len());
                for (key, value) in pairs {
                    key.write(output);
                    value.write(output);
                }
            }
        }
    }

    /// Orders what Thrift gives no order: fields, elements of sets, pairs of maps; at every level.
    pub fn sort(&mut self) {
        match self {
            Self::Struct(fields) => {
                fields.iter_mut().for_each(|(_, _, value)| value.sort());
                fields.sort();
            }
            Self::List(elements) => elements.iter_mut().for_each(Self::sort),
            Self::Set(elements) => {
                elements.iter_mut().for_each(Self::sort);
                elements.sort();
            }
            Self::Map(pairs) => {
                for (key, value) in &mut *pairs {
                    key.sort();
                    value.sort();
                }
                pairs.sort();
            }
            _ => {}
        }
    }
}
