//! Ctrl-C and SIGTERM: the first asks for a stop, the second ends the process at once.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::screen::Screen;

/// Who asked for the stop first; `None` while nobody did.
#[derive(Debug, Clone, Default)]
pub(super) struct StopReason(Arc<Mutex<Option<String>>>);

impl StopReason {
    /// Notes who asks. Returns whether nobody had asked before.
    pub(super) fn set(&self, reason: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = known.is_none();
        known.get_or_insert_with(|| reason.to_owned());
        is_first
    }

    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// From now on Ctrl-C and SIGTERM do nothing to this process: whoever leads it hears of them too. Where that cannot be had,
/// they end it.
pub(super) fn leave_to_leader() {
    for signal in [SIGINT, SIGTERM] {
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
}

/// Watches signals until it is dropped.
pub(super) struct SignalWatch {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl SignalWatch {
    /// Starts watching; `stop` is called once.
    pub(super) fn start(
        screen: Arc<Screen>,
        stop: impl Fn() + Send + 'static,
        reason: StopReason,
    ) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let watch = move || {
            let mut asked = false;
            for signal in signals.forever() {
                if asked {
                    screen.clear();
                    // Without destructors and exit handlers: whatever hangs must not keep the process.
                    signal_hook::low_level::exit(128 + signal);
                }
                asked = true;
                let name = if signal == SIGINT { "Ctrl-C" } else { "SIGTERM" };
                reason.set(name);
                screen.print(&format!("{name}: taking nothing new and draining; once more ends at once"));
                stop();
            }
        };
        let thread = std::thread::Builder::new().name("ringstorm-signals".into()).spawn(watch)?;
        Ok(Self { handle, thread: Some(thread) })
    }
}

impl Drop for SignalWatch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
