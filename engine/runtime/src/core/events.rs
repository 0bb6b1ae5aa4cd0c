//! How cores tell whoever leads them what happens.
//!
//! Invariants: however fast user code fails, at most [`ERRORS_WAITING_MAX`] errors wait to be handled; those beyond are
//! counted, and the count arrives once there is room, so that none is missing from the number. At most one word that a core
//! is idle waits. So whoever leads may be slow, and its memory stays bounded.
//!
//! Threading: any thread tells; whoever handles a message drops its [`Place`]. Errors: when whoever leads is gone there is
//! nobody to tell.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use crate::core::status::Event;
use crate::worker::coordinator::Message;

/// Errors that may wait for whoever handles them.
pub(crate) const ERRORS_WAITING_MAX: u64 = 1024;

/// Sends events to whoever leads.
#[derive(Clone, Debug)]
pub(crate) struct EventSender {
    messages: Sender<Message>,
    waiting: Arc<Waiting>,
}

/// What was sent and not handled yet.
#[derive(Debug, Default)]
struct Waiting {
    errors: AtomicU64,
    /// Errors for which there was no room.
    left_out: AtomicU64,
    idle: AtomicBool,
    /// A stop was asked for; once is enough.
    stop_asked: AtomicBool,
}

/// The place of an event among those that wait, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    of: EventSender,
    is_error: bool,
}

impl EventSender {
    pub(crate) fn new(messages: Sender<Message>) -> Self {
        Self { messages, waiting: Arc::default() }
    }

    pub(crate) fn send(&self, event: Event) {
        let message = match &event {
            Event::Idle if self.waiting.idle.swap(true, Ordering::AcqRel) => return,
            Event::Idle => Message::Placed(event, Place { of: self.clone(), is_error: false }),
            Event::Failed { failure } if failure.fatal => Message::Core(event),
            Event::Failed { .. } | Event::Reported { .. } => match self.error_place() {
                Some(place) => Message::Placed(event, place),
                None => return self.leave_out(1),
            },
            Event::MoreReported { count } => return self.leave_out(*count),
            _ => Message::Core(event),
        };
        // Whoever leads outlives its cores; when it is gone there is nobody to tell.
        let _ = self.messages.send(message);
    }

    pub(crate) fn request_stop(&self) {
        if !self.waiting.stop_asked.swap(true, Ordering::Relaxed) {
            self.send(Event::StopAsked);
        }
    }

    fn error_place(&self) -> Option<Place> {
        let room = |errors: u64| (errors < ERRORS_WAITING_MAX).then_some(errors + 1);
        let taken = self.waiting.errors.fetch_update(Ordering::AcqRel, Ordering::Acquire, room);
        taken.is_ok().then(|| Place { of: self.clone(), is_error: true })
    }

    /// Counts errors whose texts nobody will see. Who leaves a place tells of them, or whoever finds that there is one.
    fn leave_out(&self, count: u64) {
        self.waiting.left_out.fetch_add(count, Ordering::AcqRel);
        if let Some(place) = self.error_place() {
            let count = self.waiting.left_out.swap(0, Ordering::AcqRel);
            if count > 0 {
                let _ = self.messages.send(Message::Placed(Event::MoreReported { count }, place));
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let EventSender { messages, waiting } = &self.of;
        if !self.is_error {
            return waiting.idle.store(false, Ordering::Release);
        }
        waiting.errors.fetch_sub(1, Ordering::AcqRel);
        let count = waiting.left_out.swap(0, Ordering::AcqRel);
        if count > 0 {
            let _ = messages.send(Message::Core(Event::MoreReported { count }));
        }
    }
}

#[cfg(test)]
mod tests {
    //! A flood that nobody handles, and then somebody does.

    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    fn reported() -> Event {
        Event::Reported { component: "a".into(), task: 1, text: "wrong".into() }
    }

    /// Handles all messages. Returns how many there were, and how many errors they told of.
    fn handle_all(messages: &Receiver<Message>) -> (usize, u64) {
        let (mut handled, mut errors) = (0, 0);
        while let Ok(message) = messages.try_recv() {
            handled += 1;
            errors += match message {
                Message::Placed(Event::Reported { .. }, _) => 1,
                Message::Placed(Event::MoreReported { count }, _) | Message::Core(Event::MoreReported { count }) => {
                    count
                }
                _ => 0,
            };
        }
        (handled, errors)
    }

    #[test]
    fn errors_that_nobody_handles_are_counted_and_do_not_pile_up() {
        let (sender, messages) = channel();
        let events = EventSender::new(sender);
        for flood in 0..3 {
            (0..100_000).for_each(|_| events.send(reported()));
            events.send(Event::MoreReported { count: 50 });
            let (handled, errors) = handle_all(&messages);
            assert!(handled as u64 <= 2 * ERRORS_WAITING_MAX, "flood {flood}: {handled} messages waited");
            assert_eq!(errors, 100_050, "flood {flood}");
        }
    }

    #[test]
    fn errors_of_several_threads_are_all_counted_while_somebody_handles_them() {
        let (sender, messages) = channel();
        let events = EventSender::new(sender);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let events = events.clone();
                std::thread::spawn(move || (0..50_000).for_each(|_| events.send(reported())))
            })
            .collect();
        let mut errors = 0;
        while threads.iter().any(|thread| !thread.is_finished()) {
            errors += handle_all(&messages).1;
        }
        errors += handle_all(&messages).1;
        assert_eq!(errors, 200_000);
    }

    #[test]
    fn one_word_of_idleness_waits() {
        let (sender, messages) = channel();
        let events = EventSender::new(sender);
        for _ in 0..2 {
            (0..10).for_each(|_| events.send(Event::Idle));
            assert_eq!(handle_all(&messages).0, 1);
        }
    }

    #[test]
    fn what_ends_a_run_waits_for_no_place() {
        let (sender, messages) = channel();
        let events = EventSender::new(sender);
        (0..10_000).for_each(|_| events.send(reported()));
        events.request_stop();
        let is_stop = |message| matches!(message, Message::Core(Event::StopAsked));
        assert!(messages.try_iter().any(is_stop));
    }
}
