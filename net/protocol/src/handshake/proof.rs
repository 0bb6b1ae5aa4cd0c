//! That a side knows the secret: HMAC-SHA-256 over its role and both nonces.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Bytes of a nonce.
pub const NONCE_BYTES: usize = 32;
/// Bytes of a proof.
pub(super) const PROOF_BYTES: usize = 32;

/// Random bytes that a side makes for one connection and never uses again.
pub type Nonce = [u8; NONCE_BYTES];

/// What all workers of a topology know and nobody else. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A secret of any length; 32 random bytes are good.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

/// Who speaks: what one says cannot be sent back as the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Dialer,
    Acceptor,
}

impl Role {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Dialer => Self::Acceptor,
            Self::Acceptor => Self::Dialer,
        }
    }

    fn words(self) -> &'static [u8] {
        match self {
            Self::Dialer => b"ringstorm worker, dialer",
            Self::Acceptor => b"ringstorm worker, acceptor",
        }
    }
}

fn mac(secret: &Secret, role: Role, own: &Nonce, other: &Nonce) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("a key of any length is taken");
    mac.update(role.words());
    mac.update(own);
    mac.update(other);
    mac
}

/// The proof of `role`, whose own nonce comes first.
pub(super) fn prove(secret: &Secret, role: Role, own: &Nonce, other: &Nonce) -> [u8; PROOF_BYTES] {
    mac(secret, role, own, other).finalize().into_bytes().into()
}

/// Whether a proof of `role` is right; takes as long for every wrong one.
pub(super) fn holds(secret: &Secret, role: Role, own: &Nonce, other: &Nonce, proof: &[u8]) -> bool {
    mac(secret, role, own, other).verify_slice(proof).is_ok()
}
