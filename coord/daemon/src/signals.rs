//! Ctrl-C and SIGTERM: the first asks for an end, the next one ends the process at once.
//!
//! Threading: a thread of its own waits for signals and calls back. Errors: of the start, returned.

use std::fmt;
use std::io;
use std::thread::JoinHandle;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Handle;

/// What asks for an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C on a terminal.
    Interrupt,
    /// What `systemctl stop`, `docker stop` and `kill` send.
    Terminate,
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Interrupt => "Ctrl-C",
            Self::Terminate => "SIGTERM",
        })
    }
}

/// Watches signals until it is dropped. A process has one.
#[derive(Debug)]
pub struct Signals {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Signals {
    /// Starts watching. `first` is called with the first signal, on a thread of its own; every later one ends the process
    /// with the status that a shell gives to a process that died of it.
    ///
    /// # Errors
    /// The handlers cannot be set, or no thread can be started.
    pub fn watch(first: impl FnOnce(Signal) + Send + 'static) -> io::Result<Self> {
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let watch = move || {
            let mut first = Some(first);
            for signal in signals.forever() {
                match first.take() {
                    Some(first) => first(if signal == SIGINT { Signal::Interrupt } else { Signal::Terminate }),
                    // Without destructors and exit handlers: whatever hangs must not keep the process.
                    None => signal_hook::low_level::exit(128 + signal),
                }
            }
        };
        let thread = std::thread::Builder::new().name("signals".into()).spawn(watch)?;
        Ok(Self { handle, thread: Some(thread) })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // A panic of the callback was told when it happened.
            let _ = thread.join();
        }
    }
}
