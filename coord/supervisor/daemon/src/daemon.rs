//! The daemon: the machine, and whoever does what it wants done.
//!
//! Threading: this thread runs the machine and saves its state; everything that takes longer has threads of its own, which
//! speak through the inbox. They end with the process, as soon as [`run`] has come back. Errors: [`Failure`] for what keeps
//! the daemon from starting or going on; whatever else is said in the log.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ringstorm_control::machine::Machine;
use ringstorm_control::runner::Runner;
use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_control::time::{Moment, Now};
use ringstorm_daemon::{Clock, DirectoryLock, Inbox, LockError, Log, RotatedFile, Rotation, Sender, Signal, Signals};
use ringstorm_store::cluster::{Cluster, ClusterAcls};
use ringstorm_supervisor::events::{CodeEvent, ProcessEvent};
use ringstorm_supervisor::{LocalState, Start, Supervisor, SupervisorEffect, SupervisorInput};
use ringstorm_types::config::{Config, Origin};
use ringstorm_zookeeper::{ZooKeeperStore, daemon_acls};
use serde_json::Value;

use crate::code::{Codes, Local, Nimbuses};
use crate::layout::Layout;
use crate::processes::{HowToStart, Outlet, Processes};
use crate::report::{Report, Reporter, Reports};
use crate::settings::DaemonSettings;
use crate::{control, cpus, disk, old_logs, state};

/// How long the last lines of the log are waited for.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// Why a supervisor did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Another one runs with the same folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The disk, or something else of the system.
    #[error("the supervisor cannot run: {0}")]
    Io(#[from] io::Error),
    /// The local state could not be saved. Workers go on.
    #[error(
        "the local state cannot be saved: {0}; nothing may be started or stopped without it, so that the supervisor ends; \
         its workers go on. Make room, and start it again"
    )]
    State(io::Error),
    /// Its id cannot be used.
    #[error("the supervisor's id cannot be used: {0}")]
    Id(String),
    /// The machine ended it.
    #[error("{0}")]
    Stopped(String),
}

/// Runs a supervisor until it is asked to end (SIGTERM, Ctrl-C), or cannot go on. Workers go on in any case. A process
/// does this once.
///
/// # Errors
/// See [`Failure`].
pub fn run(settings: DaemonSettings) -> Result<(), Failure> {
    let _lock = DirectoryLock::take(&settings.local_dir, "supervisor")?;
    let log = Log::open("supervisor", RotatedFile::new(settings.log_dir.join("supervisor.log"), Rotation::default()))?;
    let ended = run_logged(settings, &log);
    match &ended {
        Ok(()) => {}
        Err(failure) => log.note(failure),
    }
    log.flush(FLUSH_LIMIT);
    ended
}

fn run_logged(settings: DaemonSettings, log: &Log) -> Result<(), Failure> {
    let layout = Layout::new(&settings.local_dir, &settings.artifacts_dir);
    for folder in [layout.supervisor(), layout.workers(), settings.artifacts_dir.clone()] {
        disk::make_folder(&folder)?;
    }
    let clock = Clock::start();
    let (sender, inbox) = Inbox::new();
    let signals = sender.clone();
    let _signals = Signals::watch(move |signal| say(&signals, Input::End(signal)))?;

    let (state, line) = state::load(&layout, &settings.local_dir)?;
    line.into_iter().for_each(|line| log.note(line));
    let first_id = first_id(&settings.host.name)?;
    let local = Local::new(layout.clone());
    let (code, lines) = local.found(settings.worker_timeout_max)?;
    lines.into_iter().for_each(|line| log.note(line));
    let cluster = Cluster::new(settings.root.clone(), acls(&settings));

    let reporter = Reporter { zookeeper: settings.zookeeper.clone(), cluster: cluster.clone(), local: local.clone() };
    let supervisor = state.supervisor.clone().unwrap_or_else(|| first_id.clone());
    let how = how_to_start(&settings, supervisor, log);
    let outlet = Box::new(ToDaemon { sender: sender.clone(), log: log.clone(), clock });
    let reports = Reports::start(reporter)?;
    let processes = Processes::new((layout.clone(), local.clone()), how, outlet, reports.clone());
    let found = processes.adopt(&state)?;
    let socket = control::bind(&layout.control_socket())?;
    let (says, notes) = (sender.clone(), log.clone());
    control::listen(
        socket,
        processes.clone(),
        move |input| say(&says, Input::Machine(input)),
        move |line| notes.note(line),
    )?;
    let says = sender.clone();
    let tell = Arc::new(move |event| say(&says, Input::Machine(SupervisorInput::Code(event))));
    let codes = Codes::new(local, Box::new(Nimbuses::new(&settings.client)), settings.worker_timeout_max, tell);
    codes.watch()?;
    let (notes, topologies) = (log.clone(), Local::new(layout.clone()));
    old_logs::watch(
        settings.artifacts_dir.clone(),
        settings.old_logs_kept,
        move |topology| topologies.topologies().iter().any(|it| it == topology),
        move |line| notes.note(line),
    )?;

    let start = Start {
        settings: settings.supervisor.clone(),
        host: settings.host.clone(),
        cluster,
        local_state: state,
        first_id,
        found,
        code,
    };
    let machine = Supervisor::new(start, clock.now()).map_err(|error| Failure::Id(error.to_string()))?;
    log.note(format!(
        "supervisor {} of {} starts, with slots {:?}",
        machine.id(),
        settings.host.name,
        settings.supervisor.ports
    ));
    let waker = inbox.waker();
    let store = ZooKeeperStore::open(settings.zookeeper, move || waker.wake())?;
    let mut runner = Runner::new(Daemonised(machine), store, telling, sorting);
    let host = settings.host.name.clone();
    let hands = Hands { layout, host, processes, codes, reports, log: log.clone() };
    ringstorm_daemon::run(&mut runner, &inbox, clock, |effect| hands.act(effect))
}

