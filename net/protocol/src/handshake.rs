//! Who may talk to whom: both sides prove that they know the secret of the topology, then say what they run, then agree or
//! refuse.
//!
//! ```text
//!   dialer                              acceptor
//!   hello (nonce)            ────────►
//!                            ◄────────  challenge (nonce, proof of the acceptor)
//!   proof of the dialer      ────────►
//!   claims                   ────────►
//!                            ◄────────  claims, or a refusal
//! ```
//!
//! A proof is an HMAC-SHA-256 over both nonces and the role, keyed with the secret, so that it can be neither replayed nor
//! reflected. Nothing of the topology is said before the other side has proven itself. Claims come under no seal of their
//! own: whoever can change bytes between two workers can read the tuples too; the checksums are for accidents.
//!
//! Invariants: a [`Handshake`] eats bytes and says what to send; it allocates no more than the bound of the unit that is
//! due, and that only when the bytes are there. After an error or a refusal it takes nothing more.
//!
//! Threading: belongs to one connection. Errors: [`HandshakeError`] says what to do; the connection is closed.

mod claims;
mod proof;

pub use claims::{Claims, CorePair, StreamLayout};
pub use proof::{NONCE_BYTES, Nonce, Secret};

use crate::unit::{HEADER_BYTES, Kind, Stamp, begin, seal};
use crate::{ProtocolError, ReceiveBuffer};
use proof::{PROOF_BYTES, Role};

/// Why a peer was refused, or refused us.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The bytes are not those of a handshake.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The peer does not know the secret.
    #[error("the peer does not know this topology's secret; it belongs to another topology or is a stranger")]
    WrongSecret,
    /// The peer archives tuples in another way.
    #[error("the peer archives tuples as {theirs:?} and this worker as {ours:?}; build both from one release")]
    PayloadFormat {
        /// Of this worker.
        ours: String,
        /// Of the peer.
        theirs: String,
    },
    /// The peer runs another topology.
    #[error("the peer runs topology {theirs:?} and this worker {ours:?}; an assignment or an address is stale")]
    Topology {
        /// Of this worker.
        ours: String,
        /// Of the peer.
        theirs: String,
    },
    /// The peer's executable declares a stream in another way.
    #[error(
        "stream {stream:?} of component {component:?} has another layout at the peer; run the same executable in all \
         workers"
    )]
    Layout {
        /// The component.
        component: String,
        /// The stream.
        stream: String,
    },
    /// One of the two does not know a stream of the other.
    #[error(
        "the peer and this worker do not have the same streams ({component:?} {stream:?} is on one side only); run the \
         same executable in all workers"
    )]
    Streams {
        /// The component.
        component: String,
        /// The stream.
        stream: String,
    },
    /// A newer incarnation of the peer is known.
    #[error(
        "incarnation {found} of worker {worker} is stale: {newest} is known; a newer process has taken its place, so it \
         should end"
    )]
    StaleIncarnation {
        /// The worker.
        worker: u64,
        /// What it says.
        found: u64,
        /// What is known.
        newest: u64,
    },
    /// The connection is for other cores than there are, or for another worker.
    #[error("the peer wants {what}, which is not here; an assignment or an address is stale")]
    Address {
        /// What it wants.
        what: String,
    },
    /// The peer has refused this worker.
    #[error("the peer has refused this worker: {0}")]
    Refused(String),
}

impl HandshakeError {
    /// What the body of a refusal says. A dialer that refuses the acceptor's claims says so where a session would begin.
    pub fn refused(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&body[..body.len().min(REFUSAL_BYTES_MAX)]);
        Self::Refused(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
    }

    /// Of a peer that has refused this worker since it knows of a newer process in its place: the lowest incarnation that
    /// is current to that peer. A refusal is a text, which begins as [`HandshakeError::StaleIncarnation`] is shown.
    pub fn newest_known_to_peer(&self) -> Option<u64> {
        let Self::Refused(text) = self else { return None };
        let (_, behind) = text.strip_prefix("incarnation ")?.split_once(" is stale: ")?;
        behind.split_once(" is known")?.0.parse().ok()
    }
}

/// A refusal's text is never longer.
const REFUSAL_BYTES_MAX: usize = 1024;

/// What a step of a handshake came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes must come.
    Waiting,
    /// Both agree: the peer's claims. What comes from now on is for the session.
    Agreed(Box<Claims>),
}

/// What the acceptor looks at before it says its own claims: everything that only the holder of the worker knows.
pub trait Judge {
    /// The claims of this worker towards that peer.
    ///
    /// # Errors
    /// Why the peer is refused.
    fn judge(&mut self, theirs: &Claims) -> Result<Claims, HandshakeError>;
}

impl<F: FnMut(&Claims) -> Result<Claims, HandshakeError>> Judge for F {
    fn judge(&mut self, theirs: &Claims) -> Result<Claims, HandshakeError> {
        self(theirs)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Hello,
    Challenge,
    Proof,
    /// The peer's claims; both have proven themselves.
    Claims,
    Nothing,
}

/// One side of the handshake on one connection.
#[derive(Debug)]
pub struct Handshake {
    role: Role,
    secret: Secret,
    nonce: Nonce,
    their_nonce: Nonce,
    /// Of a dialer.
    claims: Option<Box<Claims>>,
    due: Due,
    received: ReceiveBuffer,
    output: Vec<u8>,
}

impl Handshake {
    /// The side that connects. Its claims say to which worker and cores; its first bytes are in [`Handshake::output`].
    pub fn dial(secret: Secret, nonce: Nonce, claims: Claims) -> Self {
        let mut handshake = Self::new(Role::Dialer, secret, nonce, Some(Box::new(claims)), Due::Challenge);
        handshake.say(Kind::Hello, &nonce);
        handshake
    }

