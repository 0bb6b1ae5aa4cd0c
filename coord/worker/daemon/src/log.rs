//! Lines on standard error, where the supervisor's log writer reads: the time (UTC), and the words. A log that cannot be written is nobody's fault here:
//! the worker goes on. Threading: any thread; a line is written at once.

use std::io::Write;
use std::time::SystemTime;

/// Writes a line; line breaks within it are shown as such, so that each entry is one.
pub(crate) fn line(text: &str) {
    let text = text.trim_end().replace('\n', "\n    ");
    let line = format!("{} {text}\n", humantime::format_rfc3339_millis(SystemTime::now()));
    // One call, so that the lines of several threads do not mix.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
