//! A file that only grows so far.
//!
//! When it is full it becomes `NAME.1`, what was `NAME.1` becomes `NAME.2`, and the oldest goes; it is cut at the end of a
//! line where it can be. What cannot be written, for whatever reason, is left out and counted: whoever writes a log goes
//! on without it. A file that somebody removed is made again.
//!
//! Invariants: all files together hold at most (old files + 1) times the bytes of one. Nothing waits, but for the disk
//! itself. Threading: one writer at a time, and one writer of a path. Errors: told as [`FileNews`], when they begin and
//! when they are over.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringstorm_file::open_regular_with;

/// How long a trouble is left alone before the file is tried again, and how often it is looked whether the file is still
/// the one of its path.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// How large files become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The most bytes of one; zero counts as one.
    pub file_bytes_max: u64,
    /// How many old ones are kept.
    pub old_files_max: u32,
}

impl Default for Rotation {
    /// 100 MiB and nine old files, as Storm's logs have it.
    fn default() -> Self {
        Self { file_bytes_max: 100 << 20, old_files_max: 9 }
    }
}

/// What whoever leads should be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNews {
    /// From now on what is appended is left out.
    Discarding {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The file is written again.
    Recovered {
        /// The file.
        path: PathBuf,
        /// How much was left out meanwhile, in bytes.
        discarded_bytes: u64,
    },
}

impl fmt::Display for FileNews {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discarding { path, why } => write!(
                formatter,
                "the log {} cannot be written: {why}; what it should hold is left out until it can be",
                path.display()
            ),
            Self::Recovered { path, discarded_bytes } => {
                write!(formatter, "the log {} is written again; {discarded_bytes} bytes were left out", path.display())
            }
        }
    }
}

/// A file, and the old ones beside it.
#[derive(Debug)]
pub struct RotatedFile {
    path: PathBuf,
    rotation: Rotation,
    open: Option<Open>,
    /// It cannot be written.
    trouble: Option<Trouble>,
    /// Bytes that were left out and that the file does not speak of yet.
    gap_bytes: u64,
    /// Whether they began in the middle of a line.
    gap_cuts_line: bool,
}

#[derive(Debug)]
struct Trouble {
    /// When it is tried again.
    until: Instant,
    /// Bytes that were left out since it began.
    discarded_bytes: u64,
}

#[derive(Debug)]
struct Open {
    file: File,
    identity: (u64, u64),
    bytes: u64,
    is_at_line_end: bool,
    looked: Instant,
}

impl RotatedFile {
    /// A file at this path; nothing is done before the first [`Self::append`]. The folder is made if it is not there.
    pub fn new(path: impl Into<PathBuf>, rotation: Rotation) -> Self {
        let rotation = Rotation { file_bytes_max: rotation.file_bytes_max.max(1), ..rotation };
        Self { path: path.into(), rotation, open: None, trouble: None, gap_bytes: 0, gap_cuts_line: false }
    }

