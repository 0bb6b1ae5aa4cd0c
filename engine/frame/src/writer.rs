//! Building a frame: tuples are serialised straight into it, and consecutive tuples that belong together share a run.
//!
//! Invariants: `committed` is the length up to the last whole tuple; what lies behind it (a write that failed or
//! panicked) is cut off before anything else happens. Columns are kept aside while a run is open and laid behind its
//! payloads when it closes, so a frame has no gaps.
//!
//! Threading: belongs to one core. Allocation: none in steady state; buffers and columns are reused.

use crate::anchors::Anchors;
use crate::layout::{
    ANCHORS_MANY, ANCHORS_NONE, ANCHORS_PAIR, ANCHORS_RANGE, FLAG_LENGTHS, FLAG_TARGETS, FRAME_HEADER_BYTES,
    FRAME_MAGIC, FRAME_VERSION, RUN_HEADER_BYTES, RUN_TUPLES_MAX, frame_offset, put_u16, put_u32, put_u64, run_offset,
};
use crate::prefetch;
use crate::reader::Run;

/// The run that is being written.
#[derive(Debug, Default)]
struct OpenRun {
    /// Offset of its header in the frame.
    start: usize,
    /// Source and stream; [`NO_KEY`] once a column makes the short way impossible.
    key: u64,
    source: u32,
    target: u32,
    count: u32,
    /// Bytes of every payload so far, while they are equal.
    fixed_size: u32,
    first_root: u64,
    next_root: u64,
    stream: u16,
    position: u16,
    anchors_kind: u8,
    stride: u8,
    has_lengths: bool,
    has_targets: bool,
}

/// No source and stream have this key.
const NO_KEY: u64 = u64::MAX;

#[inline]
fn run_key(source: u32, stream: u16) -> u64 {
    u64::from(source) | u64::from(stream) << 32
}

/// Appends tuples to one frame.
#[derive(Debug, Default)]
pub struct FrameWriter {
    bytes: Vec<u8>,
    committed: usize,
    /// Up to where [`FrameWriter::append_fixed`] may write; 0 until [`FrameWriter::set_limit`].
    limit: usize,
    run: OpenRun,
    run_count: u32,
    /// Tuples of closed runs.
    tuple_count: u32,
    lengths: Vec<u32>,
    targets: Vec<u32>,
    anchor_bytes: Vec<u8>,
    anchor_counts: Vec<u16>,
}

impl FrameWriter {
    /// A writer without a buffer; [`FrameWriter::begin`] gives it one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a frame in `buffer`, whose content is dropped and whose capacity is kept.
    #[inline(always)]
    pub fn begin(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        for line in (0..prefetch::AHEAD_BYTES + 64).step_by(64) {
            prefetch::for_write(buffer.as_ptr(), line);
        }
        buffer.resize(FRAME_HEADER_BYTES, 0);
        self.bytes = buffer;
        self.committed = FRAME_HEADER_BYTES;
        self.limit = 0;
        self.run.count = 0;
        self.run_count = 0;
        self.tuple_count = 0;
    }

    /// Lets [`FrameWriter::append_fixed`] fill the frame up to this many bytes.
    #[inline]
    pub fn set_limit(&mut self, limit_bytes: usize) {
        self.limit = if self.has_buffer() { limit_bytes } else { 0 };
    }

    /// The short way of [`FrameWriter::append`] for a tuple of a known size that goes on with the open run; nothing more
    /// than its payload is written. `None` when it does not fit in so simply: then [`FrameWriter::append`] must do it.
    ///
    /// # Errors
    /// What `write` returned; the frame is then as before.
    #[inline(always)]
    pub fn append_fixed<E>(
        &mut self,
        source: u32,
        stream: u16,
        target: u32,
        anchors: Anchors<'_>,
        size: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        let run = &self.run;
        let root_goes_on = match anchors {
            Anchors::None => run.anchors_kind == ANCHORS_NONE,
            Anchors::Derived { root, position } => {
                run.anchors_kind == ANCHORS_RANGE && run.next_root == root && run.position == position
            }
            Anchors::Pair { .. } => run.anchors_kind == ANCHORS_PAIR,
            Anchors::Many(_) => false,
        };
        // Two tuples settle a run's stride, and columns of lengths or targets take the long way.
        if self.committed + size > self.limit
            || run.key != run_key(source, stream)
            || run.target != target
            || run.fixed_size as usize != size
            || !root_goes_on
            || run.count.wrapping_sub(2) >= RUN_TUPLES_MAX as u32 - 2
            || self.bytes.len() != self.committed
        {
            return None;
        }
        if let Err(error) = write(&mut self.bytes) {
            self.bytes.truncate(self.committed);
            return Some(Err(error));
        }
        debug_assert_eq!(self.bytes.len(), self.committed + size, "the tuple has the size it claims");
        prefetch::for_write(self.bytes.as_ptr(), self.committed + prefetch::AHEAD_BYTES);
        self.committed = self.bytes.len();
        self.run.count += 1;
        match anchors {
            Anchors::Derived { root, .. } => self.run.next_root = root.wrapping_add(u64::from(self.run.stride)),
            Anchors::Pair { root, edge } => {
                self.anchor_bytes.extend_from_slice(&root.to_le_bytes());
                self.anchor_bytes.extend_from_slice(&edge.to_le_bytes());
            }
            Anchors::None | Anchors::Many(_) => {}
        }
        Some(Ok(()))
    }

