//! Brings a worker that is a process of its own to life, and runs it to its end.
//!
//! Threading: the thread that calls [`run_worker`] or [`run_assigned_worker`], and others that wait for instructions.
//! Errors: told to whoever leads, or returned.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringstorm_net::Keeper;
use ringstorm_protocol::handshake::Secret;
use ringstorm_types::assignment::Assignment;

use super::admission::{SharedKnown, WorkerAdmission};
use super::assignments::{AssignmentNews, Assignments};
use super::peers::Peers;
use super::progress::Progress;
use super::speech::Speech;
use super::superior::{Instruction, Superior, hear_assignments, hear_leader, into};
use super::{Agent, Input, LOOK_PERIOD};
use crate::api::builder::BuiltTopology;
use crate::clock;
use crate::error::{BuildError, StartError};
use crate::worker::blueprint::Blueprint;
use crate::worker::cores::{StartedCores, start_cores};
use crate::worker::cpus;
use crate::worker::evenly::cpus_of;
use crate::worker::members::Members;
use crate::worker::random::random_bytes;
use crate::worker::stalls::Stalls;
use crate::worker::talk::{self, FromWorker, ToWorker};

/// How a worker that a source of assignments leads came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// The assignments have nothing for it to do any more.
    Unassigned,
    /// It was told to stop, took nothing new and drained for as long as that took, or as it may.
    Stopped {
        /// Messages of its spouts that were neither acked nor failed.
        pending: u64,
        /// Tuples that were emitted, here or to here, and not executed.
        in_flight: u64,
    },
}

fn system(what: &str) -> impl FnOnce(std::io::Error) -> StartError + use<> {
    let what = what.to_owned();
    move |source| StartError::System { what, source }
}

/// Runs worker number `worker` of a run that is led by the process that listens at `leader`, until that says that it is
/// over.
///
/// # Errors
/// When the leading process cannot be reached or this worker cannot be started; the leading process was told then.
pub fn run_worker(name: &str, topology: BuiltTopology, worker: usize, leader: &Path) -> Result<(), StartError> {
    let mut stream = UnixStream::connect(leader).map_err(system("reaching the process that started this worker"))?;
    let writer = stream.try_clone().map_err(system("duplicating a socket (limit: open files)"))?;
    let superior = Superior::Leader(Arc::new(Mutex::new(writer)));
    let listen = topology.config.worker_listen().map_err(BuildError::from)?;
    let listen = listen.get(worker).map_or("127.0.0.1:0", String::as_str);
    let listener = TcpListener::bind(listen).map_err(system(&format!("listening on {listen}")))?;
    let own = listener.local_addr().map_err(system("asking for the address of a listening socket"))?;
    let dial = topology.config.worker_dial().map_err(BuildError::from)?;
    let address = dial.get(worker).cloned().unwrap_or_else(|| own.to_string());
    superior.tell(&FromWorker::Hello { worker, address });
    let assignment = match talk::read(&mut stream) {
        Ok(Some(ToWorker::Assignment(assignment))) => assignment,
        Ok(_) => return Ok(()),
        Err(source) => return Err(system("reading what this worker is to do")(source)),
    };
    let Some(position) = assignment.position_of(worker as u64) else { return Ok(()) };
    let cpus = cpus_of(&assignment, position, &cpus::usable().cpus);
    let (inputs, inbox) = channel();
    let figures_period = Duration::ZERO;
    let start = Start { name, topology: Arc::new(topology), position, cpus: &cpus, listener, figures_period };
    let agent = match start.start(*assignment, &superior, &inputs) {
        Ok(agent) => agent,
        Err(error) => {
            superior.tell(&FromWorker::Ended { panic: Some(error.to_string()) });
            return Err(error);
        }
    };
    let tell = into(inputs, Input::Instruction);
    let path = leader.to_owned();
    hear("ringstorm-leader", move || hear_leader(stream, &path, tell))?;
    agent.run(&inbox).map(drop)
}

