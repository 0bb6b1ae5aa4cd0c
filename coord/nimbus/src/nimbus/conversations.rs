//! What is being said with the tree, by session.
//!
//! After each change of the session everything that is under way is abandoned: it asks for nothing more, and what it comes
//! to is passed over. So a leader that was interrupted cannot go on with what it had decided before.
//!
//! Invariant: no operation is handed out for a conversation that was abandoned. Threading: plain data.

use std::collections::BTreeMap;

use ringstorm_control::talks::{Progress, Talks, ToStore};
use ringstorm_store::desk::Question;
use ringstorm_store::outcome::{Condition, Outcome};
use ringstorm_store::procedure::Procedure;
use ringstorm_store::store::SessionId;

use super::said::Said;

/// Conversations under way.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    talks: Talks<u64, Said>,
    /// Grows with each change of the session.
    era: u64,
    /// In which era each operation was asked for that is under way.
    asked: BTreeMap<Question, u64>,
}

/// What came of a step.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// What is to be asked.
    pub(super) asks: Vec<ToStore>,
    /// What a conversation has come to.
    pub(super) said: Option<Said>,
}

impl Conversations {
    pub(super) fn begin(&mut self, session: SessionId, procedure: Procedure<Said>) -> Heard {
        let progress = self.talks.begin(session, self.era, procedure);
        self.take(progress)
    }

    pub(super) fn answer(&mut self, question: Question, outcome: Outcome) -> Heard {
        if self.asked.remove(&question) == Some(self.era) {
            let progress = self.talks.answer(question, outcome);
            return self.take(progress);
        }
        // It was abandoned. What it wants next is refused, until it ends.
        let mut refused = vec![question];
        while let Some(question) = refused.pop() {
            if let Progress::Asks(asks) = self.talks.answer(question, Outcome::failed(Condition::SessionOver)) {
                refused.extend(asks.into_iter().map(|ask| ask.question));
            }
        }
        Heard::default()
    }

    /// Ends everything that is under way.
    pub(super) fn abandon(&mut self) {
        self.era += 1;
    }

    fn take(&mut self, progress: Progress<u64, Said>) -> Heard {
        match progress {
            Progress::Asks(asks) => {
                self.asked.extend(asks.iter().map(|ask| (ask.question, self.era)));
                Heard { asks, said: None }
            }
            Progress::Done(era, said) => Heard { asks: Vec::new(), said: (era == self.era).then_some(said) },
        }
    }
}
