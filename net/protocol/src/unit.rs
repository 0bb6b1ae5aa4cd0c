//! Units: everything that travels on a connection is one, with a header of 64 bytes.
//!
//! A frame's header is its unit's header, so that a frame leaves as it lies and is read where it lands.
//!
//! Invariants: a unit's length is checked against the bound of its kind before anything waits for it or is allocated for
//! it; its checksum covers every byte of it.

use twox_hash::XxHash3_64;

use crate::ProtocolError;

/// Bytes of a unit's header.
pub const HEADER_BYTES: usize = 64;
/// The first bytes of each unit, which are a frame's.
pub const MAGIC: [u8; 4] = *b"RSFR";
/// The version of this layout and of all bodies.
pub const LAYOUT_VERSION: u16 = 1;
/// A control unit is never longer: 256 messages fit by far.
pub const CONTROL_BYTES_MAX: u32 = 64 << 10;
/// Nothing else is longer, but for frames and claims.
pub const SMALL_BYTES_MAX: u32 = 4 << 10;
/// Claims name every stream of a topology.
pub const CLAIMS_BYTES_MAX: u32 = 4 << 20;

const KIND: usize = 6;
const LENGTH: usize = 8;
const COUNT: usize = 12;
const TUPLES: usize = 16;
const SEQUENCE: usize = 20;
const ASSIGNMENT_VERSION: usize = 28;
const CONFIRMS: usize = 36;
const CHECKSUM: usize = 56;

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Tuples, sequenced.
    Frame = 0,
    /// What cores tell each other besides tuples, sequenced.
    Control = 1,
    /// Only a header, for its confirmation.
    Confirm = 2,
    /// The first on each connection, from both sides: where to go on.
    Resume = 3,
    /// The last of an orderly end: nothing follows, now or later.
    Close = 4,
    /// Handshake: a nonce of the dialer.
    Hello = 16,
    /// Handshake: a nonce of the acceptor, and that it knows the secret.
    Challenge = 17,
    /// Handshake: that the dialer knows the secret.
    Proof = 18,
    /// Handshake: who one is and what one runs.
    Claims = 19,
    /// Handshake: why not.
    Refusal = 20,
}

impl Kind {
    fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            0 => Self::Frame,
            1 => Self::Control,
            2 => Self::Confirm,
            3 => Self::Resume,
            4 => Self::Close,
            16 => Self::Hello,
            17 => Self::Challenge,
            18 => Self::Proof,
            19 => Self::Claims,
            20 => Self::Refusal,
            _ => return None,
        })
    }

    /// The kind in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Control => "control unit",
            Self::Confirm => "confirmation",
            Self::Resume => "resumption",
            Self::Close => "close",
            Self::Hello => "hello",
            Self::Challenge => "challenge",
            Self::Proof => "proof",
            Self::Claims => "claims unit",
            Self::Refusal => "refusal",
        }
    }

    /// Whether units of this kind count in the sequence of their session, and are sent again when a connection is lost.
    pub fn is_sequenced(self) -> bool {
        matches!(self, Self::Frame | Self::Control)
    }

    /// The longest unit of this kind, in bytes, where frames have at most `frame_bytes_max`.
    pub fn bytes_max(self, frame_bytes_max: u32) -> u32 {
        match self {
            Self::Frame => frame_bytes_max,
            Self::Control => CONTROL_BYTES_MAX,
            Self::Claims => CLAIMS_BYTES_MAX,
            _ => SMALL_BYTES_MAX,
        }
    }
}

/// The header of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the unit is.
    pub kind: Kind,
    /// Bytes of the unit, this header included.
    pub length: u32,
    /// Runs of a frame; messages of a control unit; else 0.
    pub count: u32,
    /// The number of the unit in its session, from 0; 0 for kinds without.
    pub sequence: u64,
    /// The version of the assignment by which the sender routed it.
    pub assignment_version: i64,
    /// The sender has received every unit below this one, in the other direction.
    pub confirms: u64,
}

/// What the sending side writes into a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// See [`Header::sequence`].
    pub sequence: u64,
    /// See [`Header::assignment_version`].
    pub assignment_version: i64,
    /// See [`Header::confirms`].
    pub confirms: u64,
}

/// The kind of a unit that was made here.
pub fn kind_of(unit: &[u8]) -> Option<Kind> {
    let bytes = unit.get(KIND..KIND + 2)?;
    Kind::from_number(u16_at(bytes, 0))
}

