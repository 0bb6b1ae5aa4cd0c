//! A worker that is a process of its own: runs the share of a topology that an assignment gives it.
//!
//! It starts its cores and connections and is ready when every connection is. From then on it takes over new assignments,
//! carries out orders and tells what happens. When there is nothing for it to do any more, or nobody who leads it, it ends.
//!
//! Invariants: nothing is decided here that concerns the whole topology; what this process runs never changes.
//!
//! Threading: the thread that calls [`run_worker`] or [`run_assigned_worker`], another that waits for instructions, and
//! that of the keeper. Errors: told to whoever leads, or returned.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_net::{Keeper, KeeperEvent, Lost};
use ringstorm_protocol::handshake::Secret;
use ringstorm_types::assignment::Assignment;
use ringstorm_types::generations::Generations;

use crate::api::builder::BuiltTopology;
use crate::clock;
use crate::core::status::Event;
use crate::error::{BuildError, StartError};
use crate::worker::blueprint::Blueprint;
use crate::worker::coordinator::Message;
use crate::worker::cores::{StartedCores, start_cores};
use crate::worker::cpus;
use crate::worker::evenly::cpus_of;
use crate::worker::members::{LocalCores, Members, Order};
use crate::worker::random::random_bytes;
use crate::worker::stalls::Stalls;
use crate::worker::talk::{self, FromWorker, ToWorker};
use admission::{SharedKnown, WorkerAdmission};
use assignments::{AssignmentNews, Assignments};
use change::{Change, change};
use peers::Peers;
use superior::{Instruction, Superior, hear_assignments, hear_leader, into};

mod admission;
pub(crate) mod assignments;
mod change;
mod peers;
mod superior;

/// How often a worker looks whether user code holds a core, and who is away.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// How long a worker waits for the counters of its cores.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the cores may take to end when there is nothing to do any more.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// What reaches the agent.
enum Input {
    Instruction(Instruction),
    Cores(Message),
    Keeper(KeeperEvent),
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
    let start = Start { name, topology: Arc::new(topology), position, cpus: &cpus, listener };
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
    agent.run(&inbox)
}

/// Runs worker number `number` as `assignments` says, until that has nothing for it any more. It listens at its address in
/// the first assignment. What happens is said on standard error.
///
/// # Errors
/// When there is no assignment for this worker at first, when it cannot be started, or when it cannot go on.
pub fn run_assigned_worker(
    name: &str,
    topology: BuiltTopology,
    number: u64,
    mut assignments: impl Assignments,
) -> Result<(), StartError> {
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
    let start = Start { name, topology: Arc::new(topology), position, cpus: &cpus, listener };
    let agent = start.start(assignment, &Superior::Log, &inputs)?;
    let tell = into(inputs, Input::Instruction);
    hear("ringstorm-assignments", move || hear_assignments(&mut assignments, tell))?;
    agent.run(&inbox)
}

/// Starts a thread that waits for instructions.
fn hear(name: &str, hear: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
    let thread = std::thread::Builder::new().name(name.into());
    thread.spawn(hear).map(drop).map_err(system("starting a thread (limit: processes)"))
}

/// What a worker is started with.
struct Start<'a> {
    name: &'a str,
    topology: Arc<BuiltTopology>,
    /// Its place in the assignment.
    position: usize,
    cpus: &'a [usize],
    listener: TcpListener,
}

impl Start<'_> {
    fn start(self, assignment: Assignment, superior: &Superior, inputs: &Sender<Input>) -> Result<Agent, StartError> {
        let Self { name, topology, position, cpus, listener } = self;
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
        peers.dial(&blueprint.assignment);
        Ok(Agent {
            name: name.to_owned(),
            cpus: cpus.to_vec(),
            assignment: Arc::clone(&blueprint.assignment),
            stalls: Stalls::new(cores.count(), cores.first_core()),
            blueprint,
            peers,
            ready: 0,
            is_ready: false,
            is_ending: false,
            ended: 0,
            failed: None,
            finished: BTreeMap::new(),
            cores,
            superior: superior.clone(),
        })
    }
}

