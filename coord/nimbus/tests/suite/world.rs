//! A cluster of which only the nimbuses are real.
//!
//! Each nimbus has a client of one ensemble in memory and a code directory. Effects are done at once, in order; time moves
//! from one moment at which somebody has something to do to the next. After each step it is looked at that no slot belongs
//! to two topologies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ringstorm_control::machine::Machine;
use ringstorm_control::talks::FromStore;
use ringstorm_control::tickets::Tickets;
use ringstorm_control::time::{Moment, Now};
use ringstorm_nimbus::interface::{
    CodeEvent, CodeFailure, CodeRequest, CodeTask, Content, HeldBlob, Refusal, Reply, Request, RequestId,
};
use ringstorm_nimbus::{Identity, Nimbus, NimbusEffect, NimbusInput, NimbusSettings};
use ringstorm_records::payload::{self, NimbusAddress};
use ringstorm_records::records::{Assignment, ClusterWorkerHeartbeat, StormBase, SupervisorInfo};
use ringstorm_records::znode::{Node, NodeName, Root, Slot};
use ringstorm_store::cluster::{Cluster, ClusterAcls, Tree};
use ringstorm_store::memory::{Ensemble, Loss, MemoryStore, SharedEnsemble};
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::{Doubt, Outcome};
use ringstorm_store::path::ZnodePath;
use ringstorm_store::procedure::Step;
use ringstorm_store::store::{Event, SessionEvent, SessionId, Store};

/// When the world begins, by the time of day.
const BEGINNING_SECS: u64 = 1_795_972_824;

pub(crate) struct World {
    pub(crate) ensemble: SharedEnsemble,
    pub(crate) now: Duration,
    pub(crate) daemons: Vec<Daemon>,
    settings: NimbusSettings,
    #[cfg(feature = "planted-bugs")]
    pub(crate) plants: ringstorm_nimbus::Plants,
    supervisors: BTreeMap<String, SessionId>,
    /// Workers beat in every slot that is assigned on these supervisors.
    pub(crate) silent: BTreeSet<String>,
    beats_at: Duration,
    observer: SessionId,
    next_request: u64,
    writes_checked: usize,
    pub(crate) replies: BTreeMap<RequestId, Result<Reply, Refusal>>,
    pub(crate) notes: Vec<String>,
}

/// A nimbus on its host.
pub(crate) struct Daemon {
    pub(crate) host: String,
    running: Option<Running>,
    pub(crate) directory: BTreeMap<NodeName, HeldBlob>,
    pub(crate) stopped: Option<String>,
    pub(crate) starts: u128,
    /// Uploads that are here; all of them if `None`.
    pub(crate) has_uploads: bool,
    /// Writes that are done before it crashes.
    crashes_after: Option<usize>,
    /// After how many writes the outcome of one is lost, and how.
    loses: Option<(usize, Loss)>,
    /// After how many reads one fails.
    pub(crate) fails_read: Option<usize>,
    /// How many writes it asked for.
    pub(crate) writes: usize,
}

impl Daemon {
    /// What was to happen to it does not.
    pub(crate) fn calm_down(&mut self) {
        self.crashes_after = None;
        self.loses = None;
        self.fails_read = None;
    }
}

struct Running {
    nimbus: Nimbus,
    store: MemoryStore,
    session: Option<SessionId>,
    tickets: Tickets,
    code_events: VecDeque<CodeEvent>,
    /// Outcomes of reads that failed.
    failed: VecDeque<FromStore>,
}

pub(crate) fn cluster() -> Cluster {
    Cluster::new(Root::new("/storm").unwrap(), ClusterAcls::open())
}

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

impl World {
    pub(crate) fn new(hosts: &[&str]) -> Self {
        Self::with(hosts, NimbusSettings::default())
    }

    pub(crate) fn with(hosts: &[&str], settings: NimbusSettings) -> Self {
        let mut settings = settings;
        // As in Storm's defaults.yaml.
        settings.conf.insert("topology.eventlogger.executors".into(), 0.into());
        let mut ensemble = Ensemble::new(1);
        let observer = ensemble.open(0, &[]);
        let daemon = |host: &&str| Daemon {
            host: (*host).to_owned(),
            running: None,
            directory: BTreeMap::new(),
            stopped: None,
            starts: 0,
            has_uploads: true,
            crashes_after: None,
            loses: None,
            fails_read: None,
            writes: 0,
        };
        let mut world = Self {
            ensemble: SharedEnsemble::new(ensemble),
            now: Duration::from_secs(1000),
            daemons: hosts.iter().map(daemon).collect(),
            settings,
            #[cfg(feature = "planted-bugs")]
            plants: ringstorm_nimbus::Plants::default(),
            supervisors: BTreeMap::new(),
            silent: BTreeSet::new(),
            beats_at: Duration::ZERO,
            observer,
            next_request: 0,
            writes_checked: 0,
            replies: BTreeMap::new(),
            notes: Vec::new(),
        };
        for index in 0..hosts.len() {
            world.start(index);
        }
        world
    }

