//! A world in which processes run: time, the tree, the network, and what goes wrong.
//!
//! - [`process`]: what runs.
//! - [`faults`], [`by_hand`]: what goes wrong.
//! - [`network`]: who reaches whom.
//! - [`queue`]: what will happen.
//!
//! Everything that happens is an event of one queue, so that a run is the order of its events. Invariants: what a seed
//! decides is drawn from one generator in that order; nothing here looks at a real clock, and nothing is iterated over in
//! an order that is not fixed. Threading: one thread. Errors: a [`Violation`] ends the run.

pub mod by_hand;
mod calls;
mod code;
mod connection;
mod data_path;
pub mod disk;
pub mod faults;
mod life;
pub mod network;
pub mod process;
pub mod queue;
pub mod truth;
mod workers;
mod writes;
pub(crate) mod zookeeper;

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_nimbus::interface::{CodeRequest, Request};
use ringstorm_records::znode::Root;
use ringstorm_store::cluster::{Cluster, ClusterAcls};
use ringstorm_store::memory::Ensemble;
use ringstorm_store::store::SessionId;
use ringstorm_supervisor::events::Exit;

use self::by_hand::Damage;
use self::calls::Call;
use self::connection::{Answered, Asked};
use self::data_path::Hello;
use self::faults::{Faults, Mend};
use self::network::Network;
use self::process::{HostId, Process, ProcessId};
use self::queue::Queue;
use self::truth::Truth;
use self::workers::WorkerProcess;
use self::writes::Queued;
use self::zookeeper::ZooKeeper;
use crate::actor::{At, Factory, Input, Role};
use crate::checks::{Mirror, Violation};
use crate::clock::Clock;
use crate::coverage::Coverage;
use crate::plants::PlantedBug;
use crate::random::Random;
use crate::trace::Trace;

/// More events than this in one run are a loop somewhere.
const EVENTS_MAX: u64 = 3_000_000;

/// Something that happens.
pub(crate) enum Event {
    /// A request arrives at the ensemble.
    Arrive(Box<Asked>),
    /// Its answer arrives at the process.
    Reply(Box<Answered>),
    /// A watch arrives at the process.
    Watch { process: ProcessId, life: u64, number: u64 },
    /// The process is told something.
    Give { process: ProcessId, life: u64, input: Box<Input> },
    /// The process tries to connect.
    Connect { process: ProcessId, life: u64, link: u64 },
    /// A process learns that its connection is lost.
    Cut { process: ProcessId, life: u64 },
    /// A session was silent for its time, if the silence lasted.
    Expire { session: SessionId, silence: u64 },
    /// A process wanted to be woken.
    Wake { process: ProcessId, life: u64, number: u64 },
    /// A process starts.
    Start { process: ProcessId, life: u64 },
    /// A frozen process goes on.
    Thaw { process: ProcessId, life: u64 },
    /// The code directory of a nimbus has done what it was asked; without a request, what it holds is read.
    Code { process: ProcessId, life: u64, request: Option<Box<CodeRequest>> },
    /// A supervisor has got the code of a topology, or not.
    Fetched { process: ProcessId, life: u64, topology: String },
    /// A call arrives.
    Called { number: u64, request: Box<Request> },
    /// A client has waited long enough.
    Impatient { number: u64 },
    /// A worker process ends.
    Exit { process: ProcessId, how: Exit },
    /// The cores of a worker run.
    CoresStarted { process: ProcessId, life: u64, input: Box<Input> },
    /// A second has passed for a worker.
    Tick { process: ProcessId, life: u64 },
    /// A worker hears of another one.
    Hello(Hello),
    /// A frame arrives.
    Frame { from: ProcessId, to: ProcessId },
    /// A user wants something.
    Wish { client: ProcessId, wish: u64, request: Box<Request> },
    /// A disk is copied to another host, and what is on it starts there.
    Clone { original: ProcessId, clone: ProcessId },
    /// A snapshot of the tree is taken.
    Snapshot,
    /// Something goes wrong.
    Fault,
    /// What went wrong is over.
    Mend(Mend),
    /// All that went wrong is over.
    Heal,
}

