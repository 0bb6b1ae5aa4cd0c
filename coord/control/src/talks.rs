//! Conversations of a machine with the tree that are under way.
//!
//! A machine begins a procedure with a tag that says what it was for, and gets the tag back with the result. Each
//! procedure stays in the session that it was begun in: when that is over, its next operation fails, and it ends with
//! that trouble. So nothing need be cleared when a session ends.
//!
//! Invariant: each procedure that was begun comes to one result, once all its outcomes came. Threading: plain data.

use ringstorm_store::desk::{Desk, Question, Turn};
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::Outcome;
use ringstorm_store::procedure::Procedure;
use ringstorm_store::store::{SessionEvent, SessionId, WatchEvent};

/// What the tree says to a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromStore {
    /// The session changed.
    Session(SessionEvent),
    /// A watch was told; it is no longer armed.
    Watch(WatchEvent),
    /// What a machine asked for has ended.
    Outcome {
        /// What it asked.
        question: Question,
        /// How it ended.
        outcome: Outcome,
    },
}

/// An operation that a machine asks for. Those of one session are handed to the store in the order of the effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToStore {
    /// In this session, or not at all.
    pub session: SessionId,
    /// To be given back with the outcome.
    pub question: Question,
    /// The operation.
    pub operation: Operation,
}

/// Procedures under way, each with a tag `G`, that come to a `T`.
#[derive(Debug)]
pub struct Talks<G, T> {
    desk: Desk<(SessionId, G), T>,
}

/// What a step of a conversation led to.
#[derive(Debug)]
#[must_use = "a conversation stands still until its operations are handed to the store"]
pub enum Progress<G, T> {
    /// These operations are wanted; none while others are still under way.
    Asks(Vec<ToStore>),
    /// It has come to its result.
    Done(G, T),
}

impl<G, T> Default for Talks<G, T> {
    fn default() -> Self {
        Self { desk: Desk::default() }
    }
}

impl<G: Clone, T> Talks<G, T> {
    /// Begins a procedure in a session.
    pub fn begin(&mut self, session: SessionId, tag: G, procedure: Procedure<T>) -> Progress<G, T> {
        let turn = self.desk.begin((session, tag), procedure);
        progress(turn)
    }

    /// Takes the outcome of an operation.
    pub fn answer(&mut self, question: Question, outcome: Outcome) -> Progress<G, T> {
        let turn = self.desk.answer(question, outcome);
        progress(turn)
    }

    /// The tags of what is under way, oldest first.
    pub fn tags(&self) -> impl Iterator<Item = &G> {
        self.desk.tags().map(|(_, tag)| tag)
    }
}

fn progress<G, T>(turn: Turn<(SessionId, G), T>) -> Progress<G, T> {
    match turn {
        Turn::Wait => Progress::Asks(Vec::new()),
        Turn::Done((_, tag), result) => Progress::Done(tag, result),
        Turn::Submit((session, _), operations) => {
            let ask = |(question, operation)| ToStore { session, question, operation };
            Progress::Asks(operations.into_iter().map(ask).collect())
        }
    }
}
