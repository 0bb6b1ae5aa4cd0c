//! Laws that hold for every record and every message, tried with values made from the definitions.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod hostile;
mod identity;
mod memory;
mod samples;
mod tolerance;
