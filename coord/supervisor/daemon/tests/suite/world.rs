//! A host with a supervisor's process, and whoever writes the tree.
//!
//! The ensemble is one for all tests; each has a root of its own. Whatever a test started ends with it. Threading: a world
//! belongs to its test. Errors: what does not come within the limit fails the test, with the log of the supervisor.

use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use ringstorm_ensemble::{Ensemble, free_ports};
use ringstorm_launch::Datagram;
use ringstorm_lifecycle::conf;
use ringstorm_records::payload;
use ringstorm_records::records::{
    Assignment, ComponentCommon, ComponentObject, JavaObject, NodeInfo, SpoutSpec, StormBase, StormTopology,
    SupervisorInfo, TopologyStatus,
};
use ringstorm_records::znode::{Node, NodeName, Root};
use ringstorm_store::acl::Acl;
use ringstorm_store::cluster::{Cluster, ClusterAcls, Tree, Trouble};
use ringstorm_store::control::Control;
use ringstorm_store::operation::{CreateMode, Operation};
use ringstorm_supervisor::LocalState;
use ringstorm_supervisor_daemon::history::{self, Entry, What};
use ringstorm_supervisor_daemon::kill_workers;
use ringstorm_zookeeper::{Settings, ZooKeeperStore};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// For anything that must happen, on a machine that is busy with something else.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(10);

const PROGRAMS: &str = env!("CARGO_BIN_EXE_supervisor_programs");

/// The one topology of most tests.
pub(crate) const WORDS: &str = "words-1-1795972824";

/// The id that the supervisor has from the start.
const ID: &str = "4be0d7ae-239e-41c3-92a6-dc234ddd1267-localhost";

/// A port that is no slot of the host.
const NO_SLOT: u16 = 1;

static ENSEMBLE: OnceLock<Option<Ensemble>> = OnceLock::new();
static NEXT_ROOT: AtomicU32 = AtomicU32::new(1);

/// A host.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ports: Vec<u16>,
    conf: Map<String, Value>,
    cluster: Cluster,
    observer: Mutex<Control<ZooKeeperStore>>,
    supervisor: Option<Child>,
}

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

impl World {
    /// A host with two slots, whose supervisor runs; `None` where there is no ZooKeeper. `manners` are those of the
    /// topologies whose code is there, `settings` go over what the supervisor has otherwise.
    pub(crate) fn start(manners: &[(&str, &str)], settings: &Value) -> Option<Self> {
        let ensemble = ENSEMBLE.get_or_init(|| Ensemble::start_or_skip(1)).as_ref()?;
        let address = ensemble.addresses()[0];
        let root = format!("/supervisor-{}", NEXT_ROOT.fetch_add(1, Ordering::SeqCst));
        let folder = tempfile::tempdir().unwrap();
        let ports = free_ports(2);
        let mut conf = json!({
            "storm.zookeeper.servers": ["127.0.0.1"],
            "storm.zookeeper.port": address.port(),
            "storm.zookeeper.root": root,
            "storm.zookeeper.session.timeout": 3000,
            "storm.local.dir": folder.path().join("local"),
            "storm.log.dir": folder.path().join("logs"),
            "storm.local.hostname": "localhost",
            "nimbus.seeds": ["127.0.0.1"],
            "supervisor.slots.ports": ports,
            "supervisor.heartbeat.frequency.secs": 1,
            "ringstorm.bind.address": "127.0.0.1",
        });
        conf.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let cluster = Cluster::new(Root::new(&root).unwrap(), ClusterAcls::open());
        let store = ZooKeeperStore::open(Settings::of_servers(vec![address.to_string()]), || {}).unwrap();
        let mut world = Self {
            folder,
            ports,
            conf: conf.as_object().unwrap().clone(),
            cluster,
            observer: Mutex::new(Control::new(store)),
            supervisor: None,
        };
        world.talk(|tree| async move { tree.prepare().await });
        let state = LocalState { supervisor: Some(ID.into()), ..LocalState::default() };
        fs::create_dir_all(world.local_dir().join("supervisor")).unwrap();
        fs::write(world.local_dir().join("supervisor/local-state.json"), state.to_text()).unwrap();
        for (topology, manner) in manners {
            world.place_code(topology, manner);
            // Code that nobody needs is removed.
            world.assign(topology, 0, &[(NO_SLOT, &[1])]);
        }
        world.start_supervisor();
        world.eventually("the supervisor is there", || world.info());
        Some(world)
    }

    pub(crate) fn local_dir(&self) -> PathBuf {
        self.folder.path().join("local")
    }

