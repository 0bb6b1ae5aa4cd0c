//! Lines of the log about peers, as many as people can read.
//!
//! Of each kind some are written in a period, and then how many others there were, when the period is over. A flood that
//! goes on is one line a period. Threading: plain data.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many lines of a kind are written in a period.
const LINES_MAX: u32 = 10;

/// A period, which begins with its first line.
const PERIOD: Duration = Duration::from_secs(10);

/// A kind that has overflowed a period has only its count written while it goes on, and each count stands for so long.
const FLOOD_PERIOD: Duration = Duration::from_secs(60);

/// What lines are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// What a peer sends cannot be read, or it does not read.
    Broken,
    /// A connection gives way to others.
    GivesWay,
    /// A connection cannot be accepted.
    NotAccepted,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::Broken => "connections were broken, too",
            Self::GivesWay => "silent connections were closed for others, too",
            Self::NotAccepted => "connections could not be accepted, too",
        }
    }
}

/// Which lines are written.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    kinds: BTreeMap<Kind, Window>,
}

#[derive(Debug)]
struct Window {
    ends: Instant,
    last_at: Instant,
    written: u32,
    hidden: u64,
    /// What is shown of those that were not written.
    last: String,
}

impl Pacing {
    /// The line as it is written, if it is.
    pub(crate) fn pace(&mut self, now: Instant, kind: Kind, line: String) -> Option<String> {
        let fresh = || Window { ends: now + PERIOD, last_at: now, written: 0, hidden: 0, last: String::new() };
        let window = self.kinds.entry(kind).or_insert_with(fresh);
        let is_over = now >= window.ends && window.hidden == 0;
        // A full one goes on until it was quiet for a while.
        let is_flood = window.written >= LINES_MAX && now.saturating_duration_since(window.last_at) < PERIOD;
        if is_over && !is_flood {
            *window = fresh();
        }
        window.last_at = now;
        if window.written < LINES_MAX {
            window.written += 1;
            return Some(line);
        }
        if is_over {
            window.ends = now + FLOOD_PERIOD;
        }
        window.hidden += 1;
        window.last = line;
        None
    }

    /// When there is a count to be told.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.kinds.values().filter(|window| window.hidden > 0).map(|window| window.ends).min()
    }

    /// Counts of what was not written, of periods that are over.
    pub(crate) fn counts(&mut self, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        for (kind, window) in self.kinds.iter_mut().filter(|(_, window)| window.hidden > 0 && window.ends <= now) {
            let (count, last) = (std::mem::take(&mut window.hidden), std::mem::take(&mut window.last));
            lines.push(format!("{count} more {}; the last one: {last}", kind.words()));
            window.ends = now + FLOOD_PERIOD;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_lines_become_few_and_none_is_forgotten() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let mut pacing = Pacing::default();
        assert_eq!(pacing.due(), None);
        let written = (0..1000).filter_map(|_| pacing.pace(start, Kind::Broken, "broken".into())).count();
        assert_eq!(written, LINES_MAX as usize);
        // Others are not drowned by them.
        assert!(pacing.pace(start, Kind::NotAccepted, "no files".into()).is_some());
        assert_eq!((pacing.due(), pacing.counts(at(9)).len()), (Some(at(10)), 0));
        assert_eq!(pacing.counts(at(10)), ["990 more connections were broken, too; the last one: broken"]);
        assert_eq!(pacing.due(), None);
        // A flood that goes on is one line a minute.
        assert!((11..70).all(|secs| pacing.pace(at(secs), Kind::Broken, "broken".into()).is_none()));
        assert_eq!(pacing.counts(at(70)), ["59 more connections were broken, too; the last one: broken"]);
        // After a quiet time each is written again.
        assert!(pacing.pace(at(200), Kind::Broken, "broken".into()).is_some());
        // One each second for an hour.
        let mut written = 0;
        for secs in 300..3900 {
            written += usize::from(pacing.pace(at(secs), Kind::GivesWay, "silent".into()).is_some());
            written += pacing.counts(at(secs)).len();
        }
        assert!((60..=80).contains(&written), "{written}");
    }
}
