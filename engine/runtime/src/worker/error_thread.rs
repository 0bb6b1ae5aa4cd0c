//! Tells the user's listener of errors, on a thread of its own, so that a slow listener holds up neither a stop nor
//! anybody who asks for numbers.
//!
//! Invariants: errors reach the listener in order; at most [`ERRORS_QUEUED`] wait for it, and those beyond are left to the
//! run's report, where all are counted. When a run has been waited for, the listener has heard of all that were queued,
//! unless it takes longer than [`END_TIMEOUT`].
//!
//! Threading: fed by the coordinator. Errors: a listener that panics is not called again, as the run has done nothing
//! wrong; without a thread to be had nobody listens.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Duration;

use crate::core::failure::caught;
use crate::report::ErrorReport;

/// Called with each error as it happens.
pub(crate) type ErrorListener = Box<dyn FnMut(&ErrorReport) + Send>;

/// Errors that may wait for the listener.
const ERRORS_QUEUED: usize = 1024;
/// How long the end of a run waits for its listener.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The way to the listener; none without one.
pub(crate) struct ErrorThread(Option<Queue>);

struct Queue {
    errors: SyncSender<ErrorReport>,
    over: Receiver<()>,
}

impl ErrorThread {
    pub(crate) fn start(listener: Option<ErrorListener>) -> Self {
        let queue = listener.and_then(|mut listener| {
            let (errors, queue) = sync_channel::<ErrorReport>(ERRORS_QUEUED);
            let (tell_over, over) = channel();
            let run = move || {
                // Ends when the coordinator is done; the sender that it drops says so.
                let _over = tell_over;
                for error in queue {
                    if caught(|| listener(&error)).is_err() {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("ringstorm-errors".into());
            thread.spawn(run).ok().map(|_| Queue { errors, over })
        });
        Self(queue)
    }

    pub(crate) fn tell(&self, error: &ErrorReport) {
        if let Some(queue) = &self.0 {
            let _ = queue.errors.try_send(error.clone());
        }
    }

    /// Waits until the listener has heard of everything that is queued.
    pub(crate) fn end(&mut self) {
        if let Some(Queue { errors, over }) = self.0.take() {
            drop(errors);
            // Nothing is ever sent: the thread's end is what arrives.
            let _ = over.recv_timeout(END_TIMEOUT);
        }
    }
}
