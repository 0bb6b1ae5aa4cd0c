//! Records: structs, unions and exceptions as whole values.

use super::{DecodeError, Decoder, Encoder, Schema, Wire};

/// A struct, union or exception of Storm's interface definition.
pub trait Record: Wire {
    /// What it looks like.
    const SCHEMA: &'static Schema;

    /// The record in the binary protocol, bare: no message around it, no compression.
    fn to_bytes(&self) -> Vec<u8> {
        let mut output = Encoder::default();
        self.encode(&mut output);
        output.into_bytes()
    }

    /// Reads a bare record.
    ///
    /// # Errors
    /// The bytes are not one such record, whole, and nothing else.
    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Decoder::new(bytes);
        let record = Self::decode(&mut input)?;
        input.finish()?;
        Ok(record)
    }
}

/// A record type among others, for whoever goes through all of them.
#[derive(Clone, Copy, Debug)]
pub struct RecordType {
    /// What it looks like.
    pub schema: &'static Schema,
    /// Reads a bare record and writes it again.
    pub rewrite: fn(&[u8]) -> Result<Vec<u8>, DecodeError>,
}

impl RecordType {
    /// The entry of a type.
    pub const fn of<R: Record>() -> Self {
        Self { schema: R::SCHEMA, rewrite: |bytes| Ok(R::from_bytes(bytes)?.to_bytes()) }
    }
}
