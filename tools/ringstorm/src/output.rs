//! What is written: what was asked for to standard output, everything else to standard error.
//!
//! Threading: any thread. Errors: an output that is closed early is nobody's fault, since whoever reads has read enough;
//! any other is a [`Failure`].

use std::io::{self, ErrorKind, Write};

use serde_json::Value;

use crate::failure::Failure;

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_on(text).map(drop)
}

/// Writes text to standard output. Returns whether somebody still reads it.
pub(crate) fn print_on(text: &str) -> Result<bool, Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(format!("standard output cannot be written: {error}; redirect it elsewhere"))),
    }
}

/// Writes JSON to standard output, in one line.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value}\n"))
}

/// Says something on standard error. Nobody could be told of a failure.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", text.trim_end_matches('\n')).as_bytes());
}
