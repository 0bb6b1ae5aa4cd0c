//! Why a connection cannot go on.

/// What a peer did that ends its connection. The session survives: the next connection resumes it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The first bytes of a unit are not a unit's.
    #[error("the bytes {found:02x?} do not begin a unit; the peer is not a Ringstorm worker, or bytes were lost")]
    NotAUnit {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// The unit has another layout.
    #[error("a unit of layout version {found} came where {expected} is spoken; run the same release on both sides")]
    LayoutVersion {
        /// What the unit says.
        found: u16,
        /// What is spoken here.
        expected: u16,
    },
    /// No such kind of unit.
    #[error("a unit of the unknown kind {0} came")]
    Kind(u16),
    /// The kind exists but has no place here.
    #[error("a {found} came where {expected} was due")]
    Unexpected {
        /// What came.
        found: &'static str,
        /// What was due.
        expected: &'static str,
    },
    /// A unit claims to be shorter than its header or longer than may be.
    #[error("a {kind} claims to be {claimed} bytes long, where at least {at_least} and at most {at_most} are allowed")]
    Length {
        /// The kind of the unit.
        kind: &'static str,
        /// What its header says.
        claimed: u32,
        /// The bytes of a header.
        at_least: u32,
        /// The bound of this kind here.
        at_most: u32,
    },
    /// Bytes were changed on the way.
    #[error("the checksum of a {kind} of {length} bytes is wrong: bytes were changed on the way")]
    Checksum {
        /// The kind of the unit.
        kind: &'static str,
        /// Its length.
        length: u32,
    },
    /// A sequence number was skipped.
    #[error("unit {found} came where {expected} was due; the connection is closed and resumed from there")]
    Gap {
        /// The number that came.
        found: u64,
        /// The number that was due.
        expected: u64,
    },
    /// The peer speaks of units that were never sent, or are gone.
    #[error(
        "the peer has units up to {asked}, but only {first} to {next} can be: it is not the one that was spoken to before"
    )]
    Resume {
        /// The unit asked for.
        asked: u64,
        /// The oldest unit at hand.
        first: u64,
        /// The first unit that was not sent.
        next: u64,
    },
    /// A body does not hold what its kind says.
    #[error("the body of a {kind} is malformed: {what}")]
    Body {
        /// The kind of the unit.
        kind: &'static str,
        /// Which rule it breaks.
        what: &'static str,
    },
}
