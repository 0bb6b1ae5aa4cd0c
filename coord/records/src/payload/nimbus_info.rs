//! The leader's record: a serialized Java object, the only one in the tree.
//!
//! Nothing in Storm 2.8 reads it. It is one class with four fields, so its bytes are a fixed head and the values.
//! Source: the stream protocol of Java's object serialization, and the record of a cluster of Storm 2.8.2.

use super::{NimbusAddress, PayloadError};

/// Everything up to the values: the class `org.apache.storm.nimbus.NimbusInfo`, its serial version
/// 2161446155116099333, and its fields, primitive ones first.
const HEAD: &[u8] =
    b"\xac\xed\x00\x05sr\x00\x22org.apache.storm.nimbus.NimbusInfo\x1d\xfe\xff\xd3\x84\xd47\x05\x02\x00\x04\
Z\x00\x08isLeaderI\x00\x04portI\x00\x07tlsPortL\x00\x04hostt\x00\x12Ljava/lang/String;xp";

/// The code of a string of at most 65,535 bytes.
const STRING: u8 = b't';

/// The bytes of the three values before the host.
const NUMBERS_BYTES: usize = 9;

/// The leader, as it says in `leader-info`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NimbusInfo {
    /// Where it is reached.
    pub address: NimbusAddress,
    /// Storm writes false, even of the leader.
    pub is_leader: bool,
}

impl NimbusInfo {
    /// The bytes that Java writes for such an object.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = HEAD.to_vec();
        bytes.push(u8::from(self.is_leader));
        bytes.extend(i32::from(self.address.port()).to_be_bytes());
        bytes.extend(i32::from(self.address.tls_port()).to_be_bytes());
        bytes.push(STRING);
        // Java's form of UTF-8 differs for zero and beyond U+FFFF only, which hosts do not hold.
        let host = self.address.host().as_bytes();
        bytes.extend(u16::try_from(host.len()).expect("a host has at most 255 bytes").to_be_bytes());
        bytes.extend(host);
        bytes
    }

    /// Reads the bytes that Java writes for such an object.
    ///
    /// # Errors
    /// [`PayloadError::NotNimbusInfo`] when they are another object, [`PayloadError::Length`] when they are cut or
    /// longer, [`PayloadError::Address`] when the values are none of a nimbus.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PayloadError> {
        let differing = HEAD.iter().zip(bytes).position(|(ours, theirs)| ours != theirs);
        if let Some(at) = differing {
            return Err(PayloadError::NotNimbusInfo { at });
        }
        let strings_at = HEAD.len() + NUMBERS_BYTES;
        let least_bytes = strings_at + 3;
        let cut = |expected| PayloadError::Length { found: bytes.len(), expected };
        let (values, host) = bytes.split_at_checked(least_bytes).ok_or_else(|| cut(least_bytes))?;
        let int = |at: usize| i32::from_be_bytes([values[at], values[at + 1], values[at + 2], values[at + 3]]);
        let port_at = HEAD.len() + 1;
        if values[strings_at] != STRING {
            return Err(PayloadError::NotNimbusInfo { at: strings_at });
        }
        let host_bytes = usize::from(u16::from_be_bytes([values[strings_at + 1], values[strings_at + 2]]));
        if host.len() != host_bytes {
            return Err(cut(least_bytes + host_bytes));
        }
        let host = std::str::from_utf8(host).map_err(|_| PayloadError::NotNimbusInfo { at: least_bytes })?;
        let text = format!("{host}:{}:{}", int(port_at), int(port_at + 4));
        Ok(Self { address: text.parse()?, is_leader: values[HEAD.len()] != 0 })
    }
}
