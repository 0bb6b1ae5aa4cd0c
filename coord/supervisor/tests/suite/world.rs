//! What others do to the tree: a leader that writes assignments, and an operator with a shell.

use std::collections::BTreeMap;

use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, NodeInfo, StormBase, SupervisorInfo, TopologyStatus};
use ringstorm_records::thrift::UnknownFields;
use ringstorm_records::znode::{Node, NodeName, Root};
use ringstorm_store::acl::Acl;
use ringstorm_store::cluster::{Cluster, ClusterAcls};
use ringstorm_store::memory::{Dumped, Ensemble, SharedEnsemble};
use ringstorm_store::operation::{CreateMode, Operation, Write};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::SessionId;

pub(crate) const ID: &str = "first-id";

pub(crate) fn cluster() -> Cluster {
    Cluster::new(Root::new("/storm").unwrap(), ClusterAcls::open())
}

/// What a slot is to run: its port and its executors.
pub(crate) type Part = (u16, i64);

/// The tree, and a session of somebody else's.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) ensemble: SharedEnsemble,
    session: SessionId,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of(Ensemble::new(2))
    }

    fn of(mut ensemble: Ensemble) -> Self {
        let session = ensemble.open(0, &[]);
        Self { ensemble: SharedEnsemble::new(ensemble), session }
    }

    /// Gives each part one executor; the version may be left out, as Storm does.
    pub(crate) fn assign(&self, topology: &str, version: Option<i64>, parts: &[Part]) {
        self.set(&assignment_of(topology), payload::encode(&assignment(version, parts)));
        let base = Node::Storm { topology: name(topology) };
        if self.read(&base).is_none() {
            self.set_base(topology, TopologyStatus::Active);
        }
    }

    pub(crate) fn set_base(&self, topology: &str, status: TopologyStatus) {
        let base = StormBase {
            name: topology.to_owned(),
            status,
            num_workers: 1,
            component_executors: None,
            launch_time_secs: None,
            owner: None,
            topology_action_options: None,
            prev_status: None,
            component_debug: None,
            principal: None,
            topology_version: None,
            unknown: UnknownFields::default(),
        };
        self.set(&Node::Storm { topology: name(topology) }, payload::encode(&base));
    }

    /// As a leader removes a topology.
    pub(crate) fn remove(&self, topology: &str) {
        self.delete(&assignment_of(topology));
        self.delete(&Node::Storm { topology: name(topology) });
    }

    pub(crate) fn set(&self, node: &Node, data: Vec<u8>) {
        let path = cluster().path(node);
        self.make_parents(&path);
        let (mode, acl) = (CreateMode::Persistent, [Acl::anyone()].into());
        let create = Write::Create { path: path.clone(), data: data.clone(), mode, acl };
        if !matches!(self.perform(&Operation::Write(create)), Outcome::Done(_)) {
            let set = Write::Set { path, data, version: None };
            assert!(matches!(self.perform(&Operation::Write(set)), Outcome::Done(_)));
        }
    }

    pub(crate) fn delete(&self, node: &Node) {
        let _ = self.perform(&Operation::delete(cluster().path(node)));
    }

    /// Deletes everything, as an operator does by hand.
    pub(crate) fn delete_all(&self) {
        for node in self.ensemble.with(|ensemble| ensemble.dump()).iter().rev() {
            let _ = self.perform(&Operation::delete(node.path.clone()));
        }
    }

    /// Brings back an older tree. Every session is over, also those that were open then.
    pub(crate) fn restore(&mut self, older: &Ensemble) {
        self.session = self.ensemble.with(|ensemble| {
            ensemble.restore(older);
            for session in ensemble.sessions().collect::<Vec<_>>() {
                ensemble.end(session);
            }
            ensemble.open(0, &[])
        });
    }

    pub(crate) fn snapshot(&self) -> Ensemble {
        self.ensemble.with(|ensemble| ensemble.clone())
    }

    pub(crate) fn read(&self, node: &Node) -> Option<Dumped> {
        let path = cluster().path(node);
        self.ensemble.with(|ensemble| ensemble.dump()).into_iter().find(|node| node.path == path)
    }

    pub(crate) fn info(&self, supervisor: &str) -> Option<SupervisorInfo> {
        let node = self.read(&Node::Supervisor { supervisor: name(supervisor) })?;
        Some(payload::decode(&node.data).unwrap())
    }

    fn make_parents(&self, path: &ZnodePath) {
        let Some(parent) = path.parent() else { return };
        self.make_parents(&parent);
        let (data, mode, acl) = (payload::CONTAINER.to_vec(), CreateMode::Persistent, [Acl::anyone()].into());
        let _ = self.perform(&Operation::Write(Write::Create { path: parent, data, mode, acl }));
    }

    fn perform(&self, operation: &Operation) -> Outcome {
        self.ensemble.with(|ensemble| ensemble.perform(self.session, operation))
    }
}

pub(crate) fn assignment(version: Option<i64>, parts: &[Part]) -> Assignment {
    let slot = |port: u16| NodeInfo { node: ID.to_owned(), port: [i64::from(port)].into() };
    let executors: BTreeMap<_, _> = parts.iter().map(|(port, task)| (vec![*task, *task], slot(*port))).collect();
    let slot_cores = Some([(ID.to_owned(), 4)].into());
    Assignment { version, slot_cores, executor_node_port: executors, ..Assignment::default() }
}

pub(crate) fn assignment_of(topology: &str) -> Node {
    Node::Assignment { topology: name(topology) }
}

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}
