//! What whoever owns a run asks of it: to stop, to be active or not, for its counters.
//!
//! Invariants: however often and fast it is asked, at most one message waits for the coordinator, and what it finds is the
//! newest wish and everybody who wants counters, who all get the same ones. So askers hold up neither the run nor its end.
//!
//! Threading: any thread asks; the coordinator heeds. Errors: a run that is over answers nobody, at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::metrics::CoreSnapshot;
use crate::worker::coordinator::Message;

/// How long one waits for counters.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The owner's side.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    wishes: Arc<Wishes>,
    messages: Sender<Message>,
}

/// What was asked and not heeded yet.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    open: Mutex<Open>,
    /// The coordinator has a message that says that there is something.
    is_told: AtomicBool,
}

/// See [`Wishes`].
#[derive(Debug, Default)]
pub(crate) struct Open {
    pub(crate) stop: bool,
    pub(crate) active: Option<bool>,
    pub(crate) askers: Vec<Sender<Vec<CoreSnapshot>>>,
    /// The run is over.
    is_over: bool,
}

impl Owner {
    pub(crate) fn new(wishes: Arc<Wishes>, messages: Sender<Message>) -> Self {
        Self { wishes, messages }
    }

    /// Asks for a stop, with a drain.
    pub(crate) fn stop(&self) {
        self.wish(|open| open.stop = true);
    }

    /// Lets spouts be asked for tuples, or not.
    pub(crate) fn set_active(&self, active: bool) {
        self.wish(|open| open.active = Some(active));
    }

    /// The counters of every core that answers; none once the run is over.
    pub(crate) fn snapshots(&self) -> Vec<CoreSnapshot> {
        let (reply, replies) = channel();
        self.wish(|open| {
            if !open.is_over {
                open.askers.push(reply);
            }
        });
        replies.recv_timeout(ANSWER_TIMEOUT).unwrap_or_default()
    }

    fn wish(&self, note: impl FnOnce(&mut Open)) {
        note(&mut self.wishes.lock());
        if !self.wishes.is_told.swap(true, Ordering::AcqRel) {
            // A run that is over ignores it.
            let _ = self.messages.send(Message::Owner);
        }
    }
}

impl Wishes {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was asked.
    pub(crate) fn take(&self) -> Open {
        // Before looking: what is noted afterwards is told again.
        self.is_told.store(false, Ordering::Release);
        std::mem::take(&mut *self.lock())
    }

    /// The run is over: whoever waits, and whoever asks later, gets nothing, at once.
    pub(crate) fn end(&self) {
        *self.lock() = Open { is_over: true, ..Open::default() };
    }
}
