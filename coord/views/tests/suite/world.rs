//! A tree in memory, what a nimbus has on its disk, and methods that are asked of both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ringstorm_lifecycle::conf::Conf;
use ringstorm_records::payload;
use ringstorm_records::records::{
    Assignment, Bolt, ComponentCommon, ComponentObject, GlobalStreamId, Grouping, JavaObject, NodeInfo, NullStruct,
    SpoutSpec, StormBase, StormTopology, StreamInfo, TopologyStatus,
};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::{Node, NodeName, Root};
use ringstorm_store::acl::Acl;
use ringstorm_store::cluster::{Cluster, ClusterAcls};
use ringstorm_store::memory::{Dumped, Ensemble};
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_store::outcome::{Condition, Outcome};
use ringstorm_store::path::ZnodePath;
use ringstorm_store::procedure::Step;
use ringstorm_store::store::SessionId;
use ringstorm_views::history::PastTopology;
use ringstorm_views::{Answer, Definition, Local, NoAnswer, Read, Reads};
use serde_json::json;

/// The folders of a tree, parents first.
const FOLDERS: [&str; 10] = [
    "/storm",
    "/storm/storms",
    "/storm/assignments",
    "/storm/supervisors",
    "/storm/workerbeats",
    "/storm/errors",
    "/storm/nimbuses",
    "/storm/leader-lock",
    "/storm/blobstore",
    "/storm/logconfigs",
];

/// What this nimbus has on its disk.
#[derive(Clone, Default)]
pub(crate) struct Here {
    pub(crate) definitions: BTreeMap<String, Result<Arc<Definition>, String>>,
    pub(crate) past: Vec<PastTopology>,
    pub(crate) groups: BTreeSet<String>,
}

impl Local for Here {
    fn definition(&self, topology: &str) -> Result<Option<Arc<Definition>>, String> {
        self.definitions.get(topology).cloned().transpose()
    }

    fn past_topologies(&self) -> Vec<PastTopology> {
        self.past.clone()
    }

    fn groups_of(&self, _: &str) -> BTreeSet<String> {
        self.groups.clone()
    }
}

/// A tree, and who asks it.
pub(crate) struct World {
    ensemble: Ensemble,
    session: SessionId,
    pub(crate) cluster: Cluster,
    pub(crate) here: Here,
    pub(crate) daemon: Conf,
    /// Whether the tree can be asked.
    pub(crate) is_connected: bool,
    /// What the last method asked the tree, and in how many steps.
    pub(crate) asked: Vec<Operation>,
    pub(crate) steps: usize,
}

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

impl World {
    /// An empty tree.
    pub(crate) fn new() -> Self {
        let mut ensemble = Ensemble::new(1);
        let session = ensemble.open(0, &[]);
        let cluster = Cluster::new(Root::new("/storm").unwrap(), ClusterAcls::open());
        let (here, daemon) = (Here::default(), Conf::new());
        let (is_connected, asked, steps) = (true, Vec::new(), 0);
        let mut world = Self { ensemble, session, cluster, here, daemon, is_connected, asked, steps };
        FOLDERS.iter().for_each(|folder| world.put_bytes(folder, &[7]));
        world
    }

    /// Makes a node, or sets it.
    pub(crate) fn put_bytes(&mut self, path: &str, data: &[u8]) {
        let path = ZnodePath::new(path).unwrap();
        if self.ensemble.look(&path).is_some() {
            return self.write(Operation::set(path, data));
        }
        self.write(Operation::create(path, data, CreateMode::Persistent, [Acl::anyone()].into()));
    }

    pub(crate) fn put<R: Record>(&mut self, node: &Node, record: &R) {
        let path = self.cluster.path(node);
        self.put_bytes(path.as_str(), &payload::encode(record));
    }

    /// Makes a node that ends with a session that nobody else has.
    pub(crate) fn put_of_another_session<R: Record>(&mut self, node: &Node, record: &R) {
        let session = self.ensemble.open(0, &[]);
        let (path, data) = (self.cluster.path(node), payload::encode(record));
        let create = Operation::create(path, data, CreateMode::Ephemeral, [Acl::anyone()].into());
        let outcome = self.ensemble.perform(session, &create);
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    }

    pub(crate) fn remove_path(&mut self, path: &str) {
        self.write(Operation::delete(ZnodePath::new(path).unwrap()));
    }

    pub(crate) fn remove(&mut self, node: &Node) {
        let path = self.cluster.path(node);
        self.write(Operation::delete(path));
    }

    fn write(&mut self, operation: Operation) {
        let outcome = self.ensemble.perform(self.session, &operation);
        assert!(matches!(outcome, Outcome::Done(_)), "{operation:?}: {outcome:?}");
    }