/// How bad things are at present, in events of a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Messages that take long.
    pub slow_per_mille: u32,
    /// Watches that are told late.
    pub slow_watch_per_mille: u32,
    /// Workers that take long to start.
    pub slow_starts_per_mille: u32,
    /// Workers that do not start.
    pub failing_starts_per_mille: u32,
    /// What code directories do not do.
    pub failing_disk_per_mille: u32,
    /// Operations of the tree that fail, or get no answer, while the connection stays.
    pub failing_operations_per_mille: u32,
    /// Answers to clients that are lost.
    pub lost_answers_per_mille: u32,
}

/// A world.
pub struct World {
    pub(crate) now: At,
    /// Chance.
    pub random: Random,
    /// What happened.
    pub trace: Trace,
    /// How often what happened.
    pub coverage: Coverage,
    /// How bad things are.
    pub weather: Weather,
    /// Who reaches whom.
    pub network: Network,
    pub(crate) queue: Queue<Event>,
    pub(crate) processes: Vec<Process>,
    pub(crate) zookeeper: ZooKeeper,
    pub(crate) root: Root,
    /// Who wants to lead.
    pub(crate) queued: Queued,
    /// What the tree says of topologies.
    pub(crate) mirror: Mirror,
    pub(crate) faults: Option<Faults>,
    pub(crate) damage: Damage,
    pub(crate) hosts_down: Vec<bool>,
    pub(crate) healed_at: Option<At>,
    /// What machines are told to be the tree.
    pub(crate) cluster: Cluster,
    /// Nimbuses, by where they are reached.
    pub(crate) addresses: BTreeMap<String, ProcessId>,
    pub(crate) calls: BTreeMap<u64, Call>,
    pub(crate) next_call: u64,
    pub(crate) workers: BTreeMap<ProcessId, WorkerProcess>,
    pub(crate) truth: Truth,
    pub(crate) planted: Option<PlantedBug>,
    /// After how many more writes of a leader that leader dies.
    pub(crate) kill_leader_after: Option<u64>,
    /// How many slots there are when all is well.
    pub(crate) slots: usize,
    /// What processes wrote for operators, if it is kept.
    pub(crate) notes: Option<Vec<String>>,
    /// A supervisor on a copied disk, which is taken away when all heals.
    pub(crate) clone: Option<ProcessId>,
    events: u64,
}

/// The name of a host.
pub fn host_name(host: HostId) -> String {
    format!("host-{}", host.0)
}

impl World {
    /// The world of a seed, with nobody in it.
    pub fn new(seed: u64, lines_kept: usize) -> Self {
        let mut random = Random::new(seed);
        let timeout = random.millis(6_000, 20_000);
        let root = Root::new("/storm").expect("it starts with / and has one name");
        Self {
            now: At::ZERO,
            random,
            trace: Trace::new(lines_kept),
            coverage: Coverage::default(),
            weather: Weather::default(),
            network: Network::default(),
            queue: Queue::default(),
            processes: Vec::new(),
            zookeeper: ZooKeeper::new(timeout),
            queued: Queued::new(&root),
            mirror: Mirror::default(),
            faults: None,
            damage: Damage::default(),
            hosts_down: Vec::new(),
            healed_at: None,
            cluster: Cluster::new(root.clone(), ClusterAcls::open()),
            root,
            addresses: BTreeMap::new(),
            calls: BTreeMap::new(),
            next_call: 1,
            workers: BTreeMap::new(),
            truth: Truth::default(),
            planted: None,
            kill_leader_after: None,
            slots: 0,
            notes: None,
            clone: None,
            events: 0,
        }
    }