    fn now(&self) -> Now {
        Now { moment: Moment(self.now), wall: self.now + Duration::from_secs(BEGINNING_SECS) }
    }

    pub(crate) fn address(&self, index: usize) -> NimbusAddress {
        let (host, port) = self.daemons[index].host.split_once(':').unwrap_or((&self.daemons[index].host, "6627"));
        NimbusAddress::new(host, port.parse().unwrap(), 0).unwrap()
    }

    /// Starts the process of a nimbus.
    pub(crate) fn start(&mut self, index: usize) {
        let (now, address) = (self.now(), self.address(index));
        let daemon = &mut self.daemons[index];
        daemon.starts += 1;
        let random = ((index as u128 + 1) << 100) | (daemon.starts << 64);
        let identity = Identity { address, version: "2.8.2-ringstorm.0.1.0".into(), random };
        let nimbus = Nimbus::new(cluster(), identity, self.settings.clone(), now);
        #[cfg(feature = "planted-bugs")]
        let nimbus = nimbus.with_plants(self.plants);
        let held = CodeEvent::Held(daemon.directory.values().cloned().collect());
        daemon.running = Some(Running {
            nimbus,
            store: MemoryStore::open(&self.ensemble, 0, &[]),
            session: None,
            tickets: Tickets::default(),
            code_events: [held].into(),
            failed: VecDeque::new(),
        });
    }

    /// Ends the process of a nimbus. Its session goes on until [`Self::forget_sessions`].
    pub(crate) fn crash(&mut self, index: usize) {
        if let Some(mut running) = self.daemons[index].running.take() {
            // Its connection is lost, and its session is left to expire.
            running.store.disconnect();
        }
    }

    /// The sessions of nobody expire.
    pub(crate) fn forget_sessions(&mut self) {
        // Who has just opened one has to hear of it.
        self.settle();
        let mut living: BTreeSet<SessionId> = self.supervisors.values().copied().collect();
        living.insert(self.observer);
        living.extend(self.daemons.iter().filter_map(|daemon| daemon.running.as_ref()?.session));
        self.ensemble.with(|ensemble| {
            for session in ensemble.sessions().collect::<Vec<_>>() {
                if !living.contains(&session) {
                    ensemble.end(session);
                }
            }
        });
    }

    pub(crate) fn store(&mut self, index: usize) -> &mut MemoryStore {
        &mut self.daemons[index].running.as_mut().unwrap().store
    }

    /// Crashes a nimbus when so many more writes of it were done, before it hears of the last.
    pub(crate) fn crash_after(&mut self, index: usize, writes: usize) {
        self.daemons[index].crashes_after = Some(writes);
    }

    pub(crate) fn is_running(&self, index: usize) -> bool {
        self.daemons[index].running.is_some()
    }

    pub(crate) fn is_leading(&self, index: usize) -> bool {
        self.daemons[index].running.as_ref().is_some_and(|running| running.nimbus.is_leading())
    }

    pub(crate) fn leader(&self) -> Option<usize> {
        (0..self.daemons.len()).find(|index| self.is_leading(*index))
    }

    /// Asks a nimbus for something.
    pub(crate) fn ask(&mut self, index: usize, request: Request) -> RequestId {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        let now = self.now();
        match &mut self.daemons[index].running {
            Some(running) => {
                let effects = running.nimbus.handle(now, NimbusInput::Request { id, request });
                self.perform(index, effects);
            }
            None => {
                self.replies.insert(id, Err(Refusal::Unknown("nobody is there".into())));
            }
        }
        id
    }

    /// Asks a nimbus for something, and lets time go on until there is an answer.
    pub(crate) fn answer(&mut self, index: usize, request: Request) -> Result<Reply, Refusal> {
        let id = self.ask(index, request);
        for _ in 0..200 {
            self.settle();
            if let Some(reply) = self.replies.remove(&id) {
                return reply;
            }
            if !self.is_running(index) {
                return Err(Refusal::Unknown("the connection broke".into()));
            }
            self.run_for(Duration::from_secs(1));
        }
        panic!("no answer came; {:#?}", self.notes);
    }

