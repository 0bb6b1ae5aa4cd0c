//! A side thread for what asynchronous components await besides each other: time, and anything woken from elsewhere.
//!
//! One thread per process keeps the timers of all asynchronous components; it sleeps until the next is due and wakes the
//! job's core. It is started when it is needed and ends when it was not for a second. A component that needs sockets or a client
//! library brings its own runtime (tokio on a thread of its own, say), and awaits its results here: every waker works
//! from every thread.
//!
//! Invariants: whoever polled a sleep last is woken when it is over; wakers, which may be anybody's code, are called, cloned
//! and dropped without any lock held, and one that panics spoils nothing but itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::core::failure::caught;

/// Waits without holding the core: resolves when the duration is over, to about a tenth of a millisecond. One that the
/// system's clock cannot count to never resolves.
pub fn sleep(duration: Duration) -> Sleep {
    Sleep { until: Instant::now().checked_add(duration), sleeper: None }
}

/// The future of [`sleep`].
#[derive(Debug)]
pub struct Sleep {
    /// `None` for ever.
    until: Option<Instant>,
    /// Whom the timer wakes, once there is one.
    sleeper: Option<Arc<Sleeper>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.until else { return Poll::Pending };
        if Instant::now() >= until {
            return Poll::Ready(());
        }
        match &self.sleeper {
            Some(sleeper) if !sleeper.wait_with(context.waker()) => return Poll::Ready(()),
            Some(_) => {}
            None => {
                let sleeper = Arc::new(Sleeper(Mutex::new(Some(context.waker().clone()))));
                if TIMERS.add(until, &sleeper) {
                    self.sleeper = Some(sleeper);
                } else {
                    // The system has no thread for it now: asking again and again is all that is left.
                    context.waker().wake_by_ref();
                }
            }
        }
        Poll::Pending
    }
}

/// Who polled a sleep last; nobody any more once its time is over.
#[derive(Debug)]
struct Sleeper(Mutex<Option<Waker>>);

impl Sleeper {
    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this one is woken. Returns false when the time is over.
    fn wait_with(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        let mut waiting = self.lock();
        let Some(known) = &mut *waiting else { return false };
        let before = std::mem::replace(known, waker);
        drop(waiting);
        drop(before);
        true
    }

    fn wake(&self) {
        let waker = self.lock().take();
        // Nobody could be told what it says.
        let _ = caught(|| waker.map(Waker::wake));
    }
}

struct Timer {
    until: Instant,
    sleeper: Arc<Sleeper>,
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
    /// Returns whether the sleeper will be woken; not if no thread can be had.
    fn add(&'static self, until: Instant, sleeper: &Arc<Sleeper>) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.has_thread {
            let thread = std::thread::Builder::new().name("ringstorm-timers".into());
            state.has_thread = thread.spawn(|| self.run()).is_ok();
        }
        if state.has_thread {
            state.waiting.push(Reverse(Timer { until, sleeper: Arc::clone(sleeper) }));
            self.changed.notify_one();
        }
        state.has_thread
    }

    fn run(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = Instant::now();
            if state.waiting.peek().is_some_and(|Reverse(timer)| timer.until <= now) {
                let due = state.waiting.pop();
                drop(state);
                if let Some(Reverse(timer)) = due {
                    timer.sleeper.wake();
                }
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
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
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::task::Wake;

    struct Tell(Sender<()>);
    impl Wake for Tell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    fn waker() -> (Waker, Receiver<()>) {
        let (told, hears) = channel();
        (Waker::from(Arc::new(Tell(told))), hears)
    }

    fn poll(sleep: &mut Sleep, waker: &Waker) -> Poll<()> {
        Pin::new(sleep).poll(&mut Context::from_waker(waker))
    }

    #[test]
    fn whoever_polled_last_is_woken() {
        let ((first, first_hears), (second, second_hears)) = (waker(), waker());
        let mut sleep = sleep(Duration::from_millis(50));
        assert!(poll(&mut sleep, &first).is_pending() && poll(&mut sleep, &second).is_pending());
        assert!(second_hears.recv_timeout(Duration::from_secs(60)).is_ok());
        assert!(first_hears.try_recv().is_err());
        assert!(poll(&mut sleep, &first).is_ready());
    }

    #[test]
    fn a_waker_that_panics_or_sleeps_again_spoils_no_other_sleep() {
        struct Bad(Sender<()>);
        impl Wake for Bad {
            fn wake(self: Arc<Self>) {
                // A lock that was held here would be waited for in vain.
                let other = waker().0;
                assert!(poll(&mut sleep(Duration::from_millis(1)), &other).is_pending());
                let _ = self.0.send(());
                panic!("on purpose");
            }
        }
        for _ in 0..2 {
            let (told, bad_hears) = channel();
            let ((good, hears), bad) = (waker(), Waker::from(Arc::new(Bad(told))));
            let (mut one, mut other) = (sleep(Duration::from_millis(20)), sleep(Duration::from_millis(60)));
            assert!(poll(&mut one, &bad).is_pending() && poll(&mut other, &good).is_pending());
            assert!(bad_hears.recv_timeout(Duration::from_secs(60)).is_ok());
            assert!(hears.recv_timeout(Duration::from_secs(60)).is_ok());
        }
    }

    #[test]
    fn for_ever_is_a_duration() {
        let (waker, hears) = waker();
        let mut sleep = sleep(Duration::MAX);
        assert!(poll(&mut sleep, &waker).is_pending());
        assert!(hears.recv_timeout(Duration::from_millis(20)).is_err());
    }

    /// After the thread has ended a new timer starts it again.
    #[test]
    fn the_thread_ends_and_comes_back() {
        for _ in 0..2 {
            let (waker, hears) = waker();
            let until = Instant::now() + Duration::from_millis(20);
            assert!(TIMERS.add(until, &Arc::new(Sleeper(Mutex::new(Some(waker))))));
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
