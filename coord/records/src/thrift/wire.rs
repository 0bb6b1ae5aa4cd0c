//! Values that travel: numbers, texts and containers of them, and what makes a field required or optional.
//!
//! Containers are written in the order of their keys, so that equal records have equal bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{DecodeError, Decoder, Encoder, Kind, Problem, Type};

/// A value of one Thrift type.
pub trait Wire: Sized {
    /// What it is in the interface definition.
    const TYPE: Type;
    /// How it travels.
    const KIND: Kind = Self::TYPE.kind();

    /// Appends the value.
    fn encode(&self, output: &mut Encoder);

    /// Reads the value.
    ///
    /// # Errors
    /// The bytes are no such value.
    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError>;
}

/// Any bytes. Shown by their number only, since they may be long or secret.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binary(pub Vec<u8>);

impl fmt::Debug for Binary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Binary({} bytes)", self.0.len())
    }
}

impl Wire for bool {
    const TYPE: Type = Type::Bool;

    fn encode(&self, output: &mut Encoder) {
        output.bool(*self);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        input.bool()
    }
}

impl Wire for i32 {
    const TYPE: Type = Type::I32;

    fn encode(&self, output: &mut Encoder) {
        output.i32(*self);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        input.i32()
    }
}

impl Wire for i64 {
    const TYPE: Type = Type::I64;

    fn encode(&self, output: &mut Encoder) {
        output.i64(*self);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        input.i64()
    }
}

impl Wire for f64 {
    const TYPE: Type = Type::Double;

    fn encode(&self, output: &mut Encoder) {
        output.raw(&self.to_bits().to_be_bytes());
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from_bits(input.i64()?.cast_unsigned()))
    }
}

impl Wire for String {
    const TYPE: Type = Type::String;

    fn encode(&self, output: &mut Encoder) {
        output.binary(self.as_bytes());
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(input.text()?.to_owned())
    }
}

impl Wire for Binary {
    const TYPE: Type = Type::Binary;

    fn encode(&self, output: &mut Encoder) {
        output.binary(&self.0);
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self(input.binary()?.to_vec()))
    }
}

impl<T: Wire> Wire for Vec<T> {
    const TYPE: Type = Type::List(&T::TYPE);

    fn encode(&self, output: &mut Encoder) {
        output.elements(T::KIND, self.len());
        for element in self {
            element.encode(output);
        }
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut list = Self::new();
        each_element::<T>(input, |element| list.push(element))?;
        Ok(list)
    }
}

impl<T: Wire + Ord> Wire for BTreeSet<T> {
    const TYPE: Type = Type::Set(&T::TYPE);

    fn encode(&self, output: &mut Encoder) {
        output.elements(T::KIND, self.len());
        for element in self {
            element.encode(output);
        }
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut set = Self::new();
        each_element::<T>(input, |element| {
            set.insert(element);
        })?;
        Ok(set)
    }
}

fn each_element<T: Wire>(input: &mut Decoder<'_>, mut keep: impl FnMut(T)) -> Result<(), DecodeError> {
    input.enter()?;
    for _ in 0..input.elements(T::KIND)? {
        input.charge(size_of::<T>())?;
        keep(T::decode(input)?);
    }
    input.leave();
    Ok(())
}

/// Of pairs with equal keys the last counts, as in Storm.
impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    const TYPE: Type = Type::Map(&K::TYPE, &V::TYPE);

    fn encode(&self, output: &mut Encoder) {
        output.pairs(K::KIND, V::KIND, self.len());
        for (key, value) in self {
            key.encode(output);
            value.encode(output);
        }
    }

    fn decode(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut map = Self::new();
        input.enter()?;
        for _ in 0..input.pairs(K::KIND, V::KIND)? {
            input.charge(size_of::<(K, V)>())?;
            let key = K::decode(input)?;
            map.insert(key, V::decode(input)?);
        }
        input.leave();
        Ok(map)
    }
}

/// The value of a field: a plain value is required, an `Option` of one is not.
pub(crate) trait Field: Sized {
    const TYPE: Type;
    const IS_REQUIRED: bool;

    /// Appends head and value, if there is one.
    fn write(&self, id: i16, output: &mut Encoder);

    /// Reads the value; its head was read.
    fn read(input: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// What stands for a field that did not come.
    fn absent() -> Option<Self>;
}

impl<T: Wire> Field for T {
    const TYPE: Type = <T as Wire>::TYPE;
    const IS_REQUIRED: bool = true;

    fn write(&self, id: i16, output: &mut Encoder) {
        output.field(T::KIND, id);
        self.encode(output);
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::decode(input)
    }

    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Wire> Field for Option<T> {
    const TYPE: Type = T::TYPE;
    const IS_REQUIRED: bool = false;

    fn write(&self, id: i16, output: &mut Encoder) {
        if let Some(value) = self {
            Field::write(value, id, output);
        }
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Some(T::decode(input)?))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// Finds the value of a field that did not come, or says that it must.
pub(crate) fn absent<T: Field>(
    input: &Decoder<'_>,
    record: &'static str,
    id: i16,
    field: &'static str,
    other: Option<Kind>,
) -> Result<T, DecodeError> {
    T::absent().ok_or_else(|| input.error(Problem::MissingField { record, id, field, other }))
}
