//! The pipe from a worker to its log, and the process that writes the log.
//!
//! The writer outlives the supervisor: it ends when nobody holds the pipe's other end any more. As long as the supervisor
//! that started it lives, one that dies is replaced; the pipe is kept open meanwhile, so that the worker notices nothing.
//! Threading: belongs to the worker's guard. Errors: those of starting the writer.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ringstorm_daemon::Rotation;
use rustix::pipe::fcntl_setpipe_size;

use super::last_words::LogOfWorker;

/// What fits into the pipe, in bytes, if the system allows so much.
const PIPE_BYTES: usize = 1 << 20;

/// A writer that ends sooner is not replaced sooner.
const REPLACED_AFTER: Duration = Duration::from_secs(1);

/// How a writer is started: its program, its first words, and how much it may keep.
#[derive(Clone, Debug)]
pub(super) struct Writing {
    pub(super) command: Vec<PathBuf>,
    pub(super) rotation: Rotation,
}

/// How long the start of the next worker may be put off for the last words of this one.
const WRITTEN_WITHIN: Duration = Duration::from_millis(200);
const LOOK_PERIOD: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct LogPipe {
    writing: Writing,
    file: PathBuf,
    reader: PipeReader,
    writer: Child,
    since: Instant,
    log: LogOfWorker,
}

impl LogPipe {
    /// A pipe whose writer runs, and its end for the worker.
    pub(super) fn open(writing: Writing, file: &Path) -> io::Result<(Self, PipeWriter)> {
        let log = LogOfWorker::of_new(file);
        let (reader, end) = io::pipe()?;
        let _ = fcntl_setpipe_size(&reader, PIPE_BYTES);
        let writer = spawn(&writing, file, &reader)?;
        Ok((Self { writing, file: file.to_owned(), reader, writer, since: Instant::now(), log }, end))
    }

    /// Replaces the writer if it has ended; a line for operators if so.
    pub(super) fn tend(&mut self) -> Option<String> {
        if self.since.elapsed() < REPLACED_AFTER {
            return None;
        }
        let how = self.writer.try_wait().ok().flatten()?;
        self.since = Instant::now();
        let file = self.file.display();
        Some(match spawn(&self.writing, &self.file, &self.reader) {
            Ok(writer) => {
                self.writer = writer;
                format!("the writer of {file} has ended ({how}); another one was started")
            }
            Err(error) => format!("the writer of {file} has ended ({how}), and none can be started: {error}"),
        })
    }

    /// The worker is gone: the writer writes what is left and ends. It is waited for here for a moment, so that the log has
    /// the worker's last words, and then elsewhere, since something that escaped from the worker may still hold the pipe.
    pub(super) fn close(self) -> LogOfWorker {
        let Self { reader, mut writer, log, .. } = self;
        drop(reader);
        let deadline = Instant::now() + WRITTEN_WITHIN;
        while Instant::now() < deadline {
            if writer.try_wait().is_ok_and(|ended| ended.is_some()) {
                return log;
            }
            std::thread::sleep(LOOK_PERIOD);
        }
        let named = std::thread::Builder::new().name("log-writer".into());
        // Without a thread a process that has ended stays listed until the supervisor ends.
        let _ = named.spawn(move || writer.wait());
        log
    }
}

fn spawn(writing: &Writing, file: &Path, reader: &PipeReader) -> io::Result<Child> {
    let (program, words) = writing.command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let words = words.iter().map(|word| word.clone().into_os_string());
    let Rotation { file_bytes_max, old_files_max } = writing.rotation;
    let caps = [file_bytes_max.to_string(), old_files_max.to_string()];
    Command::new(program)
        .args(words.chain([file.as_os_str().to_owned()]).chain(caps.map(OsString::from)))
        .stdin(Stdio::from(reader.try_clone()?))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .spawn()
}
