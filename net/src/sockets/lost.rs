//! Why connections end.

use ringstorm_protocol::ProtocolError;
use ringstorm_protocol::handshake::HandshakeError;

/// Why a connection is gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// The peer's process, or its machine, has closed it.
    #[error("the peer has closed the connection")]
    ClosedByPeer,
    /// The peer has ended in order and will not come back.
    #[error("the peer has ended")]
    PeerEnded,
    /// The peer, which had dialed, has refused this worker by what that said of itself.
    #[error(transparent)]
    RefusedByPeer(HandshakeError),
    /// The operating system.
    #[error("the connection broke: {0}")]
    System(#[source] std::io::Error),
    /// The peer broke the protocol, or bytes were changed on the way.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A whole unit that its receiver could not make sense of.
    #[error("a unit was refused: {0}")]
    Refused(String),
}