    /// Asks whoever leads, again and again, until somebody knows.
    pub(crate) fn insist(&mut self, request: &Request) -> Result<Reply, Refusal> {
        for _ in 0..100 {
            let asked = self.leader().map(|leader| self.answer(leader, request.clone()));
            match asked {
                Some(Err(Refusal::TryAgain(_) | Refusal::Unknown(_) | Refusal::NotLeader { .. })) | None => {
                    self.run_for(Duration::from_secs(2));
                    self.revive();
                }
                Some(answer) => return answer,
            }
        }
        panic!("nobody knows; {:#?}", self.notes);
    }

    /// Starts whoever crashed.
    pub(crate) fn revive(&mut self) {
        for index in 0..self.daemons.len() {
            if !self.is_running(index) && self.daemons[index].stopped.is_none() {
                self.daemons[index].crashes_after = None;
                self.forget_sessions();
                self.start(index);
            }
        }
    }

    /// Somebody deletes the place of whoever is first in the queue.
    pub(crate) fn delete_first_place(&mut self) {
        let number = |path: &str| path.rsplit('-').next().unwrap_or_default().to_owned();
        let places = self.paths().into_iter().filter(|path| path.starts_with("/storm/leader-lock/"));
        if let Some(first) = places.min_by_key(|path| number(path)) {
            let (observer, path) = (self.observer, ZnodePath::new(&first).unwrap());
            self.ensemble.with(|ensemble| {
                let _ = ensemble.perform(observer, &Operation::delete(path));
            });
        }
    }

