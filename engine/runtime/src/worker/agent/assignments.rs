//! Where a worker hears what it is to do: one small interface, served by a file here and by a cluster's store elsewhere.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use ringstorm_file::read_bounded;
use ringstorm_types::assignment::Assignment;

/// How often a file is looked at.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// A longer file is not an assignment.
const FILE_BYTES_MAX: usize = 256 << 20;

/// What a source of assignments has to say.
#[derive(Debug)]
pub enum AssignmentNews {
    /// The assignment is this one now.
    Current(Box<Assignment>),
    /// It could not be read, and why: the worker goes on by what it has, and shows this to whoever runs it.
    Unreadable(String),
    /// The topology has none any more: the worker ends.
    Withdrawn,
}

/// Tells a worker what it is to do.
///
/// Used by a thread of its own, which waits in it. The same assignment may come more than once; one with a lower version
/// than a worker has is left.
pub trait Assignments: Send + 'static {
    /// Waits until there is something to say, and says it.
    fn next(&mut self) -> AssignmentNews;
}

/// An assignment in a file: JSON, as [`Assignment`] is written. Whoever changes it puts another file in its place
/// (`rename`), so that nobody reads half of one. Without the file the assignment is withdrawn.
#[derive(Debug)]
pub struct AssignmentFile {
    path: PathBuf,
    told: Option<Vec<u8>>,
}

impl AssignmentFile {
    /// The assignment in the file at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), told: None }
    }

    /// What there is to say of the file now, if that is new.
    fn look(&mut self) -> Option<AssignmentNews> {
        let unreadable = |what: &dyn std::fmt::Display| {
            let text = format!("the assignment in {} cannot be read: {what}", self.path.display());
            Some(AssignmentNews::Unreadable(text))
        };
        let bytes = match read_bounded(&self.path, FILE_BYTES_MAX) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => return Some(AssignmentNews::Withdrawn),
            Err(error) => Err(error.to_string()),
        };
        // What could not be read is told once, like any content.
        let content = bytes.as_ref().map_or_else(|text| text.clone().into_bytes(), Clone::clone);
        if self.told.as_ref() == Some(&content) {
            return None;
        }
        self.told = Some(content);
        match bytes {
            Err(text) => unreadable(&text),
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(assignment) => Some(AssignmentNews::Current(Box::new(assignment))),
                Err(error) => unreadable(&error),
            },
        }
    }
}

impl Assignments for AssignmentFile {
    fn next(&mut self) -> AssignmentNews {
        loop {
            if let Some(news) = self.look() {
                return news;
            }
            std::thread::sleep(LOOK_PERIOD);
        }
    }
}

#[cfg(test)]
mod tests;
