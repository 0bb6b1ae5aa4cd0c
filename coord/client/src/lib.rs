//! A client of a cluster, as a state machine: one request, until it is known what became of it or trying makes no sense
//! any more.
//!
//! - [`settings`]: whom it asks, how often, and how long it waits.
//! - [`interface`]: what the machine is told, what it wants done, what comes of a request.
//! - [`client`]: the machine.
//!
//! A call that was sent and got no answer was done, or was not, or will be yet. Then nothing is taken for granted: a
//! submission is made again under its token, by which nimbus knows it; for anything else the state of the topology is
//! looked at, and the request is made again unless that shows it was done.
//!
//! Invariants: no I/O, no clock, no randomness. What is answered is true: that something was done only if it was, that
//! nothing was only if nothing will be. Threading: plain data, one caller at a time. Errors: of the request, in its result.
#![forbid(unsafe_code)]

pub mod client;
pub mod interface;
pub mod settings;

pub use client::Client;
pub use interface::{CallId, CallOutcome, ClientEffect, ClientError, ClientInput, Finding, Success};
pub use settings::{ClientSettings, Timeouts};
