//! What the processes of a run note of what they did, for the test that reads it afterwards or meanwhile.
//!
//! Each writer has a file of its own, named after who writes and in which process; a line is one note. Lines go to the
//! kernel at once, so that a process that is killed loses none.
//!
//! Threading: a writer belongs to one thread. Errors: a directory that is gone or full panics the writer.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes notes.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// A file of its own for `writer` in this process; what it has noted before is kept.
    pub fn open(directory: &Path, writer: &str) -> Self {
        let path = directory.join(format!("{writer}.{}", std::process::id()));
        Self(File::options().create(true).append(true).open(path).unwrap())
    }

    /// Notes a line.
    pub fn note(&mut self, line: &str) {
        self.0.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// A line that somebody noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Who did.
    pub writer: String,
    /// The process in which that was.
    pub process: i32,
    /// What.
    pub line: String,
}

impl Note {
    /// The number behind a word of the line, as in `acked 20`.
    pub fn number(&self, word: &str) -> u64 {
        let mut words = self.line.split(' ');
        words.find(|other| *other == word).unwrap_or_else(|| panic!("{self:?} has no {word}"));
        words.next().unwrap().parse().unwrap()
    }
}

/// The notes of a directory.
#[derive(Debug, Clone)]
pub struct Notes(PathBuf);

impl Notes {
    /// Those that are in this directory, which is made.
    pub fn of(directory: &Path) -> Self {
        std::fs::create_dir_all(directory).unwrap();
        Self(directory.to_owned())
    }

    /// Where they are.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// All whole lines so far; those of one writer in one process are in order.
    pub fn read(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for file in std::fs::read_dir(&self.0).unwrap().flatten() {
            let name = file.file_name().into_string().unwrap();
            let Some((writer, process)) = name.rsplit_once('.') else { continue };
            let text = std::fs::read_to_string(file.path()).unwrap();
            let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            notes.extend(whole.map(|line| Note {
                writer: writer.to_owned(),
                process: process.parse().unwrap(),
                line: line.to_owned(),
            }));
        }
        notes
    }

    /// Those that begin with these words.
    pub fn starting(&self, words: &str) -> Vec<Note> {
        self.read().into_iter().filter(|note| note.line.starts_with(words)).collect()
    }
}
