//! Frames: the batch of tuples that moves as one unit, through a ring (same worker) or a socket (other worker).
//!
//! `FORMAT.md` beside this crate specifies every byte. A frame is a 64-byte header and then *runs*: consecutive tuples
//! of one (source task, stream). What differs from tuple to tuple lies in columns that exist only when needed, so that
//! a fixed-size tuple of a spout costs no byte beyond its payload.
//!
//! Invariants: a payload is opaque here; a frame's written length only ever covers whole tuples, so a panic in the
//! middle of one truncates to the last whole one; a structure that [`validate()`] accepts can be read without a panic.
//!
//! Threading: values here belong to one thread at a time; nothing is shared. Errors: [`FrameError`] is returned to
//! whoever received foreign bytes, and that peer's connection is closed; frames made in this process are not checked.
#![deny(unsafe_code)]

mod anchors;
mod layout;
pub mod prefetch;
mod reader;
mod validate;
mod writer;

pub use anchors::{Anchors, ManyAnchors};
pub use layout::{FRAME_HEADER_BYTES, FRAME_VERSION, RUN_HEADER_BYTES, RUN_TUPLES_MAX};
pub use reader::{FrameReader, Run, RunCursor, TupleBytes};
pub use validate::{FrameError, validate};
pub use writer::FrameWriter;
