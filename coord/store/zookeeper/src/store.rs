//! The side of the store that its user holds.
//!
//! Threading: belongs to one thread; everything goes to the store's own thread by one channel and comes back by another.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::{Condition, Outcome};
use ringstorm_store::store::{Event, SessionId, Store, Ticket};

use crate::settings::Settings;
use crate::thread::{self, Sink, Submitted};

/// How many operations may be under way; more fail as [`Condition::Overloaded`].
pub const IN_FLIGHT_MAX: usize = 16_384;

/// A store on a real ensemble. Dropping it closes its session, for which it waits up to two seconds.
pub struct ZooKeeperStore {
    submits: UnboundedSender<Submitted>,
    events: Receiver<Event>,
    /// Outcomes that the thread could not give any more.
    own_events: VecDeque<Event>,
    next_ticket: u64,
    thread: Option<JoinHandle<()>>,
}

impl ZooKeeperStore {
    /// Starts to open a session, and goes on trying until it is dropped. `notify` is called on the store's thread after
    /// each event, so that who waits for other things too can be woken; it must return at once.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn open(settings: Settings, notify: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (submits, submitted) = unbounded();
        let (sender, events) = channel();
        let sink = Sink::new(sender, notify);
        let named = std::thread::Builder::new().name("zookeeper".into());
        let thread = named.spawn(move || thread::run(&settings, submitted, &sink))?;
        Ok(Self { submits, events, own_events: VecDeque::new(), next_ticket: 0, thread: Some(thread) })
    }
}

impl Store for ZooKeeperStore {
    fn submit(&mut self, session: SessionId, operation: Operation) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let submitted = Submitted { ticket, session, operation };
        if self.submits.unbounded_send(submitted).is_err() {
            // The thread is gone, which only a fault in this package can cause.
            let outcome = Outcome::failed(Condition::NotConnected);
            self.own_events.push_back(Event::Outcome { ticket, outcome });
        }
        ticket
    }

    fn poll(&mut self) -> Option<Event> {
        match self.events.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => self.own_events.pop_front(),
        }
    }

    fn wait(&mut self, limit: Duration) -> Option<Event> {
        match self.events.recv_timeout(limit) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => self.own_events.pop_front(),
        }
    }
}

impl Drop for ZooKeeperStore {
    fn drop(&mut self) {
        self.submits.close_channel();
        if let Some(thread) = self.thread.take() {
            // A panic there was told when it happened.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for ZooKeeperStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ZooKeeperStore after {} operations", self.next_ticket)
    }
}