    /// Puts a topology's code where a fetch would.
    pub(crate) fn place_code(&self, topology: &str, manner: &str) {
        let supervisor = self.local_dir().join("supervisor");
        let folder = supervisor.join("stormdist").join(topology);
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(supervisor.join("code")).unwrap();
        let sha256 = program_sha256();
        let code = supervisor.join("code").join(sha256);
        if !code.exists() {
            fs::copy(PROGRAMS, &code).unwrap();
        }
        symlink(Path::new("../../code").join(sha256), folder.join("stormjar.jar")).unwrap();
        let settings = json!({
            "topology.name": "words",
            "test.manner": manner,
            "topology.acker.executors": 0,
            "topology.eventlogger.executors": 0,
        });
        fs::write(folder.join("stormconf.ser"), conf::encode(settings.as_object().unwrap())).unwrap();
        let object = JavaObject { full_class_name: "ringstorm.Component".into(), args_list: Vec::new() };
        let json_conf = Some(json!({ "topology.tasks": 9 }).to_string());
        let spout = SpoutSpec {
            spout_object: ComponentObject::JavaObject(object),
            common: ComponentCommon { json_conf, parallelism_hint: Some(9), ..ComponentCommon::default() },
        };
        let structure = StormTopology { spouts: [("lines".to_owned(), spout)].into(), ..StormTopology::default() };
        fs::write(folder.join("stormcode.ser"), payload::encode(&structure)).unwrap();
    }

    pub(crate) fn start_supervisor(&mut self) {
        self.supervisor = Some(self.spawn_supervisor(&self.local_dir(), None));
    }

    /// Starts a supervisor with a local folder, on a host with a mark.
    pub(crate) fn spawn_supervisor(&self, local_dir: &Path, mark: Option<&str>) -> Child {
        let mut conf = self.conf.clone();
        conf.insert("storm.local.dir".into(), local_dir.display().to_string().into());
        if mark.is_some() {
            conf.insert("storm.log.dir".into(), local_dir.join("logs").display().to_string().into());
        }
        let file = self.folder.path().join(format!("conf-{}.json", mark.unwrap_or_default()));
        fs::write(&file, Value::Object(conf).to_string()).unwrap();
        let mut command = Command::new(PROGRAMS);
        command.arg("supervisor").arg(&file).args(mark).stdin(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Ends the supervisor with a signal, and waits for its end.
    pub(crate) fn end_supervisor(&mut self, signal: Signal) {
        let mut child = self.supervisor.take().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let deadline = Instant::now() + LIMIT;
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "the supervisor does not end\n{}", self.log());
            std::thread::sleep(PAUSE);
        }
    }

