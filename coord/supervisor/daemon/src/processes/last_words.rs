//! The last lines of a worker's log: why it ended, in its own words.
//!
//! Invariant: what a worker before it wrote into the same file is not taken for its own, unless it was adopted. Threading:
//! the worker's guard. Errors: a log that cannot be read has no words.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most of the end of a log that is read.
const TAIL_BYTES_MAX: u64 = 16 << 10;
/// How many of the last lines are told.
const LINES_MAX: usize = 10;
/// The longest line that is told, in characters.
const CHARACTERS_MAX: usize = 500;
/// How remarks begin, those of a worker behind the time, which say nothing of a reason: a panic of Rust ends with some.
const REMARK: &str = "note: ";

/// A log, and where it ended when the worker began.
#[derive(Debug)]
pub(super) struct LogOfWorker {
    file: PathBuf,
    /// The file and its length; `None` if there was none, or nobody knows.
    before: Option<(u64, u64)>,
}

impl LogOfWorker {
    /// Of a worker that is about to begin.
    pub(super) fn of_new(file: &Path) -> Self {
        Self { file: file.to_owned(), before: fs::metadata(file).ok().map(|data| (data.ino(), data.len())) }
    }

    /// Of a worker that runs already: what others wrote before it is not told apart.
    pub(super) fn of_running(file: &Path) -> Self {
        Self { file: file.to_owned(), before: None }
    }

    /// Where everything stands that it said.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Its last lines that are not empty, oldest first.
    fn lines(&self) -> Vec<String> {
        let text = self.tail().unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LINES_MAX)..].iter().map(|line| shortened(line)).collect()
    }

    fn tail(&self) -> std::io::Result<Vec<u8>> {
        let mut file = ringstorm_file::open_regular(&self.file)?;
        let data = file.metadata()?;
        let own = match self.before {
            Some((inode, bytes)) if inode == data.ino() => bytes,
            // Another file has taken its place meanwhile.
            _ => 0,
        };
        file.seek(SeekFrom::Start(own.max(data.len().saturating_sub(TAIL_BYTES_MAX))))?;
        let mut text = Vec::new();
        file.take(TAIL_BYTES_MAX).read_to_end(&mut text)?;
        Ok(text)
    }

    /// What is told of an end: a first line with the words that say most, the lines before them, and where all of them are.
    pub(super) fn told(&self, end: &str) -> String {
        let lines = self.lines();
        let telling = lines.iter().rev().find(|line| !is_remark(line)).or(lines.last());
        let mut text = match telling {
            Some(words) => format!("{end}; its last words: {words}"),
            None => format!("{end}; it said nothing"),
        };
        if lines.len() > 1 {
            text.push_str("\nits last lines:\n");
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        } else {
            text.push('\n');
        }
        text.push_str(&format!("all that it said: {}", self.file().display()));
        text
    }
}

fn is_remark(line: &str) -> bool {
    line.starts_with(REMARK) || line.split_once(' ').is_some_and(|(_, behind)| behind.starts_with(REMARK))
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_worker_are_its_own_and_the_telling_line_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("worker.log");
        fs::write(&file, "of another worker\n").unwrap();
        let log = LogOfWorker::of_new(&file);
        assert!(log.told("it ended").starts_with("it ended; it said nothing\nall that it said: "));
        let panic = "thread 'main' panicked at src/main.rs:1:\nno such broker\nnote: run with `RUST_BACKTRACE=1`\n\n";
        fs::write(&file, format!("of another worker\n{panic}")).unwrap();
        let told = log.told("it ended");
        assert!(
            told.starts_with("it ended; its last words: no such broker\nits last lines:\n  thread 'main'"),
            "{told}"
        );
        assert!(!told.contains("of another worker"), "{told}");
        let lines =
            "of another worker\n2026-01-01T00:00:00Z error: no such broker\n2026-01-01T00:00:00Z note: it ends\n";
        fs::write(&file, lines).unwrap();
        let told = log.told("it ended");
        assert!(told.starts_with("it ended; its last words: 2026-01-01T00:00:00Z error: no such broker\n"), "{told}");
        // Rotated meanwhile.
        fs::rename(&file, folder.path().join("worker.log.1")).unwrap();
        fs::write(&file, "all new\n").unwrap();
        assert!(log.told("it ended").starts_with("it ended; its last words: all new\nall that"));
    }

    #[test]
    fn what_is_told_is_bounded_whatever_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("worker.log");
        fs::write(&file, [b"\xff".repeat(1 << 20), b"\nx\n".repeat(1000)].concat()).unwrap();
        let log = LogOfWorker::of_running(&file);
        assert_eq!(log.lines(), ["x"; LINES_MAX]);
        fs::write(&file, "y".repeat(1 << 20)).unwrap();
        assert_eq!(log.lines(), [format!("{}...", "y".repeat(CHARACTERS_MAX))]);
        assert!(LogOfWorker::of_running(&folder.path().join("gone")).lines().is_empty());
    }
}
