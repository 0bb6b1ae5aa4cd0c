//! Values to bytes of the binary protocol.

use super::Kind;

/// Bytes under construction. Everything is appended; nothing fails.
#[derive(Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// The bytes so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn binary(&mut self, value: &[u8]) {
        self.length(value.len());
        self.raw(value);
    }

    /// Bytes without a length.
    pub(crate) fn raw(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn field(&mut self, kind: Kind, id: i16) {
        self.byte(kind.code());
        self.i16(id);
    }

    pub(crate) fn stop(&mut self) {
        self.byte(0);
    }

    /// The start of a list or set.
    pub(crate) fn elements(&mut self, kind: Kind, count: usize) {
        self.byte(kind.code());
        self.length(count);
    }

    /// The start of a map.
    pub(crate) fn pairs(&mut self, key: Kind, value: Kind, count: usize) {
        self.byte(key.code());
        self.elements(value, count);
    }

    fn length(&mut self, length: usize) {
        self.i32(i32::try_from(length).expect("records are bounded far below the two gigabytes of a length"));
    }
}
