//! Units out of a stream that is cut anywhere.

use proptest::prelude::*;

use super::*;
use crate::unit::{Kind, Stamp, begin, seal};

fn unit(sequence: u64, body_bytes: usize) -> Vec<u8> {
    let mut unit = Vec::new();
    begin(Kind::Frame, 0, &mut unit);
    unit.resize(HEADER_BYTES + body_bytes, sequence as u8);
    seal(&mut unit, &Stamp { sequence, ..Stamp::default() });
    unit
}

fn feed(buffer: &mut ReceiveBuffer, bytes: &[u8]) -> usize {
    let space = buffer.space();
    let count = space.len().min(bytes.len());
    space[..count].copy_from_slice(&bytes[..count]);
    buffer.filled(count);
    count
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// However a stream of units is cut, they come out whole and in order, and the buffer ends at its usual size.
    #[test]
    fn units_come_out_whole_and_in_order(
        bodies in prop::collection::vec(prop_oneof![0..300_usize, 0..20_000_usize], 1..40),
        cuts in prop::collection::vec(1..3000_usize, 1..50),
    ) {
        let units: Vec<Vec<u8>> = bodies.iter().zip(0..).map(|(body, sequence)| unit(sequence, *body)).collect();
        let stream = units.concat();
        let mut buffer = ReceiveBuffer::new(1024, 1 << 20);
        let (mut rest, mut cuts, mut due) = (stream.as_slice(), cuts.iter().cycle(), units.iter());
        while !rest.is_empty() {
            let cut = rest.len().min(*cuts.next().unwrap());
            let taken = feed(&mut buffer, &rest[..cut]);
            prop_assert!(taken > 0);
            rest = &rest[taken..];
            while let Some((_, unit)) = buffer.next_unit().unwrap() {
                prop_assert_eq!(unit, due.next().unwrap().as_slice());
            }
        }
        prop_assert_eq!(due.next(), None);
        buffer.space();
        prop_assert_eq!((buffer.unread().len(), buffer.memory_bytes()), (0, 1024));
    }
}

#[test]
fn a_unit_that_is_put_back_comes_again() {
    let mut buffer = ReceiveBuffer::new(1024, 1 << 20);
    feed(&mut buffer, &[unit(0, 10), unit(1, 20)].concat());
    assert!(buffer.next_unit().unwrap().is_some());
    let (header, second) = buffer.next_unit().unwrap().map(|(header, unit)| (header, unit.to_vec())).unwrap();
    assert_eq!(buffer.next_unit(), Ok(None));
    buffer.put_back(&header);
    assert_eq!(buffer.next_unit().unwrap().unwrap().1, second.as_slice());
    assert_eq!(buffer.next_unit(), Ok(None));
}

#[test]
fn a_claim_of_many_bytes_allocates_nothing() {
    let mut buffer = ReceiveBuffer::new(1024, u32::MAX);
    let mut header = unit(0, 0);
    header[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    feed(&mut buffer, &header);
    assert_eq!(buffer.next_unit(), Ok(None));
    buffer.space();
    assert_eq!(buffer.memory_bytes(), 1024);
}

#[test]
fn a_buffer_grows_to_its_usual_size_when_much_comes() {
    let mut buffer = ReceiveBuffer::new(256 << 10, 1 << 20);
    for _ in 0..100 {
        feed(&mut buffer, &unit(0, 1000));
        assert!(buffer.next_unit().unwrap().is_some());
    }
    assert_eq!(buffer.memory_bytes(), FIRST_BYTES, "little comes");
    let many = unit(0, 1000).repeat(2000);
    let mut rest = many.as_slice();
    while !rest.is_empty() {
        let taken = feed(&mut buffer, rest);
        rest = &rest[taken..];
        while buffer.next_unit().unwrap().is_some() {}
    }
    assert!((256 << 10..=257 << 10).contains(&buffer.memory_bytes()));
}

#[test]
fn what_was_received_elsewhere_comes_first() {
    let mut buffer = ReceiveBuffer::new(1024, 1 << 20);
    let all = [unit(0, 700), unit(1, 900), unit(2, 5)].concat();
    let (elsewhere, here) = all.split_at(1200);
    buffer.extend(elsewhere);
    let mut numbers = Vec::new();
    while let Some((header, _)) = buffer.next_unit().unwrap() {
        numbers.push(header.sequence);
    }
    feed(&mut buffer, here);
    while let Some((header, _)) = buffer.next_unit().unwrap() {
        numbers.push(header.sequence);
    }
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn bytes_that_are_no_unit_stay_an_error() {
    let mut buffer = ReceiveBuffer::new(1024, 1 << 20);
    feed(&mut buffer, b"GET / HTTP/1.1\r\n");
    for _ in 0..3 {
        assert!(matches!(buffer.next_unit(), Err(ProtocolError::NotAUnit { .. })));
        assert!(!buffer.space().is_empty());
    }
}
