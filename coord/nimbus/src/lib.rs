//! Nimbus as a state machine: it is told what the tree, its clients and its code directory say, and says what is to be
//! done.
//!
//! - [`interface`]: what it is told, and what it wants done.
//! - [`settings`]: what can be set.
//! - [`nimbus`]: the machine.
//!
//! Any number of them may live; one leads. A leader does one thing after another, so that no two of its own decisions can
//! cross, and each of its writes is refused by the ensemble when it leads no longer. Its death at any moment leaves what
//! was there before its last write, or after it: the next leader goes on from either. Nimbus never touches tuples, and what
//! runs goes on without it.
//!
//! Invariants: no I/O, no clock, no randomness. A failed read is never an empty answer, an unknown outcome never a failure
//! or a success. Threading: plain data but for procedures, one caller at a time. Errors: troubles with the tree are tried
//! again after a pause that grows; whoever asked gets a [`Refusal`](interface::Refusal) that says whether something may
//! have been done.
#![forbid(unsafe_code)]

pub mod interface;
pub mod nimbus;
mod plants;
pub mod settings;

pub use interface::{NimbusEffect, NimbusInput};
pub use nimbus::Nimbus;
pub use plants::Plants;
pub use settings::{Identity, NimbusSettings};