/// The number of tuples of a whole frame.
///
/// # Panics
/// If it is shorter than a header.
pub fn tuple_count(frame: &[u8]) -> u32 {
    u32_at(frame, TUPLES)
}

/// The header at the start of `bytes`; `None` while there are fewer than [`HEADER_BYTES`].
///
/// # Errors
/// When the bytes do not begin a unit of this layout, or its length is out of the bounds of its kind. A peer of another
/// layout is known from its first 8 bytes.
pub fn read_header(bytes: &[u8], frame_bytes_max: u32) -> Result<Option<Header>, ProtocolError> {
    if let Some(found) = bytes.first_chunk::<4>()
        && *found != MAGIC
    {
        return Err(ProtocolError::NotAUnit { found: *found });
    }
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let found = u16_at(header, 4);
    if found != LAYOUT_VERSION {
        return Err(ProtocolError::LayoutVersion { found, expected: LAYOUT_VERSION });
    }
    let number = u16_at(header, KIND);
    let kind = Kind::from_number(number).ok_or(ProtocolError::Kind(number))?;
    let length = u32_at(header, LENGTH);
    let (at_least, at_most) = (HEADER_BYTES as u32, kind.bytes_max(frame_bytes_max));
    if length < at_least || length > at_most {
        return Err(ProtocolError::Length { kind: kind.name(), claimed: length, at_least, at_most });
    }
    Ok(Some(Header {
        kind,
        length,
        count: u32_at(header, COUNT),
        sequence: u64_at(header, SEQUENCE),
        assignment_version: u64_at(header, ASSIGNMENT_VERSION) as i64,
        confirms: u64_at(header, CONFIRMS),
    }))
}

/// Checks every byte of a whole unit.
///
/// # Errors
/// When the checksum is another.
pub fn verify(unit: &[u8], header: &Header) -> Result<(), ProtocolError> {
    if checksum(unit) == u64_at(unit, CHECKSUM) {
        return Ok(());
    }
    Err(ProtocolError::Checksum { kind: header.kind.name(), length: header.length })
}

/// Makes the header of a unit other than a frame; its body follows. `count` is that of its messages.
pub fn begin(kind: Kind, count: u32, unit: &mut Vec<u8>) {
    unit.clear();
    unit.extend_from_slice(&unsealed(kind, count));
}

fn unsealed(kind: Kind, count: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&MAGIC);
    header[4..6].copy_from_slice(&LAYOUT_VERSION.to_le_bytes());
    header[KIND..KIND + 2].copy_from_slice(&(kind as u16).to_le_bytes());
    header[COUNT..COUNT + 4].copy_from_slice(&count.to_le_bytes());
    header
}

/// Writes what the sending side adds to a unit that is otherwise complete, be it a frame or one of [`begin`]: its length
/// (which a frame says already), its stamp, and its checksum.
///
/// # Panics
/// If the unit is shorter than a header or has 4 GiB.
pub fn seal(unit: &mut [u8], stamp: &Stamp) {
    let length = u32::try_from(unit.len()).expect("a unit is bounded far below 4 GiB");
    unit[LENGTH..LENGTH + 4].copy_from_slice(&length.to_le_bytes());
    unit[SEQUENCE..SEQUENCE + 8].copy_from_slice(&stamp.sequence.to_le_bytes());
    unit[ASSIGNMENT_VERSION..ASSIGNMENT_VERSION + 8].copy_from_slice(&stamp.assignment_version.to_le_bytes());
    unit[CONFIRMS..CONFIRMS + 8].copy_from_slice(&stamp.confirms.to_le_bytes());
    let sum = checksum(unit);
    unit[CHECKSUM..CHECKSUM + 8].copy_from_slice(&sum.to_le_bytes());
}

/// A whole unit that is only a header.
pub fn bare(kind: Kind, stamp: &Stamp) -> [u8; HEADER_BYTES] {
    let mut unit = unsealed(kind, 0);
    seal(&mut unit, stamp);
    unit
}

/// XXH3-64 of the body, seeded with that of the header up to the checksum.
fn checksum(unit: &[u8]) -> u64 {
    let header = XxHash3_64::oneshot(&unit[..CHECKSUM]);
    XxHash3_64::oneshot_with_seed(header, &unit[HEADER_BYTES..])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests;
