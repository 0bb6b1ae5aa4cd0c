//! A worker that is a process of its own: runs its share of the topology as the process that started it says.
//!
//! It makes a listening socket, tells where, gets the [`Setup`], starts its cores and connections, and is ready when every
//! connection is. From then on it carries out orders and tells what happens. When the leading process is gone, it stops.
//!
//! Invariants: nothing is decided here that concerns the whole topology.
//!
//! Threading: the thread that calls [`run_worker`], another that reads from the leading process, and that of the keeper.
//! Errors: told to the leading process, or returned if that cannot be reached.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ringstorm_net::{Keeper, KeeperEvent, Lost, Route};
use ringstorm_protocol::handshake::Secret;

use crate::api::builder::BuiltTopology;
use crate::core::status::{Command, Event};
use crate::error::{BuildError, StartError};
use crate::worker::admission::{WorkerAdmission, random_bytes};
use crate::worker::blueprint::{Blueprint, CoresWanted, WorkerShare};
use crate::worker::coordinator::Message;
use crate::worker::cores::{StartedCores, start_cores};
use crate::worker::cpus;
use crate::worker::members::{LocalCores, Members, Order};
use crate::worker::stalls::Stalls;
use crate::worker::talk::{self, FromWorker, Setup, ToWorker};

/// How often a worker looks whether user code holds a core.
const LOOK_PERIOD: Duration = Duration::from_millis(500);
/// How long a worker waits for the counters of its cores.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long the cores may take to end when the leading process is gone.
const ORPHAN_TIMEOUT: Duration = Duration::from_secs(5);

/// The way to the leading process.
#[derive(Clone)]
struct Leader(Arc<Mutex<UnixStream>>);

impl Leader {
    fn tell(&self, message: &FromWorker) {
        // One that is gone is noticed by the reader.
        let _ = talk::write(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), message);
    }
}

/// What reaches the agent.
enum Input {
    Leader(ToWorker),
    LeaderGone,
    Cores(Message),
    Keeper(KeeperEvent),
}

/// Runs worker number `worker` of so many, with its share of a topology, until the leading process, which listens at `leader`, says that it is over.
///
/// # Errors
/// When the leading process cannot be reached or this worker cannot be started; the leading process was told then.
pub fn run_worker(
    name: &str,
    topology: BuiltTopology,
    (worker, workers): (usize, NonZeroUsize),
    leader: &Path,
) -> Result<(), StartError> {
    let share = WorkerShare { worker, workers };
    let system = |what: &str| {
        let what = what.to_owned();
        move |source| StartError::System { what, source }
    };
    let mut stream = UnixStream::connect(leader).map_err(system("reaching the process that started this worker"))?;
    let writer = stream.try_clone().map_err(system("duplicating a socket (limit: open files)"))?;
    let leader = Leader(Arc::new(Mutex::new(writer)));
    let listen = topology.config.worker_listen().map_err(BuildError::from)?;
    let listen = listen.get(worker).map_or("127.0.0.1:0", String::as_str);
    let listener = TcpListener::bind(listen).map_err(system(&format!("listening on {listen}")))?;
    let own = listener.local_addr().map_err(system("asking for the address of a listening socket"))?;
    let dial = topology.config.worker_dial().map_err(BuildError::from)?;
    let address = dial.get(worker).cloned().unwrap_or_else(|| own.to_string());
    leader.tell(&FromWorker::Hello { worker, address });
    let setup = match talk::read(&mut stream) {
        Ok(Some(ToWorker::Setup(setup))) => setup,
        Ok(_) => return Ok(()),
        Err(source) => return Err(StartError::System { what: "reading what this worker is to do".into(), source }),
    };
    let (inputs, inbox) = channel();
    let started = start(name, topology, share, &setup, listener, &leader, &inputs);
    let agent = match started {
        Ok(agent) => agent,
        Err(error) => {
            leader.tell(&FromWorker::Ended { panic: Some(error.to_string()) });
            return Err(error);
        }
    };
    std::thread::Builder::new()
        .name("ringstorm-leader".into())
        .spawn(move || {
            while let Ok(Some(message)) = talk::read(&mut stream) {
                if inputs.send(Input::Leader(message)).is_err() {
                    return;
                }
            }
            let _ = inputs.send(Input::LeaderGone);
        })
        .map_err(system("starting a thread (limit: processes)"))?;
    agent.run(&inbox);
    Ok(())
}

