//! A worker's control with a tree, a clock that is set by hand, and somebody who writes what nimbus would.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use ringstorm_control::machine::Machine;
use ringstorm_control::tickets::Tickets;
use ringstorm_control::time::Now;
use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, NodeInfo, StormBase, TopologyActionOptions, TopologyStatus};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::{Node, NodeName, Root, Slot};
use ringstorm_store::acl::Acl;
use ringstorm_store::cluster::{Cluster, ClusterAcls};
use ringstorm_store::memory::{Ensemble, MemoryStore, SharedEnsemble};
use ringstorm_store::operation::{Answer, CreateMode, Operation};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::{SessionId, Store};
use ringstorm_types::ComponentId;
use ringstorm_types::assignment::WorkerSecret;
use ringstorm_types::config::Config;
use ringstorm_types::numbering::number;
use ringstorm_types::topology::{Component, Topology};
use ringstorm_worker::assigning::slot_number;
use ringstorm_worker::{
    CoresEvent, Identity, Peer, PeerEvent, TopologyFacts, WorkerControl, WorkerEffect, WorkerInput, WorkerSettings,
};

/// The incarnation of the worker under test.
pub(crate) const INCARNATION: u64 = 1_000;
pub(crate) const TOPOLOGY: &str = "words-1-1795972824";

/// Everything that a worker's control has to do with.
pub(crate) struct Rig {
    pub(crate) control: WorkerControl,
    pub(crate) store: MemoryStore,
    pub(crate) ensemble: SharedEnsemble,
    tickets: Tickets,
    nimbus: SessionId,
    now: Now,
    effects: Vec<WorkerEffect>,
}

fn root() -> Root {
    Root::new("/storm").unwrap()
}

pub(crate) fn topology() -> NodeName {
    NodeName::new(TOPOLOGY).unwrap()
}

pub(crate) fn slot(supervisor: &str) -> Slot {
    Slot { supervisor: NodeName::new(supervisor).unwrap(), port: 6700 }
}

/// A process of the worker on port 6700 of a supervisor.
pub(crate) fn peer(supervisor: &str, incarnation: u64) -> Peer {
    Peer { worker: slot_number(&slot(supervisor)), incarnation }
}

/// The tasks of each supervisor's worker, of 1 (an acker), 2 and 3 (bolts), 4 (a spout).
pub(crate) fn assignment(version: i64, places: &[(&str, &[i64])]) -> Assignment {
    let executors = places.iter().flat_map(|(supervisor, tasks)| {
        let slot = NodeInfo { node: (*supervisor).to_owned(), port: [6700].into() };
        tasks.iter().map(move |task| (vec![*task, *task], slot.clone()))
    });
    Assignment {
        node_host: places.iter().map(|(it, _)| ((*it).to_owned(), format!("{it}.example"))).collect(),
        executor_node_port: executors.collect(),
        version: Some(version),
        ..Assignment::default()
    }
}

pub(crate) fn base(status: TopologyStatus, options: Option<TopologyActionOptions>) -> StormBase {
    let counts = [("__acker", 1), ("count", 2), ("words", 1), ("__system", 0)];
    let counts: BTreeMap<String, i32> = counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    StormBase {
        name: "words".into(),
        status,
        num_workers: 2,
        component_executors: Some(counts),
        launch_time_secs: Some(1_795_972_824),
        owner: Some("storm".into()),
        topology_action_options: options,
        prev_status: None,
        component_debug: None,
        principal: None,
        topology_version: None,
        unknown: Default::default(),
    }
}

fn facts() -> TopologyFacts {
    let id = |name: &str| ComponentId::new(name).unwrap();
    let with = |mut component: Component, parallelism| {
        component.parallelism_hint = Some(parallelism);
        component
    };
    let components = [(id("count"), with(Component::bolt(), 2)), (id("words"), with(Component::spout(), 1))];
    let topology = Topology { components: components.into() };
    TopologyFacts {
        secret: WorkerSecret("0123456789abcdef0123456789abcdef".into()),
        acker_executors: 1,
        numbering: number(&topology, &Config::new(), 1).unwrap(),
        spouts: [id("words")].into(),
    }
}

