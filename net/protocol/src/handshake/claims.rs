//! What a worker says of itself, and its bytes.

use super::HandshakeError;

/// The two cores that a connection joins: one of the dialer's, one of the acceptor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CorePair {
    /// The dialer's core, by its number in its worker.
    pub dialer: u32,
    /// The acceptor's.
    pub acceptor: u32,
}

/// How the tuples of a stream are laid out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamLayout {
    /// The component that emits it.
    pub component: String,
    /// The stream.
    pub stream: String,
    /// Equal exactly for equal layouts.
    pub layout: u64,
}

/// Who a worker is and what it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// How tuples are archived: the name and version of the format and its settings.
    pub payload_format: String,
    /// The id of the topology.
    pub topology: String,
    /// The worker that speaks, by a number that no other slot of the topology has.
    pub worker: u64,
    /// Its incarnation: each process of one worker has a greater one than those before.
    pub incarnation: u64,
    /// The worker that is spoken to.
    pub to_worker: u64,
    /// The assignment that the speaker runs.
    pub assignment_version: i64,
    /// What the connection joins.
    pub cores: CorePair,
    /// Every stream, in order of component and stream.
    pub streams: Vec<StreamLayout>,
}

/// The bytes of a string in claims: its length is written in 16 bits.
const TEXT_BYTES_MAX: usize = u16::MAX as usize;

impl Claims {
    /// The bytes of the body of a claims unit. Strings are cut at 65,535 bytes, which no valid topology has.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_text(&mut bytes, &self.payload_format);
        put_text(&mut bytes, &self.topology);
        bytes.extend_from_slice(&self.worker.to_le_bytes());
        bytes.extend_from_slice(&self.incarnation.to_le_bytes());
        bytes.extend_from_slice(&self.to_worker.to_le_bytes());
        bytes.extend_from_slice(&self.assignment_version.to_le_bytes());
        bytes.extend_from_slice(&self.cores.dialer.to_le_bytes());
        bytes.extend_from_slice(&self.cores.acceptor.to_le_bytes());
        bytes.extend_from_slice(&(self.streams.len() as u32).to_le_bytes());
        for stream in &self.streams {
            put_text(&mut bytes, &stream.component);
            put_text(&mut bytes, &stream.stream);
            bytes.extend_from_slice(&stream.layout.to_le_bytes());
        }
        bytes
    }

    /// Reads the body of a claims unit.
    ///
    /// # Errors
    /// Which rule it breaks.
    pub fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut rest = bytes;
        let rest = &mut rest;
        let payload_format = take_text(rest)?;
        let topology = take_text(rest)?;
        let worker = u64::from_le_bytes(take(rest)?);
        let incarnation = u64::from_le_bytes(take(rest)?);
        let to_worker = u64::from_le_bytes(take(rest)?);
        let assignment_version = i64::from_le_bytes(take(rest)?);
        let cores = CorePair { dialer: u32::from_le_bytes(take(rest)?), acceptor: u32::from_le_bytes(take(rest)?) };
        let count = u32::from_le_bytes(take(rest)?);
        let mut streams = Vec::new();
        for _ in 0..count {
            let (component, stream) = (take_text(rest)?, take_text(rest)?);
            streams.push(StreamLayout { component, stream, layout: u64::from_le_bytes(take(rest)?) });
        }
        if !rest.is_empty() {
            return Err("bytes follow its last stream");
        }
        if !streams.is_sorted_by(|left, right| (&left.component, &left.stream) < (&right.component, &right.stream)) {
            return Err("its streams are not in order");
        }
        Ok(Self { payload_format, topology, worker, incarnation, to_worker, assignment_version, cores, streams })
    }

    /// Whether a peer with these claims runs the same thing as this worker.
    ///
    /// # Errors
    /// The first difference. Who the peer is, and its incarnation, are for others to judge.
    pub fn check_same_program(&self, theirs: &Self) -> Result<(), HandshakeError> {
        if self.payload_format != theirs.payload_format {
            let (ours, theirs) = (self.payload_format.clone(), theirs.payload_format.clone());
            return Err(HandshakeError::PayloadFormat { ours, theirs });
        }
        if self.topology != theirs.topology {
            return Err(HandshakeError::Topology { ours: self.topology.clone(), theirs: theirs.topology.clone() });
        }
        for (own, other) in self.streams.iter().zip(&theirs.streams) {
            let names = |of: &StreamLayout| (of.component.clone(), of.stream.clone());
            if names(own) != names(other) {
                let (component, stream) = names(own).min(names(other));
                return Err(HandshakeError::Streams { component, stream });
            }
            if own.layout != other.layout {
                let (component, stream) = names(own);
                return Err(HandshakeError::Layout { component, stream });
            }
        }
        let shared = self.streams.len().min(theirs.streams.len());
        if let Some(extra) = self.streams.get(shared).or(theirs.streams.get(shared)) {
            let (component, stream) = (extra.component.clone(), extra.stream.clone());
            return Err(HandshakeError::Streams { component, stream });
        }
        Ok(())
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], &'static str> {
    let (taken, left) = rest.split_first_chunk::<N>().ok_or("it ends too early")?;
    *rest = left;
    Ok(*taken)
}

fn take_text(rest: &mut &[u8]) -> Result<String, &'static str> {
    let length = u16::from_le_bytes(take(rest)?) as usize;
    let (text, left) = rest.split_at_checked(length).ok_or("it ends too early")?;
    *rest = left;
    String::from_utf8(text.to_vec()).map_err(|_| "a name is not UTF-8")
}
