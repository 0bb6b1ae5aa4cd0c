//! What is said on standard error: lines that stay, and one line that is refreshed in place on a terminal.
//!
//! Invariants: a line that stays never mixes with the refreshed one; text of components cannot send codes to the
//! terminal; a closed standard error stops nothing.
//!
//! Threading: any thread.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use clap::error::ErrorKind;
use ringstorm_types::screen::lines;

/// Columns when the terminal does not say.
const COLUMNS_DEFAULT: usize = 80;

/// Standard error.
#[derive(Debug)]
pub(super) struct Screen {
    /// Whether a refreshed line stands there now.
    live_shown: Mutex<bool>,
    is_live: bool,
}

impl Screen {
    /// `live` asks for a refreshed line, which only a terminal gets.
    pub(super) fn new(live: bool) -> Self {
        Self { live_shown: Mutex::new(false), is_live: live && std::io::stderr().is_terminal() }
    }

    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Prints lines that stay.
    pub(super) fn print(&self, text: &str) {
        let mut live_shown = self.live_shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *live_shown) {
            write_all("\r\x1b[K");
        }
        print(text);
    }

    /// Shows a line in place of the one shown before.
    pub(super) fn refresh(&self, text: &str) {
        if self.is_live {
            let mut live_shown = self.live_shown.lock().unwrap_or_else(PoisonError::into_inner);
            *live_shown = true;
            let shown: String = text.chars().take(columns().saturating_sub(1)).collect();
            write_all(&format!("\r\x1b[K{shown}"));
        }
    }

    /// Takes the refreshed line away.
    pub(super) fn clear(&self) {
        if std::mem::take(&mut *self.live_shown.lock().unwrap_or_else(PoisonError::into_inner)) {
            write_all("\r\x1b[K");
        }
    }
}

/// Prints lines that stay, where no line is refreshed.
pub(super) fn print(text: &str) {
    write_all(&format!("{}\n", lines(text.trim_end_matches('\n'))));
}

/// Prints what is wrong with a command line to standard error, or help to standard output.
pub(super) fn print_usage(error: &clap::Error) {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Without clap's colours: what was typed is repeated there, and may have some of its own.
        print(&error.render().to_string());
    } else {
        // A closed output is nobody's fault.
        let _ = error.print();
    }
}

fn write_all(text: &str) {
    // One call, so that the lines of several threads do not mix. Nobody could be told of a failure.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

fn columns() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => COLUMNS_DEFAULT,
    }
}