impl Rig {
    /// A worker on supervisor alpha, at member 0 of 2, that has not looked yet.
    pub(crate) fn silent() -> Self {
        let ensemble = SharedEnsemble::new(Ensemble::new(2));
        let nimbus = ensemble.with(|ensemble| ensemble.open(1, &[]));
        let store = MemoryStore::open(&ensemble, 0, &[]);
        let now = Now { wall: Duration::from_secs(1_795_972_900), ..Now::default() };
        let identity = Identity {
            topology: topology(),
            slot: slot("alpha"),
            host: "alpha.example".into(),
            incarnation: INCARNATION,
            version: 0,
            cores: NonZeroUsize::new(2).unwrap(),
        };
        let cluster = Cluster::new(root(), ClusterAcls::open());
        let control = WorkerControl::new(now, identity, facts(), WorkerSettings::default(), cluster);
        Self { control, store, ensemble, tickets: Tickets::default(), nimbus, now, effects: Vec::new() }
    }

    /// A worker on supervisor alpha that runs tasks 1 and 4 by assignment 7 of an active topology; 2 and 3 are on beta.
    pub(crate) fn running() -> Self {
        let mut rig = Self::silent();
        rig.write(&Node::Storm { topology: topology() }, &base(TopologyStatus::Active, None));
        rig.assign(7, &[("alpha", &[1, 4]), ("beta", &[2, 3])]);
        rig.settle();
        rig.cores(CoresEvent::Started);
        rig.cores(CoresEvent::Ready);
        rig
    }

    pub(crate) fn assign(&mut self, version: i64, places: &[(&str, &[i64])]) {
        self.write(&Node::Assignment { topology: topology() }, &assignment(version, places));
    }

    pub(crate) fn write<R: Record>(&mut self, node: &Node, record: &R) {
        self.write_bytes(node, payload::encode(record));
    }

    /// Writes as nimbus does, and makes what is above.
    pub(crate) fn write_bytes(&mut self, node: &Node, bytes: Vec<u8>) {
        let path = ZnodePath::of(&root(), node);
        let mut above = Vec::new();
        let mut parent = path.parent();
        while let Some(folder) = parent.filter(|folder| folder.as_str() != "/") {
            parent = folder.parent();
            above.push(folder);
        }
        let make = |path: ZnodePath, data: Vec<u8>| {
            Operation::create(path, data, CreateMode::Persistent, [Acl::anyone()].into())
        };
        self.ensemble.with(|ensemble| {
            for folder in above.into_iter().rev() {
                let _ = ensemble.perform(self.nimbus, &make(folder, vec![7]));
            }
            let _ = ensemble.perform(self.nimbus, &make(path.clone(), Vec::new()));
            let done = ensemble.perform(self.nimbus, &Operation::set(path, bytes));
            assert!(matches!(done, Outcome::Done(_)), "{done:?}");
        });
    }

    pub(crate) fn remove(&mut self, node: &Node) {
        let path = ZnodePath::of(&root(), node);
        self.ensemble.with(|ensemble| {
            let done = ensemble.perform(self.nimbus, &Operation::delete(path));
            assert!(matches!(done, Outcome::Done(_)), "{done:?}");
        });
    }

    /// What a node holds, and how often it was written.
    pub(crate) fn read<R: Record>(&self, node: &Node) -> Option<(R, i32)> {
        let path = ZnodePath::of(&root(), node);
        let read = Operation::Get { path, watch: false };
        match self.ensemble.with(|ensemble| ensemble.perform(self.nimbus, &read)) {
            Outcome::Done(Answer::Data { data, stat }) => Some((payload::decode(&data).unwrap(), stat.version)),
            _ => None,
        }
    }

