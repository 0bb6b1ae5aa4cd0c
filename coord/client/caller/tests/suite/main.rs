//! The caller against servers that a test writes: good ones, slow ones, and such as send anything.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod connections;
mod downloads;
mod model;
mod reads;
mod requests;
mod server;
mod submissions;
