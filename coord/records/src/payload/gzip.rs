//! Gzip with a bound.
//!
//! The library is `flate2` over `miniz_oxide`: the Rust project's own choice, without C, so that Miri and fuzzers see
//! all of it.
//!
//! Threading: each thread that compresses or inflates keeps its states for that, about 350 KiB, since making one costs
//! more than a record does. Invariant: what comes out depends on what goes in, and never on what went in before.

use std::cell::RefCell;
use std::io::Read;

use flate2::bufread::GzDecoder;
use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};

use super::PayloadError;

/// The head that Java writes: deflate, no name, no time, no operating system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// How a member begins that goes on with nothing but a time, a level and a system.
const PLAIN: [u8; 4] = [0x1f, 0x8b, 8, 0];

/// What every member begins with.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The checksum and the length behind a member.
const TAIL_BYTES: usize = 8;

/// Up to so many bytes are inflated at once, into memory that is taken for what the tail claims.
const QUICK_BYTES_MAX: usize = 64 << 10;

/// Room beyond the end, with which the library inflates by its fast loop almost to the last byte.
const SLACK_BYTES: usize = 320;

thread_local! {
    static DEFLATE: RefCell<Compress> = RefCell::new(Compress::new(Compression::default(), false));
    static INFLATE: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// Compresses, with the head that Java writes: no name, no time.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = Vec::with_capacity(bytes.len() / 2 + 128);
    member.extend_from_slice(&HEAD);
    DEFLATE.with_borrow_mut(|deflate| {
        deflate.reset();
        loop {
            let taken = usize::try_from(deflate.total_in()).expect("no more is taken than is there");
            let status = deflate.compress_vec(&bytes[taken..], &mut member, FlushCompress::Finish);
            match status.expect("a state that was reset takes any bytes") {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError => member.reserve(member.len()),
            }
        }
    });
    let mut crc = Crc::new();
    crc.update(bytes);
    member.extend_from_slice(&crc.sum().to_le_bytes());
    member.extend_from_slice(&crc.amount().to_le_bytes());
    member
}

/// Inflates to at most `bytes_max` bytes. As Java does, it reads several members as one and ignores what follows the
/// last.
///
/// # Errors
/// [`PayloadError::Gzip`] when a member is damaged, [`PayloadError::TooLarge`] when there would be more bytes.
pub fn gunzip(payload: &[u8], bytes_max: usize) -> Result<Vec<u8>, PayloadError> {
    match plain_member(payload, bytes_max) {
        Some(inflated) => Ok(inflated),
        None => members(payload, bytes_max),
    }
}

/// Inflates what almost all payloads are: one sound and short member without extras, up to the last byte. `None` for
/// everything else, sound or not.
fn plain_member(payload: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let (length, crc) = {
        let (rest, length) = payload.split_last_chunk()?;
        let (_, crc) = rest.split_last_chunk()?;
        (u32::from_le_bytes(*length), u32::from_le_bytes(*crc))
    };
    let bytes = usize::try_from(length).ok().filter(|bytes| *bytes <= bytes_max.min(QUICK_BYTES_MAX))?;
    if !payload.starts_with(&PLAIN) {
        return None;
    }
    let deflated = payload.get(HEAD.len()..payload.len() - TAIL_BYTES)?;
    let mut inflated = Vec::with_capacity(bytes + SLACK_BYTES);
    let is_whole = INFLATE.with_borrow_mut(|inflate| {
        inflate.reset(false);
        let status = inflate.decompress_vec(deflated, &mut inflated, FlushDecompress::Finish);
        matches!(status, Ok(Status::StreamEnd)) && inflate.total_in() == deflated.len() as u64
    });
    let mut found = Crc::new();
    found.update(&inflated);
    (is_whole && inflated.len() == bytes && found.sum() == crc).then_some(inflated)
}

/// Inflates any members.
fn members(payload: &[u8], bytes_max: usize) -> Result<Vec<u8>, PayloadError> {
    let mut inflated = Vec::new();
    let mut rest = payload;
    loop {
        let mut decoder = GzDecoder::new(rest);
        // One more than allowed, which tells "just fits" from "too large".
        let room = (bytes_max - inflated.len()) as u64 + 1;
        let read = decoder.by_ref().take(room).read_to_end(&mut inflated);
        read.map_err(|error| PayloadError::Gzip(error.to_string()))?;
        if inflated.len() > bytes_max {
            return Err(PayloadError::TooLarge(bytes_max));
        }
        rest = decoder.into_inner();
        if !rest.starts_with(&MAGIC) {
            return Ok(inflated);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::GzBuilder;
    use proptest::prelude::*;

    use super::*;

    /// As the library compresses with a state of its own.
    fn anew(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzBuilder::new().operating_system(HEAD[9]).write(Vec::new(), Compression::default());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap()
    }

    /// Bytes of few kinds, that repeat, of any length up to beyond what the library looks back on.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![prop::collection::vec(0_u8..4, 0..400), prop::collection::vec(any::<u8>(), 0..400)];
        (piece, 0_usize..300).prop_map(|(piece, times)| piece.repeat(times))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 64 }, ..ProptestConfig::default() })]

        #[test]
        fn a_state_that_was_used_compresses_as_a_new_one(all in prop::collection::vec(bytes(), 1..4)) {
            for bytes in all {
                let payload = gzip(&bytes);
                prop_assert_eq!(&payload, &anew(&bytes));
                prop_assert_eq!(gunzip(&payload, bytes.len()), Ok(bytes));
            }
        }

        #[test]
        fn what_is_inflated_at_once_is_what_is_inflated_bit_by_bit(
            bytes in bytes(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut payload = gzip(&bytes);
            for (at, byte) in changes {
                let at = at.index(payload.len());
                payload[at] = byte;
            }
            if let Some(inflated) = plain_member(&payload, QUICK_BYTES_MAX) {
                prop_assert_eq!(Ok(inflated), members(&payload, QUICK_BYTES_MAX));
            }
        }
    }

    #[test]
    fn short_members_are_inflated_at_once_and_others_are_not() {
        assert_eq!(plain_member(&gzip(&[7; 500]), 500), Some(vec![7; 500]));
        assert_eq!(plain_member(&gzip(&[]), 0), Some(Vec::new()));
        assert_eq!(plain_member(&gzip(&[7; 500]), 499), None, "it is too large");
        assert_eq!(plain_member(&gzip(&vec![7; QUICK_BYTES_MAX + 1]), usize::MAX), None, "it is long");
        assert_eq!(plain_member(&[gzip(b"ab"), gzip(b"cd")].concat(), 4), None, "there are two");
        assert_eq!(plain_member(&[gzip(b"ab"), b"behind".to_vec()].concat(), 4), None, "something follows");
        let named = GzBuilder::new().filename("a").write(Vec::new(), Compression::default()).finish().unwrap();
        assert_eq!((plain_member(&named, 0), gunzip(&named, 0)), (None, Ok(Vec::new())), "it has a name");
        for length in 0..30 {
            assert_eq!(plain_member(&gzip(&[7; 500])[..length], 500), None, "it is cut");
        }
    }
}