    pub(crate) fn children(&self, node: &Node) -> Vec<String> {
        let path = ZnodePath::of(&root(), node);
        let read = Operation::Children { path, watch: false };
        match self.ensemble.with(|ensemble| ensemble.perform(self.nimbus, &read)) {
            Outcome::Done(Answer::Children { names, .. }) => names,
            _ => Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> Now {
        self.now
    }

    pub(crate) fn cores(&mut self, event: CoresEvent) {
        self.tell(WorkerInput::Cores(event));
    }

    /// Both cores have just ended a turn.
    pub(crate) fn turns(&mut self) {
        self.cores(CoresEvent::Progress(vec![self.now.moment; 2]));
    }

    pub(crate) fn offered(&mut self, peer: Peer, version: i64) -> Vec<WorkerEffect> {
        self.tell(WorkerInput::Peer(PeerEvent::Offered { peer, version }));
        self.taken()
    }

    pub(crate) fn tell(&mut self, input: WorkerInput) {
        let effects = self.control.handle(self.now, input);
        self.take_all(effects);
        self.settle();
    }

    /// Lets everything happen that happens without the passing of time.
    pub(crate) fn settle(&mut self) {
        loop {
            while let Some(event) = self.store.poll() {
                if let Some(said) = self.tickets.take(event) {
                    let effects = self.control.handle(self.now, WorkerInput::Store(said));
                    self.take_all(effects);
                }
            }
            if self.control.wake_at().is_none_or(|at| at > self.now.moment) {
                return;
            }
            let effects = self.control.wake(self.now);
            self.take_all(effects);
        }
    }

    /// Lets time pass, while the cores do as they did.
    pub(crate) fn pass(&mut self, seconds: u64) {
        let until = self.now.moment + Duration::from_secs(seconds);
        self.settle();
        while let Some(at) = self.control.wake_at().filter(|at| *at <= until) {
            self.go_to(at.0);
            self.settle();
        }
        self.go_to(until.0);
    }

    /// Lets time pass while every core ends turns.
    pub(crate) fn work(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.pass(1);
            self.turns();
        }
    }

    fn go_to(&mut self, moment: Duration) {
        let passed = moment.saturating_sub(self.now.moment.0);
        self.now.moment = self.now.moment + passed;
        self.now.wall += passed;
    }

    fn take_all(&mut self, effects: Vec<WorkerEffect>) {
        for effect in effects {
            match effect {
                WorkerEffect::Store(asked) => self.tickets.submit(&mut self.store, asked),
                effect => self.effects.push(effect),
            }
        }
    }

    /// What was wanted since the last call, but for operations of the tree.
    pub(crate) fn taken(&mut self) -> Vec<WorkerEffect> {
        std::mem::take(&mut self.effects)
    }

    /// As [`Self::taken`], in short, without lines for operators.
    pub(crate) fn told(&mut self) -> Vec<String> {
        self.taken().iter().filter_map(short).collect()
    }

    /// The lines for operators since the last call.
    pub(crate) fn notes(&mut self) -> Vec<String> {
        let note = |effect| match effect {
            WorkerEffect::Note(text) => Some(text),
            _ => None,
        };
        self.taken().into_iter().filter_map(note).collect()
    }
}

/// An effect in a word.
pub(crate) fn short(effect: &WorkerEffect) -> Option<String> {
    Some(match effect {
        WorkerEffect::Store(_) | WorkerEffect::Note(_) => return None,
        WorkerEffect::Assign(assignment) => format!("assign {}", assignment.version),
        WorkerEffect::SetActive(active) => format!("active {active}"),
        WorkerEffect::Drain { limit } => format!("drain {}", limit.as_secs()),
        WorkerEffect::Accept { peer } => format!("accept {}", peer.incarnation),
        WorkerEffect::Refuse { peer, .. } => format!("refuse {}", peer.incarnation),
        WorkerEffect::Renew { lowest } => format!("renew {}", lowest.incarnation),
        WorkerEffect::SetLogLevels(levels) => {
            format!("levels {}", levels.named_logger_level.as_ref().map_or(0, BTreeMap::len))
        }
        WorkerEffect::Stop { why } => format!("stop {why:?}"),
    })
}
