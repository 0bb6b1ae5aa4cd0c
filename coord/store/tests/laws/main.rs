//! Laws of every conversation with the tree, each tried with a fault at every single operation.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod deposed;
mod retried;
mod scripts;
