//! Lines for operators: each is said when it becomes true, and not again while it stays so. Threading: plain data.

use std::collections::{BTreeMap, BTreeSet};

/// What was said, by what it is about.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    said: BTreeMap<String, String>,
}

impl Notes {
    /// The line, if it is not what was said of this last.
    pub(crate) fn changed(&mut self, about: &str, line: String) -> Option<String> {
        if self.said.get(about) == Some(&line) {
            return None;
        }
        self.said.insert(about.to_owned(), line.clone());
        Some(line)
    }

    /// Forgets what was said of all else, since that is not so any more.
    pub(crate) fn keep(&mut self, about: &BTreeSet<String>) {
        self.said.retain(|said, _| about.contains(said));
    }

    /// It is not so any more. Says whether it was.
    pub(crate) fn is_over(&mut self, about: &str) -> bool {
        self.said.remove(about).is_some()
    }
}
