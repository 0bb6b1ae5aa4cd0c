//! An ensemble, whoever looks at the tree from outside, and what the daemons of a test share.
//!
//! Threading: may be used from any thread. Errors: what does not come within the limit fails the test, with the notes of
//! all daemons.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringstorm_control::time::Moment;
use ringstorm_nimbus::NimbusSettings;
use ringstorm_nimbus::interface::{Conf, Request, SUBMISSION_TOKEN, Submission, Upload};
use ringstorm_records::nimbus::{GetNimbusConf, Method, SubmitTopology, read_reply};
use ringstorm_records::payload;
use ringstorm_records::records::{Assignment, StormBase, SubmitOptions, TopologyInitialStatus};
use ringstorm_records::thrift::Record;
use ringstorm_records::thrift::message::{Head, body};
use ringstorm_records::znode::{Node, NodeName, Slot};
use ringstorm_store::acl::Acl;
use ringstorm_store::cluster::{Cluster, ClusterAcls, Tree, Trouble};
use ringstorm_store::control::Control;
use ringstorm_store::operation::{Answer, CreateMode, Operation};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::store::SessionId;
use ringstorm_zookeeper::{Settings, ZooKeeperStore};
use serde_json::Value;

use crate::daemon::Clock;
use crate::nimbus::Directories;
use crate::tree::{Nodes, dump, root};

/// For anything that must happen, on a machine that is busy with something else.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The time-out of sessions that shall not expire.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// How long what a topology has left is kept.
pub(crate) const DELETION_DELAY: Duration = Duration::from_secs(8);

/// How long a cluster that has just started waits for supervisors.
const COLD_START: Duration = Duration::from_secs(10);

/// Between two looks at what cannot be waited for otherwise.
const PAUSE: Duration = Duration::from_millis(50);

/// What daemons note, in the order of time.
#[derive(Clone, Debug)]
pub(crate) struct Notes {
    lines: Arc<Mutex<Vec<String>>>,
    clock: &'static Clock,
    of: String,
}

impl Notes {
    /// Of somebody else, in the same list.
    pub(crate) fn of(&self, who: &str) -> Self {
        Self { of: who.to_owned(), ..self.clone() }
    }

    pub(crate) fn add(&self, line: &str) {
        let Moment(at) = self.clock.now().moment;
        self.lines.lock().unwrap().push(format!("{:.3} {}: {line}", at.as_secs_f64(), self.of));
    }
}

/// What the daemons of a test share.
pub(crate) struct World {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) clock: &'static Clock,
    pub(crate) notes: Notes,
    pub(crate) directories: Directories,
    observer: Mutex<Control<ZooKeeperStore>>,
}

pub(crate) fn cluster() -> Cluster {
    Cluster::new(root(), ClusterAcls::open())
}

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

impl World {
    /// Of an ensemble with these members.
    pub(crate) fn new(addresses: &[SocketAddr]) -> Arc<Self> {
        let clock: &'static Clock = Box::leak(Box::new(Clock::new()));
        let mut settings = Settings::of_servers(addresses.iter().map(ToString::to_string).collect());
        settings.connection_timeout = Duration::from_secs(2);
        settings.retry_interval = PAUSE;
        settings.retry_ceiling = Duration::from_millis(200);
        let observer = Control::new(ZooKeeperStore::open(settings, || {}).unwrap());
        Arc::new(Self {
            addresses: addresses.to_vec(),
            clock,
            notes: Notes { lines: Arc::default(), clock, of: String::new() },
            directories: Directories::default(),
            observer: Mutex::new(observer),
        })
    }