    /// All that is in the tree.
    pub(crate) fn dump(&self) -> Vec<Dumped> {
        self.ensemble.dump()
    }

    pub(crate) fn ask<M: Read>(&mut self, method: M, now_secs: i32) -> Result<Answer<M::Success>, NoAnswer> {
        let reads = Reads::new(self.cluster.clone(), Arc::new(self.daemon.clone()), Arc::new(self.here.clone()));
        let mut procedure = reads.ask(method, now_secs);
        (self.asked, self.steps) = (Vec::new(), 0);
        let mut step = procedure.begin();
        loop {
            match step {
                Step::Done(answer) => return answer,
                Step::Ask(operations) => {
                    let perform = |operation: &Operation| match self.is_connected {
                        true => self.ensemble.perform(self.session, operation),
                        false => Outcome::failed(Condition::NotConnected),
                    };
                    let outcomes = operations.iter().map(perform).collect();
                    self.steps += 1;
                    self.asked.extend(operations);
                    step = procedure.resume(outcomes);
                }
            }
        }
    }

    /// The answer of a method for which nothing is passed over.
    pub(crate) fn told<M: Read>(&mut self, method: M, now_secs: i32) -> M::Success {
        let answer = self.ask(method, now_secs).unwrap();
        assert_eq!(answer.skipped, []);
        answer.value
    }

    /// A topology of a spout and a bolt, of so many executors each with a task, on so many workers of one supervisor.
    pub(crate) fn submit(&mut self, id: &str, executors: i32, supervisor: &str, ports: std::ops::Range<i64>) {
        let of = ringstorm_lifecycle::id::name_of(id).unwrap();
        let topology = name(id);
        let definition = definition(&self.daemon, of, executors);
        let counts = [("words", executors), ("count", executors), ("__acker", 1)];
        let base = StormBase {
            name: of.to_owned(),
            status: TopologyStatus::Active,
            num_workers: 1,
            component_executors: Some(counts.map(|(id, count)| (id.to_owned(), count)).into()),
            launch_time_secs: Some(1000),
            owner: Some("owner".to_owned()),
            topology_action_options: None,
            prev_status: None,
            component_debug: Some(BTreeMap::new()),
            principal: None,
            topology_version: None,
            unknown: Default::default(),
        };
        let slot = |task: i64| {
            let port = ports.start + task % (ports.end - ports.start);
            NodeInfo { node: supervisor.to_owned(), port: [port].into() }
        };
        let tasks = 1..=i64::from(2 * executors + 1);
        let assignment = Assignment {
            node_host: [(supervisor.to_owned(), "host".to_owned())].into(),
            executor_node_port: tasks.map(|task| (vec![task, task], slot(task))).collect(),
            ..Assignment::default()
        };
        self.put(&Node::Storm { topology: topology.clone() }, &base);
        self.put(&Node::Assignment { topology: topology.clone() }, &assignment);
        for folder in ["workerbeats", "errors"] {
            self.put_bytes(&format!("/storm/{folder}/{id}"), &[7]);
        }
        let key = format!("/storm/blobstore/{id}-stormcode.ser");
        self.put_bytes(&key, &[7]);
        self.put_bytes(&format!("{key}/host:6627:0-1"), &[]);
        self.here.definitions.insert(id.to_owned(), Ok(Arc::new(definition)));
    }
}

/// A topology of a spout `words` and a bolt `count`.
pub(crate) fn definition(daemon: &Conf, of: &str, executors: i32) -> Definition {
    let conf = json!({"topology.name": of, "topology.workers": 1, "topology.acker.executors": 1,
        "topology.eventlogger.executors": 0, "db.password": "hunter2"});
    let source = GlobalStreamId { component_id: "words".to_owned(), stream_id: "default".to_owned() };
    let common = |inputs| ComponentCommon {
        inputs,
        streams: [("default".to_owned(), StreamInfo { output_fields: vec!["word".to_owned()], direct: false })].into(),
        parallelism_hint: Some(executors),
        json_conf: Some(json!({"topology.tasks": executors, "my.secret": "hunter2"}).to_string()),
    };
    let object = || ComponentObject::JavaObject(JavaObject::default());
    let shuffle = Grouping::Shuffle(NullStruct::default());
    let spout = SpoutSpec { spout_object: object(), common: common(BTreeMap::new()) };
    let bolt = Bolt { bolt_object: object(), common: common([(source, shuffle)].into()) };
    let code = StormTopology {
        spouts: [("words".to_owned(), spout)].into(),
        bolts: [("count".to_owned(), bolt)].into(),
        storm_version: Some("2.8.2".to_owned()),
        ..StormTopology::default()
    };
    Definition::new(daemon, Arc::new(conf.as_object().unwrap().clone()), Arc::new(code)).unwrap()
}
