//! What lies in a cell of a data ring: one frame, in one of three places.
//!
//! * A *small* frame lies in the cell itself. That is the frame of an idle topology: its reader asks for lines whose
//!   addresses it knows, all at once, and its writer keeps the buffer, whose lines are in its own cache.
//! * A *regular* one is a buffer that stays in the cell until the producer takes it back a lap later.
//! * A *large* one would pin too much memory for a lap: the consumer takes it out and frees it.
//!
//! Invariants: exactly one place is in use; the first line says which.
//!
//! Threading: written by the producer while the cell is its own, read by the consumer.

use std::sync::{Mutex, PoisonError};

/// The longest frame that lies in its cell: one tuple of a hundred bytes, and a cell of four cache lines.
const SMALL_BYTES_MAX: usize = 192;

/// See the module.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FrameCell {
    small_bytes: u8,
    regular: Vec<u8>,
    large: Mutex<Option<Vec<u8>>>,
    small: [u8; SMALL_BYTES_MAX],
}

impl Default for FrameCell {
    fn default() -> Self {
        Self { small_bytes: 0, regular: Vec::new(), large: Mutex::new(None), small: [0; SMALL_BYTES_MAX] }
    }
}

impl FrameCell {
    /// Cache lines of a cell.
    pub(crate) const LINES: usize = size_of::<Self>() / 64;

    /// Puts a frame in and gives back the buffer that the cell has kept for a lap, if any. A small frame is copied and
    /// stays the caller's; `frame` is empty otherwise. Cannot panic.
    #[inline]
    pub(crate) fn put(&mut self, frame: &mut Vec<u8>, is_regular: bool) -> Vec<u8> {
        let kept = std::mem::take(&mut self.regular);
        if let Some(place) = self.small.get_mut(..frame.len()) {
            place.copy_from_slice(frame);
            self.small_bytes = frame.len() as u8;
            return kept;
        }
        self.small_bytes = 0;
        let frame = std::mem::take(frame);
        if is_regular {
            self.regular = frame;
        } else {
            *self.large.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(frame);
        }
        kept
    }

    /// Reads the frame where it lies.
    #[inline]
    pub(crate) fn read(&self, read: impl FnOnce(&[u8])) {
        if let Some(small) = self.small.get(..usize::from(self.small_bytes)).filter(|small| !small.is_empty()) {
            return read(small);
        }
        if !self.regular.is_empty() {
            return read(&self.regular);
        }
        let large = self.large.lock().unwrap_or_else(PoisonError::into_inner).take();
        read(&large.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell: &FrameCell) -> Vec<u8> {
        let mut bytes = Vec::new();
        cell.read(|frame| bytes.extend_from_slice(frame));
        bytes
    }

    #[test]
    fn a_frame_of_each_kind_is_read_as_it_was_put_whatever_came_before() {
        assert_eq!((size_of::<FrameCell>(), FrameCell::LINES), (256, 4));
        let frames = [(40, true), (8000, true), (SMALL_BYTES_MAX, true), (100_000, false), (193, true), (1, true)];
        for (first, first_is_regular) in frames {
            for (second, second_is_regular) in frames {
                let mut cell = FrameCell::default();
                assert!(cell.put(&mut vec![1; first], first_is_regular).is_empty());
                assert_eq!(read(&cell), vec![1; first]);
                let mut frame = vec![2; second];
                let kept = cell.put(&mut frame, second_is_regular);
                assert_eq!(read(&cell), vec![2; second], "after {first}");
                assert_eq!(frame.len(), if second <= SMALL_BYTES_MAX { second } else { 0 });
                let comes_back = first > SMALL_BYTES_MAX && first_is_regular;
                assert_eq!(kept.len(), if comes_back { first } else { 0 });
            }
        }
    }
}
