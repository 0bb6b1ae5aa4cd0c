//! What other threads tell the loop of a daemon.
//!
//! Inputs wait in a channel, and so does at most one wake-up, which says that the store has something. The argument that
//! no wake-up is lost: whoever has something puts it where the loop looks, and then asks for a wake-up. The flag says that
//! a wake-up waits in the channel; the loop takes it down when it takes the wake-up out, and looks afterwards. So whoever
//! finds the flag up came before the loop took it down, and the loop looks at what was put there; whoever finds it down
//! puts a wake-up into the channel.
//!
//! Threading: the inbox belongs to the thread of the loop; senders and wakers go anywhere. Errors: who sends to a loop that
//! has ended is told so.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// What lies in the channel.
enum Item<I> {
    Input(I),
    WakeUp,
}

/// The end of the loop.
pub struct Inbox<I> {
    items: Receiver<Item<I>>,
    waker: Waker<I>,
}

/// Tells the loop something.
pub struct Sender<I>(mpsc::Sender<Item<I>>);

/// Has the loop look at its store.
pub struct Waker<I> {
    items: mpsc::Sender<Item<I>>,
    /// Whether a wake-up lies in the channel.
    is_waiting: Arc<AtomicBool>,
}

impl<I> Inbox<I> {
    /// An empty inbox, and who may send to it.
    pub fn new() -> (Sender<I>, Self) {
        let (sender, items) = mpsc::channel();
        let waker = Waker { items: sender.clone(), is_waiting: Arc::default() };
        (Sender(sender), Self { items, waker })
    }

    /// Another sender.
    pub fn sender(&self) -> Sender<I> {
        Sender(self.waker.items.clone())
    }

    /// What a store is given to call after each event: `ZooKeeperStore::open(settings, move || waker.wake())`.
    pub fn waker(&self) -> Waker<I> {
        self.waker.clone()
    }

    /// The next input, if there is one. Takes wake-ups out: the store has to be looked at afterwards.
    pub fn take(&self) -> Option<I> {
        loop {
            match self.items.try_recv().ok()? {
                Item::Input(input) => return Some(input),
                Item::WakeUp => self.woken(),
            }
        }
    }

    /// Waits for an input or a wake-up, up to a limit; for ever without one. Gives the input; after a wake-up, or at the
    /// limit, none.
    pub fn wait(&self, limit: Option<Duration>) -> Option<I> {
        let item = match limit {
            // Longer than a process lives, and less than what a clock can say.
            None => self.items.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(limit) => self.items.recv_timeout(limit.min(Duration::from_secs(1 << 32))),
        };
        match item {
            Ok(Item::Input(input)) => Some(input),
            Ok(Item::WakeUp) => {
                self.woken();
                None
            }
            // It cannot be cut off: it has a sender itself.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    fn woken(&self) {
        self.waker.is_waiting.swap(false, Ordering::AcqRel);
    }
}

impl<I> Sender<I> {
    /// Tells the loop. Returns whether there still is one.
    pub fn send(&self, input: I) -> bool {
        self.0.send(Item::Input(input)).is_ok()
    }
}

impl<I> Waker<I> {
    /// Has the loop look at its store soon. Returns at once.
    pub fn wake(&self) {
        if !self.is_waiting.swap(true, Ordering::AcqRel) {
            // Nobody looks when the daemon ends.
            let _ = self.items.send(Item::WakeUp);
        }
    }
}

impl<I> Clone for Sender<I> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<I> Clone for Waker<I> {
    fn clone(&self) -> Self {
        Self { items: self.items.clone(), is_waiting: Arc::clone(&self.is_waiting) }
    }
}

impl<I> fmt::Debug for Inbox<I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Inbox")
    }
}

impl<I> fmt::Debug for Sender<I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sender")
    }
}

impl<I> fmt::Debug for Waker<I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Waker")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    #[test]
    fn many_wake_ups_are_one_and_inputs_keep_their_order() {
        let (sender, inbox) = Inbox::new();
        let waker = inbox.waker();
        for number in 0..1_000 {
            waker.wake();
            assert!(sender.send(number));
        }
        let taken: Vec<_> = std::iter::from_fn(|| inbox.take()).collect();
        assert_eq!(taken, (0..1_000).collect::<Vec<_>>());
        assert_eq!(inbox.wait(Some(Duration::ZERO)), None);
        waker.wake();
        assert_eq!(inbox.wait(None), None, "it comes back for the wake-up");
    }

    #[test]
    fn who_sends_to_a_loop_that_has_ended_is_told_so() {
        let (sender, inbox) = Inbox::new();
        let (other, waker) = (inbox.sender(), inbox.waker());
        drop(inbox);
        waker.wake();
        assert!(!sender.send(()) && !other.send(()));
    }

    #[test]
    fn whatever_was_put_before_a_wake_up_is_seen() {
        const EVENTS: u64 = 100_000;
        let (_, inbox) = Inbox::<()>::new();
        let put = Arc::new(AtomicU64::new(0));
        let waker = inbox.waker();
        let shelf = Arc::clone(&put);
        let store = thread::spawn(move || {
            for _ in 0..EVENTS {
                shelf.fetch_add(1, Ordering::Relaxed);
                waker.wake();
            }
        });
        // Without a limit: a wake-up that is lost would hang the test at the last event.
        while put.load(Ordering::Relaxed) < EVENTS {
            let _ = inbox.wait(None);
        }
        store.join().unwrap();
    }
}
