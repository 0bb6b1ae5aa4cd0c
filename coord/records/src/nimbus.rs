//! The nimbus port: what clients, supervisors and workers of Storm ask nimbus, and what it answers.
//!
//! A server reads a message's [`Head`](crate::thrift::message::Head), then the [`NimbusCall`], and writes a [`reply`]
//! or a [`failure`]; a client writes a [`call`] and reads its answer with [`read_reply`]. Each message is a
//! [`frame`](crate::thrift::frame) on the connection.
//!
//! Invariants: pure functions of bytes; nothing is done by reading a call. Errors: what a stranger sends costs one
//! [`DecodeError`](crate::thrift::DecodeError), which the server answers with a [`failure`] of kind `PROTOCOL_ERROR`
//! and goes on, since frames keep the place.

mod define;
mod exchange;
mod methods;

pub use exchange::{CallError, Method, MethodType, NimbusException, Success, call, failure, read_reply, reply};
pub use methods::*;
