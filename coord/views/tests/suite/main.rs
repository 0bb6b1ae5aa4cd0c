//! What nimbus answers, over a tree in memory.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod golden;
mod hostile;
mod life;
mod same;
mod scale;
mod world;