    /// Lets time go on.
    pub(crate) fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        let mut woken_at_once = 0;
        loop {
            self.settle();
            let due = self.daemons.iter().filter_map(|daemon| daemon.running.as_ref()?.nimbus.wake_at());
            let due = due.map(|moment| moment.0).chain([self.beats_at]).min().unwrap();
            if due > end {
                break;
            }
            // Whoever is woken in vain would keep a processor busy.
            woken_at_once = if due <= self.now { woken_at_once + 1 } else { 0 };
            assert!(woken_at_once < 50, "somebody wants to be woken again and again; {:#?}", self.notes);
            self.now = due.max(self.now);
            if self.now >= self.beats_at {
                self.beat();
            }
            let now = self.now();
            for index in 0..self.daemons.len() {
                if let Some(running) = &mut self.daemons[index].running {
                    let effects = running.nimbus.wake(now);
                    self.perform(index, effects);
                }
            }
        }
        self.now = end;
        self.settle();
    }

    pub(crate) fn run_secs(&mut self, secs: u64) {
        self.run_for(Duration::from_secs(secs));
    }

    /// Lets everybody hear what there is to hear, at this moment.
    pub(crate) fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 100_000, "this does not end: {:#?}", self.notes.iter().rev().take(20).collect::<Vec<_>>());
            let mut is_quiet = true;
            for index in 0..self.daemons.len() {
                let now = self.now();
                let Some(running) = &mut self.daemons[index].running else { continue };
                let input = if let Some(event) = running.code_events.pop_front() {
                    Some(NimbusInput::Code(event))
                } else if let Some(failed) = running.failed.pop_front() {
                    Some(NimbusInput::Store(failed))
                } else {
                    let event = running.store.poll();
                    if let Some(Event::Session(SessionEvent::Opened { session, .. })) = &event {
                        running.session = Some(*session);
                    }
                    event.map(|event| running.tickets.take(event).map(NimbusInput::Store)).unwrap_or_default()
                };
                if let Some(input) = input {
                    is_quiet = false;
                    let effects = running.nimbus.handle(now, input);
                    self.perform(index, effects);
                }
            }
            if is_quiet {
                return;
            }
            self.check();
        }
    }

    fn perform(&mut self, index: usize, effects: Vec<NimbusEffect>) {
        for effect in effects {
            let daemon = &mut self.daemons[index];
            let Some(running) = &mut daemon.running else { return };
            match effect {
                NimbusEffect::Store(asked) => {
                    let is_write = asked.operation.is_write();
                    match &mut daemon.loses {
                        Some((0, loss)) if is_write => {
                            running.store.lose_next(*loss);
                            daemon.loses = None;
                        }
                        Some((left, _)) if is_write => *left -= 1,
                        _ => {}
                    }
                    if let Some(left) = daemon.fails_read.as_mut().filter(|_| !is_write) {
                        if *left == 0 {
                            daemon.fails_read = None;
                            let outcome = Outcome::Unknown(Doubt::TimedOut);
                            running.failed.push_back(FromStore::Outcome { question: asked.question, outcome });
                            continue;
                        }
                        *left -= 1;
                    }
                    let path = match &asked.operation {
                        Operation::Multi { writes, .. } => writes.first().map(|write| write.path().clone()),
                        Operation::Write(write) => Some(write.path().clone()),
                        _ => None,
                    };
                    let is_a_leaders = path.is_some_and(|path| {
                        ["/storm/storms/", "/storm/assignments/"].iter().any(|folder| path.as_str().starts_with(folder))
                    });
                    let before = is_a_leaders.then(|| leader_and_records(&self.ensemble));
                    running.tickets.submit(&mut running.store, asked);
                    if let Some((leader, records)) = before {
                        let is_written = leader_and_records(&self.ensemble).1 != records;
                        let is_leading = leader.is_some() && leader == running.session;
                        assert!(is_leading || !is_written, "{} wrote and does not lead", daemon.host);
                    }
                    daemon.writes += usize::from(is_write);
                    if let Some(left) = daemon.crashes_after.as_mut().filter(|_| is_write) {
                        *left -= 1;
                        if *left == 0 {
                            self.crash(index);
                        }
                    }
                }
                NimbusEffect::Reply { id, reply } => {
                    assert!(self.replies.insert(id, reply).is_none(), "{id:?} is answered twice");
                }
                NimbusEffect::Code(request) => self.do_code(index, request),
                NimbusEffect::Note(line) => {
                    let host = &self.daemons[index].host;
                    self.notes.push(format!("{:?} {host}: {line}", self.now));
                }
                NimbusEffect::Stop(why) => {
                    self.daemons[index].stopped = Some(why);
                    self.daemons[index].running = None;
                }
            }
        }
    }

    fn do_code(&mut self, index: usize, request: CodeRequest) {
        let event = match request {
            CodeRequest::Store { topology, code, conf, numbers, .. } => {
                if self.daemons[index].has_uploads {
                    let contents = [
                        ("-stormjar.jar", numbers.jar, Content::Opaque),
                        ("-stormcode.ser", numbers.code, Content::Code(code)),
                        ("-stormconf.ser", numbers.conf, Content::Conf(conf)),
                    ];
                    for (suffix, number, content) in contents {
                        let key = name(&format!("{topology}{suffix}"));
                        self.daemons[index].directory.insert(key.clone(), HeldBlob { key, number, content });
                    }
                    CodeEvent::Stored { topology }
                } else {
                    let why = CodeFailure::Upload("there is no such upload".into());
                    CodeEvent::Failed { task: CodeTask::Store(topology), why }
                }
            }
            CodeRequest::Replace(blob) => {
                let (key, number) = (blob.key.clone(), blob.number);
                self.daemons[index].directory.insert(key.clone(), blob);
                CodeEvent::Replaced { key, number }
            }
            CodeRequest::Fetch { key, from, .. } => {
                let holder = (0..self.daemons.len()).find(|other| self.address(*other) == from);
                let blob = holder.filter(|holder| self.is_running(*holder));
                match blob.and_then(|holder| self.daemons[holder].directory.get(&key)).cloned() {
                    Some(blob) => {
                        self.daemons[index].directory.insert(key, blob.clone());
                        CodeEvent::Fetched(blob)
                    }
                    None => {
                        let why = CodeFailure::Other(format!("{from} does not answer"));
                        CodeEvent::Failed { task: CodeTask::Fetch(key), why }
                    }
                }
            }
            CodeRequest::Remove { key } => {
                self.daemons[index].directory.remove(&key);
                CodeEvent::Removed { key }
            }
        };
        if let Some(running) = &mut self.daemons[index].running {
            running.code_events.push_back(event);
        }
    }

    /// Does something with the tree as somebody who is no nimbus.
    pub(crate) fn tree<T, B>(&self, session: SessionId, body: impl FnOnce(Tree) -> B) -> T
    where
        B: Future<Output = T> + Send + 'static,
    {
        let mut procedure = cluster().procedure(body);
        let mut step = procedure.begin();
        loop {
            match step {
                Step::Done(result) => return result,
                Step::Ask(operations) => {
                    let outcomes = self.ensemble.with(|ensemble| {
                        operations.iter().map(|operation| ensemble.perform(session, operation)).collect()
                    });
                    step = procedure.resume(outcomes);
                }
            }
        }
    }

    pub(crate) fn observer(&self) -> SessionId {
        self.observer
    }

    /// A supervisor comes, on a host of its own name.
    pub(crate) fn add_supervisor(&mut self, id: &str, ports: &[i64]) {
        let session = self.ensemble.with(|ensemble| ensemble.open(0, &[]));
        let info = SupervisorInfo {
            time_secs: 0,
            hostname: format!("{id}-host"),
            assignment_id: Some(id.to_owned()),
            meta: Some(ports.to_vec()),
            version: Some("2.8.2-ringstorm.0.1.0".into()),
            uptime_secs: Some(0),
            ..SupervisorInfo::default()
        };
        let id_name = name(id);
        self.tree(session, |tree| async move { tree.announce_supervisor(session, &id_name, &info, None).await })
            .unwrap();
        self.supervisors.insert(id.to_owned(), session);
    }

    /// A supervisor's node goes.
    pub(crate) fn end_supervisor(&mut self, id: &str) {
        let session = self.supervisors.remove(id).unwrap();
        self.ensemble.with(|ensemble| ensemble.end(session));
    }

    /// Workers beat.
    fn beat(&mut self) {
        self.beats_at = self.now + Duration::from_secs(3);
        for (topology, assignment) in self.assignments() {
            for slot in slots(&assignment).into_iter().filter(|slot| !self.silent.contains(slot.supervisor.as_str())) {
                let beat = ClusterWorkerHeartbeat {
                    storm_id: topology.to_string(),
                    version: assignment.version,
                    ..ClusterWorkerHeartbeat::default()
                };
                let topology = topology.clone();
                self.tree(self.observer, |tree| async move { tree.set_worker_beat(&topology, &slot, &beat).await })
                    .unwrap();
            }
        }
    }

    /// All bases.
    pub(crate) fn bases(&self) -> Vec<(NodeName, StormBase)> {
        self.records(|node| match node {
            Node::Storm { topology } => Some(topology),
            _ => None,
        })
    }

    /// All assignments.
    pub(crate) fn assignments(&self) -> Vec<(NodeName, Assignment)> {
        self.records(|node| match node {
            Node::Assignment { topology } => Some(topology),
            _ => None,
        })
    }

    fn records<R: ringstorm_records::thrift::Record>(
        &self,
        id: impl Fn(Node) -> Option<NodeName>,
    ) -> Vec<(NodeName, R)> {
        let root = Root::new("/storm").unwrap();
        let nodes = self.ensemble.with(|ensemble| ensemble.dump());
        let record = |dumped: &ringstorm_store::memory::Dumped| {
            let topology = id(root.node(dumped.path.as_str())?)?;
            Some((topology, payload::decode(&dumped.data).ok()?))
        };
        nodes.iter().filter_map(record).collect()
    }

    /// The paths of all nodes.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.ensemble.with(|ensemble| ensemble.dump()).into_iter().map(|node| node.path.to_string()).collect()
    }

    /// What must be true at every moment.
    fn check(&mut self) {
        let writes = self.daemons.iter().map(|daemon| daemon.writes).sum();
        if std::mem::replace(&mut self.writes_checked, writes) == writes {
            return;
        }
        let mut owners: BTreeMap<Slot, NodeName> = BTreeMap::new();
        for (topology, assignment) in self.assignments() {
            for slot in slots(&assignment) {
                let other = owners.insert(slot.clone(), topology.clone());
                assert!(
                    other.as_ref().is_none_or(|other| *other == topology),
                    "slot {slot:?} belongs to {topology} and {other:?}"
                );
            }
        }
    }

    /// Makes the outcome of a write of a nimbus unknown, after so many that are not.
    pub(crate) fn lose_after(&mut self, index: usize, writes: usize, loss: Loss) {
        self.daemons[index].loses = Some((writes, loss));
    }
}

/// The session of whoever is first in the queue, and what only a leader writes.
fn leader_and_records(ensemble: &SharedEnsemble) -> (Option<SessionId>, Vec<(String, Vec<u8>)>) {
    let nodes = ensemble.with(|ensemble| ensemble.dump());
    let number = |path: &str| path.rsplit('-').next().unwrap_or_default().to_owned();
    let candidates = nodes.iter().filter(|node| node.path.as_str().starts_with("/storm/leader-lock/"));
    let first = candidates.min_by_key(|node| number(node.path.as_str())).and_then(|node| node.stat.owner);
    let is_a_leaders = |path: &str| path.starts_with("/storm/storms/") || path.starts_with("/storm/assignments/");
    let records = nodes.iter().filter(|node| is_a_leaders(node.path.as_str()));
    (first, records.map(|node| (node.path.to_string(), node.data.clone())).collect())
}

/// The slots of an assignment.
pub(crate) fn slots(assignment: &Assignment) -> BTreeSet<Slot> {
    let slots = assignment.executor_node_port.values().flat_map(|node| {
        node.port.iter().map(|port| Slot { supervisor: name(&node.node), port: u16::try_from(*port).unwrap() })
    });
    slots.collect()
}
