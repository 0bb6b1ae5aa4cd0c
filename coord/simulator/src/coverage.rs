//! How often each fault and each interesting state was met.
//!
//! A fault that never fires tests nothing; the counts say so. Threading: plain data.

use std::collections::BTreeMap;
use std::fmt;

/// Counts, by what they count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// One more.
    pub fn hit(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// How often.
    pub fn count(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Takes the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.counts {
            writeln!(formatter, "{count:>12}  {what}")?;
        }
        Ok(())
    }
}
