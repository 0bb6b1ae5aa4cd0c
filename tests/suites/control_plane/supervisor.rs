//! A host with a supervisor, whose workers are threads that outlive it. Threading and errors: as those of
//! [`crate::daemon`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_control::time::Now;
use ringstorm_ensemble::Link;
use ringstorm_supervisor::events::{CodeEvent, Exit, ProcessEvent, StartWorker, StopHow, WorkerTimeouts};
use ringstorm_supervisor::supervisor::FoundWorker;
use ringstorm_supervisor::{Host, LocalState, Settings, Start, Supervisor, SupervisorEffect, SupervisorInput};
use ringstorm_worker::WorkerInput;

use crate::daemon::{Daemon, Program, Word, Words};
use crate::worker::Process;
use crate::world::{Notes, World, cluster};

/// The id that the supervisor takes.
pub(crate) const ID: &str = "4be0d7ae-239e-41c3-92a6-dc234ddd1267-127.0.0.1";

/// What of a host outlives its supervisor.
pub(crate) struct Machinery {
    world: Arc<World>,
    /// Every process that was ever started, by port and incarnation.
    pub(crate) processes: Mutex<BTreeMap<(u16, u64), Process>>,
    /// The supervisor that runs now.
    supervisor: Mutex<Option<Words<SupervisorInput>>>,
    /// What it saved, as it lies on disk.
    state: Mutex<Option<String>>,
    code: Mutex<BTreeSet<String>>,
    /// Code is not given out; who waits for it.
    holds_code: AtomicBool,
    waits_for_code: Mutex<Vec<String>>,
    /// Cores start.
    pub(crate) starts_cores: AtomicBool,
    /// Which workers it was told to start and to stop.
    commands: Mutex<Vec<String>>,
    next_pid: AtomicU32,
    worker_session: Duration,
    notes: Notes,
}

/// A host and its supervisor.
pub(crate) struct SupervisorHost {
    pub(crate) machinery: Arc<Machinery>,
    daemon: Option<(Daemon<SupervisorInput>, Link)>,
    session: Duration,
}

struct SupervisorProgram {
    start: Option<Start>,
    machinery: Arc<Machinery>,
}

impl SupervisorHost {
    pub(crate) fn start(world: &Arc<World>, session: Duration) -> Self {
        let machinery = Machinery {
            world: Arc::clone(world),
            processes: Mutex::default(),
            supervisor: Mutex::default(),
            state: Mutex::default(),
            code: Mutex::default(),
            holds_code: AtomicBool::new(false),
            waits_for_code: Mutex::default(),
            starts_cores: AtomicBool::new(true),
            commands: Mutex::default(),
            next_pid: AtomicU32::new(1),
            worker_session: session,
            notes: world.notes.of("supervisor"),
        };
        let mut host = Self { machinery: Arc::new(machinery), daemon: None, session };
        host.start_supervisor();
        host
    }

    /// Starts the supervisor from what lies on the host.
    pub(crate) fn start_supervisor(&mut self) {
        let it = &self.machinery;
        let local_state = it.state.lock().unwrap().as_ref().map(|text| LocalState::from_text(text).unwrap());
        let found = it.living().into_iter().map(|((port, incarnation), pid, topology)| FoundWorker {
            port,
            incarnation,
            pid,
            topology,
        });
        let code =
            it.code.lock().unwrap().iter().map(|topology| (topology.clone(), WorkerTimeouts::default())).collect();
        let start = Start {
            settings: Settings::default(),
            host: Host { name: "127.0.0.1".into(), mark: "this host".into() },
            cluster: cluster(),
            local_state: local_state.unwrap_or_default(),
            first_id: ID.into(),
            found: found.collect(),
            code,
        };
        let program = SupervisorProgram { start: Some(start), machinery: Arc::clone(it) };
        let link = Link::to(&it.world.addresses);
        let daemon = Daemon::start(it.world.clock, link.addresses(), self.session, program);
        *it.supervisor.lock().unwrap() = Some(daemon.words().clone());
        self.daemon = Some((daemon, link));
    }

    /// Kills the supervisor: it does nothing more, and its session is left to expire.
    pub(crate) fn kill_supervisor(&mut self) {
        *self.machinery.supervisor.lock().unwrap() = None;
        if let Some((mut daemon, link)) = self.daemon.take() {
            link.cut();
            daemon.end();
        }
    }

    /// From now on code is not given out, or is again.
    pub(crate) fn hold_code(&self, holds: bool) {
        self.machinery.holds_code.store(holds, Ordering::SeqCst);
        if !holds {
            let waiting = std::mem::take(&mut *self.machinery.waits_for_code.lock().unwrap());
            waiting.into_iter().for_each(|topology| self.machinery.give_code(topology));
        }
    }

    /// What the supervisor was told to start and to stop since the last call.
    pub(crate) fn commands(&self) -> Vec<String> {
        std::mem::take(&mut *self.machinery.commands.lock().unwrap())
    }

