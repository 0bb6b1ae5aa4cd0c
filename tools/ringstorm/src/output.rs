//! What is written: what was asked for to standard output, everything else to standard error.
//!
//! Invariants: text that is for people goes through [`print_on`] or [`say`], which let no control character to a terminal but
//! the ends of lines; names and words of others within it are on one line already (`one_line`). JSON escapes them itself.
//! Threading: any thread. Errors: an output that is closed early is nobody's fault, since whoever reads has read enough;
//! any other is a [`Failure`].

use std::io::{self, ErrorKind, IsTerminal as _, Write};

use ringstorm_types::screen::lines;
use serde_json::Value;

use crate::failure::Failure;

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_on(text).map(drop)
}

/// Writes text to standard output. Returns whether somebody still reads it.
pub(crate) fn print_on(text: &str) -> Result<bool, Failure> {
    write(&lines(text))
}

/// Writes what somebody else has written: as it is to a file or to another program, without codes to a terminal. Returns
/// whether somebody still reads it.
pub(crate) fn pass_on(text: &str) -> Result<bool, Failure> {
    if io::stdout().is_terminal() { print_on(text) } else { write(text) }
}

/// Writes JSON to standard output, in lines that are written already. Returns whether somebody still reads it.
pub(crate) fn print_json_on(text: &str) -> Result<bool, Failure> {
    write(text)
}

fn write(text: &str) -> Result<bool, Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(format!("standard output cannot be written: {error}; redirect it elsewhere"))),
    }
}

/// Writes JSON to standard output, in one line.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print_json_on(&format!("{value}\n")).map(drop)
}

/// Says something to programs on standard error, in one line. Nobody could be told of a failure.
pub(crate) fn say_json(value: &Value) {
    let _ = io::stderr().lock().write_all(format!("{value}\n").as_bytes());
}

/// Says something on standard error. Nobody could be told of a failure.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", lines(text.trim_end_matches('\n'))).as_bytes());
}
