//! The worker processes of this host: started, held, asked to end, killed, and seen to be gone.
//!
//! Each process has a guard, a thread that starts it or adopts it, looks at its memory and its folder each second, sees
//! its end by its pidfd, and tidies up. What the daemon asks for goes through the table, which guards share.
//!
//! Invariants: a process is signalled only through what names it for good: its pidfd, or its group while its own number
//! cannot have been given to anybody else. Of each process `Exited` or `StartFailed` is told once, as the last word, when
//! nothing of it runs any more: neither its group nor any process that was started with its
//! [mark](mark::FOLDER_VARIABLE). Threading: the daemon's thread calls, guards run on their own, the table lies behind a
//! lock that nobody holds while he waits. Errors: they become events for the machine, lines for operators, and entries of
//! the [history](crate::history).

mod adopt;
mod guard;
mod kill;
mod last_words;
mod log_pipe;
mod mark;
mod record;
mod start;
mod usage;

pub use kill::{Killed, kill_workers};

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ringstorm_control::time::Moment;
use ringstorm_daemon::Rotation;
use ringstorm_launch::SlotTrouble;
use ringstorm_supervisor::LocalState;
use ringstorm_supervisor::events::{CodeEvent, Exit, ProcessEvent, StartFailure, StartWorker, StopHow, StopReason};
use ringstorm_supervisor::supervisor::FoundWorker;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};
use serde_json::{Map, Value};

use crate::code::Local;
use crate::history::{History, What};
use crate::layout::Layout;
use crate::memory::MemoryRule;
use crate::report::Reports;

/// A process that is killed is gone by then, unless the kernel does not let it.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// A process: the port of its slot and its incarnation.
pub(crate) type Id = (u16, u64);

/// How workers are started.
#[derive(Clone, Debug)]
pub(crate) struct HowToStart {
    pub(crate) supervisor: String,
    pub(crate) host: String,
    pub(crate) bind_address: IpAddr,
    pub(crate) conf: Map<String, Value>,
    pub(crate) cpus: BTreeMap<u16, BTreeSet<u32>>,
    pub(crate) memory: MemoryRule,
    /// The most that a worker's working folder may take, in bytes.
    pub(crate) folder_bytes_max: u64,
    /// The most open files of a worker; `None` for as many as the supervisor may have.
    pub(crate) open_files: Option<u64>,
    /// The program and the first words of the log writer.
    pub(crate) log_writer: Vec<PathBuf>,
    pub(crate) log_rotation: Rotation,
}

/// By which guards speak.
pub(crate) trait Outlet: Send + Sync + 'static {
    /// To the machine.
    fn tell(&self, event: ProcessEvent);
    /// To the machine, of code.
    fn tell_of_code(&self, event: CodeEvent);
    /// To operators.
    fn note(&self, line: &str);
    /// The time.
    fn now(&self) -> Moment;
}

/// The processes.
#[derive(Clone)]
pub(crate) struct Processes {
    shared: Arc<Shared>,
}

struct Shared {
    layout: Layout,
    local: Local,
    how: HowToStart,
    outlet: Box<dyn Outlet>,
    history: History,
    reports: Reports,
    table: Mutex<BTreeMap<Id, Known>>,
}

/// What is known of a process.
struct Known {
    topology: String,
    /// Once there is one.
    running: Option<Running>,
    /// Stopped before it was there.
    stop: Option<StopHow>,
    /// Why it is to end, if somebody here wants that.
    ending: Option<Ending>,
    /// What it was sent so far.
    signals: Vec<&'static str>,
    /// When it was killed, until it was said that it does not go.
    killed_at: Option<Instant>,
    /// What it said of its slot.
    trouble: Option<(SlotTrouble, String)>,
    /// Why it has nothing to do any more, as it said.
    leaves: Option<String>,
}

/// Why a process is to end.
struct Ending {
    why: String,
    /// Nothing is wrong with it.
    is_wanted: bool,
}

#[derive(Clone)]
struct Running {
    pid: Pid,
    pidfd: Arc<OwnedFd>,
}

impl Known {
    fn new(topology: &str) -> Self {
        Self {
            topology: topology.to_owned(),
            running: None,
            stop: None,
            ending: None,
            signals: Vec::new(),
            killed_at: None,
            trouble: None,
            leaves: None,
        }
    }
}

impl Processes {
    pub(crate) fn new(
        (layout, local): (Layout, Local),
        how: HowToStart,
        outlet: Box<dyn Outlet>,
        reports: Reports,
    ) -> Self {
        let history = History::new(&layout.history());
        Self { shared: Arc::new(Shared { layout, local, how, outlet, history, reports, table: Mutex::default() }) }
    }

    /// Finds what runs, and removes what is left of what does not. Before anything is started. `state` is what the daemon
    /// before has saved.
    ///
    /// # Errors
    /// The folder of the workers cannot be read, or a process that runs cannot be guarded.
    pub(crate) fn adopt(&self, state: &LocalState) -> io::Result<Vec<FoundWorker>> {
        adopt::adopt(&self.shared, state)
    }

    /// Starts a worker; `Started` or `StartFailed` follows.
    pub(crate) fn start(&self, worker: StartWorker) {
        let id = (worker.port, worker.incarnation);
        self.shared.table().insert(id, Known::new(&worker.topology));
        let shared = Arc::clone(&self.shared);
        let named = std::thread::Builder::new().name(format!("worker-{}", worker.port));
        if let Err(error) = named.spawn(move || guard::start(&shared, &worker)) {
            let why = format!("no thread can be started: {error}");
            self.shared.not_started(id, StartFailure::ResourcesExhausted, &why);
        }
    }

