//! A bolt that writes each tuple as one line, to a file or to standard output.
//!
//! Lines gather in a buffer that is written when nothing more is queued, after some hundred tuples under load, and at the
//! latest when it holds 256 KiB. A tuple is acked when the operating system has taken its line; whether it reached the
//! disk is not waited for.
//!
//! Invariants: a line is written whole or its tuple is not acked; after an error nothing is acked any more.
//!
//! Threading: belongs to one bolt task. Writing to a full pipe waits for its reader: a writer to anything but a regular
//! file is best declared blocking. Errors end the run with one message, since a rebuilt task could not mend them; only a
//! reader of standard output that has left (`| head`) ends the run quietly.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::event::{PollFd, PollFlags, poll};

use crate::api::bolt::Bolt;
use crate::api::collector::BoltCollector;
use crate::api::context::{TopologyContext, TopologyFacts};
use crate::api::input::{AckHandle, Input, TupleRef};
use crate::error::Result;

/// Where the buffer is written without waiting for the end of what is queued.
const BUFFER_BYTES: usize = 256 << 10;

/// Appends the text of a tuple's line, without the line end.
type Format = Box<dyn FnMut(TupleRef<'_>, &mut Vec<u8>) -> Result>;

/// Writes each tuple as one line.
///
/// A file is created if it is missing and appended to if not, unless [`replace`](Self::replace) says otherwise: several
/// tasks and workers may share it, and a task that is rebuilt goes on after what it wrote before.
///
/// Fields are separated by tabs: text as it is, everything else as JSON. A tab, line end or backslash within a field is
/// written as `\t`, `\n`, `\r` or `\\`, so that every tuple is one line and can be read back.
pub struct LineWriter {
    path: PathBuf,
    replace: bool,
    format: Format,
    output: Option<Output>,
    buffer: Vec<u8>,
    /// One for each line in the buffer.
    handles: Vec<AckHandle>,
    context: Option<TopologyContext>,
    /// The run is ending because of this task; nothing is written any more.
    broken: bool,
}

impl std::fmt::Debug for LineWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LineWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

enum Output {
    Standard(io::Stdout),
    File(File),
}

impl LineWriter {
    /// Writes to the file at a path, or to standard output where the path is `-`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            replace: false,
            format: Box::new(tab_separated),
            output: None,
            buffer: Vec::new(),
            handles: Vec::new(),
            context: None,
            broken: false,
        }
    }

    /// Writes lines of another form: the closure appends the text of a tuple, without the line end. An error fails the
    /// tuple and is reported.
    pub fn format(mut self, format: impl FnMut(TupleRef<'_>, &mut Vec<u8>) -> Result + 'static) -> Self {
        self.format = Box::new(format);
        self
    }

    /// Replaces what a regular file holds when the run begins. The first task of this process that opens it does so; the
    /// others, and a task that is rebuilt, add to what the run has written.
    pub fn replace(self) -> Self {
        Self { replace: true, ..self }
    }

    fn write_out(&mut self, collector: &mut BoltCollector<'_>) {
        let Some(output) = &mut self.output else { return };
        let result = if self.broken { Err(None) } else { output.write_all(&self.buffer).map_err(Some) };
        self.buffer.clear();
        match result {
            Ok(()) => self.handles.drain(..).for_each(|handle| collector.ack_deferred(handle)),
            Err(error) => {
                self.handles.drain(..).for_each(|handle| collector.fail_deferred(handle));
                if let Some(error) = error {
                    self.give_up(&error);
                }
            }
        }
    }

    fn give_up(&mut self, error: &io::Error) {
        self.broken = true;
        let Some(context) = &self.context else { return };
        if matches!(self.output, Some(Output::Standard(_))) && error.kind() == io::ErrorKind::BrokenPipe {
            context.stop_run();
        } else {
            context.fail_run(format!("cannot write to {}: {error}; mend that and start again", name(&self.path)));
        }
    }
}

impl Bolt for LineWriter {
    fn prepare(&mut self, context: &TopologyContext) -> Result {
        self.context = Some(context.clone());
        let cannot = |error| format!("cannot write to {}: {error}; check the path", name(&self.path));
        if self.replace {
            empty_once(&context.topology, &self.path).map_err(cannot)?;
        }
        self.output = Some(Output::open(&self.path).map_err(cannot)?);
        Ok(())
    }

    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        if input.is_tick() {
            collector.ack(input);
            return Ok(());
        }
        let start = self.buffer.len();
        if let Err(error) = (self.format)(**input, &mut self.buffer) {
            self.buffer.truncate(start);
            collector.fail(input);
            collector.report_error(error);
            return Ok(());
        }
        self.buffer.push(b'\n');
        self.handles.push(input.defer());
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_out(collector);
        }
        Ok(())
    }

    fn wants_flush(&self) -> bool {
        !self.handles.is_empty()
    }

    fn flush(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        self.write_out(collector);
        Ok(())
    }

    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        self.write_out(collector);
        Ok(())
    }
}

