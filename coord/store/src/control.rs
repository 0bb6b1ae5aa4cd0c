//! A store in the hands of one control thread that may wait.
//!
//! [`Control::run`] drives a procedure to its end; what else happens meanwhile is kept and comes from
//! [`Control::next_event`] afterwards, in its order. Threading: belongs to the thread that waits. Errors: those of the
//! procedure; a store that says nothing for too long is [`Stuck`].

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::procedure::{Procedure, Step};
use crate::store::{Event, SessionEvent, SessionId, Store};

/// The store did not say how operations ended within the limit. They may be done yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store has not answered within {0:?}; look at the connection to ZooKeeper")]
pub struct Stuck(pub Duration);

/// A store, and what it said while somebody waited for something else.
#[derive(Debug)]
pub struct Control<S> {
    store: S,
    session: Option<SessionId>,
    kept: VecDeque<Event>,
}

impl<S: Store> Control<S> {
    /// Takes a store.
    pub fn new(store: S) -> Self {
        Self { store, session: None, kept: VecDeque::new() }
    }

    /// The store itself.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// The session that was opened last and is not over, as far as events were looked at.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// What happens next, or happened before, within a limit.
    pub fn next_event(&mut self, limit: Duration) -> Option<Event> {
        self.kept.pop_front().or_else(|| self.take(limit))
    }

    /// Waits until a session is open.
    ///
    /// # Errors
    /// None is within the limit.
    pub fn opened(&mut self, limit: Duration) -> Result<SessionId, Stuck> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(session) = self.session {
                return Ok(session);
            }
            let event = self.take(left(deadline)).ok_or(Stuck(limit))?;
            self.kept.push_back(event);
        }
    }

    /// Does one operation in the session.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn ask(&mut self, session: SessionId, operation: Operation, limit: Duration) -> Result<Outcome, Stuck> {
        self.run(session, Procedure::new(|asker| async move { asker.ask(operation).await }), limit)
    }

    /// Runs a procedure to its end, all of it in one session.
    ///
    /// # Errors
    /// [`Stuck`] when it takes longer than the limit. What it asked for then may be done yet; its outcome comes to
    /// nobody.
    pub fn run<T>(&mut self, session: SessionId, mut procedure: Procedure<T>, limit: Duration) -> Result<T, Stuck> {
        let deadline = Instant::now() + limit;
        let mut step = procedure.begin();
        loop {
            match step {
                Step::Done(result) => return Ok(result),
                Step::Ask(operations) => {
                    let outcomes = self.outcomes(session, operations, deadline).ok_or(Stuck(limit))?;
                    step = procedure.resume(outcomes);
                }
            }
        }
    }

    fn outcomes(&mut self, session: SessionId, operations: Vec<Operation>, deadline: Instant) -> Option<Vec<Outcome>> {
        // In the order of the submits, so that they can be searched.
        let tickets: Vec<_> = operations.into_iter().map(|it| self.store.submit(session, it)).collect();
        let mut outcomes = BTreeMap::new();
        while outcomes.len() < tickets.len() {
            match self.take(left(deadline))? {
                Event::Outcome { ticket, outcome } if tickets.binary_search(&ticket).is_ok() => {
                    outcomes.insert(ticket, outcome);
                }
                // Of a procedure that was given up.
                Event::Outcome { .. } => {}
                event => self.kept.push_back(event),
            }
        }
        Some(outcomes.into_values().collect())
    }

    fn take(&mut self, limit: Duration) -> Option<Event> {
        let event = self.store.wait(limit)?;
        match &event {
            Event::Session(SessionEvent::Opened { session, .. }) => self.session = Some(*session),
            Event::Session(SessionEvent::Expired { .. }) => self.session = None,
            _ => {}
        }
        Some(event)
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
