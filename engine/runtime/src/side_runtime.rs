//! A side thread for what asynchronous components await besides each other: time, and anything woken from elsewhere.
//!
//! One thread per process keeps the timers of all asynchronous components; it sleeps until the next is due and wakes the
//! job's core. It is started when it is needed and ends when it was not for a second. A component that needs sockets or a client
//! library brings its own runtime (tokio on a thread of its own, say), and awaits its results here: every waker works
//! from every thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Waits without holding the core: resolves when the duration is over, to about a tenth of a millisecond.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep { until: Instant::now() + duration, registered: false }
}

/// The future of [`sleep`].
#[derive(Debug)]
pub struct Sleep {
    until: Instant,
    registered: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.until {
            return Poll::Ready(());
        }
        if !self.registered {
            self.registered = TIMERS.add(self.until, context.waker());
            if !self.registered {
                // The system has no thread for it now: asking again and again is all that is left.
                context.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }
}

struct Timer {
    until: Instant,
    waker: Waker,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.until == other.until
    }
}
impl Eq for Timer {}
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.until.cmp(&other.until)
    }
}

/// Without timers for so long, their thread ends.
const LINGER: Duration = Duration::from_secs(1);

struct Timers {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: BinaryHeap<Reverse<Timer>>,
    has_thread: bool,
}

static TIMERS: Timers =
    Timers { state: Mutex::new(State { waiting: BinaryHeap::new(), has_thread: false }), changed: Condvar::new() };

impl Timers {
    /// Returns whether the waker will be woken; not if no thread can be had.
    fn add(&'static self, until: Instant, waker: &Waker) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.has_thread {
            let thread = std::thread::Builder::new().name("ringstorm-timers".into());
            state.has_thread = thread.spawn(|| self.run()).is_ok();
        }
        if state.has_thread {
            state.waiting.push(Reverse(Timer { until, waker: waker.clone() }));
            self.changed.notify_one();
        }
        state.has_thread
    }

    fn run(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = Instant::now();
            while state.waiting.peek().is_some_and(|Reverse(timer)| timer.until <= now) {
                if let Some(Reverse(timer)) = state.waiting.pop() {
                    timer.waker.wake();
                }
            }
            let next = state.waiting.peek().map(|Reverse(timer)| timer.until.saturating_duration_since(now));
            let (after, outcome) =
                self.changed.wait_timeout(state, next.unwrap_or(LINGER)).unwrap_or_else(PoisonError::into_inner);
            state = after;
            if outcome.timed_out() && state.waiting.is_empty() {
                // Under the lock: whoever adds a timer now sees that there is no thread any more.
                state.has_thread = false;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::task::Wake;

    struct Tell(Sender<()>);
    impl Wake for Tell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    /// After the thread has ended a new timer starts it again.
    #[test]
    fn the_thread_ends_and_comes_back() {
        for _ in 0..2 {
            let (told, hears) = channel();
            let until = Instant::now() + Duration::from_millis(20);
            assert!(TIMERS.add(until, &Waker::from(Arc::new(Tell(told)))));
            assert!(hears.recv_timeout(Duration::from_secs(60)).is_ok());
            assert!(Instant::now() >= until);
            let has_ended = || !TIMERS.state.lock().unwrap_or_else(PoisonError::into_inner).has_thread;
            let patience = Instant::now() + Duration::from_secs(60);
            while !has_ended() {
                assert!(Instant::now() < patience, "the thread stays");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}
