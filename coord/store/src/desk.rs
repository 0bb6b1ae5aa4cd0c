//! Many procedures at once, for state machines that may not wait.
//!
//! A [`Desk`] keeps what was begun, says which operations to submit, and takes their outcomes. What comes of a procedure
//! is given back with a tag by which its owner knows what it was for.
//!
//! Invariants: a procedure is resumed when all outcomes of its question are there, however they are mixed with those of
//! others. Threading: plain data, but for the procedures. Errors: none of its own.

use std::collections::BTreeMap;

use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::procedure::{Procedure, Step};

/// A question of a procedure: its number, and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Question {
    procedure: u64,
    place: usize,
}

/// What a procedure wants, or has come to.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a procedure stands still until its operations are done"]
pub enum Turn<G, T> {
    /// To submit these for the procedure of this tag; each outcome goes to [`Desk::answer`] with its question.
    Submit(G, Vec<(Question, Operation)>),
    /// To wait for outcomes that are under way.
    Wait,
    /// It has ended.
    Done(G, T),
}

/// Procedures under way that give a `T` each, with tags `G`.
#[derive(Debug)]
pub struct Desk<G, T> {
    next: u64,
    open: BTreeMap<u64, Open<G, T>>,
}

#[derive(Debug)]
struct Open<G, T> {
    tag: G,
    procedure: Procedure<T>,
    outcomes: Vec<Option<Outcome>>,
}

impl<G, T> Default for Desk<G, T> {
    fn default() -> Self {
        Self { next: 0, open: BTreeMap::new() }
    }
}

impl<G: Clone, T> Desk<G, T> {
    /// Begins a procedure.
    pub fn begin(&mut self, tag: G, mut procedure: Procedure<T>) -> Turn<G, T> {
        let step = procedure.begin();
        let number = self.next;
        self.next += 1;
        self.turn(number, Open { tag, procedure, outcomes: Vec::new() }, step)
    }

    /// Takes an outcome. One of a procedure that was dropped is passed over.
    pub fn answer(&mut self, question: Question, outcome: Outcome) -> Turn<G, T> {
        let Some(open) = self.open.get_mut(&question.procedure) else { return Turn::Wait };
        if let Some(place) = open.outcomes.get_mut(question.place) {
            *place = Some(outcome);
        }
        if open.outcomes.iter().any(Option::is_none) {
            return Turn::Wait;
        }
        let mut open = self.open.remove(&question.procedure).expect("it was there just now");
        let outcomes = open.outcomes.drain(..).flatten().collect();
        let step = open.procedure.resume(outcomes);
        self.turn(question.procedure, open, step)
    }

    /// The tags of what is under way, oldest first.
    pub fn tags(&self) -> impl Iterator<Item = &G> {
        self.open.values().map(|open| &open.tag)
    }

    /// Drops everything that is under way: outcomes that come yet are passed over. What was submitted may be done all
    /// the same.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    fn turn(&mut self, number: u64, mut open: Open<G, T>, step: Step<T>) -> Turn<G, T> {
        match step {
            Step::Done(result) => Turn::Done(open.tag, result),
            Step::Ask(operations) => {
                open.outcomes = operations.iter().map(|_| None).collect();
                let tag = open.tag.clone();
                self.open.insert(number, open);
                let question = |place| Question { procedure: number, place };
                let asked = operations.into_iter().enumerate().map(|(place, it)| (question(place), it));
                Turn::Submit(tag, asked.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Answer;
    use crate::path::ZnodePath;

    fn pair() -> Procedure<usize> {
        let path = ZnodePath::new("/a").unwrap();
        let exists = Operation::Exists { path, watch: false };
        Procedure::new(|asker| async move { asker.ask_all(vec![exists.clone(), exists]).await.len() })
    }

    fn submitted<G: std::fmt::Debug, T: std::fmt::Debug>(turn: Turn<G, T>) -> Vec<Question> {
        match turn {
            Turn::Submit(_, operations) => operations.into_iter().map(|(question, _)| question).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn outcomes_of_several_procedures_may_come_mixed() {
        let mut desk = Desk::default();
        let first = submitted(desk.begin("first", pair()));
        let second = submitted(desk.begin("second", pair()));
        assert_eq!(desk.tags().collect::<Vec<_>>(), [&"first", &"second"]);
        let done = || Outcome::Done(Answer::Exists(None));
        assert_eq!(desk.answer(second[1], done()), Turn::Wait);
        assert_eq!(desk.answer(first[0], done()), Turn::Wait);
        assert_eq!(desk.answer(second[0], done()), Turn::Done("second", 2));
        assert_eq!(desk.answer(first[1], done()), Turn::Done("first", 2));
    }

    #[test]
    fn outcomes_of_what_was_dropped_are_passed_over() {
        let mut desk = Desk::default();
        let questions = submitted(desk.begin((), pair()));
        desk.clear();
        assert_eq!(desk.answer(questions[0], Outcome::Done(Answer::Synced)), Turn::Wait);
    }
}