    /// Whether a frame was begun and not yet taken.
    #[inline]
    pub fn has_buffer(&self) -> bool {
        self.committed != 0
    }

    /// Whole tuples in the frame.
    #[inline]
    pub fn tuple_count(&self) -> u32 {
        self.tuple_count + self.run.count
    }

    /// Whether no whole tuple is in the frame.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tuple_count() == 0
    }

    /// Bytes written so far, columns of the open run left out.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.committed
    }

    /// Appends one tuple, whose payload `write` serialises at the end of the buffer it is given.
    ///
    /// Returns the payload's bytes. When `write` fails, the frame is as before.
    ///
    /// # Errors
    /// What `write` returned.
    #[inline]
    pub fn append<E>(
        &mut self,
        source: u32,
        stream: u16,
        target: u32,
        anchors: Anchors<'_>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<usize, E> {
        if self.bytes.len() != self.committed {
            self.bytes.truncate(self.committed);
        }
        if !self.continues(source, stream, anchors) {
            self.open_run(source, stream, target, anchors);
        }
        let start = self.bytes.len();
        if let Err(error) = write(&mut self.bytes) {
            self.bytes.truncate(self.committed);
            if self.run.count == 0 {
                self.abandon_run();
            }
            return Err(error);
        }
        let size = self.bytes.len() - start;
        self.commit(size, target, anchors);
        Ok(size)
    }

    /// Appends every tuple of a run read elsewhere with one copy.
    pub fn append_run(&mut self, run: &Run<'_>) {
        if self.bytes.len() != self.committed {
            self.bytes.truncate(self.committed);
        }
        self.close_run();
        self.bytes.extend_from_slice(run.as_bytes());
        self.committed = self.bytes.len();
        self.run_count += 1;
        self.tuple_count += u32::from(run.count());
    }

    /// Ends the frame and gives its bytes. The writer then has no buffer until [`FrameWriter::begin`].
    pub fn take(&mut self) -> Vec<u8> {
        self.bytes.truncate(self.committed);
        self.close_run();
        let mut bytes = std::mem::take(&mut self.bytes);
        if !bytes.is_empty() {
            put_u32(&mut bytes, frame_offset::MAGIC, FRAME_MAGIC);
            put_u16(&mut bytes, frame_offset::VERSION, FRAME_VERSION);
            let length = u32::try_from(bytes.len()).expect("a tuple is at most 2 GiB, so a frame's length fits");
            put_u32(&mut bytes, frame_offset::LENGTH, length);
            put_u32(&mut bytes, frame_offset::RUN_COUNT, self.run_count);
            put_u32(&mut bytes, frame_offset::TUPLE_COUNT, self.tuple_count);
        }
        self.committed = 0;
        self.limit = 0;
        self.tuple_count = 0;
        self.run_count = 0;
        bytes
    }

    /// Whether the open run can take a tuple of this source and stream with these anchors.
    #[inline]
    fn continues(&self, source: u32, stream: u16, anchors: Anchors<'_>) -> bool {
        let run = &self.run;
        if run.count == 0 || run.source != source || run.stream != stream || run.count as usize >= RUN_TUPLES_MAX {
            return false;
        }
        match anchors {
            Anchors::None => run.anchors_kind == ANCHORS_NONE,
            Anchors::Derived { root, position } => {
                run.anchors_kind == ANCHORS_RANGE
                    && run.position == position
                    && (run.next_root == root
                        // The second tuple of a run sets its stride.
                        || (run.count == 1 && (1..=255).contains(&root.wrapping_sub(run.first_root))))
            }
            Anchors::Pair { .. } => run.anchors_kind == ANCHORS_PAIR,
            Anchors::Many(_) => run.anchors_kind == ANCHORS_MANY,
        }
    }

    fn open_run(&mut self, source: u32, stream: u16, target: u32, anchors: Anchors<'_>) {
        self.close_run();
        let (anchors_kind, first_root, position) = match anchors {
            Anchors::None => (ANCHORS_NONE, 0, 0),
            Anchors::Derived { root, position } => (ANCHORS_RANGE, root, position),
            Anchors::Pair { .. } => (ANCHORS_PAIR, 0, 0),
            Anchors::Many(_) => (ANCHORS_MANY, 0, 0),
        };
        self.run = OpenRun {
            start: self.bytes.len(),
            key: run_key(source, stream),
            source,
            target,
            count: 0,
            fixed_size: 0,
            first_root,
            next_root: first_root,
            stream,
            position,
            anchors_kind,
            stride: 1,
            has_lengths: false,
            has_targets: false,
        };
        let with_header = self.bytes.len() + RUN_HEADER_BYTES;
        self.bytes.resize(with_header, 0);
    }

    /// Takes back the header of a run whose first tuple was never completed.
    fn abandon_run(&mut self) {
        self.bytes.truncate(self.run.start);
        self.committed = self.run.start;
    }

    #[inline]
    fn commit(&mut self, size: usize, target: u32, anchors: Anchors<'_>) {
        let run = &mut self.run;
        let size = u32::try_from(size).expect("topology.tuple.max.bytes keeps a payload below 2 GiB");
        if run.count == 0 {
            run.fixed_size = size;
        } else {
            if run.has_lengths || size != run.fixed_size {
                if !run.has_lengths {
                    run.has_lengths = true;
                    run.key = NO_KEY;
                    self.lengths.clear();
                    self.lengths.resize(run.count as usize, run.fixed_size);
                }
                self.lengths.push(size);
            }
            if run.has_targets || target != run.target {
                if !run.has_targets {
                    run.has_targets = true;
                    run.key = NO_KEY;
                    self.targets.clear();
                    self.targets.resize(run.count as usize, run.target);
                }
                self.targets.push(target);
            }
        }
        match anchors {
            Anchors::None => {}
            Anchors::Derived { root, .. } => {
                if run.count == 1 {
                    // `continues` checked that the distance fits.
                    run.stride = u8::try_from(root.wrapping_sub(run.first_root)).unwrap_or(1);
                }
                run.next_root = root.wrapping_add(u64::from(run.stride));
            }
            Anchors::Pair { root, edge } => {
                if run.count == 0 {
                    self.anchor_bytes.clear();
                }
                self.anchor_bytes.extend_from_slice(&root.to_le_bytes());
                self.anchor_bytes.extend_from_slice(&edge.to_le_bytes());
            }
            Anchors::Many(many) => {
                if run.count == 0 {
                    self.anchor_bytes.clear();
                    self.anchor_counts.clear();
                }
                self.anchor_bytes.extend_from_slice(many.0);
                self.anchor_counts.push(u16::try_from(many.len()).unwrap_or(u16::MAX));
            }
        }
        run.count += 1;
        self.committed = self.bytes.len();
    }

    fn close_run(&mut self) {
        if self.run.count == 0 {
            // A run that was opened but got no tuple (its first write panicked) leaves only its header behind.
            return;
        }
        let run = &self.run;
        let payload_bytes = self.bytes.len() - run.start - RUN_HEADER_BYTES;
        let mut kind = run.anchors_kind;
        if run.has_lengths {
            kind |= FLAG_LENGTHS;
            self.bytes.extend(self.lengths.iter().flat_map(|length| length.to_le_bytes()));
        }
        if run.has_targets {
            kind |= FLAG_TARGETS;
            self.bytes.extend(self.targets.iter().flat_map(|target| target.to_le_bytes()));
        }
        match run.anchors_kind {
            ANCHORS_PAIR => self.bytes.extend_from_slice(&self.anchor_bytes),
            ANCHORS_MANY => {
                self.bytes.extend(self.anchor_counts.iter().flat_map(|count| count.to_le_bytes()));
                self.bytes.extend_from_slice(&self.anchor_bytes);
            }
            _ => {}
        }
        let run_bytes = u32::try_from(self.bytes.len() - run.start).expect("a frame is below 4 GiB");
        let size = if run.has_lengths {
            u32::try_from(payload_bytes).expect("a frame is below 4 GiB")
        } else {
            run.fixed_size
        };
        let header = &mut self.bytes[run.start..run.start + RUN_HEADER_BYTES];
        put_u32(header, run_offset::SOURCE, run.source);
        put_u32(header, run_offset::TARGET, run.target);
        put_u16(header, run_offset::STREAM, run.stream);
        header[run_offset::KIND] = kind;
        header[run_offset::STRIDE] = run.stride;
        put_u16(header, run_offset::COUNT, u16::try_from(run.count).expect("RUN_TUPLES_MAX fits 16 bits"));
        put_u16(header, run_offset::POSITION, run.position);
        put_u32(header, run_offset::SIZE, size);
        put_u32(header, run_offset::RUN_BYTES, run_bytes);
        put_u64(header, run_offset::ROOT, run.first_root);
        self.run_count += 1;
        self.tuple_count += self.run.count;
        self.run.count = 0;
        self.committed = self.bytes.len();
    }
}
