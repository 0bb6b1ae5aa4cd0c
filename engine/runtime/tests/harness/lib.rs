//! What the suites share: a spout that keeps a journal of the fate of its messages, the usual hostile bolts, and ways
//! to run a topology that fail a test instead of hanging it.
//!
//! Names: [`Seq`] emits 0, 1, 2 and so on; [`slow`] blocks for a time per tuple; [`Hold`] acks each tuple a time after
//! it came, without blocking; [`mute`] never acks; [`sink`] notes what came and acks.

#![allow(dead_code, unused_imports, unused_macros, reason = "each suite uses its part")]

mod bolts;
mod journal;
mod running;
mod seq;

pub(crate) use bolts::*;
pub(crate) use journal::*;
pub(crate) use running::*;
pub(crate) use seq::*;

use std::time::Duration;

use ringstorm_tuple::Tuple;

/// For how long a test that can be had in long was asked to run, if it was.
pub(crate) fn long_soak_time() -> Option<Duration> {
    let seconds = std::env::var("RINGSTORM_SOAK_SECS").ok()?.parse().ok()?;
    Some(Duration::from_secs_f64(seconds))
}

/// The tuple of most tests.
#[derive(Tuple, Clone, Copy)]
#[tuple(crate = ringstorm_tuple)]
pub(crate) struct Number {
    pub(crate) value: u64,
}
