//! The process that writes a worker's log: from its standard input to a file that is rotated and capped.
//!
//! Storm's `LogWriter`. A supervisor starts one for each worker, as `<words> <file> <bytes> <old files>`; it outlives the
//! supervisor, in a session of its own, and ends when nobody holds the other end of its input. It never makes the worker
//! wait: what the disk does not take in time is left out, and counted in the file.
//!
//! Invariants: memory is bounded by `QUEUE_BYTES_MAX`. Threading: one thread reads, one writes. Errors: a file that cannot
//! be written is tried again, see [`RotatedFile`]; of the start, returned.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ringstorm_daemon::{RotatedFile, Rotation};

/// How much may wait for the disk, in bytes.
const QUEUE_BYTES_MAX: usize = 4 << 20;

/// How much is read at once, in bytes.
const READ_BYTES: usize = 64 << 10;

/// What a log writer was started with, and cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidWords(String);

impl std::error::Error for InvalidWords {}

impl fmt::Display for InvalidWords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(what) = self;
        write!(formatter, "{what}; a log writer is started as FILE [BYTES OLD_FILES], by a supervisor")
    }
}

/// The file, and how large it may become, of the words behind the command: `FILE [BYTES OLD_FILES]`.
///
/// # Errors
/// The words are others.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<(PathBuf, Rotation), InvalidWords> {
    let words: Vec<OsString> = words.into_iter().collect();
    let number = |word: &OsString| {
        word.to_str()
            .and_then(|text| text.parse::<u64>().ok())
            .ok_or_else(|| InvalidWords(format!("{} is no number", word.display())))
    };
    match &words[..] {
        [file] => Ok((file.into(), Rotation::default())),
        [file, bytes, files] => {
            let old_files_max = u32::try_from(number(files)?).map_err(|error| InvalidWords(error.to_string()))?;
            Ok((file.into(), Rotation { file_bytes_max: number(bytes)?, old_files_max }))
        }
        _ => Err(InvalidWords(format!("there are {} words", words.len()))),
    }
}

/// Writes standard input to a file until its end.
///
/// # Errors
/// No thread can be started, or standard input cannot be read.
pub fn run(file: &Path, rotation: Rotation) -> io::Result<()> {
    // Ctrl-C in the supervisor's terminal is not for this process. One that leads a session already stays there.
    let _ = rustix::process::setsid();
    write_all_of(io::stdin().lock(), RotatedFile::new(file, rotation))
}

/// What was read and is not written.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// How much was left out behind them.
    left_out: u64,
    has_ended: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Bytes are put there and taken whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, bytes: &[u8]) {
        let mut state = self.lock();
        // What comes behind a gap waits until the gap is written.
        let room = if state.left_out > 0 { 0 } else { QUEUE_BYTES_MAX - state.bytes.len() };
        let (taken, left_out) = bytes.split_at(bytes.len().min(room));
        state.bytes.extend_from_slice(taken);
        state.left_out += left_out.len() as u64;
        drop(state);
        self.changed.notify_one();
    }

    fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_one();
    }

    /// What there is, in place of `bytes`, and how much is missing behind it; `None` at the end.
    fn take(&self, bytes: &mut Vec<u8>) -> Option<u64> {
        let is_idle = |state: &mut State| state.bytes.is_empty() && state.left_out == 0 && !state.has_ended;
        let mut state = self.changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        if state.bytes.is_empty() && state.left_out == 0 {
            return None;
        }
        bytes.clear();
        std::mem::swap(bytes, &mut state.bytes);
        Some(std::mem::take(&mut state.left_out))
    }
}

fn write_all_of(mut input: impl Read, mut file: RotatedFile) -> io::Result<()> {
    let queue = Queue::default();
    std::thread::scope(|scope| {
        let writer = std::thread::Builder::new().name("writer".into()).spawn_scoped(scope, || {
            let mut bytes = Vec::new();
            while let Some(left_out) = queue.take(&mut bytes) {
                // What cannot be written is counted by the file itself.
                file.append(&bytes);
                if left_out > 0 {
                    let line = format!("\n[{left_out} bytes are missing here: the disk did not keep up]\n");
                    file.append(line.as_bytes());
                }
            }
        });
        writer?;
        let read = read_all(&mut input, &queue);
        queue.end();
        read
    })
}

fn read_all(input: &mut impl Read, queue: &Queue) -> io::Result<()> {
    let mut bytes = vec![0; READ_BYTES];
    loop {
        match input.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => queue.put(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Result<(PathBuf, Rotation), InvalidWords> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn it_is_started_with_a_file_and_its_caps() {
        assert_eq!(words(&["/a"]), Ok(("/a".into(), Rotation::default())));
        let caps = Rotation { file_bytes_max: 7, old_files_max: 2 };
        assert_eq!(words(&["/a", "7", "2"]), Ok(("/a".into(), caps)));
        for bad in [&[][..], &["/a", "7"], &["/a", "x", "2"], &["/a", "7", "99999999999"], &["/a", "1", "2", "3"]] {
            assert!(words(bad).unwrap_err().to_string().contains("FILE [BYTES OLD_FILES]"), "{bad:?}");
        }
    }

    #[test]
    fn what_comes_in_is_written_and_capped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("6700/worker.log");
        let text: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        write_all_of(text.as_bytes(), RotatedFile::new(&path, Rotation::default())).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

        let caps = Rotation { file_bytes_max: 1000, old_files_max: 2 };
        write_all_of(text.as_bytes(), RotatedFile::new(folder.path().join("capped"), caps)).unwrap();
        let sizes = std::fs::read_dir(folder.path()).unwrap().flatten().filter(|it| it.path().is_file());
        let sizes: Vec<u64> = sizes.map(|it| it.metadata().unwrap().len()).collect();
        assert!(sizes.len() == 3 && sizes.iter().all(|size| *size <= 1000), "{sizes:?}");
    }

    #[test]
    fn a_file_that_cannot_be_written_makes_nobody_wait() {
        let text = "x".repeat(10 << 20);
        write_all_of(text.as_bytes(), RotatedFile::new("/proc/none/worker.log", Rotation::default())).unwrap();
    }

    #[test]
    fn what_the_disk_does_not_take_in_time_is_left_out_and_said() {
        let queue = Queue::default();
        queue.put(&vec![b'a'; QUEUE_BYTES_MAX - 1]);
        queue.put(b"bc");
        queue.put(b"d");
        let mut bytes = Vec::new();
        assert_eq!(queue.take(&mut bytes), Some(2));
        assert_eq!((bytes.len(), bytes.last()), (QUEUE_BYTES_MAX, Some(&b'b')));
        queue.put(b"e");
        queue.end();
        assert_eq!(queue.take(&mut bytes), Some(0));
        assert_eq!(bytes, b"e");
        assert_eq!(queue.take(&mut bytes), None);
    }
}
