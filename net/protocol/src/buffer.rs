//! From a stream of bytes to whole units that are read where they landed.
//!
//! Invariants: bytes are handed out in order and once; only what is left of a unit at the end of the buffer is ever
//! copied, to its front. The buffer starts small and doubles up to its usual size whenever it was filled, so that a
//! connection on which little comes costs little. It doubles further while a unit that is longer comes in, within the unit's
//! bound, and shrinks again; what a header claims costs nothing before it is there.
//!
//! Threading: belongs to one connection. While the kernel writes into [`ReceiveBuffer::space`] nothing else may be called.

use crate::ProtocolError;
use crate::unit::{HEADER_BYTES, Header, read_header, verify};

/// Received bytes, from which units are taken.
#[derive(Debug)]
pub struct ReceiveBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    usual_bytes: usize,
    frame_bytes_max: u32,
    /// It was filled to its end: more may have been waiting.
    was_full: bool,
}

/// What a buffer starts with, if that is not more than its usual size.
const FIRST_BYTES: usize = 16 << 10;

impl ReceiveBuffer {
    /// A buffer of up to `usual_bytes` (at least four headers) for frames of at most `frame_bytes_max`.
    pub fn new(usual_bytes: usize, frame_bytes_max: u32) -> Self {
        let usual_bytes = usual_bytes.max(4 * HEADER_BYTES);
        let bytes = vec![0; FIRST_BYTES.min(usual_bytes)];
        Self { bytes, start: 0, end: 0, usual_bytes, frame_bytes_max, was_full: false }
    }

    /// Takes bytes that were received elsewhere.
    pub fn extend(&mut self, received: &[u8]) {
        let wanted = self.end + received.len();
        if wanted > self.bytes.len() {
            self.bytes.resize(wanted, 0);
        }
        self.bytes[self.end..wanted].copy_from_slice(received);
        self.filled(received.len());
    }

    /// Where the next bytes go. Never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.make_room();
        &mut self.bytes[self.end..]
    }

    /// Notes that this many bytes were written to the start of [`ReceiveBuffer::space`].
    ///
    /// # Panics
    /// If they do not fit there.
    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.bytes.len() - self.end, "{count} bytes were written where less room was");
        self.end += count;
        self.was_full = self.end == self.bytes.len();
    }

    /// The next whole unit, its checksum verified; `None` until more bytes come.
    ///
    /// # Errors
    /// When the bytes are no unit; then every later call says so too.
    pub fn next_unit(&mut self) -> Result<Option<(Header, &[u8])>, ProtocolError> {
        let Some(header) = read_header(self.unread(), self.frame_bytes_max)? else {
            return Ok(None);
        };
        let from = self.start;
        let to = from + header.length as usize;
        if to > self.end {
            return Ok(None);
        }
        verify(&self.bytes[from..to], &header)?;
        self.start = to;
        Ok(Some((header, &self.bytes[from..to])))
    }

    /// Takes back that the unit that came last from [`ReceiveBuffer::next_unit`] was taken: it comes again.
    ///
    /// # Panics
    /// If it is not `header`'s: no unit that ends where reading stands can be so long.
    pub fn put_back(&mut self, header: &Header) {
        let length = header.length as usize;
        assert!(length <= self.start, "a unit is put back that was not taken");
        self.start -= length;
    }

    /// Bytes that were received and not taken as units.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Moves what is left to the front when the rest of its unit would not fit behind it.
    fn make_room(&mut self) {
        if std::mem::take(&mut self.was_full) && self.bytes.len() < self.usual_bytes {
            self.bytes.resize((2 * self.bytes.len()).min(self.usual_bytes), 0);
        }
        let pending = self.unread().len();
        if pending == 0 {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > self.usual_bytes {
                self.bytes.truncate(self.usual_bytes);
                self.bytes.shrink_to_fit();
            }
            return;
        }
        // A header that is no unit's was, or will be, reported by `next_unit`.
        let unit = read_header(self.unread(), self.frame_bytes_max).ok().flatten();
        let wanted = unit.map_or(HEADER_BYTES, |header| header.length as usize);
        if self.start + wanted > self.bytes.len() || self.end == self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, pending);
        }
        // Not at once by as much as its header claims: it has to send that much first.
        if self.end == self.bytes.len() {
            let grown = wanted.max(self.end + HEADER_BYTES).min(2 * self.bytes.len());
            self.bytes.resize(grown, 0);
        }
    }
}

#[cfg(test)]
mod tests;
