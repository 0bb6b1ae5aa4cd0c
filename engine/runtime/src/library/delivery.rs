//! The fate of one message that was handed to a channel: to be awaited or waited for.
//!
//! Invariants: a fate is settled once; a completer that is dropped unused settles it as [`DeliveryError::Abandoned`], so
//! that nobody waits for a run that is over.
//!
//! Threading: both ends may be on any thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ringstorm_acking::FailReason;

/// Why a message was not acked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// It failed, and its retries are used up.
    #[error("the message was given up: {0}")]
    Failed(FailReason),
    /// The run ended before its fate was known; it may have been processed or not.
    #[error("the run ended before the message was acked; it may have been processed or not")]
    Abandoned,
}

/// The fate of a message: a future, and [`Delivery::wait`] where there is no async runtime. Dropping it changes nothing
/// for the message.
#[derive(Debug)]
pub struct Delivery(Arc<Shared>);

/// Settles a [`Delivery`].
#[derive(Debug)]
pub(crate) struct Completer(Option<Arc<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    fate: Option<Result<(), DeliveryError>>,
    waker: Option<Waker>,
}

/// Both ends of one message's fate.
pub(crate) fn delivery() -> (Completer, Delivery) {
    let shared = Arc::new(Shared::default());
    (Completer(Some(Arc::clone(&shared))), Delivery(shared))
}

impl Delivery {
    /// Waits until the message is acked or given up. Not for code on a core, which it would stall.
    ///
    /// # Errors
    /// [`DeliveryError`] when it was not acked.
    pub fn wait(&self) -> Result<(), DeliveryError> {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.0.settled.wait_while(state, |state| state.fate.is_none());
        state.unwrap_or_else(PoisonError::into_inner).fate.unwrap_or(Err(DeliveryError::Abandoned))
    }

    /// As [`Delivery::wait`], for at most this long; `None` when the fate is not known by then.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Result<(), DeliveryError>> {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.settled.wait_timeout_while(state, timeout, |state| state.fate.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.fate
    }
}

impl Future for Delivery {
    type Output = Result<(), DeliveryError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.fate {
            Some(fate) => Poll::Ready(fate),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Completer {
    pub(crate) fn complete(mut self, fate: Result<(), DeliveryError>) {
        self.settle(fate);
    }

    fn settle(&mut self, fate: Result<(), DeliveryError>) {
        let Some(shared) = self.0.take() else { return };
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.fate = Some(fate);
        let waker = state.waker.take();
        drop(state);
        shared.settled.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.settle(Err(DeliveryError::Abandoned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fate_stays() {
        let (completer, delivery) = delivery();
        assert_eq!(delivery.wait_timeout(Duration::from_millis(1)), None);
        completer.complete(Ok(()));
        assert_eq!(delivery.wait(), Ok(()));
        assert_eq!(delivery.wait_timeout(Duration::ZERO), Some(Ok(())));
    }

    #[test]
    fn a_dropped_completer_frees_whoever_waits() {
        let (completer, delivery) = delivery();
        let waiting = std::thread::spawn(move || delivery.wait());
        std::thread::sleep(Duration::from_millis(5));
        drop(completer);
        assert_eq!(waiting.join().unwrap(), Err(DeliveryError::Abandoned));
    }
}
