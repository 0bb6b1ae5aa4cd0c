//! Checks the structure of bytes that came from outside this process, before anything reads them.
//!
//! Invariants: never panics, never allocates, looks at each byte of structure once; payloads are opaque here (their
//! stream's schema checks them). Accepted bytes can be read by [`crate::FrameReader`] without a panic.

use crate::layout::{
    ANCHORS_MANY, ANCHORS_MASK, ANCHORS_PAIR, ANCHORS_RANGE, FLAG_LENGTHS, FLAG_TARGETS, FRAME_HEADER_BYTES,
    FRAME_MAGIC, FRAME_VERSION, KIND_UNUSED, RUN_HEADER_BYTES, RUN_TUPLES_MAX, frame_offset, read_u16, read_u32,
    run_offset,
};

/// Why bytes are not a frame. Who sent them is at fault; the connection they came on is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Fewer bytes than a frame header has.
    #[error(
        "{available} bytes are too few for a frame header of 64; the sender is not a Ringstorm worker or was cut off"
    )]
    TooShort {
        /// Bytes there were.
        available: usize,
    },
    /// The first bytes are not a frame's.
    #[error("the bytes do not start like a frame of layout version 1; the sender speaks another protocol or version")]
    NotAFrame,
    /// The header's length is not that of the bytes.
    #[error("the frame header claims {claimed} bytes but {available} are there")]
    Length {
        /// What the header says.
        claimed: u32,
        /// Bytes there were.
        available: usize,
    },
    /// A run's header contradicts itself or the frame's bounds.
    #[error("the run at byte {offset} is malformed: {what}")]
    Run {
        /// Where the run starts in the frame.
        offset: usize,
        /// Which rule it breaks.
        what: &'static str,
    },
    /// The counts in the frame header are not those of its runs.
    #[error("the frame header counts {claimed} tuples but its runs hold {found}")]
    TupleCount {
        /// What the header says.
        claimed: u32,
        /// What the runs hold.
        found: u32,
    },
}

/// Checks that `bytes` are one whole well-formed frame.
///
/// # Errors
/// A [`FrameError`] that says where and why; the bytes must then not be read.
pub fn validate(bytes: &[u8]) -> Result<(), FrameError> {
    if bytes.len() < FRAME_HEADER_BYTES {
        return Err(FrameError::TooShort { available: bytes.len() });
    }
    if read_u32(bytes, frame_offset::MAGIC) != FRAME_MAGIC || read_u16(bytes, frame_offset::VERSION) != FRAME_VERSION {
        return Err(FrameError::NotAFrame);
    }
    let claimed = read_u32(bytes, frame_offset::LENGTH);
    if claimed as usize != bytes.len() {
        return Err(FrameError::Length { claimed, available: bytes.len() });
    }
    let mut offset = FRAME_HEADER_BYTES;
    let mut tuples = 0u32;
    let mut runs = 0u32;
    while offset < bytes.len() {
        let run_bytes = validate_run(&bytes[offset..], &mut tuples).map_err(|what| FrameError::Run { offset, what })?;
        offset += run_bytes;
        runs += 1;
    }
    if runs != read_u32(bytes, frame_offset::RUN_COUNT) {
        return Err(FrameError::Run { offset, what: "the frame header counts another number of runs" });
    }
    let claimed = read_u32(bytes, frame_offset::TUPLE_COUNT);
    if tuples == claimed { Ok(()) } else { Err(FrameError::TupleCount { claimed, found: tuples }) }
}

/// Checks the run at the start of `rest` and returns its bytes.
fn validate_run(rest: &[u8], tuples: &mut u32) -> Result<usize, &'static str> {
    if rest.len() < RUN_HEADER_BYTES {
        return Err("fewer bytes than a run header has");
    }
    let run_bytes = read_u32(rest, run_offset::RUN_BYTES) as usize;
    if run_bytes < RUN_HEADER_BYTES || run_bytes > rest.len() {
        return Err("its length reaches past the end of the frame");
    }
    let count = usize::from(read_u16(rest, run_offset::COUNT));
    if count == 0 || count > RUN_TUPLES_MAX {
        return Err("its tuple count is 0 or above the limit");
    }
    let kind = rest[run_offset::KIND];
    if kind & KIND_UNUSED != 0 {
        return Err("unknown bits are set in its kind");
    }
    let size = read_u32(rest, run_offset::SIZE) as usize;
    // Every term is below 2^32 times 2^12, so 64-bit sums cannot overflow.
    let payload_bytes = if kind & FLAG_LENGTHS == 0 { size * count } else { size };
    let mut end = RUN_HEADER_BYTES + payload_bytes;
    if end > run_bytes {
        return Err("its payloads reach past its end");
    }
    if kind & FLAG_LENGTHS != 0 {
        let column = end;
        end += 4 * count;
        if end > run_bytes {
            return Err("its column of lengths reaches past its end");
        }
        let sum: usize = (0..count).map(|index| read_u32(rest, column + 4 * index) as usize).sum();
        if sum != payload_bytes {
            return Err("its lengths do not add up to its payload bytes");
        }
    }
    if kind & FLAG_TARGETS != 0 {
        end += 4 * count;
    }
    match kind & ANCHORS_MASK {
        ANCHORS_PAIR => end += 16 * count,
        ANCHORS_MANY => {
            let column = end;
            end += 2 * count;
            if end > run_bytes {
                return Err("its column of anchor counts reaches past its end");
            }
            end += (0..count).map(|index| 16 * usize::from(read_u16(rest, column + 2 * index))).sum::<usize>();
        }
        ANCHORS_RANGE if rest[run_offset::STRIDE] == 0 => return Err("its roots have stride 0"),
        _ => {}
    }
    if end != run_bytes {
        return Err("its columns do not fill it exactly");
    }
    *tuples = tuples.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    Ok(run_bytes)
}
