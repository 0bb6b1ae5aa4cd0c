//! Lines on standard error, where the supervisor's log writer reads: the time (UTC), and the words.
//!
//! A log that cannot be written is nobody's fault here: the worker goes on. Threading: any thread; a line is written at
//! once. Errors: none.

use std::io::Write;
use std::time::SystemTime;

use log::Level;

use crate::levels::{OWN, is_said};

/// Writes a line; line breaks within it are shown as such, so that each entry is one.
pub(crate) fn line(text: &str) {
    let text = text.trim_end().replace('\n', "\n    ");
    let line = format!("{} {text}\n", humantime::format_rfc3339_millis(SystemTime::now()));
    // One call, so that the lines of several threads do not mix.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Something that whoever reads the log wants to know of the worker.
pub(crate) fn note(text: &str) {
    if is_said(OWN, Level::Info) {
        line(&format!("note: {text}"));
    }
}

/// Something that went wrong in the worker.
pub(crate) fn error(text: &str) {
    if is_said(OWN, Level::Error) {
        line(&format!("error: {text}"));
    }
}
