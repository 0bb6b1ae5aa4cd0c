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
mod stream;

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ringstorm_acking::FailReason;
use ringstorm_tuple::Tuple;
use ringstorm_types::MessageId;

use crate::api::collector::SpoutCollector;
use crate::api::context::TopologyContext;
use crate::api::declare::Declarer;
use crate::api::spout::{Next, Spout};
use crate::error::Result;
use crate::library::lines::file::FileLines;
use crate::library::lines::stream::{Input, StreamLines};
use crate::library::retry::{Retries, Retry, RetryPolicy, Verdict};

/// One line, without its line end.
#[derive(Tuple, Debug, Clone, Copy, PartialEq, Eq)]
#[tuple(crate = ringstorm_tuple)]
pub struct Line<'a> {
    /// The text; bytes that are not UTF-8 are replaced by U+FFFD.
    pub line: &'a str,
}

/// What comes next.
#[derive(Debug)]
enum Cut<'a> {
    /// A line, without its line end.
    Line { id: u64, text: &'a [u8] },
    /// A line that is longer than allowed was left out.
    TooLong { place: Place, length_bytes: u64 },
    /// Nothing yet, but there will be: ask again.
    Working,
    /// Nothing until the task is woken.
    NotYet,
    /// Nothing any more.
    End,
}

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where it starts in a file.
    Offset(u64),
    /// Its number, from 1.
    Number(u64),
}

enum Lines {
    File(FileLines),
    Stream(StreamLines),
}

/// A line that was given up, until it is reported.
struct GivenUp {
    id: u64,
    reason: FailReason,
    failures: u32,
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
    open: Option<Box<Open>>,
}

/// What a spout needs once it is open.
struct Open {
    lines: Lines,
    /// No further lines will come.
    ended: bool,
    /// Reading failed; the run is ending.
    broken: bool,
    retries: Retries,
    given_up: Vec<GivenUp>,
    replacements: Replacements,
    name: String,
    /// This task, which is named as the one that failed a tuple that could not be emitted.
    task: u32,
    context: TopologyContext,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Open").field("name", &self.name).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl LineSpout {
    /// Reads the file at a path, or standard input where the path is `-`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), policy: RetryPolicy::default(), held_bytes_max: 256 << 20, open: None }
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
        self.open = Some(Box::new(Open {
            lines,
            ended: false,
            broken: false,
            retries: Retries::new(self.policy),
            given_up: Vec::new(),
            replacements: Replacements::default(),
            name,
            task: u32::try_from(context.task().0).unwrap_or(0),
            context: context.clone(),
        }));
        Ok(())
    }

    #[inline]
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let Some(open) = &mut self.open else { return Ok(Next::Finished) };
        Ok(open.next_tuple(collector))
    }

    #[inline]
    fn ack(&mut self, id: MessageId) {
        if let Some(open) = &mut self.open {
            open.retries.acked(id.0);
            open.lines.done(id.0);
        }
    }

    fn fail(&mut self, id: MessageId, reason: FailReason) {
        let Some(open) = &mut self.open else { return };
        let refused = reason == FailReason::FailedBy { task: open.task };
        let retry = if refused { Retry::No } else { Retry::Yes };
        if let Verdict::GiveUp { failures } = open.retries.failed(id.0, reason, retry, Instant::now()) {
            open.given_up.push(GivenUp { id: id.0, reason, failures });
        }
    }

    fn close(&mut self) {
        self.open = None;
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

impl Lines {
    #[inline]
    fn next(&mut self) -> io::Result<Cut<'_>> {
        match self {
            Self::File(lines) => lines.next(),
            Self::Stream(lines) => lines.next(),
        }
    }

    #[inline]
    fn done(&mut self, id: u64) {
        if let Self::Stream(lines) = self {
            lines.done(id);
        }
    }

    fn again(&mut self, id: u64) -> io::Result<&[u8]> {
        match self {
            Self::File(lines) => lines.again(id),
            Self::Stream(lines) => Ok(lines.again(id)?.0),
        }
    }

    /// Where a line is, in words; `None` when that takes more counting: ask again.
    fn describe(&mut self, place: Place) -> io::Result<Option<String>> {
        Ok(match (self, place) {
            (Self::File(lines), Place::Offset(offset)) => {
                lines.number(offset)?.map(|number| format!("line {number} (byte {offset})"))
            }
            (_, Place::Offset(offset)) => Some(format!("the line at byte {offset}")),
            (_, Place::Number(number)) => Some(format!("line {number}")),
        })
    }

    fn place(&self, id: u64) -> io::Result<Place> {
        match self {
            Self::File(_) => Ok(Place::Offset(id)),
            Self::Stream(lines) => Ok(Place::Number(lines.again(id)?.1)),
        }
    }
}

