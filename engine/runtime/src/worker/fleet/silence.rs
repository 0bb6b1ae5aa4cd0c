//! Workers that stand still are named, once, and once more when they answer again. Nothing else comes of it: what is
//! killed is seen to be dead, and what stands still may go on. Pure.

use std::time::Duration;

/// One that has not answered for so long is named.
const SILENCE: Duration = Duration::from_secs(10);
/// Time that passes between two looks counts for so much at most: more passes only if this process stood still itself.
const PASSED_MAX: Duration = Duration::from_secs(5);

/// Who has been silent for how long.
#[derive(Debug)]
pub(super) struct Silences(Vec<Silence>);

#[derive(Debug, Clone, Default)]
struct Silence {
    heard: u64,
    time: Duration,
    is_told: bool,
}

/// What is known of a worker that talks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sign {
    /// How many messages it has sent.
    pub(super) heard: u64,
    /// It was asked something and has not answered.
    pub(super) owes_answers: bool,
}

impl Silences {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![Silence::default(); count])
    }

    /// Looks at a worker, `passed` after the last look; `None` is one whose process is gone or not there yet. Returns what
    /// to tell of it, if there is news.
    pub(super) fn look(&mut self, worker: usize, sign: Option<Sign>, passed: Duration) -> Option<String> {
        let silence = &mut self.0[worker];
        let Some(Sign { heard, owes_answers }) = sign else {
            *silence = Silence::default();
            return None;
        };
        if heard != silence.heard || !owes_answers {
            let before = std::mem::replace(silence, Silence { heard, ..Silence::default() });
            let text = || format!("worker {worker} answers again");
            return before.is_told.then(text);
        }
        silence.time += passed.min(PASSED_MAX);
        let is_news = silence.time >= SILENCE && !std::mem::replace(&mut silence.is_told, silence.time >= SILENCE);
        is_news.then(|| {
            format!(
                "worker {worker} has not answered for {} s: its process stands still, or has no CPU; what is for it waits",
                SILENCE.as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    //! Each way to be silent.

    use super::*;

    const STEP: Duration = Duration::from_millis(500);

    fn sign(heard: u64, owes_answers: bool) -> Option<Sign> {
        Some(Sign { heard, owes_answers })
    }

    /// Looks for so many seconds, and returns all that was told.
    fn look_for(silences: &mut Silences, seconds: u32, mut sign: impl FnMut(u32) -> Option<Sign>) -> Vec<String> {
        (0..2 * seconds).filter_map(|look| silences.look(0, sign(look), STEP)).collect()
    }

    #[test]
    fn whoever_answers_is_not_named() {
        let mut silences = Silences::new(1);
        assert!(look_for(&mut silences, 60, |look| sign(u64::from(look), true)).is_empty());
        assert!(look_for(&mut silences, 60, |_| sign(7, false)).is_empty(), "one that is not asked");
        assert!(look_for(&mut silences, 60, |_| None).is_empty(), "one that is not there");
        assert!(look_for(&mut silences, 9, |_| sign(7, true)).is_empty(), "one that is slow");
    }

    #[test]
    fn whoever_stands_still_is_named_once_and_once_more_when_it_answers() {
        let mut silences = Silences::new(1);
        for heard in [3, 4] {
            let told = look_for(&mut silences, 60, |_| sign(heard, true));
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].starts_with("worker 0 has not answered for 10 s"), "{told:?}");
            let told = look_for(&mut silences, 5, |_| sign(heard + 1, false));
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].starts_with("worker 0 answers again"), "{told:?}");
        }
    }

    #[test]
    fn one_that_dies_in_silence_does_not_answer_again() {
        let mut silences = Silences::new(1);
        look_for(&mut silences, 60, |_| sign(3, true));
        assert!(look_for(&mut silences, 1, |_| None).is_empty());
        assert!(look_for(&mut silences, 1, |_| sign(4, false)).is_empty());
    }

    #[test]
    fn time_in_which_this_process_stood_still_is_nobodys_silence() {
        let mut silences = Silences::new(1);
        silences.look(0, sign(3, true), STEP);
        assert_eq!(silences.look(0, sign(3, true), Duration::from_secs(3600)), None);
    }
}
