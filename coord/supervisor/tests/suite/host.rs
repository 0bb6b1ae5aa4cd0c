//! A host that does what its supervisor says, and checks while it does.
//!
//! It checks for every supervisor and always: a slot has one live process at most, a worker is started with an
//! incarnation that is on disk and above all before, and the machine comes to rest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ringstorm_control::machine::Machine;
use ringstorm_control::tickets::Tickets;
use ringstorm_control::time::{Moment, Now};
use ringstorm_store::memory::MemoryStore;
use ringstorm_store::store::Store;
use ringstorm_supervisor::events::{
    CodeEvent, Exit, FetchFailure, OperatorEvent, ProcessEvent, StartFailure, StartWorker, StopHow, WorkerTimeouts,
};
use ringstorm_supervisor::slot::State;
use ringstorm_supervisor::supervisor::FoundWorker;
use ringstorm_supervisor::{Host as Where, LocalState, Settings, Start, Supervisor, SupervisorEffect, SupervisorInput};

use crate::world::{ID, World, cluster};

/// What a process is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manners {
    /// It never comes up.
    pub(crate) never_ready: bool,
    /// It does not beat.
    pub(crate) silent: bool,
    /// It does not end when it is asked to.
    pub(crate) deaf: bool,
    /// It does not end when it is killed.
    pub(crate) undying: bool,
    /// It ends at once, by itself.
    pub(crate) crashes: bool,
    /// It cannot be started.
    pub(crate) fails: Option<StartFailure>,
}

#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) worker: StartWorker,
    pub(crate) pid: u32,
    pub(crate) manners: Manners,
}

pub(crate) struct Host {
    pub(crate) machine: Supervisor,
    pub(crate) store: MemoryStore,
    tickets: Tickets,
    pub(crate) disk: LocalState,
    pub(crate) settings: Settings,
    pub(crate) mark: String,
    pub(crate) processes: BTreeMap<(u16, u64), Live>,
    pub(crate) code: BTreeSet<String>,
    /// Code that cannot be fetched.
    pub(crate) missing_code: BTreeSet<String>,
    /// What is to blame for that.
    pub(crate) fetch_failure: FetchFailure,
    /// Code whose fetch hangs: nothing is ever heard of it.
    pub(crate) hung_code: BTreeSet<String>,
    pub(crate) manners: Manners,
    /// Whether a process of the test, not of the supervisor, may be there besides.
    pub(crate) has_intruders: bool,
    inputs: VecDeque<SupervisorInput>,
    pub(crate) now: Now,
    next_pid: u32,
    highest: BTreeMap<u16, u64>,
    /// What was started, in order.
    pub(crate) started: Vec<StartWorker>,
    pub(crate) stopped: Vec<(u16, u64, StopHow)>,
    pub(crate) fetched: Vec<String>,
    /// What was told to the users of topologies, with the port.
    pub(crate) reports: Vec<(u16, String)>,
    pub(crate) notes: Vec<String>,
    pub(crate) end: Option<String>,
}

impl Host {
    pub(crate) fn new(world: &World) -> Self {
        Self::with(world, LocalState::default(), "boot-1", Settings::default())
    }

    pub(crate) fn with(world: &World, disk: LocalState, mark: &str, settings: Settings) -> Self {
        let now = Now { moment: Moment(Duration::from_secs(1000)), wall: Duration::from_secs(1_800_000_000) };
        let start = start(&disk, mark, &settings, Vec::new(), BTreeMap::new());
        Self {
            machine: Supervisor::new(start, now).unwrap(),
            store: MemoryStore::open(&world.ensemble, 0, &[]),
            tickets: Tickets::default(),
            disk,
            settings,
            mark: mark.to_owned(),
            processes: BTreeMap::new(),
            code: BTreeSet::new(),
            missing_code: BTreeSet::new(),
            hung_code: BTreeSet::new(),
            fetch_failure: FetchFailure::Unreachable,
            manners: Manners::default(),
            has_intruders: false,
            inputs: VecDeque::new(),
            now,
            next_pid: 100,
            highest: BTreeMap::new(),
            started: Vec::new(),
            stopped: Vec::new(),
            fetched: Vec::new(),
            reports: Vec::new(),
            notes: Vec::new(),
            end: None,
        }
    }