/// Runs worker number `number` as `assignments` says, until that has nothing for it any more, or somebody says so through
/// `stop`: then it takes nothing new, drains for at most `ringstorm.drain.timeout.secs`, and ends. It listens at its address
/// in the first assignment. What happens is said on standard error.
///
/// # Errors
/// When there is no assignment for this worker at first, when it cannot be started, or when it cannot go on.
pub fn run_assigned_worker(
    name: &str,
    topology: BuiltTopology,
    number: u64,
    mut assignments: impl Assignments,
    stop: Receiver<()>,
) -> Result<WorkerEnd, StartError> {
    let mut assignment = match assignments.next() {
        AssignmentNews::Current(assignment) => *assignment,
        AssignmentNews::Unreadable(text) => return Err(StartError::Worker(text)),
        AssignmentNews::Withdrawn => return Err(StartError::Worker("there is no assignment".into())),
    };
    let Some(position) = assignment.position_of(number) else {
        return Err(StartError::Worker(format!("the assignment has no worker {number}")));
    };
    let own = &mut assignment.workers[position];
    // Each process of a slot is newer than the one before it, whatever the assignment knows of them.
    own.incarnation = own.incarnation.max(clock::now_since_1970_us());
    let listen = topology.config.worker_listen().map_err(BuildError::from)?;
    let listen = usize::try_from(number).ok().and_then(|number| listen.get(number)).unwrap_or(&own.address);
    let listener = TcpListener::bind(listen).map_err(system(&format!("listening on {listen}")))?;
    let (inputs, inbox) = channel();
    let cpus = cpus::usable().cpus;
    let figures_period = Duration::ZERO;
    let start = Start { name, topology: Arc::new(topology), position, cpus: &cpus, listener, figures_period };
    let agent = start.start(assignment, &Superior::Log, &inputs)?;
    let tell = into(inputs.clone(), Input::Instruction);
    hear("ringstorm-assignments", move || hear_assignments(&mut assignments, tell))?;
    let tell = into(inputs, Input::Instruction);
    hear("ringstorm-stop", move || {
        if stop.recv().is_ok() {
            tell(Instruction::Drain);
        }
    })?;
    agent.run(&inbox)
}

/// Starts a thread that waits for instructions.
pub(super) fn hear(name: &str, hear: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
    let thread = std::thread::Builder::new().name(name.into());
    thread.spawn(hear).map(drop).map_err(system("starting a thread (limit: processes)"))
}

/// What a worker is started with.
pub(super) struct Start<'a> {
    pub(super) name: &'a str,
    pub(super) topology: Arc<BuiltTopology>,
    /// Its place in the assignment.
    pub(super) position: usize,
    pub(super) cpus: &'a [usize],
    pub(super) listener: TcpListener,
    /// How often figures are reported to whoever wants them.
    pub(super) figures_period: Duration,
}

impl Start<'_> {
    pub(super) fn start(
        self,
        assignment: Assignment,
        superior: &Superior,
        inputs: &Sender<Input>,
    ) -> Result<Agent, StartError> {
        let Self { name, topology, position, cpus, listener, figures_period } = self;
        let absence = topology.config.worker_absence_secs().map_err(BuildError::from)?;
        let absence = Duration::from_secs_f64(absence);
        let blueprint = Arc::new(Blueprint::new(topology, name, Arc::new(assignment), position, cpus)?);
        let (messages, core_messages) = channel();
        let to_cores = inputs.clone();
        hear("ringstorm-events", move || {
            for message in core_messages {
                if to_cores.send(Input::Cores(message)).is_err() {
                    return;
                }
            }
        })?;
        let debug_superior = superior.clone();
        let on_debug = Box::new(move |line: &str| debug_superior.tell(&FromWorker::Debug { line: line.to_owned() }));
        let StartedCores { cores, threads: _, debug: _ } = start_cores(&blueprint, &messages, Some(on_debug))?;
        let known = SharedKnown::default();
        Peers::know(&blueprint, &known);
        let to_keeper = inputs.clone();
        let tell = move |event| drop(to_keeper.send(Input::Keeper(event)));
        let admission = WorkerAdmission::new(&blueprint, &known);
        let secret = Secret::new(blueprint.assignment.secret.0.as_bytes());
        let keeper = Keeper::start(listener, secret, admission, random_bytes, tell)
            .map_err(system("starting the thread that keeps connections (limit: processes)"))?;
        let peers = Peers::new(&blueprint, &cores.commands, keeper, known, absence);
        let speech = Speech::new(
            superior.clone(),
            blueprint.config.max_error_report_per_interval().map_err(BuildError::from)?,
            Duration::from_secs(blueprint.config.error_throttle_interval_secs().map_err(BuildError::from)?.into()),
        );
        peers.dial(&blueprint.assignment);
        Ok(Agent {
            name: name.to_owned(),
            cpus: cpus.to_vec(),
            assignment: Arc::clone(&blueprint.assignment),
            stalls: Stalls::new(cores.count(), cores.first_core()),
            blueprint,
            peers,
            progress: superior.wants_figures().then(|| Progress::new(&cores, figures_period, Instant::now())),
            next_counts: Instant::now() + LOOK_PERIOD,
            ready: 0,
            is_ready: false,
            is_ending: false,
            draining: None,
            asks_until: None,
            ended: 0,
            failed: None,
            finished: BTreeMap::new(),
            cores,
            speech,
        })
    }
}
