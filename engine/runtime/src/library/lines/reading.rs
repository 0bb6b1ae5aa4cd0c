//! Reading lines once the input is open: what is emitted next, again, or not at all, and what is reported of it.
//!
//! Invariants: a line that failed is replayed or given up, and a given-up one reported, before the spout is finished.
//!
//! Threading: belongs to one spout task.

use std::borrow::Cow;
use std::io;
use std::time::Instant;

use ringstorm_acking::FailReason;
use ringstorm_types::MessageId;

use crate::api::collector::SpoutCollector;
use crate::api::context::TopologyContext;
use crate::api::spout::Next;
use crate::library::lines::Line;
use crate::library::lines::buffer::Text;
use crate::library::lines::file::FileLines;
use crate::library::lines::stream::StreamLines;
use crate::library::retry::{Retries, Retry, RetryPolicy, Verdict};

/// What comes next.
#[derive(Debug)]
pub(crate) enum Cut<'a> {
    /// A line, without its line end.
    Line { id: u64, text: Text<'a> },
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
pub(crate) enum Place {
    /// Where it starts in a file.
    Offset(u64),
    /// Its number, from 1.
    Number(u64),
}

pub(crate) enum Lines {
    File(FileLines),
    Stream(StreamLines),
}

/// A line that was given up, until it is reported.
struct GivenUp {
    id: u64,
    reason: FailReason,
    failures: u32,
    /// Why it could not be emitted, if that is why.
    refusal: Option<String>,
}

impl GivenUp {
    fn text(&self, place: &str, name: &str) -> String {
        let Self { reason, failures, refusal, .. } = self;
        match refusal {
            Some(refusal) => format!("{place} of {name} was left out: {refusal}"),
            None => format!("{place} of {name} was given up after {failures} failures; the last reason: {reason}"),
        }
    }
}

/// Where a line is, as far as it can be said at once.
fn text_of(place: Place) -> String {
    match place {
        Place::Offset(offset) => format!("the line at byte {offset}"),
        Place::Number(number) => format!("line {number}"),
    }
}

fn unknown_place(error: &io::Error) -> String {
    format!("a line whose number cannot be found ({error})")
}

/// What a spout needs once it is open.
pub(crate) struct Reading {
    lines: Lines,
    /// No further lines will come.
    ended: bool,
    /// Reading failed; the run is ending.
    broken: bool,
    retries: Retries,
    given_up: Vec<GivenUp>,
    /// The line that could not be emitted in this call, and why, until it fails for it.
    refused: Option<(u64, String)>,
    replacements: Replacements,
    name: String,
    /// This task, which is named as the one that failed a tuple that could not be emitted.
    task: u32,
    context: TopologyContext,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reading").field("name", &self.name).field("ended", &self.ended).finish_non_exhaustive()
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

    fn again(&mut self, id: u64) -> io::Result<Text<'_>> {
        match self {
            Self::File(lines) => lines.again(id).map(Text::Bytes),
            Self::Stream(lines) => Ok(lines.again(id)?.0),
        }
    }

    /// Where a line is, in words; `None` when that takes more counting: ask again.
    fn describe(&mut self, place: Place) -> io::Result<Option<String>> {
        Ok(match (self, place) {
            (Self::File(lines), Place::Offset(offset)) => {
                lines.number(offset)?.map(|number| format!("line {number} (byte {offset})"))
            }
            (_, place) => Some(text_of(place)),
        })
    }

    fn place(&self, id: u64) -> io::Result<Place> {
        match self {
            Self::File(_) => Ok(Place::Offset(id)),
            Self::Stream(lines) => Ok(Place::Number(lines.again(id)?.1)),
        }
    }
}

impl Reading {
    pub(crate) fn new(lines: Lines, policy: RetryPolicy, name: String, context: TopologyContext) -> Self {
        Self {
            lines,
            ended: false,
            broken: false,
            retries: Retries::new(policy),
            given_up: Vec::new(),
            refused: None,
            replacements: Replacements::default(),
            name,
            task: u32::try_from(context.task().0).unwrap_or(0),
            context,
        }
    }

