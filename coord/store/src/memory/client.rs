//! A client of an ensemble in memory, with the interface of every store.
//!
//! It does each operation at once, unless it is told to hold operations back; then it does them when it is let, or loses
//! them with the connection. Threading: each client belongs to one thread; the ensemble is shared.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ensemble::{Behind, Ensemble};
use crate::acl::Credential;
use crate::operation::Operation;
use crate::outcome::{Condition, Doubt, Outcome};
use crate::store::{Event, SessionEvent, SessionId, Store, Ticket};

/// What a session in memory agrees on. Nothing expires by time here.
const SESSION_TIMEOUT: Duration = Duration::from_secs(20);

/// An ensemble that clients share.
#[derive(Clone, Debug)]
pub struct SharedEnsemble {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    ensemble: Mutex<Ensemble>,
    /// Something was done to the ensemble.
    done: Condvar,
}

/// What becomes of an operation whose outcome is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It was never done.
    BeforeItWasDone,
    /// It was done.
    AfterItWasDone,
}

/// A client.
#[derive(Debug)]
pub struct MemoryStore {
    ensemble: SharedEnsemble,
    credentials: Vec<Credential>,
    session: Option<SessionId>,
    is_connected: bool,
    events: VecDeque<Event>,
    next_ticket: u64,
    /// Operations that were submitted and are held back.
    held: VecDeque<(Ticket, SessionId, Operation)>,
    holds_operations: bool,
    holds_watches: bool,
    lost: Option<Loss>,
}

impl SharedEnsemble {
    /// Shares an ensemble.
    pub fn new(ensemble: Ensemble) -> Self {
        Self { shared: Arc::new(Shared { ensemble: Mutex::new(ensemble), done: Condvar::new() }) }
    }

    /// Does something with the ensemble itself.
    pub fn with<T>(&self, action: impl FnOnce(&mut Ensemble) -> T) -> T {
        let result = action(&mut self.lock());
        self.shared.done.notify_all();
        result
    }