    /// What the supervisor has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("logs/supervisor.log")).unwrap_or_default()
    }

    /// All of what a worker in a slot has said that is kept.
    pub(crate) fn worker_logs(&self, port: u16) -> Vec<PathBuf> {
        let folder = self.folder.path().join(format!("logs/workers-artifacts/{WORDS}/{port}"));
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }

    pub(crate) fn worker_log(&self, port: u16) -> String {
        self.worker_logs(port).iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    pub(crate) fn state(&self) -> Option<LocalState> {
        LocalState::from_text(&fs::read_to_string(self.local_dir().join("supervisor/local-state.json")).ok()?).ok()
    }

    pub(crate) fn supervisor_id(&self) -> String {
        self.eventually("the supervisor has an id", || self.state()?.supervisor)
    }

    /// What has happened to workers.
    pub(crate) fn history(&self) -> Vec<Entry> {
        history::read(&self.local_dir())
    }

    /// The processes that were started in a slot, oldest first.
    pub(crate) fn started(&self, port: u16) -> Vec<u32> {
        let started = self.history().into_iter().filter(|entry| entry.port == port);
        let pid = |entry: Entry| match entry.what {
            What::Started { pid, .. } => Some(pid),
            _ => None,
        };
        started.filter_map(pid).collect()
    }

    /// How workers in a slot ended: how, and why.
    pub(crate) fn ended(&self, port: u16) -> Vec<(String, String)> {
        let ended = self.history().into_iter().filter(|entry| entry.port == port);
        let how = |entry: Entry| match entry.what {
            What::Ended { how, why, .. } => Some((how, why)),
            _ => None,
        };
        ended.filter_map(how).collect()
    }

    /// Waits for the `count`th process in a slot.
    pub(crate) fn process(&self, port: u16, count: usize) -> u32 {
        self.eventually("a worker was started", || self.started(port).get(count - 1).copied())
    }

    /// Waits until a worker in a slot is known to have come up.
    pub(crate) fn wait_until_up(&self, port: u16) {
        self.eventually("the worker is up", || {
            let used = self.info()?.used_ports.unwrap_or_default();
            (used.contains(&i64::from(port)) && self.worker_log(port).contains("worker ")).then_some(())
        });
    }

    /// What the supervisor says of itself.
    pub(crate) fn info(&self) -> Option<SupervisorInfo> {
        let id = name(&self.state()?.supervisor?);
        self.talk(|tree| {
            let node = Node::Supervisor { supervisor: id.clone() };
            async move { Ok(tree.read_fresh::<SupervisorInfo>(&node).await?.value()) }
        })
    }

    /// Writes an assignment: slots by port, each with its executors.
    pub(crate) fn assign(&self, topology: &str, version: i64, slots: &[(u16, &[i64])]) {
        let id = self.supervisor_id();
        let mut assignment = Assignment {
            master_code_dir: "/".into(),
            node_host: [(id.clone(), "localhost".to_owned())].into(),
            version: Some(version),
            ..Assignment::default()
        };
        for (port, tasks) in slots {
            let node = NodeInfo { node: id.clone(), port: [i64::from(*port)].into() };
            let executors = tasks.iter().map(|task| (vec![*task, *task], node.clone()));
            assignment.executor_node_port.extend(executors);
        }
        let base = StormBase {
            name: "words".into(),
            status: TopologyStatus::Active,
            num_workers: 1,
            component_executors: None,
            launch_time_secs: None,
            owner: None,
            topology_action_options: None,
            prev_status: None,
            component_debug: None,
            principal: None,
            topology_version: None,
            unknown: Default::default(),
        };
        self.write(&Node::Storm { topology: name(topology) }, payload::encode(&base));
        self.write(&Node::Assignment { topology: name(topology) }, payload::encode(&assignment));
    }

    /// Removes an assignment, and the topology.
    pub(crate) fn kill(&self, topology: &str) {
        for node in [Node::Assignment { topology: name(topology) }, Node::Storm { topology: name(topology) }] {
            let path = self.cluster.path(&node);
            self.ask(Operation::delete(path));
        }
    }

    fn write(&self, node: &Node, bytes: Vec<u8>) {
        let path = self.cluster.path(node);
        let acl = [Acl::anyone()].into();
        self.ask(Operation::create(path.clone(), bytes.clone(), CreateMode::Persistent, acl));
        self.ask(Operation::set(path, bytes));
    }

    fn ask(&self, operation: Operation) {
        let mut observer = self.observer.lock().unwrap();
        let session = observer.opened(LIMIT).unwrap();
        // That something is there, or is not, is fine.
        let _ = observer.ask(session, operation, LIMIT).unwrap();
    }

    /// Talks with the tree, again and again until it succeeds.
    pub(crate) fn talk<T: Debug, B>(&self, body: impl Fn(Tree) -> B) -> T
    where
        B: Future<Output = Result<T, Trouble>> + Send + 'static,
    {
        self.eventually("the observer's conversation", || {
            let mut observer = self.observer.lock().unwrap();
            let session = observer.opened(LIMIT).unwrap();
            let result = observer.run(session, self.cluster.procedure(&body), LIMIT).unwrap();
            while observer.next_event(Duration::ZERO).is_some() {}
            result.ok()
        })
    }

    /// The errors of a component.
    pub(crate) fn errors(&self, topology: &str, component: &str) -> Vec<String> {
        self.talk(|tree| {
            let component = ringstorm_records::znode::ComponentName::new(component).unwrap();
            let topology = name(topology);
            async move { Ok(tree.errors(&topology, &component).await?.found.into_iter().map(|it| it.error).collect()) }
        })
    }

    /// Says something by the control socket.
    pub(crate) fn say(&self, datagram: impl Into<Datagram>) {
        let socket = UnixDatagram::unbound().unwrap();
        socket.send_to(&datagram.into().to_bytes(), self.local_dir().join("supervisor/control.sock")).unwrap();
    }

    /// Waits until there is something.
    pub(crate) fn eventually<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < deadline, "{what}: not within {LIMIT:?}\n{}", self.log());
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut child) = self.supervisor.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        kill_workers(&self.local_dir(), Duration::ZERO);
    }
}

/// Whether there is a process with this number that has not ended.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("Z", |(_, rest)| &rest[..1]);
    state != "Z" && Pid::from_raw(pid.try_into().unwrap()).is_some_and(|pid| test_kill_process(pid).is_ok())
}

pub(crate) fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

fn program_sha256() -> &'static str {
    static SHA256: OnceLock<String> = OnceLock::new();
    SHA256.get_or_init(|| {
        let digest = Sha256::digest(fs::read(PROGRAMS).unwrap());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    })
}
