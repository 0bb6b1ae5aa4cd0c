//! Reading a frame in place: its runs, and the tuples of each run without a copy.
//!
//! Invariants: reads bytes that a [`crate::FrameWriter`] made or that [`crate::validate()`] accepted; other bytes may
//! panic on an index, never read out of bounds.
//!
//! Threading: borrows the frame. Allocation: none.

use crate::anchors::{Anchors, ManyAnchors};
use crate::layout::{
    ANCHORS_MANY, ANCHORS_MASK, ANCHORS_NONE, ANCHORS_PAIR, ANCHORS_RANGE, FLAG_LENGTHS, FLAG_TARGETS,
    FRAME_HEADER_BYTES, RUN_HEADER_BYTES, frame_offset, read_u16, read_u32, read_u64, run_offset,
};

use crate::prefetch;

/// Iterates over the runs of a frame.
#[derive(Clone, Debug)]
pub struct FrameReader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> FrameReader<'a> {
    /// Reads a whole frame, header included.
    pub fn new(frame: &'a [u8]) -> Self {
        Self { bytes: frame, offset: FRAME_HEADER_BYTES }
    }

    /// Goes on at the run that starts at `offset`, as [`FrameReader::offset`] gave it.
    pub fn resume(frame: &'a [u8], offset: usize) -> Self {
        Self { bytes: frame, offset }
    }

    /// Where the next run starts.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Tuples in the whole frame, as its header says; 0 for an empty buffer.
    pub fn tuple_count(&self) -> u32 {
        if self.bytes.len() < FRAME_HEADER_BYTES { 0 } else { read_u32(self.bytes, frame_offset::TUPLE_COUNT) }
    }
}

impl<'a> Iterator for FrameReader<'a> {
    type Item = Run<'a>;

    #[inline]
    fn next(&mut self) -> Option<Run<'a>> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let run_bytes = read_u32(self.bytes, self.offset + run_offset::RUN_BYTES) as usize;
        let run = Run::parse(&self.bytes[self.offset..self.offset + run_bytes]);
        self.offset += run_bytes;
        Some(run)
    }
}

/// Consecutive tuples of one (source task, stream).
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    bytes: &'a [u8],
    payloads: &'a [u8],
    lengths: &'a [u8],
    targets: &'a [u8],
    anchor_counts: &'a [u8],
    anchor_bytes: &'a [u8],
    source: u32,
    target: u32,
    size: u32,
    first_root: u64,
    count: u16,
    stream: u16,
    position: u16,
    anchors_kind: u8,
    stride: u8,
}

impl<'a> Run<'a> {
    fn parse(bytes: &'a [u8]) -> Self {
        let count = read_u16(bytes, run_offset::COUNT);
        let kind = bytes[run_offset::KIND];
        let size = read_u32(bytes, run_offset::SIZE);
        let tuples = usize::from(count);
        let payload_bytes = if kind & FLAG_LENGTHS == 0 { size as usize * tuples } else { size as usize };
        let (payloads, rest) = bytes[RUN_HEADER_BYTES..].split_at(payload_bytes);
        let (lengths, rest) = rest.split_at(if kind & FLAG_LENGTHS == 0 { 0 } else { 4 * tuples });
        let (targets, rest) = rest.split_at(if kind & FLAG_TARGETS == 0 { 0 } else { 4 * tuples });
        let anchors_kind = kind & ANCHORS_MASK;
        let (anchor_counts, anchor_bytes) = rest.split_at(if anchors_kind == ANCHORS_MANY { 2 * tuples } else { 0 });
        Self {
            bytes,
            payloads,
            lengths,
            targets,
            anchor_counts,
            anchor_bytes,
            source: read_u32(bytes, run_offset::SOURCE),
            target: read_u32(bytes, run_offset::TARGET),
            size,
            first_root: read_u64(bytes, run_offset::ROOT),
            count,
            stream: read_u16(bytes, run_offset::STREAM),
            position: read_u16(bytes, run_offset::POSITION),
            anchors_kind,
            stride: bytes[run_offset::STRIDE],
        }
    }

