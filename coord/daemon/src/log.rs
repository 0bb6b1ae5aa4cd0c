//! Lines for operators: on standard error, and in a file.
//!
//! A line is the time (UTC), the daemon, and the words, with line breaks and other control characters written out, so that
//! nobody's words can pass for a line of ours. Lines are handed to a thread, which writes them; when it cannot keep up,
//! because the disk or the reader of standard error does not, lines are left out and counted.
//!
//! Invariants: [`Log::note`] never waits for anything but a short lock. At most [`QUEUE_BYTES_MAX`] wait to be written.
//! Threading: a log is handed on by cloning. Errors: that the file cannot be written is said once on standard error, and
//! once that it can be again.

use std::collections::VecDeque;
use std::fmt::{self, Display, Write as _};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::rotated::RotatedFile;
use crate::screen::Screen;

/// How much may wait to be written, in bytes.
const QUEUE_BYTES_MAX: usize = 1 << 20;

/// How much of one note is written, in bytes.
const NOTE_BYTES_MAX: usize = 16 << 10;

/// How long the last lines are waited for at the end.
const END_LIMIT: Duration = Duration::from_secs(1);

/// A log. Clones write to the same; when the last one is dropped, its lines are waited for, up to a second.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

/// Ends the writing.
struct Shared {
    daemon: String,
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    /// Something was put there.
    filled: Condvar,
    /// Something was written.
    emptied: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    bytes: usize,
    /// Lines that found no room.
    left_out: u64,
    is_closed: bool,
    /// Lines that were put there, and that were written, since the start.
    put: u64,
    written: u64,
}

impl Log {
    /// Starts a log. `daemon` stands in each line: `nimbus`, `supervisor`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn open(daemon: &str, file: RotatedFile) -> io::Result<Self> {
        let mut screen = Screen::default();
        Self::with_screen(daemon, file, move |line| screen.write(line))
    }

    fn with_screen(daemon: &str, file: RotatedFile, screen: impl FnMut(&[u8]) + Send + 'static) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let mut writer = Writer { daemon: daemon.to_owned(), file, screen };
        let of_writer = Arc::clone(&queue);
        thread::Builder::new().name("log".into()).spawn(move || writer.run(&of_writer))?;
        Ok(Self(Arc::new(Shared { daemon: daemon.to_owned(), queue })))
    }

    /// Writes a line, soon.
    pub fn note(&self, text: impl Display) {
        let line = line(&self.0.daemon, &text);
        let mut state = self.0.queue.lock();
        if state.bytes + line.len() > QUEUE_BYTES_MAX {
            state.left_out += 1;
            return;
        }
        state.bytes += line.len();
        state.put += 1;
        state.lines.push_back(line);
        drop(state);
        self.0.queue.filled.notify_one();
    }

    /// From now on, what a panic of any thread says is a line here too, also when it ends the process.
    pub fn take_panics(&self) {
        let log = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let thread = thread::current();
            log.note(format_args!("thread {:?}: {panic}", thread.name().unwrap_or("without a name")));
            log.flush(END_LIMIT);
        }));
    }

    /// Waits until what was noted so far is written, up to a limit. Whoever ends the process calls it. Returns whether it
    /// is.
    pub fn flush(&self, limit: Duration) -> bool {
        self.0.queue.flush(limit)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A line was being put there or taken: whole or not at all.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self, limit: Duration) -> bool {
        let state = self.lock();
        let put = state.put;
        let waited = self.emptied.wait_timeout_while(state, limit, |state| state.written < put);
        waited.unwrap_or_else(PoisonError::into_inner).0.written >= put
    }

    /// The next lines, and how many were left out behind them; `None` at the end.
    fn take(&self) -> Option<(VecDeque<String>, u64)> {
        let is_idle = |state: &mut State| state.lines.is_empty() && state.left_out == 0 && !state.is_closed;
        let waited = self.filled.wait_while(self.lock(), is_idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.lines.is_empty() && state.left_out == 0 {
            return None;
        }
        Some((std::mem::take(&mut state.lines), std::mem::take(&mut state.left_out)))
    }

    /// A line was written.
    fn wrote(&self, bytes: usize) {
        let mut state = self.lock();
        state.bytes -= bytes;
        state.written += 1;
        drop(state);
        self.emptied.notify_all();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.filled.notify_one();
        self.queue.flush(END_LIMIT);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Log of {}", self.0.daemon)
    }
}

/// The thread that writes.
struct Writer<S> {
    daemon: String,
    file: RotatedFile,
    screen: S,
}

impl<S: FnMut(&[u8])> Writer<S> {
    fn run(&mut self, queue: &Queue) {
        while let Some((lines, left_out)) = queue.take() {
            for line in lines {
                self.write(&line);
                queue.wrote(line.len());
            }
            if left_out > 0 {
                let words =
                    format_args!("{left_out} lines are missing here: they came faster than they could be written");
                let line = line(&self.daemon, &words);
                self.write(&line);
            }
        }
    }

    fn write(&mut self, line: &str) {
        (self.screen)(line.as_bytes());
        if let Some(news) = self.file.append(line.as_bytes()) {
            (self.screen)(self::line(&self.daemon, &news).as_bytes());
        }
    }
}

/// A whole line.
fn line(daemon: &str, text: &dyn Display) -> String {
    let mut line = Line { text: String::new(), left: NOTE_BYTES_MAX, left_out: 0 };
    let time = humantime::format_rfc3339_millis(SystemTime::now());
    // Writing to a text does not fail; a display that fails has said what it could.
    let _ = write!(line.text, "{time} {daemon} ");
    let _ = write!(line, "{text}");
    if line.left_out > 0 {
        let _ = write!(line.text, "... and {} bytes more", line.left_out);
    }
    line.text.push('\n');
    line.text
}

/// The words of a note, as far as they go.
struct Line {
    text: String,
    left: usize,
    left_out: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.left < character.len_utf8() {
                self.left = 0;
                self.left_out += character.len_utf8();
                continue;
            }
            self.left -= character.len_utf8();
            if character.is_control() && character != '\t' {
                self.text.extend(character.escape_default());
            } else {
                self.text.push(character);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
