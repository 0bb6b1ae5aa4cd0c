//! Whoever writes the tree as nimbus does, and looks at what workers write.
//!
//! Threading: one test. Errors: what is not done within the limit fails the test.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use ringstorm_records::payload;
use ringstorm_records::records::{
    Assignment, ClusterWorkerHeartbeat, ErrorInfo, NodeInfo, StormBase, TopologyActionOptions, TopologyStatus,
};
use ringstorm_records::thrift::{Record, UnknownFields};
use ringstorm_records::znode::{ComponentName, LastError, Node, NodeName, Root, Slot};
use ringstorm_store::acl::Acl;
use ringstorm_store::cluster::{Cluster, ClusterAcls};
use ringstorm_store::control::Control;
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_zookeeper::{Settings, ZooKeeperStore};

/// For anything that must happen, on a machine that is busy with something else.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// The id of the one supervisor, which is not there.
pub(crate) const SUPERVISOR: &str = "by-hand";
/// The topology.
pub(crate) const TOPOLOGY: &str = "numbers-1-1795972824";
/// Executors of each of its components.
pub(crate) const EXECUTORS: i64 = 3;
/// Components with their numbers of executors, in the order of their tasks.
pub(crate) const COMPONENTS: [&str; 4] = ["__acker", "fetch", "relay", "sink"];

pub(crate) struct ByHand {
    observer: Control<ZooKeeperStore>,
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

fn root() -> Root {
    Root::new("/storm").unwrap()
}

pub(crate) fn slot(port: u16) -> Slot {
    Slot { supervisor: name(SUPERVISOR), port }
}

impl ByHand {
    pub(crate) fn new(servers: &[SocketAddr]) -> Self {
        let settings = Settings::of_servers(servers.iter().map(ToString::to_string).collect());
        Self { observer: Control::new(ZooKeeperStore::open(settings, || {}).unwrap()) }
    }

    /// Puts a record there, with what is above it.
    pub(crate) fn put<R: Record>(&mut self, node: &Node, record: &R) {
        let path = ZnodePath::of(&root(), node);
        let mut nodes = vec![path.clone()];
        while let Some(parent) = nodes.last().unwrap().parent().filter(|parent| parent.as_str() != "/") {
            nodes.push(parent);
        }
        let session = self.observer.opened(LIMIT).unwrap();
        for node in nodes.into_iter().rev() {
            let create = Operation::create(node, vec![7], CreateMode::Persistent, [Acl::anyone()].into());
            // It may be there.
            let _ = self.observer.ask(session, create, LIMIT).unwrap();
        }
        let set = Operation::set(path, payload::encode(record));
        let done = self.observer.ask(session, set, LIMIT).unwrap();
        assert!(matches!(done, Outcome::Done(_)), "{done:?}");
    }

    pub(crate) fn remove(&mut self, node: &Node) {
        let session = self.observer.opened(LIMIT).unwrap();
        let done = self.observer.ask(session, Operation::delete(ZnodePath::of(&root(), node)), LIMIT).unwrap();
        assert!(matches!(done, Outcome::Done(_)), "{done:?}");
    }

    fn read<R: Record + std::fmt::Debug>(&mut self, node: &Node) -> Option<R> {
        let session = self.observer.opened(LIMIT).unwrap();
        let cluster = Cluster::new(root(), ClusterAcls::open());
        let node = node.clone();
        let read = cluster.procedure(move |tree| async move { tree.read_fresh::<R>(&node).await });
        self.observer.run(session, read, LIMIT).unwrap().ok()?.value()
    }

    /// The status of the topology, and what it waits for.
    pub(crate) fn status(&mut self, status: TopologyStatus, options: Option<TopologyActionOptions>) {
        let counts = COMPONENTS.map(|component| (component.to_owned(), EXECUTORS as i32));
        let base = StormBase {
            name: "numbers".into(),
            status,
            num_workers: 2,
            component_executors: Some(counts.into()),
            launch_time_secs: Some(1_795_972_824),
            owner: Some("storm".into()),
            topology_action_options: options,
            prev_status: None,
            component_debug: None,
            principal: None,
            topology_version: None,
            unknown: UnknownFields::default(),
        };
        self.put(&Node::Storm { topology: name(TOPOLOGY) }, &base);
    }

    /// Deals the executors out: the first of each component to the first port, and so on. The last port has what is left.
    pub(crate) fn assign(&mut self, version: i64, ports: &[u16]) {
        let mut slots = BTreeMap::new();
        for (component, _) in COMPONENTS.iter().enumerate() {
            for executor in 0..EXECUTORS {
                let task = 1 + component as i64 * EXECUTORS + executor;
                let port = ports[usize::try_from(executor).unwrap().min(ports.len() - 1)];
                slots.insert(vec![task, task], NodeInfo { node: SUPERVISOR.into(), port: [i64::from(port)].into() });
            }
        }
        let assignment = Assignment {
            node_host: [(SUPERVISOR.to_owned(), "127.0.0.1".to_owned())].into(),
            executor_node_port: slots,
            version: Some(version),
            slot_cores: Some([(SUPERVISOR.to_owned(), 1)].into()),
            ..Assignment::default()
        };
        self.put(&Node::Assignment { topology: name(TOPOLOGY) }, &assignment);
    }

    pub(crate) fn withdraw(&mut self) {
        self.remove(&Node::Assignment { topology: name(TOPOLOGY) });
    }

    pub(crate) fn beat(&mut self, port: u16) -> Option<ClusterWorkerHeartbeat> {
        self.read(&Node::WorkerBeat { topology: name(TOPOLOGY), slot: slot(port) })
    }

    /// The last error of a component.
    pub(crate) fn last_error(&mut self, component: &str) -> Option<ErrorInfo> {
        let last_error = LastError(ComponentName::new(component).unwrap());
        self.read(&Node::LastError { topology: name(TOPOLOGY), last_error })
    }
}
