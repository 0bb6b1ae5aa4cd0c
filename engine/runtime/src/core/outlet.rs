//! Where emitted tuples wait: the inbox of an executor of this core, or what is bound for another core.
//!
//! Both are the same thing: sealed frames in order, then one open frame. An inbox is emptied by its executor, a link's
//! outlet by publishing into its ring; what a full ring does not take stays sealed here (the *overflow*).
//!
//! Invariants: frames leave in the order in which they were begun; `queued` counts exactly the tuples inside.

use std::collections::VecDeque;

use ringstorm_frame::{FrameWriter, Run};

/// Reuses frame buffers, so that a running topology allocates none.
#[derive(Debug, Default)]
pub(crate) struct FramePool {
    buffers: Vec<Vec<u8>>,
    frame_bytes: usize,
}

/// Buffers kept for reuse by one core: as many as a peer may have to confirm (4 MiB in frames of 8 KiB), and some. More than
/// that were a burst.
const POOLED_BUFFERS_MAX: usize = 640;

impl FramePool {
    pub(crate) fn new(frame_bytes: usize) -> Self {
        Self { buffers: Vec::new(), frame_bytes }
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Vec<u8> {
        // The slack lets the last tuple of a frame and the columns end behind the mark without a reallocation.
        self.buffers.pop().unwrap_or_else(|| Vec::with_capacity(self.frame_bytes + self.frame_bytes / 2))
    }

    #[inline]
    pub(crate) fn put(&mut self, buffer: Vec<u8>) {
        if self.is_regular(&buffer) && self.buffers.len() < POOLED_BUFFERS_MAX {
            self.buffers.push(buffer);
        }
    }

    /// Whether a buffer has the usual size; one that grew for a large tuple is freed instead of kept.
    #[inline]
    pub(crate) fn is_regular(&self, buffer: &Vec<u8>) -> bool {
        buffer.capacity() >= self.frame_bytes && buffer.capacity() <= 4 * self.frame_bytes
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.buffers.iter().map(Vec::capacity).sum()
    }
}

/// Frames in order, the last of them open.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    pub(crate) writer: FrameWriter,
    sealed: VecDeque<Vec<u8>>,
    sealed_bytes: usize,
    sealed_tuples: usize,
    /// Bytes of the anchors of joined tuples in the open frame, which its length leaves out.
    joined_bytes: usize,
    /// Listed among those that the end of the turn looks at.
    pub(crate) listed: bool,
}

impl Outlet {
    /// Tuples inside.
    #[inline]
    pub(crate) fn queued(&self) -> usize {
        self.sealed_tuples + self.writer.tuple_count() as usize
    }

    /// Bytes inside.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.sealed_bytes + if self.writer.is_empty() { 0 } else { self.writer.len_bytes() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sealed.is_empty() && self.writer.is_empty()
    }

    #[inline]
    pub(crate) fn has_sealed(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// Moves the open frame behind the sealed ones.
    pub(crate) fn seal(&mut self) {
        self.joined_bytes = 0;
        if !self.writer.is_empty() {
            self.sealed_tuples += self.writer.tuple_count() as usize;
            let frame = self.writer.take();
            self.sealed_bytes += frame.len();
            self.sealed.push_back(frame);
        }
    }

    /// Makes sure that the open frame has a buffer with room for about `room_bytes` more.
    pub(crate) fn make_room(&mut self, room_bytes: usize, pool: &mut FramePool) {
        if self.writer.has_buffer() {
            if self.writer.is_empty() || self.writer.len_bytes() + room_bytes <= pool.frame_bytes {
                return;
            }
            self.seal();
        }
        self.writer.begin(pool.take());
    }

    /// Copies a whole run behind what is inside.
    pub(crate) fn append_run(&mut self, run: &Run<'_>, pool: &mut FramePool) {
        self.make_room(run.as_bytes().len(), pool);
        self.writer.append_run(run);
    }

    /// Takes the oldest frame.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        if let Some((frame, tuples)) = self.sealed.pop_front().map(|frame| {
            let tuples = ringstorm_frame::FrameReader::new(&frame).tuple_count() as usize;
            (frame, tuples)
        }) {
            self.sealed_bytes -= frame.len();
            self.sealed_tuples -= tuples;
            return Some(frame);
        }
        self.joined_bytes = 0;
        (!self.writer.is_empty()).then(|| self.writer.take())
    }

    /// Notes that the tuple that was appended last belongs to this many trees. A frame ends when its joined tuples have
    /// as many bytes of anchors as it may have of tuples: they may well be the larger part.
    pub(crate) fn note_joined(&mut self, roots: usize, frame_bytes: usize) {
        self.joined_bytes += 16 * roots;
        if self.joined_bytes >= frame_bytes {
            self.seal();
        }
    }

    /// Puts a frame back in front, whole.
    pub(crate) fn put_back(&mut self, frame: Vec<u8>) {
        self.sealed_bytes += frame.len();
        self.sealed_tuples += ringstorm_frame::FrameReader::new(&frame).tuple_count() as usize;
        self.sealed.push_front(frame);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.sealed.iter().map(Vec::capacity).sum::<usize>() + self.writer.len_bytes()
    }
}