    #[inline]
    pub(crate) fn ack(&mut self, id: u64) {
        self.retries.acked(id);
        self.lines.done(id);
    }

    pub(crate) fn fail(&mut self, id: u64, reason: FailReason) {
        let refused = reason == FailReason::FailedBy { task: self.task };
        let retry = if refused { Retry::No } else { Retry::Yes };
        if let Verdict::GiveUp { failures } = self.retries.failed(id, reason, retry, Instant::now()) {
            let refusal = self.refused.take_if(|(refused, _)| *refused == id).map(|(_, text)| text);
            self.given_up.push(GivenUp { id, reason, failures, refusal });
        }
    }

    #[inline]
    pub(crate) fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Next {
        if (self.retries.are_waiting() || !self.given_up.is_empty() || self.ended || self.broken)
            && let Some(next) = self.attend(collector)
        {
            return next;
        }
        match self.lines.next() {
            Ok(Cut::Line { id, text }) => {
                if emit(id, text, collector, &mut self.refused) {
                    self.replacements.note(text.bytes(), collector);
                }
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
                Ok(text) => {
                    emit(id, text, collector, &mut self.refused);
                }
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
        let Some(given_up) = self.given_up.last() else { return Next::Emitted };
        let (id, place) = (given_up.id, self.lines.place(given_up.id));
        let place = match place.and_then(|place| self.lines.describe(place)) {
            Ok(Some(place)) => place,
            Ok(None) => return Next::Emitted,
            Err(error) => unknown_place(&error),
        };
        collector.report_error(given_up.text(&place, &self.name));
        self.given_up.pop();
        self.lines.done(id);
        Next::Emitted
    }

    /// Reports the lines that were given up since the last call of `next_tuple`, such as during the drain of a stop. There
    /// is no time to count what comes before them in a file.
    pub(crate) fn close(&mut self) {
        let (lines, name) = (&self.lines, &self.name);
        let text = |given_up: GivenUp| {
            given_up.text(&lines.place(given_up.id).map_or_else(|error| unknown_place(&error), text_of), name)
        };
        self.context.report_errors(self.given_up.drain(..).map(text));
    }

    fn report_too_long(&mut self, place: Place, length_bytes: u64, collector: &mut SpoutCollector<'_>) -> Next {
        let place = text_of(place);
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
    #[cold]
    fn note(&mut self, text: &[u8], collector: &mut SpoutCollector<'_>) {
        self.count += 1;
        if self.count == 1 {
            let start: String = String::from_utf8_lossy(text).chars().take(40).collect();
            collector
                .report_error(format!("a line is not UTF-8; U+FFFD stands for what is not, here and later: {start:?}"));
        }
    }

    /// The total, if the report of the first does not say it all.
    fn report_total(&mut self, name: &str, collector: &mut SpoutCollector<'_>) {
        if self.count > self.reported.max(1) {
            collector.report_error(format!("{} lines of {name} were not UTF-8", self.count));
            self.reported = self.count;
        }
    }
}

/// Returns whether something had to be replaced.
#[inline]
fn emit(id: u64, text: Text<'_>, collector: &mut SpoutCollector<'_>, refused: &mut Option<(u64, String)>) -> bool {
    match text {
        // It is short enough, as lines are cut by what a tuple may have.
        Text::Utf8(line) => {
            collector.emit_with_id(MessageId(id), &Line { line });
            false
        }
        Text::Bytes(text) => emit_unchecked(id, text, collector, refused),
    }
}

/// What is replaced grows, and may then be too long to be emitted. The report that says which line it was also says that,
/// so nobody else has to.
#[cold]
fn emit_unchecked(
    id: u64,
    text: &[u8],
    collector: &mut SpoutCollector<'_>,
    refused: &mut Option<(u64, String)>,
) -> bool {
    let line = String::from_utf8_lossy(text);
    collector.emit_with_id(MessageId(id), &Line { line: &line });
    *refused = collector.output.refused.take().map(|text| (id, text));
    matches!(line, Cow::Owned(_))
}
