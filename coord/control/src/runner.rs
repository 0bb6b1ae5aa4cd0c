//! One machine over one store, for whoever runs it for real.
//!
//! The runner does what every daemon does alike: what the store says goes to the machine, what the machine asks of the
//! tree goes to the store, and the machine is woken when it wants to be. What else the machine wants done goes to the
//! daemon, in the order of the effects. The runner neither waits nor reads a clock: the daemon does, since it waits for
//! other things, too. Its loop is: wait for an input, for a word of the store, or for [`Runner::wake_at`]; then
//! [`Runner::tell`] and [`Runner::step`].
//!
//! Invariant: an effect is done before the next one is looked at; after one that breaks off, none is done. Threading:
//! belongs to the thread that has the store. Errors: none of its own.

use std::ops::ControlFlow;

use ringstorm_store::store::Store;

use crate::machine::Machine;
use crate::talks::{FromStore, ToStore};
use crate::tickets::Tickets;
use crate::time::{Moment, Now};

/// How a machine is told what the tree says: the variant of its inputs.
type Telling<I> = fn(FromStore) -> I;

/// Which of its effects asks the tree; the others are given back.
type Sorting<E> = fn(E) -> Result<ToStore, E>;

/// A machine and its store.
#[derive(Debug)]
pub struct Runner<M: Machine, S> {
    machine: M,
    store: S,
    tickets: Tickets,
    telling: Telling<M::Input>,
    sorting: Sorting<M::Effect>,
}

impl<M: Machine, S: Store> Runner<M, S> {
    /// Puts a machine over a store. `telling` makes an input of what the tree says, `sorting` finds what an effect asks of
    /// the tree.
    pub fn new(
        machine: M,
        store: S,
        telling: fn(FromStore) -> M::Input,
        sorting: fn(M::Effect) -> Result<ToStore, M::Effect>,
    ) -> Self {
        Self { machine, store, tickets: Tickets::default(), telling, sorting }
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// When [`Self::step`] is to be called at the latest, if nothing happens before.
    pub fn wake_at(&self) -> Option<Moment> {
        self.machine.wake_at()
    }

    /// Tells the machine something that does not come from the store. Breaks when an effect did.
    pub fn tell(
        &mut self,
        now: Now,
        input: M::Input,
        act: impl FnMut(M::Effect) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let effects = self.machine.handle(now, input);
        self.perform(effects, act)
    }

    /// Takes the next event of the store, and wakes the machine if it is due; whether there may be more to take at once.
    /// Breaks when an effect did.
    pub fn step(&mut self, now: Now, mut act: impl FnMut(M::Effect) -> ControlFlow<()>) -> ControlFlow<(), bool> {
        let event = self.store.poll();
        let is_more = event.is_some();
        if let Some(said) = event.and_then(|event| self.tickets.take(event)) {
            self.tell(now, (self.telling)(said), &mut act)?;
        }
        if self.machine.wake_at().is_some_and(|at| at <= now.moment) {
            let effects = self.machine.wake(now);
            self.perform(effects, act)?;
        }
        ControlFlow::Continue(is_more)
    }

    fn perform(
        &mut self,
        effects: Vec<M::Effect>,
        mut act: impl FnMut(M::Effect) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        effects.into_iter().try_for_each(|effect| match (self.sorting)(effect) {
            Ok(asked) => {
                self.tickets.submit(&mut self.store, asked);
                ControlFlow::Continue(())
            }
            Err(other) => act(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ringstorm_store::memory::{Ensemble, MemoryStore, SharedEnsemble};
    use ringstorm_store::operation::Operation;
    use ringstorm_store::outcome::Outcome;
    use ringstorm_store::path::ZnodePath;
    use ringstorm_store::procedure::Procedure;
    use ringstorm_store::store::SessionEvent;

    use super::*;
    use crate::talks::{Progress, Talks};

    /// Asks whether the root is there as soon as it has a session, and says so; then once each second it is woken.
    #[derive(Default)]
    struct Asker {
        talks: Talks<(), bool>,
        wakes_at: Option<Moment>,
    }

    #[derive(Debug, PartialEq)]
    enum Effect {
        Store(ToStore),
        Word(&'static str),
    }

    impl Machine for Asker {
        type Input = Option<FromStore>;
        type Effect = Effect;

        fn handle(&mut self, now: Now, input: Option<FromStore>) -> Vec<Effect> {
            let progress = match input {
                None => return vec![Effect::Word("told"), Effect::Word("told again")],
                Some(FromStore::Session(SessionEvent::Opened { session, .. })) => {
                    let path = ZnodePath::new("/").unwrap();
                    let ask = Operation::Exists { path, watch: false };
                    let procedure =
                        Procedure::new(|asker| async move { matches!(asker.ask(ask).await, Outcome::Done(_)) });
                    self.talks.begin(session, (), procedure)
                }
                Some(FromStore::Outcome { question, outcome }) => self.talks.answer(question, outcome),
                Some(_) => return Vec::new(),
            };
            match progress {
                Progress::Asks(asked) => asked.into_iter().map(Effect::Store).collect(),
                Progress::Done((), is_there) => {
                    self.wakes_at = Some(now.moment + Duration::from_secs(1));
                    vec![Effect::Word(if is_there { "there" } else { "not there" })]
                }
            }
        }

        fn wake(&mut self, now: Now) -> Vec<Effect> {
            self.wakes_at = Some(now.moment + Duration::from_secs(1));
            vec![Effect::Word("woken")]
        }

        fn wake_at(&self) -> Option<Moment> {
            self.wakes_at
        }
    }

    fn runner() -> Runner<Asker, MemoryStore> {
        let store = MemoryStore::open(&SharedEnsemble::new(Ensemble::new(1)), 0, &[]);
        Runner::new(Asker::default(), store, Some, |effect| match effect {
            Effect::Store(asked) => Ok(asked),
            other => Err(other),
        })
    }

    fn settle(runner: &mut Runner<Asker, MemoryStore>, secs: u64) -> Vec<Effect> {
        let now = Now { moment: Moment(Duration::from_secs(secs)), ..Now::default() };
        let mut words = Vec::new();
        let mut act = |effect| {
            words.push(effect);
            ControlFlow::Continue(())
        };
        while runner.step(now, &mut act) == ControlFlow::Continue(true) {}
        words
    }

    #[test]
    fn what_the_machine_asks_is_answered_and_what_else_it_wants_is_handed_on() {
        let mut runner = runner();
        assert_eq!(settle(&mut runner, 0), [Effect::Word("there")]);
        assert_eq!(runner.wake_at(), Some(Moment(Duration::from_secs(1))));
        assert_eq!(settle(&mut runner, 0), []);
        assert_eq!(settle(&mut runner, 1), [Effect::Word("woken")]);
    }

    #[test]
    fn after_an_effect_that_breaks_off_none_is_done() {
        let mut runner = runner();
        let mut done = 0;
        let told = runner.tell(Now::default(), None, |_| {
            done += 1;
            ControlFlow::Break(())
        });
        assert_eq!((told, done), (ControlFlow::Break(()), 1));
    }
}
