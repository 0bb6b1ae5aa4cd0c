//! Gzip with a bound.
//!
//! The library is `flate2` over `miniz_oxide`: the Rust project's own choice, without C, so that Miri and fuzzers see
//! all of it.

use std::io::{Read, Write};

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};

use super::PayloadError;

/// The operating system that Java writes into the head: none.
const UNKNOWN_SYSTEM: u8 = 255;

/// Compresses, with the head that Java writes: no name, no time.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().operating_system(UNKNOWN_SYSTEM).write(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes what is written to it")
}

/// Inflates to at most `bytes_max` bytes. As Java does, it reads several members as one and ignores what follows the
/// last.
///
/// # Errors
/// [`PayloadError::Gzip`] when a member is damaged, [`PayloadError::TooLarge`] when there would be more bytes.
pub fn gunzip(payload: &[u8], bytes_max: usize) -> Result<Vec<u8>, PayloadError> {
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
        if !rest.starts_with(&[0x1f, 0x8b]) {
            return Ok(inflated);
        }
    }
}
