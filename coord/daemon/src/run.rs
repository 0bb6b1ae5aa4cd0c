//! The loop of a daemon.
//!
//! In turns: what others said, what the store says, what is due. Each turn does a bounded part of each, so that neither
//! keeps the others waiting. When nothing is left the loop waits for the inbox until the machine wants to be woken; it
//! looks at nothing in between, so that an idle daemon costs nothing.
//!
//! Invariant: nothing that was said before a wait is left until after it; see [`Inbox`] for wake-ups. Threading: the thread
//! that has the store. Errors: none of its own.

use std::ops::ControlFlow;

use ringstorm_control::machine::Machine;
use ringstorm_control::runner::Runner;
use ringstorm_store::store::Store;

use crate::clock::Clock;
use crate::inbox::Inbox;

/// How many inputs, and how many events of the store, one turn takes.
const TURN_MAX: usize = 256;

/// Runs a machine until one of its effects ends it, and gives what that effect gave. `act` does what the machine wants
/// done besides asking the tree; it must not wait. The store has been given the inbox's [`Waker`](crate::Waker).
pub fn run<M: Machine, S: Store, B>(
    runner: &mut Runner<M, S>,
    inbox: &Inbox<M::Input>,
    clock: Clock,
    mut act: impl FnMut(M::Effect) -> ControlFlow<B>,
) -> B {
    let mut ended = None;
    let mut act = |effect| match act(effect) {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        ControlFlow::Break(with) => {
            ended = Some(with);
            ControlFlow::Break(())
        }
    };
    while turn(runner, inbox, clock, &mut act).is_continue() {}
    ended.expect("a turn breaks only when an effect does")
}

fn turn<M: Machine, S: Store>(
    runner: &mut Runner<M, S>,
    inbox: &Inbox<M::Input>,
    clock: Clock,
    act: &mut impl FnMut(M::Effect) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut inputs = 0;
    while inputs < TURN_MAX
        && let Some(input) = inbox.take()
    {
        runner.tell(clock.now(), input, &mut *act)?;
        inputs += 1;
    }
    let mut events = 0;
    while events < TURN_MAX && runner.step(clock.now(), &mut *act)? {
        events += 1;
    }
    if inputs == TURN_MAX || events == TURN_MAX {
        return ControlFlow::Continue(());
    }
    let limit = runner.wake_at().map(|at| clock.until(at));
    match inbox.wait(limit) {
        Some(input) => runner.tell(clock.now(), input, act),
        None => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests;
