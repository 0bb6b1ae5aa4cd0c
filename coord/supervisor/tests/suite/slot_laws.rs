//! Laws of a slot alone, whatever it is told in whatever order.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use ringstorm_control::time::{Moment, Now};
use ringstorm_supervisor::Settings;
use ringstorm_supervisor::events::{Exit, ProcessEvent, StartFailure, StopHow, WorkerTimeouts};
use ringstorm_supervisor::plants::Plants;
use ringstorm_supervisor::share::Share;
use ringstorm_supervisor::slot::{Slot, SlotAction, SlotInput, State, Surroundings, Wanted};

const PORT: u16 = 6700;

#[derive(Clone, Debug)]
enum Step {
    Want(Option<(u8, u8)>),
    /// What the process of the slot says, or does.
    Speaks(Words),
    /// The same of a process that has ended, or never was.
    Late(Words, u8),
    CodeChanged(u8),
    CodeIsHere(u8, bool),
    MayAct(bool),
    IsFree(bool),
    Time(u16),
    ClockGoesTo(u32),
    Excused,
}

#[derive(Clone, Copy, Debug)]
enum Words {
    Started,
    Ready,
    Beat,
    Stale(u32),
    Exited,
    Failed(StartFailure),
}

fn words() -> impl Strategy<Value = Words> {
    use StartFailure::{AddressUnusable, DiskFull, Other, PortTaken, ResourcesExhausted};
    prop_oneof![
        3 => Just(Words::Started),
        3 => Just(Words::Ready),
        3 => Just(Words::Beat),
        1 => any::<u32>().prop_map(Words::Stale),
        3 => Just(Words::Exited),
        2 => prop::sample::select(vec![PortTaken, ResourcesExhausted, DiskFull, AddressUnusable, Other]).prop_map(Words::Failed),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::option::weighted(0.8, (0..3_u8, 0..3_u8)).prop_map(Step::Want),
        8 => words().prop_map(Step::Speaks),
        2 => (words(), 0..4_u8).prop_map(|(words, back)| Step::Late(words, back)),
        1 => (0..3_u8).prop_map(Step::CodeChanged),
        3 => (0..3_u8, any::<bool>()).prop_map(|(topology, is_here)| Step::CodeIsHere(topology, is_here)),
        2 => prop::bool::weighted(0.7).prop_map(Step::MayAct),
        1 => prop::bool::weighted(0.7).prop_map(Step::IsFree),
        5 => (0..200_u16).prop_map(Step::Time),
        1 => any::<u32>().prop_map(Step::ClockGoesTo),
        1 => Just(Step::Excused),
    ];
    prop::collection::vec(step, 0..60)
}

fn topology(number: u8) -> String {
    format!("topology-{number}")
}

fn share(topologies: u8, executors: u8) -> Share {
    let executors = (0..=i64::from(executors)).map(|task| (task, task)).collect();
    Share { topology: topology(topologies), executors, resources: BTreeMap::new() }
}

/// A slot, and the process that whoever runs it has for it.
struct Runner {
    slot: Slot,
    settings: Settings,
    now: Now,
    may_act: bool,
    is_free: bool,
    code: BTreeMap<String, WorkerTimeouts>,
    /// The live process; whether it was killed.
    live: Option<(u64, Share, Option<StopHow>)>,
    /// All incarnations, in order.
    all: Vec<u64>,
}

impl Runner {
    fn new() -> Self {
        Self {
            slot: Slot::new(PORT, 0, None),
            settings: Settings::default(),
            now: Now { moment: Moment(Duration::from_secs(500)), wall: Duration::from_secs(1_000_000) },
            may_act: true,
            is_free: true,
            code: BTreeMap::new(),
            live: None,
            all: Vec::new(),
        }
    }

    fn tell(&mut self, input: SlotInput) {
        let around = Surroundings {
            now: self.now,
            settings: &self.settings,
            may_act: self.may_act,
            is_free: self.is_free,
            gone: &BTreeMap::new(),
            code: &self.code,
            plants: &Plants::default(),
        };
        for action in self.slot.handle(around, input) {
            match action {
                SlotAction::Note(line) => assert!(line.contains(&PORT.to_string())),
                SlotAction::Start { incarnation, share } => {
                    assert!(self.live.is_none(), "a second process");
                    assert!(self.may_act && self.is_free && self.code.contains_key(&share.topology));
                    assert!(self.all.last().is_none_or(|last| *last < incarnation), "incarnations grow");
                    assert_eq!(self.slot.saved().last_incarnation, incarnation);
                    assert_eq!(self.slot.saved().running.map(|it| it.incarnation), Some(incarnation));
                    self.all.push(incarnation);
                    self.live = Some((incarnation, share, None));
                }
                SlotAction::Stop { incarnation, how, .. } => {
                    assert!(self.may_act);
                    let live = self.live.as_mut().expect("only what lives is stopped");
                    assert_eq!(live.0, incarnation);
                    live.2 = Some(how);
                }
            }
        }
        // What the slot believes of its process is so.
        let believed = self.slot.process().map(|process| (process.incarnation(), process.share().clone()));
        assert_eq!(believed, self.live.as_ref().map(|(incarnation, share, _)| (*incarnation, share.clone())));
        // Nothing is left to be done now.
        let wake_at = self.slot.wake_at(&self.settings, self.may_act);
        assert!(wake_at.is_none_or(|at| at > self.now.moment), "{wake_at:?} is over in {:?}", self.slot.state());
    }