    fn lock(&self) -> MutexGuard<'_, Ensemble> {
        // What panics under the lock is a test; what it left is still a tree.
        self.shared.ensemble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryStore {
    /// A client with a session at a member.
    pub fn open(ensemble: &SharedEnsemble, member: usize, credentials: &[Credential]) -> Self {
        let mut store = Self {
            ensemble: ensemble.clone(),
            credentials: credentials.to_vec(),
            session: None,
            is_connected: false,
            events: VecDeque::new(),
            next_ticket: 0,
            held: VecDeque::new(),
            holds_operations: false,
            holds_watches: false,
            lost: None,
        };
        store.reopen(member);
        store
    }

    /// Opens another session, when the last one is over.
    pub fn reopen(&mut self, member: usize) {
        let session = self.ensemble.with(|ensemble| ensemble.open(member, &self.credentials));
        self.session = Some(session);
        self.is_connected = true;
        self.events.push_back(Event::Session(SessionEvent::Opened { session, timeout: SESSION_TIMEOUT }));
    }

    /// Cuts the connection: the outcomes of operations that are held back are unknown, and nothing is done until
    /// [`Self::reconnect`].
    pub fn disconnect(&mut self) {
        let Some(session) = self.session.filter(|_| self.is_connected) else { return };
        self.ensemble.with(|ensemble| ensemble.detach(session));
        self.is_connected = false;
        self.holds_operations = false;
        self.events.push_back(Event::Session(SessionEvent::Suspended { session }));
        for (ticket, ..) in std::mem::take(&mut self.held) {
            self.tell(ticket, Outcome::Unknown(Doubt::ConnectionLost));
        }
    }

    /// Connects again to a member.
    ///
    /// # Errors
    /// [`Behind`]: the session stays away from that member, or is over.
    pub fn reconnect(&mut self, member: usize) -> Result<(), Behind> {
        let session = self.session.ok_or(Behind)?;
        self.ensemble.with(|ensemble| ensemble.attach(session, member))?;
        self.is_connected = true;
        self.events.push_back(Event::Session(SessionEvent::Resumed { session }));
        Ok(())
    }

    /// Ends the session as silence does: the connection is lost, and the session with it.
    pub fn expire(&mut self) {
        self.disconnect();
        let Some(session) = self.session.take() else { return };
        self.ensemble.with(|ensemble| ensemble.end(session));
        self.events.push_back(Event::Session(SessionEvent::Expired { session }));
    }

    /// Makes the outcome of the next write unknown.
    pub fn lose_next(&mut self, loss: Loss) {
        self.lost = Some(loss);
    }

    /// Holds operations back from now on.
    pub fn hold_operations(&mut self) {
        self.holds_operations = true;
    }

    /// Does the oldest `count` of the operations that are held back.
    pub fn do_held(&mut self, count: usize) {
        for (ticket, session, operation) in self.held.drain(..count.min(self.held.len())).collect::<Vec<_>>() {
            let outcome = self.ensemble.with(|ensemble| ensemble.perform(session, &operation));
            self.tell(ticket, outcome);
        }
    }

    /// As [`Self::do_held`] followed by [`Self::disconnect`], but nobody hears of what was done.
    pub fn do_held_and_disconnect(&mut self, count: usize) {
        for (_, session, operation) in self.held.iter().take(count) {
            let _ = self.ensemble.with(|ensemble| ensemble.perform(*session, operation));
        }
        self.disconnect();
    }

    /// Does all operations that are held back, and later ones at once.
    pub fn release_operations(&mut self) {
        self.do_held(self.held.len());
        self.holds_operations = false;
    }

    /// Whether watch events are held back.
    pub fn hold_watches(&mut self, holds: bool) {
        self.holds_watches = holds;
    }

    /// Drops the watch events that are held back: nobody hears of them.
    pub fn drop_held_watches(&mut self) {
        if let Some(session) = self.session {
            self.ensemble.with(|ensemble| drop(ensemble.take_watch_events(session)));
        }
    }

    fn tell(&mut self, ticket: Ticket, outcome: Outcome) {
        self.events.push_back(Event::Outcome { ticket, outcome });
    }

    /// The outcome of an operation, now.
    fn outcome(&mut self, session: SessionId, operation: &Operation) -> Outcome {
        if let Err(condition) = operation.check() {
            return Outcome::failed(condition);
        }
        if self.session != Some(session) {
            return Outcome::failed(Condition::SessionOver);
        }
        if !self.is_connected {
            return Outcome::failed(Condition::NotConnected);
        }
        let loss = if operation.is_write() { self.lost.take() } else { None };
        if loss == Some(Loss::BeforeItWasDone) {
            return Outcome::Unknown(Doubt::TimedOut);
        }
        let outcome = self.ensemble.with(|ensemble| ensemble.perform(session, operation));
        if loss.is_some() { Outcome::Unknown(Doubt::TimedOut) } else { outcome }
    }

    fn take_watch_events(&mut self, ensemble: &mut Ensemble) {
        if let Some(session) = self.session.filter(|_| !self.holds_watches) {
            self.events.extend(ensemble.take_watch_events(session).into_iter().map(Event::Watch));
        }
    }
}

impl Store for MemoryStore {
    fn submit(&mut self, session: SessionId, operation: Operation) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let is_sent = self.is_connected && self.session == Some(session) && operation.check().is_ok();
        if self.holds_operations && is_sent {
            self.held.push_back((ticket, session, operation));
        } else {
            // Outcomes come in the order of the submits.
            self.do_held(self.held.len());
            let outcome = self.outcome(session, &operation);
            self.tell(ticket, outcome);
        }
        ticket
    }

    fn poll(&mut self) -> Option<Event> {
        let ensemble = self.ensemble.clone();
        self.take_watch_events(&mut ensemble.lock());
        self.events.pop_front()
    }

    fn wait(&mut self, limit: Duration) -> Option<Event> {
        let deadline = Instant::now() + limit;
        let shared = self.ensemble.clone();
        let mut ensemble = shared.lock();
        loop {
            self.take_watch_events(&mut ensemble);
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let (guard, _) = shared.shared.done.wait_timeout(ensemble, left).unwrap_or_else(PoisonError::into_inner);
            ensemble = guard;
        }
    }
}

impl Drop for MemoryStore {
    /// An orderly end: the session is closed.
    fn drop(&mut self) {
        if let Some(session) = self.session.filter(|_| self.is_connected) {
            self.ensemble.with(|ensemble| ensemble.end(session));
        }
    }
}
