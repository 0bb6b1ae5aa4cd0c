//! The wire protocol between workers, without I/O: units and their bytes, the handshake, and the session that outlives
//! connections. Every byte is specified in `WIRE.md` beside this crate.
//!
//! - [`mod@unit`]: what travels; its header, bounds and checksum.
//! - [`ReceiveBuffer`]: from a stream of bytes to whole units, read in place.
//! - [`Session`]: sequence numbers, confirmations and resumption between two cores.
//! - [`handshake`]: who may talk to whom, and why not.
//! - [`Backoff`], [`Liveness`]: when to dial again, and when a peer's machine is silent.
//!
//! Invariants: nothing here does I/O, reads a clock or makes randomness: bytes, instants and nonces are passed in. Bytes
//! of a stranger cost one error, never a panic, and nothing is allocated by their claims.
//!
//! Threading: plain data; everything belongs to whoever holds it. Errors: a [`ProtocolError`] ends the connection it came
//! on and nothing else; the session goes on with the next one.
#![forbid(unsafe_code)]

mod backoff;
mod buffer;
mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod handshake;
mod liveness;
mod session;
pub mod unit;

pub use backoff::Backoff;
pub use buffer::ReceiveBuffer;
pub use error::ProtocolError;
pub use liveness::{KernelView, Liveness, Verdict};
pub use session::{Arrival, Session};
