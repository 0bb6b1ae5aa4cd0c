//! Randomness of the operating system, for nonces and secrets.

use ringstorm_protocol::handshake::{NONCE_BYTES, Nonce};

/// So many bytes that nobody can know.
pub(crate) fn random_bytes() -> Nonce {
    let mut bytes = [0; NONCE_BYTES];
    let mut filled = 0;
    while filled < NONCE_BYTES {
        // The call fails only for a signal, before the system has gathered enough.
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes
}
