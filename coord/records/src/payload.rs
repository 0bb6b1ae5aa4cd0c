//! What lies in znodes: gzip over bare records, and the few nodes that hold something else.
//!
//! Written is what Storm's default delegate writes (`GzipThriftSerializationDelegate`); read is what its bridge reads:
//! gzip, or a bare record, told apart by the first bytes. Storm 3.0's zstd and the Java objects of very old versions
//! are named in the error.
//!
//! Invariants: hostile bytes cost one [`PayloadError`]; what is inflated is bounded by [`INFLATED_BYTES_MAX`], whatever
//! the compressed bytes claim. Errors: a node that cannot be read is reported and left alone; it is never a reason to
//! remove anything.

mod address;
mod gzip;
mod nimbus_info;

pub use address::{InvalidAddress, NimbusAddress};
pub use gzip::{gunzip, gzip};
pub use nimbus_info::NimbusInfo;

use std::borrow::Cow;

use crate::thrift::{DecodeError, Record, RecordType};

/// What a node holds that is there for its children. Some of Storm's have no data at all instead; readers take both.
pub const CONTAINER: [u8; 1] = [7];

/// The most bytes that a record is inflated to. The largest that is known, the assignment of a topology of 100,000
/// executors, has 13 MB, of which 0.6 MB are stored.
pub const INFLATED_BYTES_MAX: usize = 32 << 20;

/// What kind of bytes a node holds.
#[derive(Clone, Copy, Debug)]
pub enum PayloadKind {
    /// Nothing: all is said by the path.
    Empty,
    /// [`CONTAINER`], or nothing.
    Container,
    /// A record, see [`encode`] and [`decode`].
    Record(RecordType),
    /// A number in four bytes, see [`decode_number`].
    Number,
    /// Milliseconds since 1970 in eight bytes, see [`decode_timestamp`].
    Timestamp,
    /// The text of a [`NimbusAddress`].
    Address,
    /// A serialized Java object, see [`NimbusInfo`].
    NimbusInfo,
}

/// Bytes of a node that are not what lies there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// There is nothing where a record is due.
    #[error("the node is empty; a record is due")]
    Empty,
    /// Gzip that is damaged.
    #[error("the gzip data is damaged: {0}")]
    Gzip(String),
    /// Much from little.
    #[error("the record inflates to more than {0} bytes; it is damaged, or made to do harm")]
    TooLarge(usize),
    /// Storm 3.0's compression.
    #[error("the record is compressed with zstd, which Storm writes from version 3.0 on; Ringstorm reads gzip")]
    Zstd,
    /// A Java object where a record is due.
    #[error(
        "a serialized Java object lies here; set storm.meta.serialization.delegate of that Storm to its gzip delegate"
    )]
    JavaObject,
    /// The record itself.
    #[error("the record cannot be read: {0}")]
    Record(#[from] DecodeError),
    /// Another number of bytes than this kind of node has.
    #[error("{found} bytes lie here, {expected} are due")]
    Length {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A text that names no nimbus.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// Other Java bytes than those of the one class that is known.
    #[error("byte {at} differs from a serialized org.apache.storm.nimbus.NimbusInfo")]
    NotNimbusInfo {
        /// The first byte that differs.
        at: usize,
    },
}

/// The payload of a record: gzip over the bare record. Equal records have equal payloads.
pub fn encode<R: Record>(record: &R) -> Vec<u8> {
    gzip(&record.to_bytes())
}

/// Reads the payload of a record.
///
/// # Errors
/// The bytes are no such record.
pub fn decode<R: Record>(payload: &[u8]) -> Result<R, PayloadError> {
    Ok(R::from_bytes(&bare(payload)?)?)
}

/// The bare record of a payload.
///
/// # Errors
/// The bytes are empty, or compressed in a way that cannot be undone.
pub fn bare(payload: &[u8]) -> Result<Cow<'_, [u8]>, PayloadError> {
    match payload {
        [] => Err(PayloadError::Empty),
        [0x1f, 0x8b, ..] => Ok(Cow::Owned(gunzip(payload, INFLATED_BYTES_MAX)?)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(PayloadError::Zstd),
        [0xac, 0xed, ..] => Err(PayloadError::JavaObject),
        _ => Ok(Cow::Borrowed(payload)),
    }
}

/// The payload of a [`PayloadKind::Number`].
pub fn encode_number(number: i32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Reads a [`PayloadKind::Number`].
///
/// # Errors
/// There are not four bytes.
pub fn decode_number(payload: &[u8]) -> Result<i32, PayloadError> {
    Ok(i32::from_be_bytes(exact(payload)?))
}

/// The payload of a [`PayloadKind::Timestamp`].
pub fn encode_timestamp(milliseconds: i64) -> [u8; 8] {
    milliseconds.to_be_bytes()
}

/// Reads a [`PayloadKind::Timestamp`].
///
/// # Errors
/// There are not eight bytes.
pub fn decode_timestamp(payload: &[u8]) -> Result<i64, PayloadError> {
    Ok(i64::from_be_bytes(exact(payload)?))
}

fn exact<const COUNT: usize>(payload: &[u8]) -> Result<[u8; COUNT], PayloadError> {
    payload.try_into().map_err(|_| PayloadError::Length { found: payload.len(), expected: COUNT })
}

#[cfg(test)]
mod tests;
