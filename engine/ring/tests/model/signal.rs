//! A signal with the eventfd's meaning: writes are counted, a wait takes them all, and a wait may end by a time-out.

use loom::sync::{Condvar, Mutex};
use ringstorm_ring::bell::{Bell, Signal};

#[derive(Default)]
pub(crate) struct ModelSignal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    raised: bool,
    timed_out: bool,
}

impl Signal for ModelSignal {
    fn raise(&self) {
        self.state.lock().unwrap().raised = true;
        self.changed.notify_one();
    }
}

impl ModelSignal {
    /// Blocks until the signal is raised or the time is over; loom reports a sleep without end as a deadlock.
    pub(crate) fn wait(&self) {
        let mut state = self.state.lock().unwrap();
        while !state.raised && !state.timed_out {
            state = self.changed.wait(state).unwrap();
        }
        *state = State::default();
    }

    /// Ends this wait or the next, whenever the model checker lets its thread run.
    pub(crate) fn time_out(&self) {
        self.state.lock().unwrap().timed_out = true;
        self.changed.notify_one();
    }
}

/// What a core does in a turn without work: parks unless a last look finds some.
pub(crate) fn park_unless(bell: &Bell<ModelSignal>, has_work: impl FnOnce() -> bool) {
    if bell.prepare_park() {
        if !has_work() {
            bell.signal().wait();
        }
        bell.leave_park();
    }
}