    /// The supervisor is killed and started again, with a new session. Its processes go on.
    pub(crate) fn restart(&mut self, world: &World) {
        self.store.disconnect();
        // The old session stays open at the ensemble until somebody ends it.
        self.store = MemoryStore::open(&world.ensemble, 0, &[]);
        let found = self.processes.iter().map(|((port, incarnation), live)| FoundWorker {
            port: *port,
            incarnation: *incarnation,
            pid: live.pid,
            topology: live.worker.topology.clone(),
        });
        let code = self.code.iter().map(|topology| (topology.clone(), WorkerTimeouts::default())).collect();
        let start = start(&self.disk, &self.mark, &self.settings, found.collect(), code);
        self.machine = Supervisor::new(start, self.now).unwrap();
        self.tickets = Tickets::default();
        self.inputs.clear();
    }

    pub(crate) fn tell(&mut self, input: SupervisorInput) {
        self.inputs.push_back(input);
    }

    pub(crate) fn operator(&mut self, event: OperatorEvent) {
        self.tell(SupervisorInput::Operator(event));
        self.run();
    }

    /// Ends a process, and says so.
    pub(crate) fn end_process(&mut self, port: u16, incarnation: u64, how: Exit) {
        self.processes.remove(&(port, incarnation));
        self.tell(SupervisorInput::Process(ProcessEvent::Exited { port, incarnation, how }));
    }

    /// Ends whatever runs in a slot, as a crash does.
    pub(crate) fn crash(&mut self, port: u16) {
        for (port, incarnation) in self.incarnations(port).into_iter().map(|it| (port, it)) {
            self.end_process(port, incarnation, Exit::Signal(11));
        }
        self.run();
    }

    pub(crate) fn incarnations(&self, port: u16) -> Vec<u64> {
        self.processes.range((port, 0)..=(port, u64::MAX)).map(|((_, incarnation), _)| *incarnation).collect()
    }

    /// The topology and first task that run in a slot.
    pub(crate) fn runs(&self, port: u16) -> Option<(&str, i64)> {
        let (_, live) = self.processes.range((port, 0)..=(port, u64::MAX)).next()?;
        Some((live.worker.topology.as_str(), live.worker.executors.first()?.0))
    }