fn start(
    name: &str,
    topology: BuiltTopology,
    share: WorkerShare,
    setup: &Setup,
    listener: TcpListener,
    leader: &Leader,
    inputs: &Sender<Input>,
) -> Result<Agent, StartError> {
    let cores = CoresWanted { cpus: cpus::usable().cpus };
    let mut blueprint = Blueprint::new(topology, name, &cores, setup.seed, share)?;
    if let Some(facts) = Arc::get_mut(&mut blueprint.facts) {
        setup.topology_id.clone_into(&mut facts.id);
    }
    blueprint.incarnation = setup.incarnations[share.worker];
    let blueprint = Arc::new(blueprint);
    let (messages, core_messages) = channel();
    let to_cores = inputs.clone();
    let forward = move || {
        for message in core_messages {
            if to_cores.send(Input::Cores(message)).is_err() {
                return;
            }
        }
    };
    let system = |what: &'static str| move |source| StartError::System { what: what.into(), source };
    std::thread::Builder::new()
        .name("ringstorm-events".into())
        .spawn(forward)
        .map_err(system("starting a thread (limit: processes)"))?;
    let debug_leader = leader.clone();
    let on_debug = Box::new(move |line: &str| debug_leader.tell(&FromWorker::Debug { line: line.to_owned() }));
    let StartedCores { cores, threads: _, debug: _ } = start_cores(&blueprint, &messages, Some(on_debug))?;
    let routes = routes(&blueprint);
    let to_keeper = inputs.clone();
    let tell = move |event| drop(to_keeper.send(Input::Keeper(event)));
    let admission = WorkerAdmission::new(&blueprint, setup);
    let keeper = Keeper::start(listener, Secret::new(setup.secret.clone()), admission, random_bytes, tell)
        .map_err(system("starting the thread that keeps connections (limit: processes)"))?;
    let agent = Agent {
        worker: share.worker,
        incarnations: setup.incarnations.clone(),
        forgot: BTreeMap::new(),
        stalls: Stalls::new(cores.count(), cores.first_core()),
        ready: 0,
        is_ready: false,
        is_ending: false,
        ended: 0,
        finished: BTreeMap::new(),
        missing: routes.keys().copied().collect(),
        routes,
        cores,
        keeper,
        leader: leader.clone(),
    };
    setup.addresses.iter().enumerate().for_each(|(worker, address)| agent.dial(worker, address));
    Ok(agent)
}

/// The connections of this worker: for each, which core's which peer it is.
fn routes(blueprint: &Blueprint) -> BTreeMap<Route, (usize, usize)> {
    let own = blueprint.own_threads();
    let mut routes = BTreeMap::new();
    for core in own.clone() {
        for (peer, thread) in blueprint.peers_of(core).into_iter().enumerate() {
            let worker = blueprint.threads[thread].worker as u32;
            let route = Route { worker, own_core: core as u32, their_core: thread as u32 };
            routes.insert(route, (core - own.start, peer));
        }
    }
    routes
}

struct Agent {
    worker: usize,
    /// By worker: older ones are stale.
    incarnations: Vec<u64>,
    /// By worker that is gone: how many cores have forgotten it.
    forgot: BTreeMap<usize, usize>,
    cores: LocalCores,
    keeper: Keeper,
    leader: Leader,
    routes: BTreeMap<Route, (usize, usize)>,
    /// Connections that were never made.
    missing: BTreeSet<Route>,
    ready: usize,
    is_ready: bool,
    is_ending: bool,
    ended: usize,
    /// By component: how many cores have carried out its `finish`.
    finished: BTreeMap<u32, usize>,
    stalls: Stalls,
}