    fn speak(&mut self, incarnation: u64, words: Words) {
        let (port, why) = (PORT, String::new());
        let event = match words {
            Words::Started => ProcessEvent::Started { port, incarnation, pid: 1 },
            Words::Ready => ProcessEvent::Ready { port, incarnation },
            Words::Beat => ProcessEvent::Beat { port, incarnation },
            Words::Stale(more) => ProcessEvent::Stale { port, incarnation, newest: incarnation + u64::from(more) },
            Words::Exited => ProcessEvent::Exited { port, incarnation, how: Exit::Unknown },
            Words::Failed(kind) => ProcessEvent::StartFailed { port, incarnation, kind, why },
        };
        let ends = matches!(words, Words::Exited | Words::Failed(_));
        if ends && self.live.as_ref().is_some_and(|live| live.0 == incarnation) {
            self.live = None;
        }
        self.tell(SlotInput::Process(event));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Want(Some((topology, executors))) => {
                self.tell(SlotInput::Want(Wanted::Run(share(topology, executors))));
            }
            Step::Want(None) => self.tell(SlotInput::Want(Wanted::Nothing)),
            Step::Speaks(words) => {
                if let Some((incarnation, ..)) = self.live {
                    self.speak(incarnation, words);
                }
            }
            Step::Late(words, back) => {
                let index = self.all.len().checked_sub(2 + usize::from(back));
                let incarnation = index.map_or(3, |index| self.all[index]);
                let before = self.slot.saved();
                self.speak(incarnation, words);
                assert_eq!(self.slot.saved(), before, "what comes late changes nothing");
            }
            Step::CodeChanged(number) => {
                self.code.remove(&topology(number));
                self.tell(SlotInput::CodeChanged(topology(number)));
            }
            Step::CodeIsHere(number, true) => {
                self.code.insert(topology(number), WorkerTimeouts::default());
                self.tell(SlotInput::Time);
            }
            Step::CodeIsHere(number, false) => drop(self.code.remove(&topology(number))),
            Step::MayAct(may_act) => {
                self.may_act = may_act;
                self.tell(SlotInput::Time);
            }
            Step::IsFree(is_free) => {
                self.is_free = is_free;
                self.tell(SlotInput::Time);
            }
            Step::Time(secs) => self.pass(Duration::from_secs(secs.into()), false),
            Step::ClockGoesTo(secs) => self.now.wall = Duration::from_secs(secs.into()),
            Step::Excused => self.tell(SlotInput::SilenceIsExcused),
        }
    }

    /// Lets time pass; with a friendly world processes do what they should.
    fn pass(&mut self, duration: Duration, is_friendly: bool) {
        let until = self.now.moment + duration;
        loop {
            if is_friendly {
                match self.live.clone() {
                    Some((incarnation, _, Some(_))) => self.speak(incarnation, Words::Exited),
                    Some((incarnation, _, None)) => self.speak(incarnation, Words::Beat),
                    None => {}
                }
            }
            let next = self.slot.wake_at(&self.settings, self.may_act).map_or(until, |at| at.min(until));
            let next = if is_friendly { next.min(self.now.moment + Duration::from_secs(1)) } else { next };
            self.now.wall += next.since(self.now.moment);
            self.now.moment = next;
            self.tell(SlotInput::Time);
            if next == until {
                return;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// One live process at most, growing incarnations, no stop of what does not live, nothing while it may not act, no
    /// busy waiting: all of that is checked at each step. And when the world is friendly again, the slot comes to run
    /// what is wanted, and nothing else.
    #[test]
    fn whatever_happens_a_slot_keeps_its_laws_and_comes_to_run_what_is_wanted(steps in steps()) {
        let mut runner = Runner::new();
        for step in steps {
            runner.step(step);
        }
        runner.may_act = true;
        runner.is_free = true;
        for number in 0..3 {
            runner.code.insert(topology(number), WorkerTimeouts::default());
        }
        runner.tell(SlotInput::Time);
        runner.pass(Duration::from_secs(1000), true);
        match runner.slot.wanted().cloned() {
            Some(Wanted::Run(share)) => {
                prop_assert!(matches!(runner.slot.state(), State::Running(process) if *process.share() == share));
                prop_assert!(runner.slot.withdrawn_because().is_none());
            }
            Some(Wanted::Nothing) | None => prop_assert!(runner.live.is_none(), "{:?}", runner.slot),
        }
    }
}
