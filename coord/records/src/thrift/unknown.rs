//! Fields that a record has and we do not know.
//!
//! Most records drop them, as Storm's own reader does. A record that a daemon reads, changes a little and writes back
//! keeps them: else an older nimbus that leads for a while during an upgrade would remove what a newer one had stored.
//! A record that is computed anew each time does not: what an unknown field of it said may no longer be so. Which
//! records keep them stands in their definition (`..unknown`).

use super::{DecodeError, Decoder, Encoder, Kind};

/// A field as it came.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnknownField {
    id: i16,
    kind: Kind,
    /// The value, which was passed over once and so is well-formed.
    value: Vec<u8>,
}

impl UnknownField {
    /// Reads the value of a field whose head was read.
    pub(crate) fn read(kind: Kind, id: i16, input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let start = input.position();
        input.skip(kind)?;
        input.charge(size_of::<Self>())?;
        Ok(Self { id, kind, value: input.since(start).to_vec() })
    }

    pub(crate) fn write(&self, output: &mut Encoder) {
        output.field(self.kind, self.id);
        output.raw(&self.value);
    }

    /// The number of the field.
    pub fn id(&self) -> i16 {
        self.id
    }

    /// How it travels.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// The unknown fields of one record, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnknownFields(Vec<UnknownField>);

impl UnknownFields {
    /// Adds one.
    pub(crate) fn push(&mut self, field: UnknownField) {
        self.0.push(field);
    }

    pub(crate) fn write(&self, output: &mut Encoder) {
        for field in &self.0 {
            field.write(output);
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &UnknownField> {
        self.0.iter()
    }
}