struct Agent {
    name: String,
    cpus: Vec<usize>,
    assignment: Arc<Assignment>,
    blueprint: Arc<Blueprint>,
    cores: LocalCores,
    peers: Peers,
    superior: Superior,
    ready: usize,
    is_ready: bool,
    is_ending: bool,
    ended: usize,
    /// Why this worker cannot go on.
    failed: Option<String>,
    /// By component: how many cores have carried out its `finish`.
    finished: BTreeMap<u32, usize>,
    stalls: Stalls,
}

impl Agent {
    fn run(mut self, inbox: &Receiver<Input>) -> Result<(), StartError> {
        loop {
            match inbox.recv_timeout(LOOK_PERIOD) {
                Ok(Input::Instruction(Instruction::End)) => return self.end_alone(inbox),
                Ok(Input::Instruction(Instruction::Assignment(assignment))) => {
                    if let Some(why) = self.reassign(*assignment) {
                        self.note(format!("this worker ends: {why}"));
                        return self.end_alone(inbox);
                    }
                }
                Ok(Input::Instruction(Instruction::Other(message))) => self.obey(message),
                Ok(Input::Instruction(Instruction::Note(text))) => self.note(text),
                Ok(Input::Cores(message)) => self.heard(message),
                Ok(Input::Keeper(event)) => {
                    if let Some(text) = self.peers.keep(event) {
                        self.note(text);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            for (component, text) in self.stalls.look(&self.cores) {
                self.superior.tell(&FromWorker::Reported { component, task: 0, text });
            }
            if !self.is_ending {
                self.peers.look().into_iter().for_each(|text| self.note(text));
            }
            if self.ended == self.cores.count() {
                self.superior.tell(&FromWorker::Ended { panic: None });
                return Ok(());
            }
            if self.failed.is_some() && !self.superior.leads() {
                return self.end_alone(inbox);
            }
        }
    }

    /// Takes over an assignment. Returns why this worker is to end, if it is.
    fn reassign(&mut self, mut assignment: Assignment) -> Option<&'static str> {
        let own = self.blueprint.own_number();
        // Older than what another worker runs is out of date too: where it came from lags, or was set back.
        if let Err(stale) = self.peers.judge(|generations| generations.take_version(assignment.version)) {
            self.note(stale.to_string());
            return None;
        }
        let incarnation = self.blueprint.incarnation();
        let decide = |known: &mut Generations| change(&self.assignment, &assignment, own, incarnation, known);
        let stay = match self.peers.judge(decide) {
            Change::Leave(why) => return Some(why),
            Change::Stay(stay) => stay,
        };
        for worker in &mut assignment.workers {
            // What was once known to be needed for a change stays known.
            let needed = stay.renewed.get(&worker.number).copied().unwrap_or_default();
            worker.incarnation = worker.incarnation.max(needed);
        }
        let assignment = Arc::new(assignment);
        let mut rewired = None;
        if stay.is_rewired {
            let position = assignment.position_of(own).unwrap_or(self.blueprint.own);
            let built = Arc::clone(&self.blueprint.built);
            match Blueprint::new(built, &self.name, Arc::clone(&assignment), position, &self.cpus) {
                Ok(blueprint) => rewired = Some(Arc::new(blueprint)),
                Err(error) => {
                    self.note(format!("assignment {} is left: {error}", assignment.version));
                    return None;
                }
            }
        }
        if assignment.version > self.assignment.version {
            self.note(format!("assignment {} takes the place of {}", assignment.version, self.assignment.version));
        }
        self.assignment = assignment;
        self.peers.change(&self.assignment, rewired.as_ref(), &stay);
        if let Some(active) = stay.active.filter(|_| self.is_ready && !self.superior.leads()) {
            self.cores.tell_all(if active { Order::Activate } else { Order::Deactivate });
        }
        None
    }

    fn obey(&mut self, message: ToWorker) {
        match message {
            ToWorker::Assignment(_) => {}
            ToWorker::Order(order) => {
                match order {
                    Order::Finish { component } => drop(self.finished.insert(component, 0)),
                    Order::Stop { .. } => self.is_ending = true,
                    _ => {}
                }
                self.cores.tell_all(order);
            }
            ToWorker::ReadReceived => self.superior.tell(&FromWorker::Received(self.cores.received())),
            ToWorker::ReadSent => self.superior.tell(&FromWorker::Sent(self.cores.sent())),
            ToWorker::ReadSnapshots => {
                let (snapshots, _) = self.cores.snapshots(SNAPSHOT_TIMEOUT);
                self.superior.tell(&FromWorker::Snapshots(snapshots));
            }
        }
    }

    fn heard(&mut self, message: Message) {
        let Message::Core(event) = message else { return };
        let told = match event {
            Event::Ready { .. } => {
                self.ready += 1;
                return self.check_ready();
            }
            Event::StopAsked => FromWorker::StopAsked,
            Event::Idle => FromWorker::Idle,
            Event::Finished { component, .. } => {
                let done = self.finished.entry(component).or_default();
                *done += 1;
                if *done < self.cores.count() {
                    return;
                }
                FromWorker::Finished { component }
            }
            Event::Failed { failure } => {
                if failure.fatal {
                    self.failed.get_or_insert_with(|| {
                        format!("{}, task {}: {}", failure.component, failure.task.0, failure.text)
                    });
                }
                FromWorker::Failed {
                    component: failure.component.to_string(),
                    task: failure.task.0,
                    text: failure.text,
                    fatal: failure.fatal,
                }
            }
            Event::Reported { component, task, text } => FromWorker::Reported { component, task, text },
            Event::MoreReported { count } => FromWorker::MoreReported { count },
            Event::ConnectionLost { core, peer, lost } => {
                // The others end too, or one has said that it does, and the one that leads knows.
                if self.is_ending || self.superior.leads() && matches!(lost, Lost::PeerEnded) {
                    return;
                }
                match self.peers.lost(core - self.cores.first_core(), peer, &lost) {
                    Some(text) => FromWorker::Note { text },
                    None => return,
                }
            }
            Event::Connected { core, peer } => {
                self.peers.ready(core - self.cores.first_core(), peer);
                return self.check_ready();
            }
            Event::Ahead { version } => return self.peers.heard_of(version),
            Event::Noted { text } => FromWorker::Note { text },
            Event::Died { .. } => return,
            Event::Ended { panic, .. } => {
                self.ended += 1;
                let Some(text) = &panic else { return };
                self.failed.get_or_insert_with(|| text.clone());
                FromWorker::Ended { panic }
            }
        };
        self.superior.tell(&told);
    }

    fn note(&self, text: String) {
        self.superior.tell(&FromWorker::Note { text });
    }

    fn check_ready(&mut self) {
        if !self.is_ready && self.ready == self.cores.count() && self.peers.all_were_ready() {
            self.is_ready = true;
            self.superior.tell(&FromWorker::Ready);
            if !self.superior.leads() && self.assignment.active {
                self.cores.tell_all(Order::Activate);
            }
        }
    }

    /// There is nothing to do here any more: what runs is closed in order, as far as that goes in a short time.
    fn end_alone(mut self, inbox: &Receiver<Input>) -> Result<(), StartError> {
        self.is_ending = true;
        self.cores.tell_all(Order::Deactivate);
        self.cores.tell_all(Order::Stop { orderly: true });
        let until = std::time::Instant::now() + END_TIMEOUT;
        while self.ended < self.cores.count() {
            let left = until.saturating_duration_since(std::time::Instant::now());
            match inbox.recv_timeout(left) {
                Ok(Input::Cores(message)) => self.heard(message),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        match self.failed {
            Some(why) if !self.superior.leads() => Err(StartError::Worker(why)),
            _ => Ok(()),
        }
    }
}