    /// Task that emitted these tuples.
    #[inline]
    pub fn source(&self) -> u32 {
        self.source
    }

    /// Stream number within the source component.
    #[inline]
    pub fn stream(&self) -> u16 {
        self.stream
    }

    /// How many tuples.
    #[inline]
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The one task that all these tuples are for, or `None` when it differs from tuple to tuple.
    #[inline]
    pub fn single_target(&self) -> Option<u32> {
        self.targets.is_empty().then_some(self.target)
    }

    /// Bytes of every payload when they are equal, the tuples have one target and their anchors are none or a range: then
    /// [`Run::next_plain`] is the short way through the run.
    #[inline]
    pub fn plain_size(&self) -> Option<usize> {
        let plain = self.lengths.is_empty() && self.targets.is_empty() && self.anchors_kind <= ANCHORS_RANGE;
        plain.then_some(self.size as usize)
    }

    /// As [`Run::next`] for a run of which [`Run::plain_size`] gave `size`: payload and anchors.
    #[inline]
    pub fn next_plain(&self, cursor: &mut RunCursor, size: usize) -> Option<(&'a [u8], Anchors<'a>)> {
        if cursor.index >= self.count {
            return None;
        }
        let start = cursor.payload_offset as usize;
        let payload = self.payloads.get(start..start + size)?;
        let anchors = if self.anchors_kind == ANCHORS_NONE {
            Anchors::None
        } else {
            let root = self.first_root.wrapping_add(u64::from(self.stride) * u64::from(cursor.index));
            Anchors::Derived { root, position: self.position }
        };
        prefetch::for_read(self.payloads.as_ptr(), start + prefetch::AHEAD_BYTES);
        cursor.index += 1;
        cursor.payload_offset = (start + size) as u32;
        Some((payload, anchors))
    }

    /// The run as it lies in the frame, header included.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The tuples from the first one on.
    #[inline]
    pub fn start(&self) -> RunCursor {
        RunCursor::default()
    }

    /// The tuple at the cursor, which moves on; `None` at the end of the run.
    #[inline]
    pub fn next(&self, cursor: &mut RunCursor) -> Option<TupleBytes<'a>> {
        if cursor.index >= self.count {
            return None;
        }
        let index = usize::from(cursor.index);
        let length = if self.lengths.is_empty() { self.size } else { read_u32(self.lengths, 4 * index) } as usize;
        let start = cursor.payload_offset as usize;
        let payload = &self.payloads[start..start + length];
        let target = if self.targets.is_empty() { self.target } else { read_u32(self.targets, 4 * index) };
        let anchors = match self.anchors_kind {
            ANCHORS_NONE => Anchors::None,
            ANCHORS_RANGE => Anchors::Derived {
                root: self.first_root.wrapping_add(u64::from(self.stride) * u64::from(cursor.index)),
                position: self.position,
            },
            ANCHORS_PAIR => Anchors::Pair {
                root: read_u64(self.anchor_bytes, 16 * index),
                edge: read_u64(self.anchor_bytes, 16 * index + 8),
            },
            _ => {
                let bytes = 16 * usize::from(read_u16(self.anchor_counts, 2 * index));
                let from = cursor.anchor_offset as usize;
                cursor.anchor_offset += u32::try_from(bytes).expect("16 times a 16-bit count");
                Anchors::Many(ManyAnchors(&self.anchor_bytes[from..from + bytes]))
            }
        };
        cursor.index += 1;
        cursor.payload_offset += u32::try_from(length).expect("lengths are 32 bits");
        Some(TupleBytes { target, payload, anchors })
    }
}

/// A place within a run; kept when a run is left half read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCursor {
    payload_offset: u32,
    anchor_offset: u32,
    index: u16,
}

impl RunCursor {
    /// Tuples before the cursor.
    #[inline]
    pub fn index(&self) -> u16 {
        self.index
    }
}

/// One tuple as it lies in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TupleBytes<'a> {
    /// Task that it is for.
    pub target: u32,
    /// Its serialised values.
    pub payload: &'a [u8],
    /// The trees that it belongs to.
    pub anchors: Anchors<'a>,
}
