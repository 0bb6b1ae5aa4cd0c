//! Payloads: what comes back, what is refused, and what Storm wrote.

use proptest::prelude::*;

use super::*;
use crate::records::KillOptions;
use crate::thrift::UnknownFields;

fn options(wait_secs: i32) -> KillOptions {
    KillOptions { wait_secs: Some(wait_secs), unknown: UnknownFields::default() }
}

#[test]
fn a_record_is_read_from_gzip_and_bare() {
    let payload = encode(&options(8));
    assert_eq!(payload[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff], "the head is Java's");
    assert_eq!(decode(&payload), Ok(options(8)));
    assert_eq!(decode(&options(8).to_bytes()), Ok(options(8)));
}

#[test]
fn what_is_no_record_is_named() {
    let error = |payload: &[u8]| decode::<KillOptions>(payload).unwrap_err();
    assert_eq!(error(b""), PayloadError::Empty);
    assert_eq!(error(b"\x28\xb5\x2f\xfd\x00"), PayloadError::Zstd);
    assert_eq!(error(b"\xac\xed\x00\x05"), PayloadError::JavaObject);
    let whole = encode(&options(8));
    assert!(matches!(error(&whole[..whole.len() - 1]), PayloadError::Gzip(_)));
    assert!(matches!(error(&CONTAINER), PayloadError::Record(_)));
    let mut changed = whole;
    changed[12] ^= 0xff;
    assert!(matches!(error(&changed), PayloadError::Gzip(_) | PayloadError::Record(_)));
}

#[test]
fn a_bomb_costs_one_error() {
    let bomb = gzip(&vec![0; INFLATED_BYTES_MAX + 1]);
    assert!(bomb.len() < 1 << 20, "it fits into a znode");
    assert_eq!(decode::<KillOptions>(&bomb), Err(PayloadError::TooLarge(INFLATED_BYTES_MAX)));
    assert_eq!(gunzip(&gzip(&[1; 100]), 99), Err(PayloadError::TooLarge(99)));
    assert_eq!(gunzip(&gzip(&[1; 100]), 100), Ok(vec![1; 100]));
}

#[test]
fn members_are_joined_and_what_follows_is_ignored() {
    let two = [gzip(b"ab"), gzip(b"cd"), b"behind".to_vec()].concat();
    assert_eq!(gunzip(&two, 4), Ok(b"abcd".to_vec()));
    assert_eq!(gunzip(&two, 3), Err(PayloadError::TooLarge(3)));
}

#[test]
fn numbers_have_their_length() {
    assert_eq!(decode_number(&encode_number(-5)), Ok(-5));
    assert_eq!(decode_timestamp(&encode_timestamp(1 << 40)), Ok(1 << 40));
    assert_eq!(decode_number(&CONTAINER), Err(PayloadError::Length { found: 1, expected: 4 }));
}

#[test]
fn addresses_are_read_as_storm_reads_them() {
    let parts = |text: &str| {
        let address: NimbusAddress = text.parse().ok()?;
        Some((address.host().to_owned(), address.port(), address.tls_port()))
    };
    assert_eq!(parts("127.0.0.1:6627:0"), Some(("127.0.0.1".into(), 6627, 0)));
    assert_eq!(parts("a:1"), Some(("a".into(), 1, 0)));
    assert_eq!(parts("fe80::1:6627:6628"), Some(("fe80::1".into(), 6627, 6628)));
    for bad in ["", ":", "a", "a:", ":1", "a:b", "a:1:2x", "a:65536", "a/b:1", "a b:1", "a:+1", "a\n:1:0"] {
        assert_eq!(parts(bad), None, "{bad:?}");
    }
    assert!(NimbusAddress::new(&"a".repeat(256), 1, 0).is_err());
}

#[test]
fn the_leaders_record_is_javas() {
    let info = NimbusInfo { address: NimbusAddress::new("127.0.0.1", 6627, 0).unwrap(), is_leader: false };
    let bytes = info.to_bytes();
    assert_eq!(bytes.len(), 132, "as long as the one that Storm wrote");
    assert_eq!(NimbusInfo::from_bytes(&bytes), Ok(info));
    for length in 0..bytes.len() {
        assert!(matches!(NimbusInfo::from_bytes(&bytes[..length]), Err(PayloadError::Length { .. })), "{length}");
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(matches!(NimbusInfo::from_bytes(&longer), Err(PayloadError::Length { .. })));
}

proptest! {
    #[test]
    fn what_is_compressed_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert_eq!(gunzip(&gzip(&bytes), 2000), Ok(bytes));
    }

    #[test]
    fn a_leader_comes_back_whatever_its_host_is(host in "\\PC{1,60}", port: u16, tls_port: u16, is_leader: bool) {
        if let Ok(address) = NimbusAddress::new(&host, port, tls_port) {
            prop_assert_eq!(address.to_string().parse(), Ok(address.clone()));
            let info = NimbusInfo { address, is_leader };
            prop_assert_eq!(NimbusInfo::from_bytes(&info.to_bytes()), Ok(info));
        }
    }

    #[test]
    fn changed_bytes_cost_one_error_or_nothing(at in 0_usize..132, byte: u8) {
        let info = NimbusInfo { address: NimbusAddress::new("127.0.0.1", 6627, 0).unwrap(), is_leader: false };
        let mut bytes = info.to_bytes();
        bytes[at] = byte;
        let _ = NimbusInfo::from_bytes(&bytes);
        let mut payload = encode(&options(8));
        let at = at % payload.len();
        payload[at] = byte;
        let _ = decode::<KillOptions>(&payload);
    }
}
