//! Names and secrets that nobody can guess, from the kernel. Threading: any. Errors: none; the kernel's generator is
//! there from the start of the machine on.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::files::hex;

/// So many random bytes.
fn random<const COUNT: usize>() -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    let mut filled = 0;
    while filled < COUNT {
        // Small requests are answered whole; an interrupted one is made again.
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes
}

/// A name in the form of a UUID.
pub(crate) fn random_name() -> String {
    let digits = hex(&random::<16>());
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

/// A short name, for files that are only passing.
pub(crate) fn random_suffix() -> String {
    hex(&random::<8>())
}

/// A secret of 256 bits, as text.
pub(crate) fn random_secret() -> String {
    hex(&random::<32>())
}

/// A random number.
pub(crate) fn random_number() -> u128 {
    u128::from_le_bytes(random())
}