impl Open {
    #[inline]
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Next {
        if (self.retries.are_waiting() || !self.given_up.is_empty() || self.ended || self.broken)
            && let Some(next) = self.attend(collector)
        {
            return next;
        }
        match self.lines.next() {
            Ok(Cut::Line { id, text }) => {
                emit(id, text, &mut self.replacements, collector);
                Next::Emitted
            }
            Ok(Cut::Working) => Next::Emitted,
            Ok(Cut::NotYet) => self.retries.next_due().map_or(Next::Waiting, Next::Until),
            Ok(Cut::End) => {
                self.ended = true;
                Next::Emitted
            }
            Ok(Cut::TooLong { place, length_bytes }) => self.report_too_long(place, length_bytes, collector),
            Err(error) => self.break_off(&error),
        }
    }

    /// What there is to do besides reading on; `None` when that is what is to be done.
    #[cold]
    fn attend(&mut self, collector: &mut SpoutCollector<'_>) -> Option<Next> {
        if self.broken {
            return Some(Next::Waiting);
        }
        if !self.given_up.is_empty() {
            return Some(self.report_given_up(collector));
        }
        if let Some(id) = self.retries.pop_due(Instant::now()) {
            match self.lines.again(id) {
                Ok(text) => emit(id, text, &mut self.replacements, collector),
                Err(error) => {
                    self.retries.acked(id);
                    collector.report_error(format!("{}: a line that failed is lost: {error}", self.name));
                }
            }
            return Some(Next::Emitted);
        }
        let due = self.retries.next_due();
        if self.ended {
            self.replacements.report_total(&self.name, collector);
            return Some(due.map_or(Next::Finished, Next::Until));
        }
        due.filter(|_| self.retries.are_full()).map(Next::Until)
    }

    fn report_given_up(&mut self, collector: &mut SpoutCollector<'_>) -> Next {
        let Some(GivenUp { id, reason, failures }) = self.given_up.last() else { return Next::Emitted };
        let (id, place) = (*id, self.lines.place(*id));
        let place = match place.and_then(|place| self.lines.describe(place)) {
            Ok(Some(place)) => place,
            Ok(None) => return Next::Emitted,
            Err(error) => format!("a line whose number cannot be found ({error})"),
        };
        collector.report_error(format!(
            "{place} of {} was given up after {failures} failures; the last reason: {reason}",
            self.name
        ));
        self.given_up.pop();
        self.lines.done(id);
        Next::Emitted
    }

    fn report_too_long(&mut self, place: Place, length_bytes: u64, collector: &mut SpoutCollector<'_>) -> Next {
        let place = match place {
            Place::Offset(offset) => format!("the line at byte {offset}"),
            Place::Number(number) => format!("line {number}"),
        };
        collector.report_error(format!(
            "{place} of {} is {length_bytes} bytes long, more than topology.tuple.max.bytes allows, and was left out; \
             raise the setting to read it",
            self.name
        ));
        Next::Emitted
    }

    fn break_off(&mut self, error: &io::Error) -> Next {
        self.broken = true;
        self.context.fail_run(format!("cannot read on in {}: {error}; mend that and start again", self.name));
        Next::Waiting
    }
}

/// Lines that were not UTF-8.
#[derive(Debug, Default)]
struct Replacements {
    count: u64,
    reported: u64,
}

impl Replacements {
    /// The total, if the report of the first does not say it all.
    fn report_total(&mut self, name: &str, collector: &mut SpoutCollector<'_>) {
        if self.count > self.reported.max(1) {
            collector.report_error(format!("{} lines of {name} were not UTF-8", self.count));
            self.reported = self.count;
        }
    }
}

#[inline]
fn emit(id: u64, text: &[u8], replacements: &mut Replacements, collector: &mut SpoutCollector<'_>) {
    match std::str::from_utf8(text) {
        Ok(line) => collector.emit_with_id(MessageId(id), &Line { line }),
        Err(_) => emit_replaced(id, text, replacements, collector),
    }
}

#[cold]
fn emit_replaced(id: u64, text: &[u8], replacements: &mut Replacements, collector: &mut SpoutCollector<'_>) {
    let line = String::from_utf8_lossy(text);
    replacements.count += 1;
    if replacements.count == 1 {
        let start: String = line.chars().take(40).collect();
        collector
            .report_error(format!("a line is not UTF-8; U+FFFD stands for what is not, here and later: {start:?}"));
    }
    collector.emit_with_id(MessageId(id), &Line { line: &line });
}

fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
