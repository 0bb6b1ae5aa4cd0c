//! Frames in pieces, and lengths that cannot be.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn messages_come_out_as_they_went_in(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..20),
        piece_bytes in 1_usize..50,
    ) {
        let stream: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
        let mut reader = FrameReader::new(64);
        let mut read = Vec::new();
        for piece in stream.chunks(piece_bytes) {
            reader.push(piece);
            while let Some(message) = reader.next_message().unwrap() {
                read.push(message.to_vec());
            }
            prop_assert!(reader.memory_bytes() <= 512);
        }
        prop_assert_eq!(read, messages);
        prop_assert!(!reader.is_in_the_middle());
    }
}

#[test]
fn a_length_out_of_bounds_is_refused_for_good() {
    for claimed in [0, -1, 65, i32::MAX, i32::MIN] {
        let mut reader = FrameReader::new(64);
        reader.push(&claimed.to_be_bytes());
        assert_eq!(reader.next_message(), Err(FrameError { claimed, bytes_max: 64 }));
        reader.push(&[1; 100]);
        assert_eq!(reader.next_message(), Err(FrameError { claimed, bytes_max: 64 }));
    }
    let mut reader = FrameReader::new(64);
    reader.push(&frame(&[7; 64]));
    assert_eq!(reader.next_message(), Ok(Some(&[7; 64][..])));
}

#[test]
fn a_claim_allocates_nothing() {
    let mut reader = FrameReader::new(SERVER_BYTES_MAX);
    reader.push(&(1_i32 << 20).to_be_bytes());
    reader.push(b"x");
    assert_eq!(reader.next_message(), Ok(None));
    assert!(reader.memory_bytes() < 64 && reader.is_in_the_middle());
}
