//! Why the workers of a host started and ended, in a file: one JSON object per line, newest last.
//!
//! It is for people and for `status`; nothing is decided by it, so that a line that is lost or cut does no harm. The file
//! is [rotated](RotatedFile) and capped. Threading: any thread may write, and read. Errors: what cannot
//! be written is lost, which is told once; files that cannot be read are told with why, and lines are passed over.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringstorm_daemon::{FileNews, RotatedFile, Rotation};
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::layout::history_of;

/// A file of this size becomes an old one; one old one is kept.
const FILE_BYTES_MAX: u64 = 1 << 20;
const ROTATION: Rotation = Rotation { file_bytes_max: FILE_BYTES_MAX, old_files_max: 1 };

/// Something that happened to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When, in milliseconds since 1970 (UTC).
    pub time_ms: u64,
    /// The port of its slot.
    pub port: u16,
    /// Its incarnation.
    pub incarnation: u64,
    /// Its topology's id.
    pub topology: String,
    /// What happened.
    pub what: What,
}

/// What happened to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// It was started.
    Started {
        /// Its process.
        pid: u32,
        /// The version of the assignment that names it.
        assignment_version: i64,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// A supervisor that started anew found it running.
    Adopted {
        /// Its process.
        pid: u32,
    },
    /// It was asked to end, or killed.
    Stopped {
        /// By which signal.
        signal: String,
        /// Why, and by whom.
        why: String,
    },
    /// It is not there any more.
    Ended {
        /// How: `ended with code 1`, `was ended by signal 9`.
        how: String,
        /// How it came to that, as far as it is known.
        why: String,
        /// How many other processes it left, which were killed.
        orphans: usize,
    },
}

/// The history of a host, to be written.
#[derive(Debug)]
pub(crate) struct History {
    file: Mutex<RotatedFile>,
}

impl History {
    pub(crate) fn new(path: &Path) -> Self {
        Self { file: Mutex::new(RotatedFile::new(path, ROTATION)) }
    }

    /// Whether it can be written is told when that changes.
    pub(crate) fn add(&self, port: u16, incarnation: u64, topology: &str, what: What) -> Option<FileNews> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let time_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let entry = Entry { time_ms, port, incarnation, topology: topology.to_owned(), what };
        let mut line = serde_json::to_vec(&entry).expect("texts and numbers can always be written");
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.append(&line)
    }
}

/// What is known of the workers of the host with this `storm.local.dir`, oldest first. Nothing if there is no history, and
/// nothing of a file that cannot be read.
pub fn read(local_dir: &Path) -> Vec<Entry> {
    look(local_dir).0
}

/// What is known of the workers of the host with this `storm.local.dir`, oldest first, and which files of it cannot be read,
/// with why.
pub fn look(local_dir: &Path) -> (Vec<Entry>, Vec<io::Error>) {
    let newest = history_of(local_dir);
    let limit = usize::try_from(2 * FILE_BYTES_MAX).unwrap_or(usize::MAX);
    let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
    for path in [disk::beside(&newest, ".1"), newest] {
        match disk::read_bounded(&path, limit) {
            Ok(text) => {
                let lines = text.split(|byte| *byte == b'\n');
                entries.extend(lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => unreadable.push(error),
        }
    }
    (entries, unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_read_in_its_order_without_what_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), []);
        std::fs::create_dir(folder.path().join("workers")).unwrap();
        let history = History::new(&history_of(folder.path()));
        let what = [
            What::Started { pid: 12, assignment_version: 3 },
            What::Stopped { signal: "SIGTERM".into(), why: "its assignment changed".into() },
            What::Ended { how: "ended with code 0".into(), why: "it was asked to".into(), orphans: 1 },
        ];
        assert!(what.iter().all(|it| history.add(6700, 7, "words-1-1", it.clone()).is_none()));
        let path = history_of(folder.path());
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.insert_str(0, "{\"port\": \n");
        text.push_str("{\"time_ms\"");
        std::fs::write(&path, text).unwrap();
        let read: Vec<What> = read(folder.path()).into_iter().map(|entry| entry.what).collect();
        assert_eq!(read, what);
    }

    #[test]
    fn what_is_no_file_in_its_place_is_told_to_whoever_writes_and_to_whoever_reads() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workers")).unwrap();
        let path = history_of(folder.path());
        let history = History::new(&path);
        let add = || history.add(6700, 7, "words-1-1", What::Adopted { pid: 1 });
        assert_eq!(add(), None);
        std::fs::rename(&path, disk::beside(&path, ".1")).unwrap();
        assert_eq!(look(folder.path()).1.len(), 0);
        std::os::unix::fs::symlink("gone/history", &path).unwrap();
        let (entries, unreadable) = look(folder.path());
        let why: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        assert_eq!((entries.len(), why.len()), (1, 1));
        assert!(why[0].contains("workers/history cannot be read: it is a link that leads nowhere"), "{why:?}");
        let history = History::new(&path);
        let add = || history.add(6700, 7, "words-1-1", What::Adopted { pid: 1 });
        let news = add().unwrap().to_string();
        assert!(news.contains("workers/history cannot be written: it is a link that leads nowhere"), "{news}");
        assert_eq!(add(), None, "it is said once");
    }

    #[test]
    fn it_does_not_grow_without_a_limit_and_keeps_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workers")).unwrap();
        let history = History::new(&history_of(folder.path()));
        let long = "x".repeat(10_000);
        let add = |at| history.add(6700, at, "words-1-1", What::NotStarted { why: long.clone() });
        assert!((0..400).all(|at| add(at).is_none()));
        let entries = read(folder.path());
        assert_eq!(entries.last().unwrap().incarnation, 399);
        assert!((100..=210).contains(&entries.len()), "{}", entries.len());
    }
}