impl Agent {
    fn run(mut self, inbox: &Receiver<Input>) {
        loop {
            match inbox.recv_timeout(LOOK_PERIOD) {
                Ok(Input::LeaderGone) => return self.end_alone(inbox),
                Ok(Input::Leader(message)) => self.obey(message),
                Ok(Input::Cores(message)) => self.heard(message),
                Ok(Input::Keeper(event)) => self.keep(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            for (component, text) in self.stalls.look(&self.cores) {
                self.leader.tell(&FromWorker::Reported { component, task: 0, text });
            }
            if self.ended == self.cores.count() {
                self.leader.tell(&FromWorker::Ended { panic: None });
                return;
            }
        }
    }

    fn obey(&mut self, message: ToWorker) {
        match message {
            ToWorker::Setup(_) => {}
            ToWorker::Order(order) => {
                match order {
                    Order::Finish { component } => drop(self.finished.insert(component, 0)),
                    Order::Stop { .. } => self.is_ending = true,
                    _ => {}
                }
                self.cores.tell_all(order);
            }
            ToWorker::Forget { worker, incarnation } => self.forget(worker, incarnation),
            ToWorker::Replaced { worker, address } => {
                self.cores.commands.iter().for_each(|commands| commands.send(Command::Lost { worker }));
                self.dial(worker, &address);
            }
            ToWorker::ReadReceived => self.leader.tell(&FromWorker::Received(self.cores.received())),
            ToWorker::ReadSent => self.leader.tell(&FromWorker::Sent(self.cores.sent())),
            ToWorker::ReadSnapshots => {
                let (snapshots, _) = self.cores.snapshots(SNAPSHOT_TIMEOUT);
                self.leader.tell(&FromWorker::Snapshots(snapshots));
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
            Event::Failed { failure } => FromWorker::Failed {
                component: failure.component.to_string(),
                task: failure.task.0,
                text: failure.text,
                fatal: failure.fatal,
            },
            Event::Reported { component, task, text } => FromWorker::Reported { component, task, text },
            Event::MoreReported { count } => FromWorker::MoreReported { count },
            Event::ConnectionLost { core, peer, lost } => {
                let member = core - self.cores.first_core();
                let route = self.routes.iter().find(|(_, place)| **place == (member, peer)).map(|(route, _)| *route);
                let Some(route) = route else { return };
                // The others end too, or one has said that it does.
                if self.is_ending || matches!(lost, Lost::PeerEnded) {
                    return;
                }
                self.keeper.lost(route);
                if matches!(lost, Lost::ClosedByPeer) {
                    // Its process has ended, which its leader knows better, or its machine; it is dialed again either way.
                    return;
                }
                FromWorker::Note { text: format!("the connection to {} is lost: {lost}", place(route)) }
            }
            Event::Forgot { worker } => {
                let done = self.forgot.entry(worker).or_default();
                *done += 1;
                if *done < self.cores.count() {
                    return;
                }
                self.forgot.remove(&worker);
                FromWorker::Forgot { worker }
            }
            Event::Noted { text } => FromWorker::Note { text },
            Event::Died { .. } => return,
            Event::Ended { panic, .. } => {
                self.ended += 1;
                if panic.is_none() {
                    return;
                }
                FromWorker::Ended { panic }
            }
        };
        self.leader.tell(&told);
    }

    fn keep(&mut self, event: KeeperEvent) {
        match event {
            KeeperEvent::Connected { route, socket, received, claims } => {
                let Some((member, peer)) = self.routes.get(&route).copied() else { return };
                // It was made before its peer was known to be gone.
                if claims.incarnation < self.incarnations[route.worker as usize] {
                    return;
                }
                self.cores.commands[member].send(Command::Attach { peer, socket, received });
                self.missing.remove(&route);
                self.check_ready();
            }
            KeeperEvent::Unreachable { route, why } => {
                self.note(format!("{} cannot be reached: {why}; trying again", place(route)));
            }
            KeeperEvent::Refused { from, why } => {
                let from = from.map_or("somebody".to_owned(), |from| from.to_string());
                self.note(format!("a connection from {from} was refused: {why}"));
            }
            KeeperEvent::Silent { route } => {
                self.note(format!("the machine of {} is silent: the connection is given up", place(route)));
            }
        }
    }

    fn forget(&mut self, worker: usize, incarnation: u64) {
        self.incarnations[worker] = incarnation;
        self.keeper.renew(worker as u32, incarnation);
        let place = |member| {
            let of_worker = self.routes.iter().filter(move |(route, _)| route.worker as usize == worker);
            of_worker.filter(move |(_, place)| place.0 == member).map(|(_, place)| place.1).collect()
        };
        for (member, commands) in self.cores.commands.iter().enumerate() {
            commands.send(Command::Forget { worker, peers: place(member) });
        }
    }

    fn dial(&self, worker: usize, address: &str) {
        if worker > self.worker {
            let routes = self.routes.keys().filter(|route| route.worker as usize == worker);
            routes.for_each(|route| self.keeper.dial(*route, address));
        }
    }

    fn note(&self, text: String) {
        self.leader.tell(&FromWorker::Note { text });
    }

    fn check_ready(&mut self) {
        if !self.is_ready && self.ready == self.cores.count() && self.missing.is_empty() {
            self.is_ready = true;
            self.leader.tell(&FromWorker::Ready);
        }
    }

    /// Nobody leads any more: what runs is closed in order, as far as that goes in a short time.
    fn end_alone(mut self, inbox: &Receiver<Input>) {
        self.cores.tell_all(Order::Deactivate);
        self.cores.tell_all(Order::Stop { orderly: true });
        let until = std::time::Instant::now() + ORPHAN_TIMEOUT;
        while self.ended < self.cores.count() {
            let left = until.saturating_duration_since(std::time::Instant::now());
            match inbox.recv_timeout(left) {
                Ok(Input::Cores(message)) => self.heard(message),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

fn place(route: Route) -> String {
    format!("core {} of worker {}", route.their_core, route.worker)
}
