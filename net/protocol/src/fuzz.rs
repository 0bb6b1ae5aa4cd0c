//! The bodies of the fuzz targets in `fuzz/`, as plain functions, so that the tests can replay inputs with them.
//!
//! Each panics, or worse, if it finds a fault, and returns otherwise. A fuzzer cannot guess a checksum or a proof: where
//! the first byte of an input asks for it, units are sealed before they are read.

use crate::handshake::{Claims, CorePair, Handshake, HandshakeError, Progress, Secret};
use crate::unit::{HEADER_BYTES, Kind, Stamp, begin, read_header, seal};
use crate::{Arrival, ReceiveBuffer, Session};

/// Frames in these inputs are never longer.
const FRAME_BYTES_MAX: u32 = 1 << 16;

/// Bytes on a connection: every unit that is delivered is the next, whole, and after an error nothing is delivered.
pub fn units(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let bytes = if choice & 1 == 1 { sealed(bytes) } else { bytes.to_vec() };
    let piece_bytes = 1 + usize::from(choice >> 1) * 7;
    let mut session = Session::new(1);
    session.connected();
    for number in 0..3_u8 {
        let mut unit = Vec::new();
        begin(Kind::Frame, 0, &mut unit);
        unit.push(number);
        session.push(unit);
    }
    let mut buffer = ReceiveBuffer::new(4 * HEADER_BYTES, FRAME_BYTES_MAX);
    let mut expected = 0;
    for piece in bytes.chunks(piece_bytes) {
        let mut rest = piece;
        while !rest.is_empty() {
            let space = buffer.space();
            let count = space.len().min(rest.len());
            assert!(count > 0, "there is always room for more");
            space[..count].copy_from_slice(&rest[..count]);
            buffer.filled(count);
            rest = &rest[count..];
            loop {
                let (header, unit) = match buffer.next_unit() {
                    Ok(Some(unit)) => unit,
                    Ok(None) => break,
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        assert!(buffer.next_unit().is_err(), "what is no unit stays none");
                        return;
                    }
                };
                assert_eq!(unit.len(), header.length as usize);
                match session.arrived(&header, drop) {
                    Ok(Arrival::Deliver) => {
                        assert_eq!(header.sequence, expected);
                        expected += 1;
                    }
                    Ok(Arrival::Closed) | Err(_) => return,
                    // The peer goes on behind what it gave up.
                    Ok(Arrival::Settled) if header.kind == Kind::Resume => expected = header.sequence.max(expected),
                    Ok(Arrival::Duplicate | Arrival::Settled) => {}
                }
                let unsent: usize = session.unsent().map(<[u8]>::len).sum();
                session.sent(unsent.min(usize::from(choice >> 4)), drop);
                assert!(
                    session.kept_bytes() <= 3 * (HEADER_BYTES + 1) && session.unsent_bytes() <= session.kept_bytes()
                );
            }
        }
        assert!(buffer.memory_bytes() <= 2 * (FRAME_BYTES_MAX as usize + bytes.len()), "no claim costs memory");
    }
}

/// Bytes in place of a handshake, for a dialer and for an acceptor: nobody who does not know the secret is agreed with.
pub fn handshake(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let bytes = if choice & 1 == 1 { sealed(bytes) } else { bytes.to_vec() };
    let claims = Claims {
        payload_format: "format".into(),
        topology: "topology".into(),
        worker: 0,
        incarnation: 1,
        to_worker: 1,
        assignment_version: 1,
        cores: CorePair { dialer: 0, acceptor: 1 },
        streams: Vec::new(),
    };
    for mut side in [
        Handshake::accept(Secret::new("secret"), [2; 32]),
        Handshake::dial(Secret::new("secret"), [1; 32], claims.clone()),
    ] {
        for piece in bytes.chunks(1 + usize::from(choice >> 1)) {
            let mut rest = piece;
            let mut refused = false;
            while !rest.is_empty() && !refused {
                let space = side.space();
                let count = space.len().min(rest.len());
                space[..count].copy_from_slice(&rest[..count]);
                rest = &rest[count..];
                let mut judge = |_: &Claims| -> Result<Claims, HandshakeError> { panic!("it has proven nothing") };
                match side.received(count, &mut judge) {
                    Ok(Progress::Waiting) => {}
                    Ok(Progress::Agreed(_)) => panic!("agreed with whoever does not know the secret"),
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        refused = true;
                    }
                }
                assert!(side.output().len() <= 4 * 1024);
            }
            if refused {
                break;
            }
        }
    }
    if let Ok(claims) = Claims::decode(&bytes) {
        assert_eq!(Claims::decode(&claims.encode()).as_ref(), Ok(&claims));
    }
}

/// The same bytes with the length and checksum of each unit made right, as far as they look like units.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut rest = bytes;
    while let Ok(Some(header)) = read_header(rest, FRAME_BYTES_MAX) {
        let length = (header.length as usize).min(rest.len());
        let mut unit = rest[..length].to_vec();
        let (sequence, assignment_version, confirms) = (header.sequence, header.assignment_version, header.confirms);
        seal(&mut unit, &Stamp { sequence, assignment_version, confirms });
        all.extend_from_slice(&unit);
        rest = &rest[length..];
    }
    all.extend_from_slice(rest);
    all
}