fn how_to_start(settings: &DaemonSettings, supervisor: String, log: &Log) -> HowToStart {
    let cpus = cpus::divide(&cpus::facts(), &settings.supervisor.ports);
    for (port, cpus) in &cpus {
        log.note(format!("slot {port} has the CPUs {cpus:?}"));
    }
    HowToStart {
        supervisor,
        host: settings.host.name.clone(),
        bind_address: settings.bind_address,
        conf: settings.conf.clone(),
        cpus,
        memory: settings.memory,
        folder_bytes_max: settings.worker_folder_bytes_max,
        open_files: settings.worker_open_files,
        log_writer: settings.log_writer.clone(),
        log_rotation: settings.worker_log,
    }
}

/// Who may do what with the nodes that the supervisor makes.
fn acls(settings: &DaemonSettings) -> ClusterAcls {
    let config =
        Config::from_json(Value::Object(settings.conf.clone()), &Origin::other("the supervisor's configuration"));
    // It was checked with the settings.
    config.ok().and_then(|config| daemon_acls(&config, None).ok()).unwrap_or_else(ClusterAcls::open)
}

/// An id that nobody has, as Storm makes it.
fn first_id(host: &str) -> io::Result<String> {
    let uuid = std::fs::read_to_string(Path::new("/proc/sys/kernel/random/uuid"))?;
    Ok(format!("{}-{host}", uuid.trim()))
}

/// The machine, which can be asked to end.
#[derive(Debug)]
struct Daemonised(Supervisor);

#[derive(Debug)]
enum Input {
    Machine(SupervisorInput),
    End(Signal),
}

#[derive(Debug)]
enum Effect {
    Machine(Box<SupervisorEffect>),
    End(Signal),
}

impl Effect {
    fn of_machine(effect: SupervisorEffect) -> Self {
        Self::Machine(Box::new(effect))
    }
}

impl Machine for Daemonised {
    type Input = Input;
    type Effect = Effect;

    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        match input {
            Input::Machine(input) => self.0.handle(now, input).into_iter().map(Effect::of_machine).collect(),
            Input::End(signal) => vec![Effect::End(signal)],
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        self.0.wake(now).into_iter().map(Effect::of_machine).collect()
    }

    fn wake_at(&self) -> Option<Moment> {
        self.0.wake_at()
    }
}

fn say(sender: &Sender<Input>, input: Input) {
    // Nobody listens when the daemon ends.
    let _ = sender.send(input);
}

fn telling(said: FromStore) -> Input {
    Input::Machine(SupervisorInput::Store(said))
}

fn sorting(effect: Effect) -> Result<ToStore, Effect> {
    match effect {
        Effect::Machine(effect) => match *effect {
            SupervisorEffect::Store(asked) => Ok(asked),
            other => Err(Effect::of_machine(other)),
        },
        Effect::End(signal) => Err(Effect::End(signal)),
    }
}

/// By which guards speak.
struct ToDaemon {
    sender: Sender<Input>,
    log: Log,
    clock: Clock,
}

impl Outlet for ToDaemon {
    fn tell(&self, event: ProcessEvent) {
        say(&self.sender, Input::Machine(SupervisorInput::Process(event)));
    }

    fn tell_of_code(&self, event: CodeEvent) {
        say(&self.sender, Input::Machine(SupervisorInput::Code(event)));
    }

    fn note(&self, line: &str) {
        self.log.note(line);
    }

    fn now(&self) -> Moment {
        self.clock.now().moment
    }
}

/// Whoever does what the machine wants done.
struct Hands {
    layout: Layout,
    host: String,
    processes: Processes,
    codes: Codes,
    reports: Reports,
    log: Log,
}

impl Hands {
    fn act(&self, effect: Effect) -> ControlFlow<Result<(), Failure>> {
        let effect = match effect {
            Effect::Machine(effect) => effect,
            Effect::End(signal) => {
                self.log.note(format!("ends, since {signal} asks for it; workers go on"));
                return ControlFlow::Break(Ok(()));
            }
        };
        match *effect {
            // The runner has it.
            SupervisorEffect::Store(_) => {}
            SupervisorEffect::StartWorker(worker) => self.processes.start(worker),
            SupervisorEffect::StopWorker { port, incarnation, how, why } => {
                self.processes.stop((port, incarnation), how, why);
            }
            SupervisorEffect::FetchCode { topology } => self.codes.fetch(topology),
            SupervisorEffect::RemoveCode { topology } => self.codes.remove(topology),
            SupervisorEffect::SaveState(state) => return self.save(&state),
            SupervisorEffect::Report { port, share, text } => self.reports.add(Report {
                topology: share.topology,
                host: self.host.clone(),
                port,
                executors: share.executors.into_iter().collect(),
                text,
            }),
            SupervisorEffect::Note(line) => self.log.note(line),
            SupervisorEffect::Stop { why } => return ControlFlow::Break(Err(Failure::Stopped(why))),
        }
        ControlFlow::Continue(())
    }

    fn save(&self, state: &LocalState) -> ControlFlow<Result<(), Failure>> {
        match state::save(&self.layout, state) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Err(Failure::State(error))),
        }
    }
}
