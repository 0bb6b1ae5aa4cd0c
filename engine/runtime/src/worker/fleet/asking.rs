//! Questions to workers and their answers.
//!
//! Invariants: an answer counts for the question that it was given to and for no later one; a worker that owes
//! [`UNANSWERED_MAX`] answers is asked nothing more until it has given them, so that neither questions pile up before one
//! that stands still nor is it waited for each time.
//!
//! Threading: the coordinator's thread asks. Errors: who does not answer in time is named to whoever asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::Shared;
use crate::worker::members::{Reading, Received};
use crate::worker::talk::{Answer, ToWorker, Wanted};

/// How long a worker may take to answer a question.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Answers that a worker may owe.
const UNANSWERED_MAX: u64 = 2;

/// Asks the workers of a fleet.
pub(super) struct Asker {
    answers: Receiver<(usize, Said)>,
    /// The number of the last question.
    question: u64,
}

/// What becomes of a question.
pub(super) enum Said {
    Answer {
        question: u64,
        answer: Answer,
    },
    /// It answers nothing any more.
    Gone,
}

/// What a worker was asked and has answered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Account {
    asked: u64,
    answered: u64,
}

impl Account {
    /// Whether it may be asked one more; counts that, then.
    fn ask(&mut self) -> bool {
        let may = self.asked - self.answered < UNANSWERED_MAX;
        self.asked += u64::from(may);
        may
    }

    /// It has answered.
    pub(super) fn answered(&mut self) {
        self.answered = (self.answered + 1).min(self.asked);
    }

    pub(super) fn owes_answers(&self) -> bool {
        self.answered < self.asked
    }
}

impl Asker {
    pub(super) fn new(answers: Receiver<(usize, Said)>) -> Self {
        Self { answers, question: 0 }
    }

    /// Asks all workers that are ready and takes the answers that come in time. Returns who gave none.
    pub(super) fn ask(
        &mut self,
        shared: &Shared,
        wanted: Wanted,
        timeout: Duration,
        mut take: impl FnMut(usize, Answer),
    ) -> BTreeSet<usize> {
        self.question += 1;
        let question = self.question;
        let mut silent: BTreeSet<usize> = (0..shared.workers.len()).collect();
        let mut waited_for: BTreeSet<usize> =
            silent.iter().copied().filter(|worker| shared.ask(*worker, question, wanted, true)).collect();
        let until = Instant::now() + timeout;
        while !waited_for.is_empty() {
            match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Err(_) => break,
                Ok((worker, Said::Gone)) => drop(waited_for.remove(&worker)),
                Ok((worker, Said::Answer { question: of, answer })) if of == question => {
                    waited_for.remove(&worker);
                    silent.remove(&worker);
                    take(worker, answer);
                }
                // It came too late for whoever asked before.
                Ok(_) => {}
            }
        }
        silent
    }

    /// A reading of all: first of what was received, then of what was sent. `None` if somebody does not answer.
    pub(super) fn reading(&mut self, shared: &Shared) -> Option<Reading> {
        let all_answer = |silent: &BTreeSet<usize>| silent.is_empty();
        let (reading, silent) = self.reading_if(shared, all_answer);
        silent.is_empty().then_some(reading)
    }

    /// The same of those who answer, and who does not.
    pub(super) fn partial_reading(&mut self, shared: &Shared) -> (Reading, BTreeSet<usize>) {
        self.reading_if(shared, |_| true)
    }

    /// Goes on after the first half if those who did not answer that do not matter.
    fn reading_if(
        &mut self,
        shared: &Shared,
        goes_on: impl FnOnce(&BTreeSet<usize>) -> bool,
    ) -> (Reading, BTreeSet<usize>) {
        let mut received: BTreeMap<usize, Received> = BTreeMap::new();
        let mut silent = self.ask(shared, Wanted::Received, ANSWER_TIMEOUT, |worker, answer| {
            if let Answer::Received(part) = answer {
                received.insert(worker, part);
            }
        });
        let mut reading = Reading::default();
        if !goes_on(&silent) {
            return (reading, silent);
        }
        silent.extend(self.ask(shared, Wanted::Sent, ANSWER_TIMEOUT, |worker, answer| {
            if let (Answer::Sent(sent), Some(received)) = (answer, received.get(&worker)) {
                reading.sent += sent;
                reading.received += *received;
            }
        }));
        (reading, silent)
    }

    /// Asks whoever owes no answer for a sign of life, and waits for none.
    pub(super) fn nudge(&self, shared: &Shared) {
        for worker in 0..shared.workers.len() {
            if !shared.worker(worker).account.owes_answers() {
                shared.ask(worker, 0, Wanted::Received, false);
            }
        }
    }
}

impl Shared {
    /// Asks a worker, if it may be asked now.
    fn ask(&self, worker: usize, question: u64, wanted: Wanted, only_ready: bool) -> bool {
        let mut state = self.worker(worker);
        let asks = state.outbox.is_some() && (state.is_ready || !only_ready) && state.account.ask();
        if asks {
            state.tell(ToWorker::Read { question, wanted });
        }
        asks
    }

    /// Whether all workers can be expected to answer.
    pub(super) fn all_answer(&self) -> bool {
        (0..self.workers.len()).all(|worker| {
            let state = self.worker(worker);
            state.is_ready && state.account.asked - state.account.answered < UNANSWERED_MAX
        })
    }
}

#[cfg(test)]
mod tests {
    //! How much a worker may owe.

    use super::*;

    #[test]
    fn who_owes_answers_is_asked_no_more_until_it_gives_them() {
        let mut account = Account::default();
        assert_eq!([(); 5].map(|()| account.ask()), [true, true, false, false, false]);
        account.answered();
        assert!(account.owes_answers() && account.ask() && !account.ask());
        (0..5).for_each(|_| account.answered());
        assert!(!account.owes_answers(), "what nobody asked is no answer");
    }
}
