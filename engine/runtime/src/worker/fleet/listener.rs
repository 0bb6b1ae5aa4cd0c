//! Hears what a worker says, and passes it on to whoever it is for.
//!
//! Threading: a thread for each worker process. Errors: the end of the stream is the death of the process, unless it said
//! that it ends.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use ringstorm_types::{ComponentId, TaskId};

use super::Shared;
use super::asking::Said;
use crate::core::failure::TaskFailure;
use crate::core::status::Event;
use crate::worker::talk::{self, FromWorker};

/// Hears what a worker says.
pub(super) struct Listener {
    pub(super) worker: usize,
    pub(super) incarnation: u64,
    pub(super) shared: Arc<Shared>,
}

impl Listener {
    pub(super) fn run(self, mut stream: UnixStream) {
        let mut has_ended = false;
        while let Ok(Some(message)) = talk::read(&mut stream) {
            has_ended |= matches!(message, FromWorker::Ended { .. });
            self.shared.worker(self.worker).heard += 1;
            self.hear(message);
        }
        {
            let mut state = self.shared.worker(self.worker);
            if state.incarnation != self.incarnation {
                return;
            }
            (state.stream, state.outbox, state.is_ready) = (None, None, false);
        }
        // Nobody is to wait for what it will not say.
        self.answer(Said::Gone);
        if !has_ended {
            self.tell(Event::Died { core: self.worker });
        }
    }

    fn hear(&self, message: FromWorker) {
        let worker = self.worker;
        let told = match message {
            FromWorker::Hello { .. } => return,
            FromWorker::Ready => {
                self.shared.worker(worker).is_ready = true;
                Event::Ready { core: worker }
            }
            FromWorker::StopAsked => Event::StopAsked,
            FromWorker::Idle => Event::Idle,
            FromWorker::Finished { component } => Event::Finished { core: worker, component },
            FromWorker::Failed { component, task, text, fatal } => {
                let Ok(component) = ComponentId::new(component) else { return };
                let text = self.with_origin(&text);
                Event::Failed { failure: TaskFailure { component, task: TaskId(task), text, fatal } }
            }
            FromWorker::Reported { component, task, text } => {
                Event::Reported { component, task, text: self.with_origin(&text) }
            }
            FromWorker::MoreReported { count } => Event::MoreReported { count },
            FromWorker::Note { text } => {
                let text = self.with_origin(&text);
                Event::Noted { text }
            }
            FromWorker::Ended { panic } => Event::Ended { core: worker, panic },
            FromWorker::Debug { line } => {
                if let Ok(mut listener) = self.shared.debug.lock() {
                    match &mut *listener {
                        Some(listener) => listener(&line),
                        None => eprintln!("{line}"),
                    }
                }
                return;
            }
            FromWorker::Answer { question, answer } => {
                self.shared.worker(worker).account.answered();
                return self.answer(Said::Answer { question, answer });
            }
        };
        self.tell(told);
    }

    fn with_origin(&self, text: &str) -> String {
        format!("[worker {}] {text}", self.worker)
    }

    fn tell(&self, event: Event) {
        self.shared.events.send(event);
    }

    fn answer(&self, said: Said) {
        let _ = self.shared.answers.send((self.worker, said));
    }
}