    /// The time since its beginning.
    pub fn now(&self) -> At {
        self.now
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The tree.
    pub fn tree(&self) -> &Ensemble {
        &self.zookeeper.ensemble
    }

    /// Adds a process, which starts after a delay.
    pub fn add(&mut self, name: &str, role: Role, host: HostId, delay: Duration, factory: Factory) -> ProcessId {
        let clock = Clock::random(&mut self.random);
        let id = ProcessId(self.processes.len());
        self.processes.push(Process::new(name.to_owned(), role, host, clock, factory));
        self.queue.push(self.now + delay, Event::Start { process: id, life: 0 });
        id
    }

    /// Plans that a user wants something.
    pub(crate) fn plan_wish(&mut self, at: At, client: ProcessId, wish: u64, request: Request) {
        self.queue.push(at, Event::Wish { client, wish, request: Box::new(request) });
    }

    /// Plans that the disk of a supervisor is copied, and that the copy runs until all heals.
    pub(crate) fn plan_clone(
        &mut self,
        original: ProcessId,
        name: &str,
        host: HostId,
        at: At,
        factory: impl FnOnce(&Self, HostId) -> Factory,
    ) {
        let factory = factory(self, host);
        let id = ProcessId(self.processes.len());
        let clock = Clock::random(&mut self.random);
        let mut process = Process::new(name.to_owned(), Role::Supervisor, host, clock, factory);
        process.is_restarted = false;
        self.processes.push(process);
        self.clone = Some(id);
        self.queue.push(at, Event::Clone { original, clone: id });
    }

    /// Lets things happen until a time.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn run_until(&mut self, until: At) -> Result<(), Violation> {
        while let Some((at, event)) = self.queue.pop_due(until) {
            self.now = at;
            self.events += 1;
            if self.events > EVENTS_MAX {
                return Err(Violation::new("no busy loop", format!("{EVENTS_MAX} events, and no end")));
            }
            self.happen(event)?;
        }
        self.now = until;
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Result<(), Violation> {
        match event {
            Event::Arrive(request) => self.arrive(*request),
            Event::Reply(reply) => self.reply(*reply),
            Event::Watch { process, life, number } => self.watch(process, life, number),
            Event::Give { process, life, input } => {
                if self.processes[process.0].life == life {
                    self.give(process, *input)
                } else {
                    Ok(())
                }
            }
            Event::Code { process, life, request } => self.code_done(process, life, request.map(|it| *it)),
            Event::Fetched { process, life, topology } => self.code_fetched(process, life, topology),
            Event::Called { number, request } => self.called(number, *request),
            Event::Impatient { number } => {
                self.give_up(number);
                Ok(())
            }
            Event::Exit { process, how } => self.exit_worker(process, how),
            Event::CoresStarted { process, life, input } => self.cores_started(process, life, *input),
            Event::Tick { process, life } => self.tick(process, life),
            Event::Hello(hello) => self.hello(hello),
            Event::Frame { from, to } => self.frame(from, to),
            Event::Connect { process, life, link } => self.connect(process, life, link),
            Event::Cut { process, life } => {
                if self.processes[process.0].life == life {
                    self.cut(process, None);
                }
                Ok(())
            }
            Event::Expire { session, silence } => self.expire(session, silence),
            Event::Wake { process, life, number } => self.wake(process, life, number),
            Event::Start { process, life } => self.start(process, life),
            Event::Thaw { process, life } => self.thaw(process, life),
            Event::Wish { client, wish, request } => self.wish(client, wish, *request),
            Event::Clone { original, clone } => {
                self.coverage.hit("fault: supervisor cloned");
                self.processes[clone.0].disk = self.processes[original.0].disk.clone();
                self.start(clone, 0)
            }
            Event::Snapshot => {
                self.snapshot();
                Ok(())
            }
            Event::Fault => self.fault(),
            Event::Mend(mend) => self.mend(mend),
            Event::Heal => self.heal(),
        }
    }
}