    /// Waits until there is something.
    pub(crate) fn eventually<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        self.within(LIMIT, look).unwrap_or_else(|| panic!("{what}: not within {LIMIT:?}\n{}", self.noted()))
    }

    /// As [`Self::eventually`]; `None` when it does not come.
    pub(crate) fn within<T>(&self, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + limit;
        loop {
            let found = look();
            if found.is_some() || Instant::now() >= deadline {
                return found;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Makes a node, as somebody who is no daemon.
    pub(crate) fn create(&self, node: &Node, bytes: Vec<u8>) {
        let mut observer = self.observer.lock().unwrap();
        let session = observer.opened(LIMIT).unwrap();
        let create = Operation::create(cluster().path(node), bytes, CreateMode::Persistent, [Acl::anyone()].into());
        assert!(matches!(observer.ask(session, create, LIMIT), Ok(Outcome::Done(_))));
    }

    /// Lets the supervisor be there for as long as a cluster that has just started waits for.
    pub(crate) fn warm_up(&self) {
        let supervisor = Node::Supervisor { supervisor: name(crate::supervisor::ID) };
        self.eventually("the supervisor is there", || self.owner(&supervisor));
        self.clock.skip(COLD_START);
    }

    /// What all daemons have noted.
    pub(crate) fn noted(&self) -> String {
        self.notes.lines.lock().unwrap().join("\n")
    }

    /// Talks with the tree, again and again until it succeeds.
    pub(crate) fn talk<T: Debug, B>(&self, body: impl Fn(Tree) -> B) -> T
    where
        B: Future<Output = Result<T, Trouble>> + Send + 'static,
    {
        self.eventually("the observer's conversation", || {
            let mut observer = self.observer.lock().unwrap();
            let session = observer.opened(LIMIT).unwrap();
            // Its member may lag behind those of others.
            let sync = Operation::Sync { path: cluster().path(&Node::Root {}) };
            if !matches!(observer.ask(session, sync, LIMIT), Ok(Outcome::Done(_))) {
                return None;
            }
            let result = observer.run(session, cluster().procedure(&body), LIMIT).unwrap();
            // Lets the control see what became of its session.
            while observer.next_event(Duration::ZERO).is_some() {}
            result.ok()
        })
    }

    /// The whole tree, if nothing changed while it was read.
    pub(crate) fn dump(&self) -> Option<Nodes> {
        let mut observer = self.observer.lock().unwrap();
        let session = observer.opened(LIMIT).unwrap();
        let nodes = dump(&mut observer, session, &root(), LIMIT);
        while observer.next_event(Duration::ZERO).is_some() {}
        nodes
    }

    /// Whose session holds a node.
    pub(crate) fn owner(&self, node: &Node) -> Option<SessionId> {
        let mut observer = self.observer.lock().unwrap();
        let session = observer.opened(LIMIT).unwrap();
        let read = Operation::Exists { path: cluster().path(node), watch: false };
        match observer.ask(session, read, LIMIT) {
            Ok(Outcome::Done(Answer::Exists(stat))) => stat?.owner,
            _ => None,
        }
    }

    /// A record as it is now.
    pub(crate) fn read<R: Record + Debug>(&self, node: &Node) -> Option<R> {
        self.talk(|tree| {
            let node = node.clone();
            async move { Ok(tree.read_fresh::<R>(&node).await?.value()) }
        })
    }

    pub(crate) fn base(&self, topology: &NodeName) -> Option<StormBase> {
        self.read(&Node::Storm { topology: topology.clone() })
    }

    pub(crate) fn assignment(&self, topology: &NodeName) -> Option<Assignment> {
        self.read(&Node::Assignment { topology: topology.clone() })
    }

    /// The ids of topologies with this name.
    pub(crate) fn topologies_named(&self, wanted: &str) -> Vec<NodeName> {
        let all =
            self.talk(|tree| async move { tree.nodes(&Node::Storms {}, false).await.map(|listing| listing.found) });
        let id = |node| match node {
            Node::Storm { topology } => self.base(&topology).filter(|base| base.name == wanted).map(|_| topology),
            _ => None,
        };
        all.into_iter().filter_map(id).collect()
    }

    /// The versions of the beats of a topology's workers, by port.
    pub(crate) fn beats(&self, topology: &NodeName) -> BTreeMap<u16, i32> {
        let beats = self.dump().unwrap_or_default().into_iter().filter_map(|(node, (_, seen))| match node {
            Node::WorkerBeat { topology: of, slot: Slot { port, .. } } if of == *topology => Some((port, seen.version)),
            _ => None,
        });
        beats.collect()
    }
}

/// Where Storm's bytes lie.
pub(crate) fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../coord/records/tests/golden")
}

fn message(file: &str, method: &str, field: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(golden().join(format!("{file}.thrift.jsonl"))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.into_iter().find(|line| line["method"] == method).unwrap();
    let hex = line[field].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// What Storm's client sent.
pub(crate) fn recorded<M: Method>(file: &str) -> M {
    let message = message(file, M::NAME, "call_hex");
    body(Head::read(&message).unwrap().1).unwrap()
}

/// The configuration that Storm's nimbus had.
fn daemon_conf() -> Conf {
    let message = message("14-read-methods", GetNimbusConf::NAME, "reply_hex");
    let sequence = Head::read(&message).unwrap().0.sequence;
    let text = read_reply::<GetNimbusConf>(sequence, &message).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Storm's nimbus, but that it looks more often.
pub(crate) fn nimbus_settings() -> NimbusSettings {
    NimbusSettings {
        monitor_period: Duration::from_secs(2),
        standing_period: Duration::from_secs(1),
        deletion_delay: DELETION_DELAY,
        conf: daemon_conf(),
        user: "root".into(),
        local_dir: "/var/lib/storm".into(),
        ..NimbusSettings::default()
    }
}

/// The submission that was recorded, under a name and for so many workers.
pub(crate) fn submission(name: &str, workers: u32) -> Request {
    let sent: SubmitTopology = recorded("01-submit");
    let mut conf: Conf = serde_json::from_str(&sent.json_conf.unwrap()).unwrap();
    conf.insert("topology.workers".into(), workers.into());
    conf.insert(SUBMISSION_TOKEN.into(), format!("token of {name}").into());
    Request::Submit(Box::new(Submission {
        name: name.into(),
        topology: sent.topology.unwrap(),
        conf: Value::Object(conf).to_string(),
        options: SubmitOptions { initial_status: TopologyInitialStatus::Active, creds: None },
        upload: Upload { name: "upload".into(), checksum: String::new() },
        worker_secret: "0123456789abcdef0123456789abcdef".into(),
    }))
}

/// The record in these bytes.
pub(crate) fn decoded<R: Record>(bytes: &[u8]) -> R {
    payload::decode(bytes).unwrap()
}
