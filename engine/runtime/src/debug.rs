//! `topology.debug`: a line for every tuple that is emitted, shown by a thread of its own.
//!
//! The emitting core writes the line and hands it to a bounded queue; where the queue is full the line is dropped and
//! counted, and how many were dropped is shown in their place. So whoever reads the lines slowly costs lines, and neither
//! memory nor the run's speed.
//!
//! Invariants: at most [`LINES_QUEUED`] lines of at most about [`LINE_BYTES_MAX`] bytes wait; every emit is either a line
//! or counted; when a run has been waited for, all of its lines have been shown, unless that takes longer than
//! [`END_TIMEOUT`].
//!
//! Threading: a [`DebugLog`] belongs to one task's core; the listener is called on the thread of the [`DebugThread`].
//! Errors: none; a listener that panics is not called again, as the run has done nothing wrong.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use ringstorm_tuple::FieldRef;

use crate::api::emittable::Emittable;
use crate::core::failure::{caught, drop_safely};

/// Lines that may wait to be shown.
const LINES_QUEUED: usize = 4096;
/// Bytes of a line's values; the rest of a larger tuple is left out.
const LINE_BYTES_MAX: usize = 1024;
/// Trees named in a line; a tuple may belong to tens of thousands.
const TREES_NAMED: usize = 3;
/// How often lost lines are told while the queue never runs empty.
const LOST_PERIOD: Duration = Duration::from_secs(1);

/// How long the end of a run waits for its lines to be shown.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it looks whether there is room to say that it is the end.
const END_PERIOD: Duration = Duration::from_millis(1);

/// Called with each line of `topology.debug`.
pub(crate) type DebugListener = Box<dyn FnMut(&str) + Send>;

enum Item {
    Line(String),
    End,
}

/// Where a task writes what it emits.
#[derive(Clone)]
pub(crate) struct DebugLog {
    items: SyncSender<Item>,
    lost: Arc<AtomicU64>,
}

