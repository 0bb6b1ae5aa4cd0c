//! Lines of the log about broken peers, as many as people can read.
//!
//! Each peer has one line; of very many peers some have, and then it is said how many had none. Threading: plain data.

use std::time::{Duration, Instant};

/// How many lines may come in one go, and then one each second.
const LINES_MAX: u32 = 20;

/// Which lines are written.
#[derive(Debug)]
pub(crate) struct Pacing {
    /// Lines that may be written at once.
    left: u32,
    since: Instant,
    passed_over: u64,
}

impl Pacing {
    pub(crate) fn new(now: Instant) -> Self {
        Self { left: LINES_MAX, since: now, passed_over: 0 }
    }

    /// The line as it is written, if it is.
    pub(crate) fn pace(&mut self, now: Instant, line: String) -> Option<String> {
        let secs = u32::try_from(now.saturating_duration_since(self.since).as_secs()).unwrap_or(u32::MAX);
        if secs > 0 {
            self.left = self.left.saturating_add(secs).min(LINES_MAX);
            self.since += Duration::from_secs(secs.into());
        }
        if self.left == 0 {
            self.passed_over += 1;
            return None;
        }
        self.left -= 1;
        Some(match std::mem::take(&mut self.passed_over) {
            0 => line,
            count => format!("{line} (and {count} more lines about connections were not written)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_lines_become_few_and_none_is_forgotten() {
        let start = Instant::now();
        let mut pacing = Pacing::new(start);
        let written = (0..1000).filter_map(|_| pacing.pace(start, "broken".into())).count();
        assert_eq!(written, LINES_MAX as usize);
        let later = start + Duration::from_secs(2);
        let line = pacing.pace(later, "broken".into()).unwrap();
        assert!(line.contains("and 980 more lines"), "{line}");
        assert_eq!(pacing.pace(later, "broken".into()).as_deref(), Some("broken"));
        assert_eq!(pacing.pace(later, "broken".into()), None);
    }
}
