//! What executables must have in common, so that workers made of them understand each other.
//!
//! Nimbus compares these texts, and so do workers that shake hands. They are said here once; tests of the packages that
//! write the bytes compare them with what they write.

/// How tuples are archived, as `engine/frame/FORMAT.md` says. Another value is another wire format.
pub const PAYLOAD_FORMAT: &str = "rkyv 0.8.18 unaligned little_endian pointer_width_32";

/// All of it: the version of frames, that of the protocol between workers, and [`PAYLOAD_FORMAT`]. Stands in the
/// configuration of a submitted topology as [`keys::WIRE_FORMAT`](crate::config::keys::WIRE_FORMAT).
pub const WIRE_FORMAT: &str = "frame 1, protocol 1, rkyv 0.8.18 unaligned little_endian pointer_width_32";