impl DebugLog {
    /// Shows one emit. `place` says who emits where; `trees` are the roots that the tuple is anchored to.
    pub(crate) fn emitted<E: Emittable>(&self, place: fmt::Arguments<'_>, tuple: &E, fields: usize, trees: &[u64]) {
        let line = line(place, (0..fields).map(|index| tuple.field(index)), trees);
        if self.items.try_send(Item::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The thread that shows lines.
pub(crate) struct DebugThread {
    log: DebugLog,
    /// Nothing is ever sent: that the other end is gone says that all is shown.
    over: Receiver<()>,
}

impl DebugThread {
    /// Starts it; without a listener lines go to standard error.
    pub(crate) fn start(listener: Option<DebugListener>) -> std::io::Result<Self> {
        let listener = listener.unwrap_or_else(|| Box::new(print));
        let (items, queue) = sync_channel(LINES_QUEUED);
        let log = DebugLog { items, lost: Arc::default() };
        let lost = Arc::clone(&log.lost);
        let (tell_over, over) = channel();
        let show = move || {
            let _over = tell_over;
            Shower { listener, lost, told: Instant::now() }.run(&queue);
        };
        std::thread::Builder::new().name("ringstorm-debug".into()).spawn(show)?;
        Ok(Self { log, over })
    }

    pub(crate) fn log(&self) -> DebugLog {
        self.log.clone()
    }

    /// Waits until everything that was written is shown, but not for ever: the listener is a user's.
    pub(crate) fn end(self) {
        let until = Instant::now() + END_TIMEOUT;
        // A core that was left behind may still hold the queue, so that its end has to be said.
        while let Err(TrySendError::Full(_)) = self.log.items.try_send(Item::End) {
            if Instant::now() >= until {
                return;
            }
            std::thread::sleep(END_PERIOD);
        }
        let _ = self.over.recv_timeout(until.saturating_duration_since(Instant::now()));
    }
}

fn print(line: &str) {
    // Nobody could be told of a failure.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

struct Shower {
    listener: DebugListener,
    lost: Arc<AtomicU64>,
    /// When lost lines were last told.
    told: Instant,
}

impl Shower {
    fn run(mut self, queue: &Receiver<Item>) {
        loop {
            let item = match queue.try_recv() {
                Err(TryRecvError::Empty) => {
                    self.tell_lost();
                    queue.recv().ok()
                }
                item => item.ok(),
            };
            match item {
                Some(Item::Line(line)) => self.show(&line),
                Some(Item::End) | None => return self.tell_lost(),
            }
            if self.told.elapsed() >= LOST_PERIOD {
                self.tell_lost();
            }
        }
    }

    fn tell_lost(&mut self) {
        self.told = Instant::now();
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            self.show(&format!("{lost} more tuples were emitted, too fast to be shown"));
        }
    }

    fn show(&mut self, line: &str) {
        if caught(|| (self.listener)(line)).is_err() {
            drop_safely(std::mem::replace(&mut self.listener, Box::new(|_| {})));
        }
    }
}

fn line<'v>(place: fmt::Arguments<'_>, values: impl Iterator<Item = FieldRef<'v>>, trees: &[u64]) -> String {
    let mut line = Bounded { text: format!("{place}: "), left: LINE_BYTES_MAX };
    if write_list(&mut line, values).is_err() {
        line.text.push_str("...");
    }
    let mut line = line.text;
    for (index, tree) in trees.iter().take(TREES_NAMED).enumerate() {
        let _ = write!(line, "{} {tree:016x}", if index == 0 { ", of tree" } else { "," });
    }
    if trees.len() > TREES_NAMED {
        let _ = write!(line, " and {} more", trees.len() - TREES_NAMED);
    }
    line
}

/// Text that ends where it has become long enough: then writing fails, and with it whatever was being written.
struct Bounded {
    text: String,
    left: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fitting = &text[..text.floor_char_boundary(self.left)];
        self.text.push_str(fitting);
        self.left -= fitting.len();
        if fitting.len() == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

fn write_list<'v>(out: &mut Bounded, items: impl Iterator<Item = FieldRef<'v>>) -> fmt::Result {
    out.write_char('[')?;
    for (index, item) in items.enumerate() {
        out.write_str(if index == 0 { "" } else { ", " })?;
        write_value(out, item)?;
    }
    out.write_char(']')
}

/// Each level writes a character, so that the length of a line also bounds its depth. Text is quoted and escaped: a line
/// stays a line.
fn write_value(out: &mut Bounded, value: FieldRef<'_>) -> fmt::Result {
    match value {
        FieldRef::Null => out.write_str("null"),
        FieldRef::Bool(value) => write!(out, "{value}"),
        FieldRef::Int(value) => write!(out, "{value}"),
        FieldRef::UInt(value) => write!(out, "{value}"),
        FieldRef::Float(value) => write!(out, "{value:?}"),
        FieldRef::Str(text) => write!(out, "{text:?}"),
        FieldRef::Bytes(bytes) => write!(out, "{bytes:02x?}"),
        FieldRef::List(items) => write_list(out, items.iter()),
        FieldRef::Map(entries) => {
            out.write_char('{')?;
            for (index, (key, value)) in entries.iter().enumerate() {
                write!(out, "{}{key:?}: ", if index == 0 { "" } else { ", " })?;
                write_value(out, value)?;
            }
            out.write_char('}')
        }
    }
}

#[cfg(test)]
mod tests {
    use ringstorm_tuple::{Value, Values};

    use super::*;

    fn shown(values: Vec<Value>, trees: &[u64]) -> String {
        let values = Values(values);
        line(format_args!("here"), (0..values.0.len()).map(|index| values.0[index].field_ref()), trees)
    }

    #[test]
    fn a_line_shows_every_kind_of_value_and_stays_a_line() {
        let map = Value::Map(vec![("key\n".into(), Value::Null), ("b".into(), Value::Bool(true))]);
        let values = vec![
            Value::Int(-1),
            Value::UInt(2),
            Value::Float(1.0),
            Value::from("a \"b\"\n\u{1b}"),
            Value::Bytes(vec![1, 255]),
            Value::List(vec![Value::Null, map]),
        ];
        let expected = r#"here: [-1, 2, 1.0, "a \"b\"\n\u{1b}", [01, ff], [null, {"key\n": null, "b": true}]]"#;
        assert_eq!(shown(values, &[]), expected);
    }

    #[test]
    fn a_few_trees_are_named_and_others_counted() {
        assert_eq!(shown(vec![], &[1]), "here: [], of tree 0000000000000001");
        let five = shown(vec![], &[1, 2, 3, 4, 5]);
        assert_eq!(five, "here: [], of tree 0000000000000001, 0000000000000002, 0000000000000003 and 2 more");
    }

    #[test]
    fn large_and_deep_tuples_make_short_lines() {
        let large = shown(vec![Value::from("\u{fc}".repeat(1 << 20))], &[]);
        assert!(large.len() < LINE_BYTES_MAX + 20 && large.ends_with("\u{fc}..."), "{large}");
        let deep = (0..100_000).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        let shown = line(format_args!("here"), std::iter::once(deep.field_ref()), &[]);
        assert!(shown.len() < LINE_BYTES_MAX + 20, "{shown}");
        // Dropping it level by level keeps the stack of the test.
        let mut rest = deep;
        while let Value::List(mut items) = rest {
            rest = items.pop().unwrap_or(Value::Null);
        }
    }

    #[test]
    fn a_slow_listener_loses_lines_and_is_told_how_many() {
        let (gate, entered) = sync_channel::<()>(0);
        let shown: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let there = Arc::clone(&shown);
        let mut waits = true;
        let listener = move |line: &str| {
            if std::mem::take(&mut waits) {
                let _ = entered.recv();
            }
            there.lock().unwrap().push(line.to_owned());
        };
        let thread = DebugThread::start(Some(Box::new(listener))).unwrap();
        let log = thread.log();
        let count = 3 * LINES_QUEUED as u64;
        for number in 0..count {
            log.emitted(format_args!("here"), &ringstorm_tuple::values![number], 1, &[]);
        }
        gate.send(()).unwrap();
        thread.end();
        let shown = shown.lock().unwrap();
        let (lines, told): (Vec<&String>, Vec<&String>) = shown.iter().partition(|line| line.starts_with("here: "));
        let lost: u64 = told.iter().map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        // The one that the listener holds is out of the queue, if it was fast enough to take it.
        assert!(lines.len() == LINES_QUEUED || lines.len() == LINES_QUEUED + 1, "{}", lines.len());
        assert_eq!(lines.len() as u64 + lost, count, "{told:?}");
        assert_eq!(lines[1], "here: [1]");
    }

    #[test]
    fn a_listener_that_never_returns_is_left_behind() {
        for count in [1, 2 * LINES_QUEUED] {
            let (gate, entered) = channel::<()>();
            let thread = DebugThread::start(Some(Box::new(move |_: &str| entered.recv().unwrap_or_default()))).unwrap();
            let log = thread.log();
            (0..count).for_each(|_| log.emitted(format_args!("here"), &ringstorm_tuple::values![1], 1, &[]));
            let started = Instant::now();
            thread.end();
            let waited = started.elapsed();
            assert!(waited >= END_TIMEOUT && waited < 4 * END_TIMEOUT, "{waited:?}");
            drop(gate);
        }
    }

    #[test]
    fn a_listener_that_panics_is_not_called_again() {
        let calls = Arc::new(AtomicU64::new(0));
        let there = Arc::clone(&calls);
        let listener = move |_: &str| {
            there.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        };
        let thread = DebugThread::start(Some(Box::new(listener))).unwrap();
        let log = thread.log();
        (0..3).for_each(|_| log.emitted(format_args!("here"), &ringstorm_tuple::values![1], 1, &[]));
        thread.end();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