impl Output {
    fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Standard(io::stdout()));
        }
        let mut file = File::options().append(true).create(true).open(path)?;
        if file.metadata()?.is_file() {
            // Of tasks that open the file at the same time only one may find a torn line.
            file.lock()?;
            end_torn_line(path, &mut file)?;
            file.unlock()?;
        }
        Ok(Self::File(file))
    }

    /// Writes past the buffer of `std`, which would hold back what follows the last line end.
    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        let output = match self {
            Self::Standard(output) => output.as_fd(),
            Self::File(file) => file.as_fd(),
        };
        while !bytes.is_empty() {
            match rustix::io::write(output, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(rustix::io::Errno::INTR) => {}
                // Whoever shares the output has made it non-blocking.
                Err(rustix::io::Errno::AGAIN) => {
                    poll(&mut [PollFd::new(&output, PollFlags::OUT)], None)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Files that runs of this process have emptied.
static EMPTIED: Mutex<Vec<(Weak<TopologyFacts>, PathBuf)>> = Mutex::new(Vec::new());

/// Empties a regular file, unless this run has done so.
fn empty_once(run: &Arc<TopologyFacts>, path: &Path) -> io::Result<()> {
    let mut emptied = EMPTIED.lock().unwrap_or_else(PoisonError::into_inner);
    emptied.retain(|(run, _)| run.strong_count() > 0);
    let run = Arc::downgrade(run);
    if emptied.iter().any(|(known, known_path)| known.ptr_eq(&run) && known_path == path) {
        return Ok(());
    }
    if path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        File::options().write(true).open(path)?.set_len(0)?;
    }
    emptied.push((run, path.to_owned()));
    Ok(())
}

/// Ends the last line of a file whose writer was stopped in the middle of it, so that the next line starts anew.
fn end_torn_line(path: &Path, file: &mut File) -> io::Result<()> {
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    // A file that may be written and not read is taken as it is.
    let Ok(mut reader) = File::open(path) else { return Ok(()) };
    let mut last = [0];
    reader.seek(SeekFrom::End(-1))?;
    reader.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard output".to_owned() } else { path.display().to_string() }
}

/// Fields as [`LineWriter`] says.
fn tab_separated(tuple: TupleRef<'_>, line: &mut Vec<u8>) -> Result {
    for index in 0..tuple.fields().len() {
        if index > 0 {
            line.push(b'\t');
        }
        let field = tuple.get(index)?;
        let start = line.len();
        match field.as_str() {
            Some(text) => line.extend_from_slice(text.as_bytes()),
            None => write!(line, "{field}")?,
        }
        escape(line, start);
    }
    Ok(())
}

/// Escapes what would end a field or a line, from `start` on.
fn escape(line: &mut Vec<u8>, start: usize) {
    let special = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\');
    let Some(first) = line[start..].iter().position(special) else { return };
    let rest = line.split_off(start + first);
    for byte in rest {
        match byte {
            b'\t' => line.extend_from_slice(b"\\t"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\\' => line.extend_from_slice(b"\\\\"),
            other => line.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_break_a_line_is_escaped() {
        for (text, expected) in
            [("", ""), ("plain \u{e9}", "plain \u{e9}"), ("a\tb\nc\rd\\e", "a\\tb\\nc\\rd\\\\e"), ("\n", "\\n")]
        {
            let mut line = b"kept\t".to_vec();
            line.extend_from_slice(text.as_bytes());
            escape(&mut line, 5);
            assert_eq!(String::from_utf8(line).unwrap(), format!("kept\t{expected}"));
        }
    }

    #[test]
    fn each_run_empties_a_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let run = || Arc::new(TopologyFacts { id: String::new(), name: String::new(), tasks: Default::default() });
        let (first, second) = (run(), run());
        empty_once(&first, &path).unwrap();
        for (run, after) in [(&first, "old"), (&second, ""), (&second, "old"), (&first, "old")] {
            std::fs::write(&path, "old").unwrap();
            empty_once(run, &path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
        drop((first, second));
        let third = run();
        empty_once(&third, &path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
        empty_once(&third, Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn a_torn_line_is_ended_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        for (before, after) in [("", ""), ("whole\n", "whole\n"), ("torn", "torn\n")] {
            std::fs::write(&path, before).unwrap();
            drop(Output::open(&path).unwrap());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