    /// Kills a worker.
    pub(crate) fn kill_worker(&self, port: u16, incarnation: u64) {
        let processes = self.machinery.processes.lock().unwrap();
        processes[&(port, incarnation)].words().send(Word::End).unwrap();
    }

    /// Which processes live: port and incarnation.
    pub(crate) fn living(&self) -> BTreeSet<(u16, u64)> {
        self.machinery.living().into_iter().map(|(process, ..)| process).collect()
    }

    /// Tells the living worker in a slot something.
    pub(crate) fn tell_worker(&self, port: u16, input: WorkerInput) {
        let processes = self.machinery.processes.lock().unwrap();
        let (_, process) = processes.iter().rfind(|((of, _), process)| *of == port && process.is_alive()).unwrap();
        process.words().send(Word::Input(input)).unwrap();
    }
}

impl Drop for SupervisorHost {
    fn drop(&mut self) {
        self.kill_supervisor();
        let processes = std::mem::take(&mut *self.machinery.processes.lock().unwrap());
        processes.into_values().for_each(|mut process| process.end());
    }
}

impl Machinery {
    /// Tells the supervisor something, if there is one.
    pub(crate) fn say(&self, event: ProcessEvent) {
        self.say_any(SupervisorInput::Process(event));
    }

    fn say_any(&self, input: SupervisorInput) {
        if let Some(words) = &*self.supervisor.lock().unwrap() {
            let _ = words.send(Word::Input(input));
        }
    }

    fn living(&self) -> Vec<((u16, u64), u32, String)> {
        let processes = self.processes.lock().unwrap();
        let living = processes.iter().filter(|(_, process)| process.is_alive());
        living.map(|(id, process)| (*id, process.pid, process.topology.clone())).collect()
    }

    fn give_code(&self, topology: String) {
        self.code.lock().unwrap().insert(topology.clone());
        let timeouts = WorkerTimeouts::default();
        self.say_any(SupervisorInput::Code(CodeEvent::Fetched { topology, timeouts }));
    }

    fn command(&self, line: String) {
        self.notes.add(&line);
        self.commands.lock().unwrap().push(line);
    }

    fn start_worker(self: &Arc<Self>, worker: &StartWorker) {
        let (port, incarnation) = (worker.port, worker.incarnation);
        self.command(format!("start {port} {}", worker.topology));
        let pid = self.next_pid.fetch_add(1, Ordering::SeqCst);
        let process = Process::start(&self.world, self, worker, pid, self.worker_session);
        self.processes.lock().unwrap().insert((port, incarnation), process);
        self.say(ProcessEvent::Started { port, incarnation, pid });
    }

    fn stop_worker(&self, port: u16, incarnation: u64, how: StopHow) {
        self.command(format!("stop {port} {how:?}"));
        let processes = self.processes.lock().unwrap();
        match (processes.get(&(port, incarnation)).filter(|process| process.is_alive()), how) {
            (Some(process), StopHow::Ask) => drop(process.words().send(Word::Input(WorkerInput::End))),
            (Some(process), StopHow::Kill) => drop(process.words().send(Word::End)),
            (None, _) => self.say(ProcessEvent::Exited { port, incarnation, how: Exit::Unknown }),
        }
    }
}

impl Program for SupervisorProgram {
    type Machine = Supervisor;

    fn make(&mut self, now: Now) -> Option<Supervisor> {
        Some(Supervisor::new(self.start.take().unwrap(), now).unwrap())
    }

    fn telling(said: FromStore) -> SupervisorInput {
        SupervisorInput::Store(said)
    }

    fn sorting(effect: SupervisorEffect) -> Result<ToStore, SupervisorEffect> {
        match effect {
            SupervisorEffect::Store(asked) => Ok(asked),
            other => Err(other),
        }
    }

    fn act(&mut self, _: Now, effect: SupervisorEffect, own: &Words<SupervisorInput>) -> ControlFlow<()> {
        let machinery = &self.machinery;
        match effect {
            SupervisorEffect::Store(_) => {}
            SupervisorEffect::StartWorker(worker) => machinery.start_worker(&worker),
            SupervisorEffect::StopWorker { port, incarnation, how, .. } => {
                machinery.stop_worker(port, incarnation, how);
            }
            SupervisorEffect::FetchCode { topology } => {
                if machinery.holds_code.load(Ordering::SeqCst) {
                    machinery.waits_for_code.lock().unwrap().push(topology);
                } else {
                    machinery.give_code(topology);
                }
            }
            SupervisorEffect::RemoveCode { topology } => {
                machinery.code.lock().unwrap().remove(&topology);
                let _ = own.send(Word::Input(SupervisorInput::Code(CodeEvent::Removed { topology })));
            }
            SupervisorEffect::SaveState(state) => *machinery.state.lock().unwrap() = Some(state.to_text()),
            SupervisorEffect::Report { text, .. } => machinery.notes.add(&text),
            SupervisorEffect::Note(line) => machinery.notes.add(&line),
            SupervisorEffect::Stop { why } => {
                machinery.notes.add(&format!("STOPS: {why}"));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}