    /// Ends a worker. If it is not there, that is told.
    pub(crate) fn stop(&self, id: Id, how: StopHow, why: StopReason) {
        if !self.shared.stop(id, how, Ending::of(why)) {
            let (port, incarnation) = id;
            self.shared.outlet.tell(ProcessEvent::Exited { port, incarnation, how: Exit::Unknown });
        }
    }

    /// Whether there is such a process, or will be.
    pub(crate) fn knows(&self, id: Id) -> bool {
        self.shared.table().contains_key(&id)
    }

    /// A worker said what is wrong with its slot: its end will be a failed start.
    pub(crate) fn cannot_use_slot(&self, id: Id, kind: SlotTrouble, why: String) {
        if let Some(known) = self.shared.table().get_mut(&id) {
            known.trouble = Some((kind, why));
        }
    }

    /// A worker said that it has nothing to do any more: its end will be in order.
    pub(crate) fn leaves(&self, id: Id, why: String) {
        if let Some(known) = self.shared.table().get_mut(&id) {
            known.leaves = Some(why);
        }
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, BTreeMap<Id, Known>> {
        // Nothing is left half done where a guard could panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is such a process. A signal that is sent over and over is said once.
    fn stop(&self, id: Id, how: StopHow, ending: Ending) -> bool {
        let mut table = self.table();
        let Some(known) = table.get_mut(&id) else { return false };
        let why = ending.why.clone();
        known.ending.get_or_insert(ending);
        match &known.running {
            Some(running) => running.signal(how),
            None => known.stop = Some(how),
        }
        let signal = match how {
            StopHow::Ask => "SIGTERM",
            StopHow::Kill => "SIGKILL",
        };
        if known.signals.contains(&signal) {
            return true;
        }
        known.signals.push(signal);
        if how == StopHow::Kill {
            known.killed_at = Some(Instant::now());
        }
        let topology = known.topology.clone();
        drop(table);
        let (port, incarnation) = id;
        self.outlet.note(&format!(
            "slot {port}: the worker of {topology} (incarnation {incarnation}) is sent {signal}: {why}"
        ));
        self.remember((port, incarnation), &topology, What::Stopped { signal: signal.to_owned(), why });
        true
    }

    /// Whether it was killed a while ago, is there all the same, and nobody was told.
    fn does_not_go(&self, id: Id) -> bool {
        let mut table = self.table();
        let killed_at = table.get_mut(&id).map(|known| &mut known.killed_at);
        killed_at.is_some_and(|at| at.take_if(|at| at.elapsed() >= GONE_WITHIN).is_some())
    }

    /// There is a process now.
    fn started(&self, id: Id, running: Running) {
        let mut table = self.table();
        let Some(known) = table.get_mut(&id) else { return };
        if let Some(how) = known.stop {
            running.signal(how);
        }
        known.running = Some(running);
    }

    /// Adds to the history; what keeps it from being written is said when it begins.
    fn remember(&self, (port, incarnation): Id, topology: &str, what: What) {
        if let Some(news) = self.history.add(port, incarnation, topology, what) {
            self.outlet.note(&news.to_string());
        }
    }

    /// There is and was no process.
    fn not_started(&self, (port, incarnation): Id, kind: StartFailure, why: &str) {
        let known = self.table().remove(&(port, incarnation));
        let topology = known.map(|known| known.topology).unwrap_or_default();
        self.remember((port, incarnation), &topology, What::NotStarted { why: format!("{kind}: {why}") });
        self.outlet.tell(ProcessEvent::StartFailed { port, incarnation, kind, why: why.to_owned() });
    }

    /// The process has ended: from now on its number may be given to another one.
    fn is_over(&self, id: Id) {
        if let Some(known) = self.table().get_mut(&id) {
            known.running = None;
        }
    }

    /// Nothing of it is left.
    fn forget(&self, id: Id) -> Option<Known> {
        self.table().remove(&id)
    }
}

impl Ending {
    fn of(why: StopReason) -> Self {
        let is_wanted = match why {
            StopReason::AssignmentChanged | StopReason::CodeChanged | StopReason::Superseded | StopReason::Stray => {
                true
            }
            StopReason::NotUp | StopReason::Silent => false,
        };
        Self { why: why.to_string(), is_wanted }
    }
}

impl Running {
    /// Both go nowhere if it is gone. Only to be called while its entry is in the table.
    fn signal(&self, how: StopHow) {
        match how {
            StopHow::Ask => {
                let _ = pidfd_send_signal(&*self.pidfd, Signal::TERM);
            }
            StopHow::Kill => {
                let _ = pidfd_send_signal(&*self.pidfd, Signal::KILL);
                let _ = kill_process_group(self.pid, Signal::KILL);
            }
        }
    }
}

/// As a failure to start.
fn failure_of(trouble: SlotTrouble) -> StartFailure {
    match trouble {
        SlotTrouble::PortTaken => StartFailure::PortTaken,
        SlotTrouble::ResourcesExhausted => StartFailure::ResourcesExhausted,
        SlotTrouble::AddressUnusable => StartFailure::AddressUnusable,
        SlotTrouble::Other => StartFailure::Other,
    }
}
