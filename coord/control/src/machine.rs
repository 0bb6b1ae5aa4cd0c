//! The interface of every state machine.
//!
//! Whoever runs one calls [`Machine::handle`] with each input, and [`Machine::wake`] not later than at
//! [`Machine::wake_at`], does the effects in their order, and asks for [`Machine::wake_at`] again. Threading: one caller
//! at a time.

use crate::time::{Moment, Now};

/// A state machine: what it does follows from its inputs, their order and the times given with them, and from nothing
/// else.
pub trait Machine {
    /// What it is told.
    type Input;
    /// What it wants done.
    type Effect;

    /// Takes an input.
    fn handle(&mut self, now: Now, input: Self::Input) -> Vec<Self::Effect>;

    /// Takes the time alone. Called too early, or without need, it does no harm.
    fn wake(&mut self, now: Now) -> Vec<Self::Effect>;

    /// When it has something to do if nothing is said before; `None` while it only waits for inputs.
    fn wake_at(&self) -> Option<Moment>;
}