    /// The side that is connected to.
    pub fn accept(secret: Secret, nonce: Nonce) -> Self {
        Self::new(Role::Acceptor, secret, nonce, None, Due::Hello)
    }

    fn new(role: Role, secret: Secret, nonce: Nonce, claims: Option<Box<Claims>>, due: Due) -> Self {
        let received = ReceiveBuffer::new(16 * HEADER_BYTES, 0);
        Self { role, secret, nonce, their_nonce: [0; NONCE_BYTES], claims, due, received, output: Vec::new() }
    }

    /// Bytes to send, each of which is handed out once.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Bytes that came behind the handshake: the first of the session.
    pub fn rest(&self) -> &[u8] {
        self.received.unread()
    }

    /// Where received bytes go; then [`Handshake::received`] is to be called.
    pub fn space(&mut self) -> &mut [u8] {
        self.received.space()
    }

    /// So many bytes were written into [`Handshake::space`]. `judge` compares the peer's claims with what this worker
    /// knows (and a dialer's with what it asked for). Afterwards [`Handshake::output`] may have something, also after an
    /// error: the refusal that tells the peer.
    ///
    /// # Errors
    /// Why this connection must be closed.
    pub fn received(&mut self, count: usize, judge: &mut dyn Judge) -> Result<Progress, HandshakeError> {
        self.received.filled(count);
        let result = self.step(judge);
        if let Err(error) = &result {
            // Whoever has not proven itself is told no more than that.
            let may_know = self.due == Due::Claims || *error == HandshakeError::WrongSecret;
            let is_theirs = matches!(error, HandshakeError::Refused(_));
            self.due = Due::Nothing;
            if !is_theirs {
                let text = if may_know { error.to_string() } else { "the handshake failed".into() };
                let text = &text.as_bytes()[..text.floor_char_boundary(REFUSAL_BYTES_MAX)];
                self.say(Kind::Refusal, text);
            }
        }
        result
    }

    fn step(&mut self, judge: &mut dyn Judge) -> Result<Progress, HandshakeError> {
        loop {
            let Some((header, unit)) = self.received.next_unit()? else { return Ok(Progress::Waiting) };
            let body = unit[HEADER_BYTES..].to_vec();
            let malformed = |what| ProtocolError::Body { kind: header.kind.name(), what };
            match (header.kind, self.due) {
                (Kind::Refusal, Due::Challenge | Due::Proof | Due::Claims) => {
                    return Err(HandshakeError::refused(&body));
                }
                (Kind::Hello, Due::Hello) => {
                    self.their_nonce = body.try_into().map_err(|_| malformed("a hello is one nonce"))?;
                    let proof = self.prove();
                    let challenge: Vec<u8> = [self.nonce.as_slice(), &proof].concat();
                    self.say(Kind::Challenge, &challenge);
                    self.due = Due::Proof;
                }
                (Kind::Challenge, Due::Challenge) => {
                    let (nonce, proof) = body
                        .split_first_chunk::<NONCE_BYTES>()
                        .filter(|(_, proof)| proof.len() == PROOF_BYTES)
                        .ok_or(malformed("a challenge is a nonce and a proof"))?;
                    self.their_nonce = *nonce;
                    self.check(proof)?;
                    let own = self.prove();
                    self.say(Kind::Proof, &own);
                    let claims = self.claims.take().map(|claims| claims.encode()).unwrap_or_default();
                    self.say(Kind::Claims, &claims);
                    self.due = Due::Claims;
                }
                (Kind::Proof, Due::Proof) => {
                    self.check(&body)?;
                    self.due = Due::Claims;
                }
                (Kind::Claims, Due::Claims) => {
                    let theirs = Claims::decode(&body).map_err(malformed)?;
                    let own = judge.judge(&theirs)?;
                    if self.role == Role::Acceptor {
                        self.say(Kind::Claims, &own.encode());
                    }
                    self.due = Due::Nothing;
                    return Ok(Progress::Agreed(Box::new(theirs)));
                }
                (kind, due) => {
                    let expected = match due {
                        Due::Hello => "a hello",
                        Due::Challenge => "a challenge",
                        Due::Proof => "a proof",
                        Due::Claims => "claims",
                        Due::Nothing => "nothing of a handshake",
                    };
                    return Err(ProtocolError::Unexpected { found: kind.name(), expected }.into());
                }
            }
        }
    }

    fn say(&mut self, kind: Kind, body: &[u8]) {
        let mut unit = Vec::new();
        begin(kind, 0, &mut unit);
        unit.extend_from_slice(body);
        seal(&mut unit, &Stamp::default());
        self.output.extend_from_slice(&unit);
    }

    fn prove(&self) -> [u8; PROOF_BYTES] {
        proof::prove(&self.secret, self.role, &self.nonce, &self.their_nonce)
    }

    fn check(&self, proof: &[u8]) -> Result<(), HandshakeError> {
        let holds = proof::holds(&self.secret, self.role.other(), &self.their_nonce, &self.nonce, proof);
        if holds { Ok(()) } else { Err(HandshakeError::WrongSecret) }
    }
}

#[cfg(test)]
mod tests;