    /// The newest file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How much was left out since the file could not be written, in bytes.
    pub fn discarded_bytes(&self) -> u64 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.discarded_bytes)
    }

    /// Appends bytes, or leaves them out. Says so when that changes, and at no other time.
    pub fn append(&mut self, bytes: &[u8]) -> Option<FileNews> {
        if self.trouble.as_ref().is_some_and(|trouble| Instant::now() < trouble.until) {
            self.discard(bytes.len());
            return None;
        }
        match self.write_gap().map_err(|error| (error, 0)).and_then(|()| self.write(bytes)) {
            Ok(()) => self.trouble.take().map(|trouble| FileNews::Recovered {
                path: self.path.clone(),
                discarded_bytes: trouble.discarded_bytes,
            }),
            Err((error, written)) => {
                self.gap_cuts_line |= self.open.take().is_some_and(|open| !open.is_at_line_end);
                let is_news = self.trouble.is_none();
                self.discard(bytes.len() - written);
                is_news.then(|| FileNews::Discarding { path: self.path.clone(), why: error.to_string() })
            }
        }
    }

    /// Leaves out so many bytes, and the file alone for a while.
    fn discard(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.gap_bytes += bytes;
        let now = Instant::now();
        let trouble = self.trouble.get_or_insert(Trouble { until: now, discarded_bytes: 0 });
        trouble.discarded_bytes += bytes;
        if trouble.until <= now {
            trouble.until = now + LOOK_PERIOD;
        }
    }

    /// Says in the file what is missing there.
    fn write_gap(&mut self) -> io::Result<()> {
        if self.gap_bytes > 0 {
            let begin = if self.gap_cuts_line { "\n" } else { "" };
            let words = format!("{begin}[{} bytes are missing here: they could not be written]\n", self.gap_bytes);
            self.write(words.as_bytes()).map_err(|(error, _)| error)?;
            (self.gap_bytes, self.gap_cuts_line) = (0, false);
        }
        Ok(())
    }

    /// Writes all of it. An error says how much was written.
    fn write(&mut self, bytes: &[u8]) -> Result<(), (io::Error, usize)> {
        let mut written = 0;
        while written < bytes.len() {
            let at = written;
            let rest = &bytes[at..];
            let bytes_max = self.rotation.file_bytes_max;
            let open = self.open().map_err(|error| (error, at))?;
            let room = usize::try_from(bytes_max.saturating_sub(open.bytes)).unwrap_or(usize::MAX);
            let part = part_bytes(rest, room, open.is_at_line_end && open.bytes > 0);
            if part == 0 {
                self.rotate().map_err(|error| (error, at))?;
                continue;
            }
            let count = match open.file.write(&rest[..part]) {
                Ok(0) => return Err((io::ErrorKind::WriteZero.into(), at)),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err((error, at)),
            };
            open.bytes += count as u64;
            open.is_at_line_end = rest[count - 1] == b'\n';
            written += count;
        }
        Ok(())
    }

    /// The file, opened if it is not, or is not any more the one of its path.
    fn open(&mut self) -> io::Result<&mut Open> {
        let is_gone = self.open.as_mut().is_some_and(|open| {
            if open.looked.elapsed() < LOOK_PERIOD {
                return false;
            }
            open.looked = Instant::now();
            !fs::metadata(&self.path).is_ok_and(|found| identity(&found) == open.identity)
        });
        if is_gone {
            self.open = None;
        }
        match self.open {
            Some(ref mut open) => Ok(open),
            None => {
                let opened = open_at(&self.path)?;
                Ok(self.open.insert(opened))
            }
        }
    }

    /// Makes the file an old one.
    fn rotate(&mut self) -> io::Result<()> {
        self.open = None;
        if self.rotation.old_files_max == 0 {
            return fs::remove_file(&self.path);
        }
        for number in (1..self.rotation.old_files_max).rev() {
            match fs::rename(self.old(number), self.old(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.old(1))
    }

    fn old(&self, number: u32) -> PathBuf {
        old_file(&self.path, number)
    }
}

/// Where an old file of a log lies: number 1 is the newest of them.
pub fn old_file(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// How much of `bytes` goes into a file with so much room: all, or up to the end of a line. Zero where the file has to be
/// rotated first.
fn part_bytes(bytes: &[u8], room: usize, is_at_line_end: bool) -> usize {
    if bytes.len() <= room {
        return bytes.len();
    }
    match memchr::memrchr(b'\n', &bytes[..room]) {
        Some(at) => at + 1,
        // A line that does not fit begins in the next file.
        None if is_at_line_end => 0,
        // A line that is longer than a file is cut.
        None => room,
    }
}

fn open_at(path: &Path) -> io::Result<Open> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = open_regular_with(OpenOptions::new().append(true).create(true), path)?;
    let metadata = file.metadata()?;
    Ok(Open {
        file,
        identity: identity(&metadata),
        bytes: metadata.len(),
        is_at_line_end: true,
        looked: Instant::now(),
    })
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests;
