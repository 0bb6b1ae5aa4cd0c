//! What happened, as lines that people read.
//!
//! A line is made only where somebody wants it: many seeds run without, and one that fails is run again with it, which
//! comes to the same since a seed replays. Invariant: whether lines are made changes nothing else. Threading: plain data.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// How many of the newest lines are kept of a run that is looked at because it failed.
pub const LINES_KEPT: usize = 4_000;

/// The lines of a run.
#[derive(Debug)]
pub struct Trace {
    kept: usize,
    lines: VecDeque<String>,
    hash: DefaultHasher,
    count: u64,
}

impl Trace {
    /// One that keeps so many of the newest lines. With none, none are made.
    pub fn new(kept: usize) -> Self {
        Self { kept, lines: VecDeque::new(), hash: DefaultHasher::new(), count: 0 }
    }

    /// Notes what happens to whom.
    pub fn line(&mut self, at: Duration, who: &str, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.kept == 0 {
            return;
        }
        let line = format!("{:>10.6} {who:<22} {}", at.as_secs_f64(), what());
        line.hash(&mut self.hash);
        if self.lines.len() == self.kept {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// Of all lines, also those that are no longer kept.
    pub fn hash(&self) -> u64 {
        self.hash.finish()
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Those that are kept, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}
