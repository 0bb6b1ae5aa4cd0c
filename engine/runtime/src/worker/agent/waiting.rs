//! Workers that are waited for, since there is no connection to them yet or no more: whoever runs this hears of it once it
//! takes long, with the reason, and once more when it is over. Pure.
//!
//! A start, or a process that is replaced, takes a moment and costs no line.

use std::collections::BTreeMap;
use std::time::Duration;

/// One that is waited for as long as this is named, and again when the reason has changed, not sooner than this after.
const TOLD_AFTER: Duration = Duration::from_secs(3);

/// Whom this worker waits for.
#[derive(Debug, Default)]
pub(crate) struct Waiting(BTreeMap<u64, Wait>);

#[derive(Debug)]
struct Wait {
    /// When it began, or when it was told last.
    since: Duration,
    /// What is said of it now.
    text: String,
    told: Option<String>,
}

impl Waiting {
    /// A worker is waited for from now on, if it was not before; `text` says what for.
    pub(crate) fn begin(&mut self, worker: u64, text: String, now: Duration) {
        self.0.entry(worker).or_insert(Wait { since: now, text, told: None });
    }

    /// A try to reach a worker failed, as the text says.
    pub(crate) fn failed(&mut self, worker: u64, text: String, now: Duration) {
        self.0.entry(worker).or_insert(Wait { since: now, text: String::new(), told: None }).text = text;
    }

    /// There is a connection to it. Returns whether that is to be told: it was named as one that is waited for.
    pub(crate) fn reached(&mut self, worker: u64) -> bool {
        self.0.remove(&worker).is_some_and(|wait| wait.told.is_some())
    }

    /// Only these are waited for.
    pub(crate) fn retain(&mut self, is_needed: impl Fn(u64) -> bool) {
        self.0.retain(|worker, _| is_needed(*worker));
    }

    /// What to tell now.
    pub(crate) fn look(&mut self, now: Duration) -> Vec<String> {
        let mut news = Vec::new();
        for wait in self.0.values_mut() {
            if now.saturating_sub(wait.since) >= TOLD_AFTER && wait.told.as_ref() != Some(&wait.text) {
                wait.since = now;
                wait.told = Some(wait.text.clone());
                news.push(wait.text.clone());
            }
        }
        news
    }
}

#[cfg(test)]
mod tests {
    //! What is said, and when.

    use super::*;

    fn look(waiting: &mut Waiting, seconds: std::ops::Range<u64>) -> Vec<String> {
        seconds.flat_map(|second| waiting.look(Duration::from_secs(second))).collect()
    }

    #[test]
    fn a_start_costs_no_line() {
        let mut waiting = Waiting::default();
        waiting.begin(1, "waits".into(), Duration::ZERO);
        waiting.failed(1, "refused".into(), Duration::ZERO);
        assert!(look(&mut waiting, 0..3).is_empty());
        assert!(!waiting.reached(1));
        assert!(look(&mut waiting, 3..60).is_empty());
    }

    #[test]
    fn whoever_stays_away_is_named_with_the_reason_and_once_more_when_reached() {
        let mut waiting = Waiting::default();
        waiting.failed(1, "refused".into(), Duration::ZERO);
        assert_eq!(look(&mut waiting, 0..60), ["refused"]);
        assert!(waiting.reached(1));
        assert!(!waiting.reached(1));
    }

    #[test]
    fn reasons_that_change_all_the_time_are_told_at_intervals() {
        let mut waiting = Waiting::default();
        let mut told = 0;
        for tenth in 0..600_u64 {
            let now = Duration::from_millis(100 * tenth);
            waiting.failed(1, if tenth % 2 == 0 { "refused" } else { "reset" }.into(), now);
            told += waiting.look(now).len();
        }
        assert!((1..=20).contains(&told), "{told}");
    }

    #[test]
    fn whoever_is_not_needed_is_not_waited_for() {
        let mut waiting = Waiting::default();
        waiting.begin(1, "waits".into(), Duration::ZERO);
        waiting.retain(|worker| worker != 1);
        assert!(look(&mut waiting, 0..60).is_empty());
    }
}
