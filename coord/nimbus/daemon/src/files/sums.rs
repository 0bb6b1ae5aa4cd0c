//! SHA-256, as text. Threading: pure functions. Errors: those of the file.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::Path;

use ringstorm_file::open_regular;
use sha2::{Digest as _, Sha256};

/// How much is read at a time, in bytes.
const READ_BYTES: usize = 256 << 10;

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The sum of these bytes.
pub(crate) fn sum_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The sum of a file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn sum_of_file(path: &Path) -> io::Result<String> {
    let mut file = open_regular(path)?;
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; READ_BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&sum.finalize())),
            count => sum.update(&buffer[..count]),
        }
    }
}
