//! The loop: over a store in memory, with senders on other threads.

use std::cell::Cell;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use ringstorm_control::talks::FromStore;
use ringstorm_control::time::{Moment, Now};
use ringstorm_store::operation::Operation;
use ringstorm_store::store::{Event, SessionEvent, SessionId, Ticket};

use super::*;
use crate::inbox::{Sender, Waker};

/// What the machine under test is told.
#[derive(Debug)]
enum Input {
    Store(FromStore),
    /// To be woken so much later, and to say so.
    Later(Duration),
    Say(u32),
}

/// Says what it is told.
#[derive(Default)]
struct Parrot {
    wakes_at: Option<Moment>,
    wakes: Rc<Cell<u32>>,
}

#[derive(Debug, PartialEq)]
enum Effect {
    Said(u32),
    Unreachable(String),
    Woken,
}

impl Machine for Parrot {
    type Input = Input;
    type Effect = Effect;

    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        match input {
            Input::Store(FromStore::Session(SessionEvent::Unreachable { why })) => vec![Effect::Unreachable(why)],
            Input::Store(_) => Vec::new(),
            Input::Later(after) => {
                self.wakes_at = Some(now.moment + after);
                Vec::new()
            }
            Input::Say(what) => vec![Effect::Said(what)],
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        self.wakes.set(self.wakes.get() + 1);
        match self.wakes_at.take_if(|at| *at <= now.moment) {
            Some(_) => vec![Effect::Woken],
            None => Vec::new(),
        }
    }

    fn wake_at(&self) -> Option<Moment> {
        self.wakes_at
    }
}

/// A store whose events a test sends, and which counts how often it is looked at.
struct Told {
    events: std::sync::mpsc::Receiver<Event>,
    looks: Rc<Cell<u32>>,
}

impl Store for Told {
    fn submit(&mut self, _: SessionId, _: Operation) -> Ticket {
        unreachable!("the machine asks the tree nothing")
    }

    fn poll(&mut self) -> Option<Event> {
        self.looks.set(self.looks.get() + 1);
        self.events.try_recv().ok()
    }

    fn wait(&mut self, _: Duration) -> Option<Event> {
        unreachable!("the loop waits for its inbox only")
    }
}

/// The other side of a loop.
struct Outside {
    sender: Sender<Input>,
    events: std::sync::mpsc::Sender<Event>,
    waker: Waker<Input>,
}

impl Outside {
    fn tell_by_store(&self, why: &str) {
        self.events.send(Event::Session(SessionEvent::Unreachable { why: why.into() })).unwrap();
        self.waker.wake();
    }
}

/// Runs a loop until `until` is among the effects, with something that goes on outside. Gives all effects, how often the
/// store was looked at, and how often the machine was woken.
fn with_outside(until: &Effect, outside: impl FnOnce(Outside) + Send + 'static) -> (Vec<Effect>, u32, u32) {
    let (sender, inbox) = Inbox::new();
    let (events, told) = std::sync::mpsc::channel();
    let outer = Outside { sender, events, waker: inbox.waker() };
    let looks = Rc::new(Cell::new(0));
    let machine = Parrot::default();
    let wakes = Rc::clone(&machine.wakes);
    let store = Told { events: told, looks: Rc::clone(&looks) };
    // It asks the tree nothing.
    let mut runner = Runner::new(machine, store, Input::Store, Err);
    let thread = thread::spawn(move || outside(outer));
    let mut effects = Vec::new();
    let gave = run(&mut runner, &inbox, Clock::start(), |effect| {
        let is_last = effect == *until;
        effects.push(effect);
        if is_last { ControlFlow::Break("the end") } else { ControlFlow::Continue(()) }
    });
    assert_eq!(gave, "the end");
    // Whoever still talks hears that nobody listens.
    drop(inbox);
    thread.join().unwrap();
    (effects, looks.get(), wakes.get())
}

#[test]
fn inputs_and_what_the_store_says_are_told_in_their_order() {
    let (effects, ..) = with_outside(&Effect::Said(9_999), |outside| {
        for number in 0..10_000 {
            if number % 100 == 0 {
                outside.tell_by_store(&number.to_string());
            }
            outside.sender.send(Input::Say(number));
        }
    });
    let said = effects.iter().filter_map(|effect| if let Effect::Said(it) = effect { Some(*it) } else { None });
    assert_eq!(said.collect::<Vec<_>>(), (0..10_000).collect::<Vec<_>>());
    let told = effects.iter().filter_map(|effect| if let Effect::Unreachable(it) = effect { Some(it) } else { None });
    let expected: Vec<_> = (0..100).map(|number| (number * 100).to_string()).collect();
    let told: Vec<_> = told.cloned().collect();
    assert!(expected.starts_with(&told), "{told:?}");
}

#[test]
fn what_the_store_says_wakes_a_loop_that_waits_for_ever() {
    let last = Effect::Unreachable("last".into());
    let (effects, looks, _) = with_outside(&last, |outside| {
        for _ in 0..50 {
            thread::sleep(Duration::from_millis(2));
            outside.tell_by_store("not last");
        }
        outside.tell_by_store("last");
    });
    assert_eq!(effects.len(), 51);
    assert!(looks <= 2 * 51 + 2, "it looks once in vain after each event at most: {looks}");
}

#[test]
fn an_idle_loop_looks_at_nothing_until_it_is_due_and_is_then_on_time() {
    let wait = Duration::from_millis(300);
    let start = Instant::now();
    let (effects, looks, wakes) = with_outside(&Effect::Woken, move |outside| {
        outside.sender.send(Input::Later(wait));
    });
    assert_eq!(effects, [Effect::Woken]);
    assert!(start.elapsed() >= wait, "it was woken too early");
    assert!(looks <= 6 && wakes <= 2, "{looks} looks and {wakes} wakes");
}

#[test]
fn whoever_talks_without_end_does_not_keep_the_store_waiting() {
    let last = Effect::Unreachable("last".into());
    with_outside(&last, |outside| {
        outside.tell_by_store("last");
        // Until nobody listens any more.
        while outside.sender.send(Input::Say(0)) {
            thread::yield_now();
        }
    });
}
