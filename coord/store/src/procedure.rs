//! Conversations with the tree, written as they are read: one operation after the other, deciding in between.
//!
//! Most of what Storm does with a node takes several operations: look, make the parents, make the node, set it when
//! another was faster. A [`Procedure`] is such a conversation as a pure state machine. It is written as an `async` block
//! that awaits nothing but [`Asker::ask`], and is driven by hand: [`Procedure::begin`] and [`Procedure::resume`] give
//! the next operations, or the result. No runtime is involved and nothing waits, so that a simulator may stop between
//! any two operations, and a daemon may have many procedures under way.
//!
//! Invariants: given the same outcomes a procedure asks the same. It never has two questions open at a time; one
//! question may hold many operations. Threading: it may be moved between threads. Errors: of the conversation, in its
//! result.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::operation::Operation;
use crate::outcome::Outcome;

/// A conversation under way, of which a `T` will come.
pub struct Procedure<T> {
    body: Pin<Box<dyn Future<Output = T> + Send>>,
    desk: Arc<Mutex<Exchange>>,
}

/// What a procedure wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a procedure stands still until its operations are done"]
pub enum Step<T> {
    /// These operations, in this order; at least one. [`Procedure::resume`] takes as many outcomes.
    Ask(Vec<Operation>),
    /// Nothing any more: it has ended with this.
    Done(T),
}

/// Asks on behalf of a procedure.
#[derive(Clone)]
pub struct Asker {
    desk: Arc<Mutex<Exchange>>,
}

/// What lies between a procedure and whoever drives it.
enum Exchange {
    Empty,
    Asked(Vec<Operation>),
    Answered(Vec<Outcome>),
}

impl<T> Procedure<T> {
    /// A procedure that goes as the body says. The body may await nothing but what its [`Asker`] gives.
    pub fn new<B>(body: impl FnOnce(Asker) -> B) -> Self
    where
        B: Future<Output = T> + Send + 'static,
    {
        let desk = Arc::new(Mutex::new(Exchange::Empty));
        let body = body(Asker { desk: Arc::clone(&desk) });
        Self { body: Box::pin(body), desk }
    }

    /// Starts it.
    ///
    /// # Panics
    /// As [`Self::resume`].
    pub fn begin(&mut self) -> Step<T> {
        self.go_on()
    }

    /// Goes on with the outcomes of the operations that were asked for, one for each, in their order.
    ///
    /// # Panics
    /// It has ended, it was asked for another number of outcomes, or its body awaits something else than its asker:
    /// each a fault of the caller.
    pub fn resume(&mut self, outcomes: Vec<Outcome>) -> Step<T> {
        *lock(&self.desk) = Exchange::Answered(outcomes);
        self.go_on()
    }

    fn go_on(&mut self) -> Step<T> {
        // Nobody is woken: the only thing that a body awaits is there when it is polled.
        let mut context = Context::from_waker(Waker::noop());
        match self.body.as_mut().poll(&mut context) {
            Poll::Ready(result) => Step::Done(result),
            Poll::Pending => match std::mem::replace(&mut *lock(&self.desk), Exchange::Empty) {
                Exchange::Asked(operations) => Step::Ask(operations),
                Exchange::Empty | Exchange::Answered(_) => panic!("a procedure awaits something else than its asker"),
            },
        }
    }
}

impl Asker {
    /// Asks for one operation.
    pub async fn ask(&self, operation: Operation) -> Outcome {
        let mut outcomes = self.ask_all(vec![operation]).await;
        outcomes.pop().expect("as many outcomes come as operations were asked for")
    }

    /// Asks for many operations at once, which costs little more than one. The outcomes come in their order.
    pub async fn ask_all(&self, operations: Vec<Operation>) -> Vec<Outcome> {
        if operations.is_empty() {
            return Vec::new();
        }
        let count = operations.len();
        *lock(&self.desk) = Exchange::Asked(operations);
        let outcomes = Answers { desk: &self.desk }.await;
        assert_eq!(outcomes.len(), count, "a procedure is resumed with as many outcomes as it asked for operations");
        outcomes
    }
}

/// Resolves when the procedure was resumed.
struct Answers<'a> {
    desk: &'a Mutex<Exchange>,
}

impl Future for Answers<'_> {
    type Output = Vec<Outcome>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Vec<Outcome>> {
        let mut desk = lock(self.desk);
        match std::mem::replace(&mut *desk, Exchange::Empty) {
            Exchange::Answered(outcomes) => Poll::Ready(outcomes),
            asked => {
                *desk = asked;
                Poll::Pending
            }
        }
    }
}

/// Nothing that holds it can panic in between, so that what it holds is whole.
fn lock(desk: &Mutex<Exchange>) -> std::sync::MutexGuard<'_, Exchange> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> std::fmt::Debug for Procedure<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Procedure")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Answer;
    use crate::outcome::Condition;
    use crate::path::ZnodePath;

    fn exists(path: &str) -> Operation {
        Operation::Exists { path: ZnodePath::new(path).unwrap(), watch: false }
    }

    #[test]
    fn a_procedure_asks_step_by_step_and_decides_in_between() {
        let mut procedure = Procedure::new(|asker| async move {
            let first = asker.ask(exists("/a")).await;
            let both = asker.ask_all(vec![exists("/b"), exists("/c")]).await;
            (first, both.len())
        });
        assert_eq!(procedure.begin(), Step::Ask(vec![exists("/a")]));
        let done = Outcome::Done(Answer::Exists(None));
        assert_eq!(procedure.resume(vec![done.clone()]), Step::Ask(vec![exists("/b"), exists("/c")]));
        let lost = Outcome::failed(Condition::NotConnected);
        assert_eq!(procedure.resume(vec![done.clone(), lost]), Step::Done((done, 2)));
    }

    #[test]
    fn asking_for_nothing_needs_nobody() {
        let mut procedure = Procedure::new(|asker| async move { asker.ask_all(Vec::new()).await.len() });
        assert_eq!(procedure.begin(), Step::Done(0));
    }

    #[test]
    #[should_panic(expected = "awaits something else")]
    fn a_body_that_awaits_something_else_is_a_fault() {
        let mut procedure = Procedure::new(|_| std::future::pending::<()>());
        let _ = procedure.begin();
    }
}
