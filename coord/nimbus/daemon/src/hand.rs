//! A thread that has something of its own and does with it what it is asked, one thing after another.
//!
//! Files and the session for reads belong to one thread each: what would wait for a disk or for ZooKeeper never stands in
//! the way of connections. Invariant: each thing that was asked for is answered, or its asker is told that the thread is
//! gone. Threading: [`Hand`] may be used from any thread. Errors: [`NotDone`].

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::channel::oneshot;

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotDone {
    /// The thread has ended, as the daemon does, or failed in the middle of it.
    #[error("this nimbus is ending, or failed in itself; its log says more")]
    Gone,
    /// Others wait already.
    #[error("{0} others wait for the same; try again")]
    Busy(usize),
}

/// By which a thread is asked.
pub(crate) struct Hand<T> {
    jobs: Sender<Job<T>>,
    waiting: Arc<AtomicUsize>,
    waiting_max: usize,
}

impl<T> Clone for Hand<T> {
    fn clone(&self) -> Self {
        Self { jobs: self.jobs.clone(), waiting: Arc::clone(&self.waiting), waiting_max: self.waiting_max }
    }
}

impl<T: 'static> Hand<T> {
    /// Starts a thread that makes what it has, and looks at it with `tick` at least as often as `period`. It ends when
    /// nobody can ask any more. At most `waiting_max` things are asked for at one time.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn start(
        name: &str,
        waiting_max: usize,
        period: Duration,
        make: impl FnOnce() -> T + Send + 'static,
        tick: impl Fn(&mut T) + Send + 'static,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let (jobs, asked) = channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut own = make();
            serve(&asked, &mut own, period, tick);
        })?;
        Ok((Self { jobs, waiting: Arc::default(), waiting_max }, thread))
    }

    /// Asks for something, and waits for what comes of it.
    ///
    /// # Errors
    /// [`NotDone`]: nothing was begun, or the thread ended.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Result<R, NotDone> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.waiting_max {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(NotDone::Busy(self.waiting_max));
        }
        let (sender, receiver) = oneshot::channel();
        let waiting = Arc::clone(&self.waiting);
        let job = move |own: &mut T| {
            waiting.fetch_sub(1, Ordering::Relaxed);
            let result = work(own);
            // Whoever asked may have left.
            let _ = sender.send(result);
        };
        self.jobs.send(Box::new(job)).map_err(|_| NotDone::Gone)?;
        receiver.await.map_err(|_| NotDone::Gone)
    }
}

fn serve<T>(asked: &Receiver<Job<T>>, own: &mut T, period: Duration, tick: impl Fn(&mut T)) {
    loop {
        match asked.recv_timeout(period) {
            // A fault of ours costs one answer; the panic itself was told when it happened.
            Ok(job) => drop(catch_unwind(AssertUnwindSafe(|| job(own)))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        tick(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_done_in_order_and_too_much_is_refused() {
        let (hand, thread) = Hand::start("test", 1, Duration::from_secs(1), || 0, |_| {}).unwrap();
        let next = |own: &mut i32| {
            *own += 1;
            *own
        };
        assert_eq!(async_io::block_on(hand.ask(next)), Ok(1));
        assert_eq!(async_io::block_on(hand.ask(next)), Ok(2));
        assert_eq!(async_io::block_on(hand.ask(|_| panic!("a fault"))), Err::<(), _>(NotDone::Gone));
        let (go, gone) = channel::<()>();
        let (begun, begins) = channel();
        let (asks_first, asks_second) = (hand.clone(), hand.clone());
        let mut first = Box::pin(asks_first.ask(move |_| {
            begun.send(()).unwrap();
            gone.recv().is_ok()
        }));
        assert!(async_io::block_on(futures_lite::future::poll_once(first.as_mut())).is_none());
        begins.recv().unwrap();
        // One is being done; one may wait.
        let mut second = Box::pin(asks_second.ask(next));
        assert!(async_io::block_on(futures_lite::future::poll_once(second.as_mut())).is_none());
        assert_eq!(async_io::block_on(hand.ask(next)), Err(NotDone::Busy(1)));
        go.send(()).unwrap();
        assert_eq!(async_io::block_on(first.as_mut()), Ok(true));
        assert_eq!(async_io::block_on(second.as_mut()), Ok(3));
        drop((first, second));
        drop((hand, asks_first, asks_second));
        thread.join().unwrap();
    }
}
