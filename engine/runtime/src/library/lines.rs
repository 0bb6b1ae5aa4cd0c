//! A spout that emits the lines of a file or of standard input, and emits again what failed.
//!
//! A regular file is read in blocks by the core itself and shared by the component's tasks ([`mod@file`]); everything else is
//! read by a thread, for the first task ([`stream`]). Where a line lies is its message id in both cases, so that a line
//! costs no allocation and a file's pending lines no memory.
//!
//! Invariants: each line is emitted by one task, with a message id; the spout is finished when the input has ended and
//! no line waits for its replay; what was wrong with a line is reported with its number or place.
//!
//! Threading: belongs to one spout task. Errors of reading end the run, since a rebuilt task would read everything anew.

pub(crate) mod buffer;
mod file;
mod reading;
mod stream;

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringstorm_acking::FailReason;
use ringstorm_tuple::Tuple;
use ringstorm_types::MessageId;

use crate::api::collector::SpoutCollector;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::spout::{Next, Spout};
use crate::error::Result;
use crate::library::lines::file::FileLines;
use crate::library::lines::reading::{Lines, Reading};
use crate::library::lines::stream::{Input, StreamLines};
use crate::library::retry::RetryPolicy;

/// One line, without its line end.
#[derive(Tuple, Debug, Clone, Copy, PartialEq, Eq)]
#[tuple(crate = ringstorm_tuple)]
pub struct Line<'a> {
    /// The text; bytes that are not UTF-8 are replaced by U+FFFD.
    pub line: &'a str,
}

/// Emits the lines of a file, or of standard input, as [`Line`]s.
///
/// - A line ends with `\n` or `\r\n`; the last one may end with the input. Empty lines are lines.
/// - Bytes that are not UTF-8 are replaced by U+FFFD; the first such line is reported, and at the end how many there
///   were.
/// - A line too long for `topology.tuple.max.bytes` is reported and left out.
/// - A line that fails is emitted again as the [`RetryPolicy`] says; one that is given up is reported with its number.
/// - Several tasks share a regular file, so that each line is emitted once. Anything else, such as standard input or a
///   pipe, is read by the first task alone. Lines that are added to a file while it is read may be read or not.
/// - Lines that are pending are kept in memory only where the input cannot be read again, up to a limit.
#[derive(Debug)]
pub struct LineSpout {
    path: PathBuf,
    policy: RetryPolicy,
    held_bytes_max: usize,
    /// Absent before `open`, and in tasks that have nothing to read.
    reading: Option<Box<Reading>>,
}

impl LineSpout {
    /// Reads the file at a path, or standard input where the path is `-`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), policy: RetryPolicy::default(), held_bytes_max: 256 << 20, reading: None }
    }

    /// With another policy for lines that fail.
    pub fn retries(self, policy: RetryPolicy) -> Self {
        Self { policy, ..self }
    }

    /// How many bytes of lines are kept until they are acked (256 MiB unless set), where the input cannot be read again.
    /// Beyond it nothing is read.
    pub fn held_bytes_max(self, bytes: usize) -> Self {
        Self { held_bytes_max: bytes, ..self }
    }
}

impl Spout for LineSpout {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Line<'_>>();
    }

    fn open(&mut self, context: &TopologyContext) -> Result {
        let name = if is_standard(&self.path) { "standard input".to_owned() } else { self.path.display().to_string() };
        let cannot = |error: io::Error| format!("cannot read {name}: {error}; check the path");
        let tuple_bytes_max = context.config().tuple_max_bytes()?;
        let line_bytes_max = tuple_bytes_max.saturating_sub(Tuple::size_hint(&Line { line: "" }));
        let Some(lines) = self.start(context, line_bytes_max).map_err(cannot)? else { return Ok(()) };
        self.reading = Some(Box::new(Reading::new(lines, self.policy, name, context.clone())));
        Ok(())
    }

    #[inline]
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        Ok(self.reading.as_mut().map_or(Next::Finished, |reading| reading.next_tuple(collector)))
    }

    #[inline]
    fn ack(&mut self, id: MessageId) {
        if let Some(reading) = &mut self.reading {
            reading.ack(id.0);
        }
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        if let Some(reading) = &mut self.reading {
            reading.fail(id.0, reason);
        }
    }

    fn close(&mut self) {
        if let Some(mut reading) = self.reading.take() {
            reading.close();
        }
    }
}

impl LineSpout {
    /// Opens the input; `None` when this task has no share in it.
    fn start(&self, context: &TopologyContext, line_bytes_max: usize) -> io::Result<Option<Lines>> {
        let (index, count) = (context.task_index(), context.task_count());
        let input = if is_standard(&self.path) {
            Input::Standard(io::stdin())
        } else {
            // Non-blocking, since a pipe without a writer would hold the core, and so that its thread can be stopped.
            // It means nothing for regular files.
            let flags = rustix::fs::OFlags::NONBLOCK.bits();
            let file = File::options().read(true).custom_flags(flags as i32).open(&self.path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            if metadata.is_file() {
                return Ok(Some(Lines::File(FileLines::new(file, index, count, line_bytes_max))));
            }
            Input::File(file)
        };
        if index > 0 {
            return Ok(None);
        }
        let stream = StreamLines::start(input, line_bytes_max, self.held_bytes_max, context.waker())?;
        Ok(Some(Lines::Stream(stream)))
    }
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
