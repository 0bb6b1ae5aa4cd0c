//! One round of nimbus: who lives, who runs where from now on, and what is written for it.
//!
//! A leader does this over and over:
//!
//! 1. it reads `supervisors`, and tells [`Supervisors`];
//! 2. it reads `assignments`, tells [`Beats`] which slots are assigned, and then reads `workerbeats` at least once for
//!    each beat, and tells [`Beats`] those too, and each read that failed;
//! 3. before its first round it asks [`Supervisors::may_begin`];
//! 4. it calls [`round()`] with all of that, and does the [`Outcome::writes`] one after another, in their order, until one
//!    does not succeed. Then it reads anew before the next round.
//!
//! What is read must not be older than what the leader itself wrote before, and a new leader reads behind a sync:
//! otherwise an older placement could take the place of a newer one.
//!
//! Invariants: pure functions and data; no I/O, no clock, no randomness. A slot is never given to a topology while
//! another has it, not even between two writes of one round. Each written assignment has a higher version than every one
//! that was read or seen in a beat. What beats on a host without a supervisor stays there.
//!
//! Threading: plain data. Errors: none; what cannot be read is left alone, and said in [`Report`].
#![forbid(unsafe_code)]

pub mod beats;
pub mod resources;
pub mod round;
pub mod supervisors;

pub use beats::{Beat, BeatSettings, Beats, Dead, Health, Verdict};
pub use resources::Resources;
pub use round::{Executors, LeftAlone, Outcome, Report, Round, Shortage, Stored, TopologyInRound, Write, round};
pub use supervisors::Supervisors;
