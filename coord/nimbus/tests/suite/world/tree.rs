//! The rest of the cluster: supervisors, workers, and what lies in the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, ClusterWorkerHeartbeat, StormBase, SupervisorInfo};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::{Node, NodeName, Root, Slot};
use ringstorm_store::cluster::Tree;
use ringstorm_store::memory::Dumped;
use ringstorm_store::operation::Operation;
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::procedure::Step;
use ringstorm_store::store::SessionId;

use super::{World, cluster, name};

impl World {
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
    pub(super) fn beat(&mut self) {
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

    fn records<R: Record>(&self, id: impl Fn(Node) -> Option<NodeName>) -> Vec<(NodeName, R)> {
        let root = Root::new("/storm").unwrap();
        let nodes = self.ensemble.with(|ensemble| ensemble.dump());
        let record = |dumped: &Dumped| {
            let topology = id(root.node(dumped.path.as_str())?)?;
            Some((topology, payload::decode(&dumped.data).ok()?))
        };
        nodes.iter().filter_map(record).collect()
    }

    /// The paths of all nodes.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.ensemble.with(|ensemble| ensemble.dump()).into_iter().map(|node| node.path.to_string()).collect()
    }

    /// What a node holds.
    pub(crate) fn data(&self, path: &str) -> Option<Vec<u8>> {
        let nodes = self.ensemble.with(|ensemble| ensemble.dump());
        nodes.into_iter().find(|node| node.path.as_str() == path).map(|node| node.data)
    }

    /// Somebody puts this into a node, or deletes it.
    pub(crate) fn damage(&self, path: &str, data: Option<Vec<u8>>) {
        let path = ZnodePath::new(path).unwrap();
        let operation = match data {
            Some(data) => Operation::set(path, data),
            None => Operation::delete(path),
        };
        let outcome = self.ensemble.with(|ensemble| ensemble.perform(self.observer, &operation));
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    }

    /// What must be true at every moment.
    pub(super) fn check(&mut self) {
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
}

/// The slots of an assignment.
pub(crate) fn slots(assignment: &Assignment) -> BTreeSet<Slot> {
    let slots = assignment.executor_node_port.values().flat_map(|node| {
        node.port.iter().map(|port| Slot { supervisor: name(&node.node), port: u16::try_from(*port).unwrap() })
    });
    slots.collect()
}
