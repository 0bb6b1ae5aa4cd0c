//! Frames: each message behind its length in four bytes, as Thrift's framed transport does.
//!
//! Invariants: a length out of bounds is refused when it comes, and memory grows only by what came.

/// The longest call that a server takes, by `nimbus.thrift.max_buffer_size`, in bytes.
pub const SERVER_BYTES_MAX: usize = 1 << 20;

/// The longest answer that a client takes, Thrift's own bound, in bytes.
pub const CLIENT_BYTES_MAX: usize = 16_384_000;

const LENGTH_BYTES: usize = 4;

/// A length that cannot be. The connection cannot go on: where the next frame starts is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a frame claims to be {claimed} bytes long, where 1 to {bytes_max} are taken; the peer speaks another protocol, or \
     what it sends is too large"
)]
pub struct FrameError {
    /// What the peer says.
    pub claimed: i32,
    /// The bound on this side.
    pub bytes_max: usize,
}

/// The frame of a message.
///
/// # Panics
/// If the message is empty or longer than two gigabytes; no message is.
pub fn frame(message: &[u8]) -> Vec<u8> {
    assert!(!message.is_empty(), "a message has a head");
    let length = i32::try_from(message.len()).expect("messages are bounded far below two gigabytes");
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + message.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

/// Received bytes, from which messages are taken.
#[derive(Debug)]
pub struct FrameReader {
    bytes: Vec<u8>,
    start: usize,
    bytes_max: usize,
}

impl FrameReader {
    /// Takes messages of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, bytes_max }
    }

    /// Adds what came.
    pub fn push(&mut self, received: &[u8]) {
        // What was taken goes when it is at least half, so that each byte is moved once or twice.
        if self.start * 2 >= self.bytes.len() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(received);
    }

    /// The next whole message; `None` until more bytes come.
    ///
    /// # Errors
    /// When a length is out of bounds; then every later call says so too.
    pub fn next_message(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let unread = &self.bytes[self.start..];
        let Some((length, rest)) = unread.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let claimed = i32::from_be_bytes(*length);
        let length = usize::try_from(claimed).ok().filter(|length| (1..=self.bytes_max).contains(length));
        let length = length.ok_or(FrameError { claimed, bytes_max: self.bytes_max })?;
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.start + LENGTH_BYTES;
        self.start = from + length;
        Ok(Some(&self.bytes[from..self.start]))
    }

    /// Whether bytes of a message that is not whole are at hand.
    pub fn is_in_the_middle(&self) -> bool {
        self.start < self.bytes.len()
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests;
