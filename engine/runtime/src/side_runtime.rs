//! A side thread for what asynchronous components await besides each other: time, and anything woken from elsewhere.
//!
//! One thread per process keeps the timers of all asynchronous components; it sleeps until the next is due and wakes the
//! job's core. It is started by the first use and costs nothing before. A component that needs sockets or a client
//! library brings its own runtime (tokio on a thread of its own, say), and awaits its results here: every waker works
//! from every thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
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
            self.registered = true;
            timers().add(self.until, context.waker().clone());
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

#[derive(Default)]
struct Timers {
    waiting: Mutex<BinaryHeap<Reverse<Timer>>>,
    changed: Condvar,
}

fn timers() -> &'static Timers {
    static TIMERS: OnceLock<Timers> = OnceLock::new();
    static THREAD: OnceLock<()> = OnceLock::new();
    let timers = TIMERS.get_or_init(Timers::default);
    THREAD.get_or_init(|| {
        // Without the thread no timer fires; a process that cannot start one has far larger troubles.
        let _ = std::thread::Builder::new().name("ringstorm-timers".into()).spawn(|| timers_loop(timers));
    });
    timers
}

impl Timers {
    fn add(&self, until: Instant, waker: Waker) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(Reverse(Timer { until, waker }));
        self.changed.notify_one();
    }
}

fn timers_loop(timers: &Timers) {
    let mut waiting = timers.waiting.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let now = Instant::now();
        while waiting.peek().is_some_and(|Reverse(timer)| timer.until <= now) {
            if let Some(Reverse(timer)) = waiting.pop() {
                timer.waker.wake();
            }
        }
        waiting = match waiting.peek() {
            Some(Reverse(timer)) => {
                let pause = timer.until.saturating_duration_since(now);
                timers.changed.wait_timeout(waiting, pause).unwrap_or_else(PoisonError::into_inner).0
            }
            None => timers.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
        };
    }
}