    pub(crate) fn state(&self, port: u16) -> &'static str {
        self.machine.slots().find(|(of, _)| *of == port).map(|(_, slot)| State::name(slot.state())).unwrap()
    }

    pub(crate) fn has_noted(&self, words: &str) -> usize {
        self.notes.iter().filter(|note| note.contains(words)).count()
    }

    /// Lets everything happen that happens without time.
    pub(crate) fn run(&mut self) {
        for _ in 0..10_000 {
            if let Some(event) = self.store.poll() {
                let told = self.tickets.take(event);
                self.inputs.extend(told.map(SupervisorInput::Store));
            }
            if let Some(input) = self.inputs.pop_front() {
                let effects = self.machine.handle(self.now, input);
                self.apply(effects);
            } else if self.machine.wake_at().is_some_and(|at| at <= self.now.moment) {
                let effects = self.machine.wake(self.now);
                self.apply(effects);
            } else {
                return;
            }
        }
        panic!("the machine does not come to rest");
    }

    /// Lets time pass, with beats once a second.
    pub(crate) fn pass(&mut self, secs: u64) {
        self.run();
        let until = self.now.moment + Duration::from_secs(secs);
        while self.now.moment < until {
            let next_second = Moment(Duration::from_secs(self.now.moment.0.as_secs() + 1));
            let alarm = self.machine.wake_at().filter(|at| *at > self.now.moment);
            self.jump(next_second.min(until).min(alarm.unwrap_or(until)));
            if self.now.moment == next_second {
                self.beat();
            }
            self.run();
        }
    }

    /// Lets time pass in which this host does nothing at all.
    pub(crate) fn freeze(&mut self, secs: u64) {
        self.jump(self.now.moment + Duration::from_secs(secs));
        // The alarm comes before what lies in its queue.
        let effects = self.machine.wake(self.now);
        self.apply(effects);
    }

    fn jump(&mut self, to: Moment) {
        let passed = to.since(self.now.moment);
        self.now = Now { moment: to, wall: self.now.wall + passed };
    }

    fn beat(&mut self) {
        let beating = |live: &&Live| !live.manners.silent && !live.manners.never_ready;
        let processes = self.processes.iter().filter(|(_, live)| beating(live)).map(|(process, _)| *process);
        for (port, incarnation) in processes.collect::<Vec<_>>() {
            self.tell(SupervisorInput::Process(ProcessEvent::Beat { port, incarnation }));
        }
    }

    fn apply(&mut self, effects: Vec<SupervisorEffect>) {
        for effect in effects {
            match effect {
                SupervisorEffect::Store(asked) => self.tickets.submit(&mut self.store, asked),
                SupervisorEffect::SaveState(state) => {
                    // As it is read after a restart.
                    self.disk = LocalState::from_text(&state.to_text()).unwrap();
                }
                SupervisorEffect::StartWorker(worker) => self.start(worker),
                SupervisorEffect::StopWorker { port, incarnation, how, .. } => self.stop(port, incarnation, how),
                SupervisorEffect::FetchCode { topology } => {
                    self.fetched.push(topology.clone());
                    if self.hung_code.contains(&topology) {
                        continue;
                    }
                    let event = if self.missing_code.contains(&topology) {
                        CodeEvent::Failed { topology, why: "no nimbus has it".to_owned(), cause: self.fetch_failure }
                    } else {
                        self.code.insert(topology.clone());
                        CodeEvent::Fetched { topology, timeouts: WorkerTimeouts::default() }
                    };
                    self.tell(SupervisorInput::Code(event));
                }
                SupervisorEffect::RemoveCode { topology } => {
                    self.code.remove(&topology);
                    self.tell(SupervisorInput::Code(CodeEvent::Removed { topology }));
                }
                SupervisorEffect::Report { port, text, .. } => self.reports.push((port, text)),
                SupervisorEffect::Note(line) => self.notes.push(line),
                SupervisorEffect::Stop { why } => self.end = Some(why),
            }
        }
    }

    fn start(&mut self, worker: StartWorker) {
        let (port, incarnation) = (worker.port, worker.incarnation);
        let saved = &self.disk.slots[&port];
        assert!(saved.last_incarnation >= incarnation, "incarnation {incarnation} of slot {port} is not on disk");
        assert_eq!(saved.running.as_ref().map(|it| it.incarnation), Some(incarnation));
        assert!(self.has_intruders || self.incarnations(port).is_empty(), "two processes in slot {port}");
        assert!(self.code.contains(&worker.topology), "the code of {} is not here", worker.topology);
        let highest = self.highest.insert(port, incarnation).unwrap_or(0);
        assert!(incarnation > highest, "incarnation {incarnation} of slot {port} comes after {highest}");
        self.started.push(worker.clone());

        if let Some(kind) = self.manners.fails {
            let why = "as the test wants it".to_owned();
            self.tell(SupervisorInput::Process(ProcessEvent::StartFailed { port, incarnation, kind, why }));
            return;
        }
        let (pid, manners) = (self.next_pid, self.manners);
        self.next_pid += 1;
        self.processes.insert((port, incarnation), Live { worker, pid, manners });
        self.tell(SupervisorInput::Process(ProcessEvent::Started { port, incarnation, pid }));
        if manners.crashes {
            self.end_process(port, incarnation, Exit::Code(1));
        } else if !manners.never_ready {
            self.tell(SupervisorInput::Process(ProcessEvent::Ready { port, incarnation }));
        }
    }

    fn stop(&mut self, port: u16, incarnation: u64, how: StopHow) {
        self.stopped.push((port, incarnation, how));
        let manners = self.processes.get(&(port, incarnation)).map(|live| live.manners).unwrap_or_default();
        let ends = match how {
            StopHow::Ask => !manners.deaf && !manners.undying,
            StopHow::Kill => !manners.undying,
        };
        if ends {
            self.end_process(port, incarnation, Exit::Signal(9));
        }
    }
}

pub(crate) fn start(
    disk: &LocalState,
    mark: &str,
    settings: &Settings,
    found: Vec<FoundWorker>,
    code: BTreeMap<String, WorkerTimeouts>,
) -> Start {
    Start {
        settings: settings.clone(),
        host: Where { name: format!("host-{mark}"), mark: mark.to_owned() },
        cluster: cluster(),
        local_state: disk.clone(),
        first_id: ID.to_owned(),
        found,
        code,
    }
}
