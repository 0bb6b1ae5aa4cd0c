//! What a worker says to its superior, and how much of it.
//!
//! Invariants: errors of a task, and notes of a kind, that come faster than a number in a period are counted, and the
//! count is told: to a leader soon and exactly, to a log when the period is over.
//!
//! Threading: belongs to the agent. Errors: none of its own.

use std::time::{Duration, Instant};

use crate::worker::agent::superior::Superior;
use crate::worker::talk::FromWorker;
use ringstorm_types::throttle::Throttle;

/// Notes of one kind that are told in a period, which they may come in at once after a quiet time.
const NOTES_PER_PERIOD: u32 = 10;
/// The period for notes.
const NOTES_PERIOD: Duration = Duration::from_secs(10);

/// What a note is about. Each kind has a number of its own that is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Somebody who connected was refused.
    Refused,
    /// A peer that cannot be reached, or can again.
    Unreachable,
    /// A connection was lost, or its peer is away or back.
    Connection,
    /// What a new assignment came to.
    Assignment,
    /// What this process does, and what cores have to say.
    Own,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Refused => "connections that were refused",
            Self::Unreachable => "workers that cannot be reached",
            Self::Connection => "connections to other workers",
            Self::Assignment => "assignments",
            Self::Own => "this worker",
        }
    }
}

/// See the module.
pub(crate) struct Speech {
    superior: Superior,
    started: Instant,
    errors: Throttle,
    notes: Throttle,
    /// Errors whose texts were not kept by those who had them.
    more: u64,
    /// When counts go to a log again.
    next_count: Duration,
    errors_period: Duration,
}

impl Speech {
    /// Of errors, `per_period` are told of each task.
    pub(crate) fn new(superior: Superior, per_period: u32, period: Duration) -> Self {
        Self {
            superior,
            started: Instant::now(),
            errors: Throttle::new(per_period, period),
            notes: Throttle::new(NOTES_PER_PERIOD, NOTES_PERIOD),
            more: 0,
            next_count: period,
            errors_period: period,
        }
    }

    /// Whether somebody gives orders besides the assignment.
    pub(crate) fn has_leader(&self) -> bool {
        self.superior.leads()
    }

    /// Whom it speaks to.
    pub(crate) fn superior(&self) -> &Superior {
        &self.superior
    }

    /// Says it, whatever was said before.
    pub(crate) fn tell(&self, message: &FromWorker) {
        self.superior.tell(message);
    }

    /// An error of a task, which the message tells.
    pub(crate) fn error(&mut self, component: &str, task: u32, message: &FromWorker) {
        if self.errors.admits(component, task, self.started.elapsed()) {
            self.superior.tell(message);
        }
    }

    /// So many errors more, whose texts nobody has.
    pub(crate) fn more_errors(&mut self, count: u64) {
        self.more += count;
    }

    pub(crate) fn note(&mut self, kind: Kind, text: String) {
        if self.notes.admits(kind.name(), 0, self.started.elapsed()) {
            self.superior.tell(&FromWorker::Note { text });
        }
    }

    /// Tells the counts that are due.
    pub(crate) fn tell_counts(&mut self) {
        let now = self.started.elapsed();
        self.count_notes(now);
        if self.superior.leads() {
            self.count_errors();
        } else if now >= self.next_count {
            self.next_count = now + self.errors_period;
            self.count_errors();
        }
    }

    /// Tells all counts: nothing comes after them, or somebody wants to know all that was said before.
    pub(crate) fn tell_all_counts(&mut self) {
        self.count_notes(Duration::MAX);
        self.count_errors();
    }

    fn count_errors(&mut self) {
        let hidden: u64 = self.errors.take_hidden(Duration::MAX).into_iter().map(|(_, count)| count).sum();
        let count = std::mem::take(&mut self.more) + hidden;
        if count > 0 {
            self.superior.tell(&FromWorker::MoreReported { count });
        }
    }

    fn count_notes(&mut self, now: Duration) {
        for (kind, count) in self.notes.take_hidden(now) {
            let text = format!("{count} more about {kind}, within {} s", NOTES_PERIOD.as_secs());
            self.superior.tell(&FromWorker::Note { text });
        }
    }
}

#[cfg(test)]
mod tests {
    //! What a leader hears of a flood.

    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::worker::talk;

    /// What a leader hears of what is said.
    fn heard(say: impl FnOnce(&mut Speech)) -> Vec<FromWorker> {
        let (own, mut leader) = UnixStream::pair().unwrap();
        let superior = Superior::Leader(Arc::new(Mutex::new(own)));
        let mut speech = Speech::new(superior, 5, Duration::from_secs(10));
        say(&mut speech);
        drop(speech);
        std::iter::from_fn(|| talk::read(&mut leader).unwrap()).collect()
    }

    #[test]
    fn of_many_errors_of_a_task_a_few_are_told_and_all_are_counted() {
        let heard = heard(|speech| {
            for task in [1, 2] {
                let message = FromWorker::Reported { component: "a".into(), task, text: "wrong".into() };
                (0..1000).for_each(|_| speech.error("a", task, &message));
            }
            speech.more_errors(30);
            speech.tell_counts();
            speech.tell_all_counts();
        });
        let told = heard.iter().filter(|message| matches!(message, FromWorker::Reported { .. })).count();
        let counts = heard.iter().filter_map(|message| match message {
            FromWorker::MoreReported { count } => Some(*count),
            _ => None,
        });
        assert_eq!((told, heard.len()), (10, 11), "the rest is one message");
        assert_eq!(counts.sum::<u64>(), 2020);
    }

    #[test]
    fn of_many_notes_of_a_kind_a_few_are_told_and_the_rest_counted() {
        let heard = heard(|speech| {
            (0..1000).for_each(|number| speech.note(Kind::Refused, format!("stranger {number}")));
            speech.note(Kind::Own, "something else".into());
            speech.tell_counts();
            speech.tell_all_counts();
        });
        let texts = heard.iter().map(|message| match message {
            FromWorker::Note { text } => text.as_str(),
            other => panic!("{other:?}"),
        });
        let texts: Vec<&str> = texts.collect();
        assert_eq!(texts.len(), 12, "{texts:?}");
        assert_eq!(
            texts[9..],
            ["stranger 9", "something else", "990 more about connections that were refused, within 10 s"]
        );
    }
}
