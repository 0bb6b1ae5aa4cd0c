//! The bytes of units, whole, changed and foreign.

use proptest::prelude::*;

use super::*;

fn sealed(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut unit = Vec::new();
    begin(kind, 3, &mut unit);
    unit.extend_from_slice(body);
    seal(&mut unit, &Stamp { sequence: 0x0102_0304_0506_0708, assignment_version: -2, confirms: 9 });
    unit
}

/// The bytes of `WIRE.md`.
#[test]
fn a_unit_lies_as_specified() {
    let unit = sealed(Kind::Control, b"body");
    let mut expected = Vec::new();
    expected.extend_from_slice(b"RSFR");
    expected.extend_from_slice(&[1, 0, 1, 0, 68, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend_from_slice(&[8, 7, 6, 5, 4, 3, 2, 1]);
    expected.extend_from_slice(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    expected.extend_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend_from_slice(&[0; 12]);
    assert_eq!(unit[..CHECKSUM], expected);
    assert_eq!(&unit[HEADER_BYTES..], b"body");
    let header = read_header(&unit, 0).unwrap().unwrap();
    let sequence = 0x0102_0304_0506_0708;
    let (kind, length, count, assignment_version, confirms) = (Kind::Control, 68, 3, -2, 9);
    assert_eq!(header, Header { kind, length, count, sequence, assignment_version, confirms });
    verify(&unit, &header).unwrap();
}

#[test]
fn a_peer_of_another_protocol_or_version_is_known_from_its_first_bytes() {
    let found = *b"GET ";
    assert_eq!(read_header(b"GET / HTTP/1.1", 0), Err(ProtocolError::NotAUnit { found }));
    let mut unit = sealed(Kind::Hello, b"");
    unit[4] = 2;
    assert_eq!(read_header(&unit, 0), Err(ProtocolError::LayoutVersion { found: 2, expected: 1 }));
}

#[test]
fn a_length_out_of_bounds_is_refused_before_the_body_comes() {
    for (kind, claimed, at_most) in [
        (Kind::Frame, u32::MAX, 8192),
        (Kind::Frame, 8193, 8192),
        (Kind::Control, CONTROL_BYTES_MAX + 1, CONTROL_BYTES_MAX),
        (Kind::Confirm, u32::MAX, SMALL_BYTES_MAX),
        (Kind::Claims, CLAIMS_BYTES_MAX + 1, CLAIMS_BYTES_MAX),
        (Kind::Frame, 63, 8192),
        (Kind::Frame, 0, 8192),
    ] {
        let mut unit = sealed(kind, b"");
        unit[LENGTH..LENGTH + 4].copy_from_slice(&claimed.to_le_bytes());
        let expected = ProtocolError::Length { kind: kind.name(), claimed, at_least: 64, at_most };
        assert_eq!(read_header(&unit, 8192), Err(expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn one_changed_byte_is_noticed(body in prop::collection::vec(any::<u8>(), 0..300), at: prop::sample::Index, flip in 1..=255_u8) {
        let mut unit = sealed(Kind::Control, &body);
        let at = at.index(unit.len());
        unit[at] ^= flip;
        let noticed = match read_header(&unit, 1 << 20) {
            Ok(Some(header)) => header.length as usize != unit.len() || verify(&unit, &header).is_err(),
            Ok(None) => false,
            Err(_) => true,
        };
        prop_assert!(noticed, "byte {} changed", at);
    }

    #[test]
    fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_header(&bytes, 1 << 20);
    }
}
