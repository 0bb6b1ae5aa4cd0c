//! A client against a model of a cluster, with a fault at each of its calls.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod enumerated;
mod model;
mod single;
