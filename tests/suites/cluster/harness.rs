//! Starts and ends the processes of a cluster, and asks them by the command line.
//!
//! Threading: belongs to one test. Errors: what cannot be done panics with what was seen. Whatever a test does, its
//! processes end with it: daemons with [`Cluster`], workers with the group that their supervisor made for them.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use ringstorm_ensemble::{Ensemble, free_ports};
use ringstorm_store::control::Control;
use ringstorm_tests::outside::Outside;
use ringstorm_tests::proxy::Proxy;
use ringstorm_tests::waiting::until;
use ringstorm_zookeeper::{Settings, ZooKeeperStore};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, kill_process_group, prlimit};
use serde_json::Value;

/// The command line, as the tool has it.
pub(crate) const RINGSTORM: &str = env!("CARGO_BIN_EXE_ringstorm-cluster");
/// One whose daemons say that they are of a later version.
pub(crate) const RINGSTORM_NEXT: &str = env!("CARGO_BIN_EXE_ringstorm-cluster-next");
/// The topology under test.
pub(crate) const NUMBERS: &str = env!("CARGO_BIN_EXE_numbers");
/// The one that does harm.
const MISBEHAVING: &str = env!("CARGO_BIN_EXE_misbehaving");

/// How a cluster is made.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) nimbuses: usize,
    pub(crate) supervisors: usize,
    /// Slots of each supervisor.
    pub(crate) slots: usize,
    /// Further lines of each `storm.yaml`.
    pub(crate) settings: Vec<String>,
    /// Whether workers reach each other by proxies.
    pub(crate) has_proxies: bool,
    /// Whether everybody reaches nimbuses by proxies.
    pub(crate) has_nimbus_proxies: bool,
    /// The program of all daemons.
    pub(crate) program: PathBuf,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            nimbuses: 1,
            supervisors: 2,
            slots: 2,
            settings: Vec::new(),
            has_proxies: false,
            has_nimbus_proxies: false,
            program: RINGSTORM.into(),
        }
    }
}

/// A cluster.
pub(crate) struct Cluster {
    pub(crate) nimbuses: Vec<Daemon>,
    pub(crate) supervisors: Vec<Daemon>,
    /// On the ways to workers, if the shape has any.
    pub(crate) proxies: Vec<Proxy>,
    /// On the ways to nimbuses, likewise.
    pub(crate) nimbus_proxies: Vec<Proxy>,
    client: PathBuf,
    // Goes when its daemons are gone.
    ensemble: Ensemble,
    folder: tempfile::TempDir,
}

/// A daemon, running or not.
pub(crate) struct Daemon {
    verb: &'static str,
    conf: PathBuf,
    pub(crate) home: PathBuf,
    child: Option<Child>,
    /// The program that it is.
    pub(crate) program: PathBuf,
    /// How large its files may become, until [`Daemon::may_write_again`].
    pub(crate) file_bytes_max: Option<u64>,
}

/// A worker process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkerProcess {
    pub(crate) pid: i32,
    /// The launch file that it was started with.
    pub(crate) launch: PathBuf,
}

impl Cluster {
    /// Starts one; `None` without ZooKeeper, which was said.
    pub(crate) fn start_or_skip(shape: &Shape) -> Option<Self> {
        let ensemble = Ensemble::start_or_skip(1)?;
        let folder = tempfile::tempdir().unwrap();
        let ports = free_ports(shape.nimbuses + shape.supervisors * shape.slots);
        let (nimbus_ports, slots) = ports.split_at(shape.nimbuses);
        let common = common_settings(&ensemble, nimbus_ports, &shape.settings);
        let client = folder.path().join("client/storm.yaml");
        write(&client, &common);
        let daemon = |verb, name: String, more: String| {
            let home = folder.path().join(name);
            let conf = home.join("storm.yaml");
            write(&conf, &format!("{common}{more}storm.local.dir: {home:?}\nstorm.log.dir: {:?}\n", home.join("logs")));
            Daemon { verb, conf, home, child: None, program: shape.program.clone(), file_bytes_max: None }
        };
        let nimbuses = (1..).zip(nimbus_ports);
        let mut nimbus_proxies = Vec::new();
        let nimbuses = nimbuses.map(|(number, port)| {
            let mut more = format!("storm.local.hostname: \"127.0.0.1\"\nnimbus.thrift.port: {port}\n");
            if shape.has_nimbus_proxies {
                more.push_str("ringstorm.bind.address: \"127.0.0.2\"\n");
                nimbus_proxies.push(Proxy::start_at(&format!("127.0.0.1:{port}"), &format!("127.0.0.2:{port}"), 1));
            }
            daemon("nimbus", format!("nimbus-{number}"), more)
        });
        let mut proxies = Vec::new();
        let supervisors = (1..).zip(slots.chunks(shape.slots.max(1)));
        let supervisors = supervisors.map(|(number, ports)| {
            let (mut host, mut own) = ("127.0.0.1".to_owned(), "0.0.0.0".to_owned());
            if shape.has_proxies {
                (host, own) = (format!("127.0.{number}.1"), format!("127.0.{number}.2"));
                let proxy = |port: &u16| Proxy::start_at(&format!("{host}:{port}"), &format!("{own}:{port}"), 1);
                proxies.extend(ports.iter().map(proxy));
            }
            let hosts = format!("storm.local.hostname: {host:?}\nringstorm.bind.address: {own:?}\n");
            let more = format!("{hosts}supervisor.slots.ports: {ports:?}\n");
            daemon("supervisor", format!("supervisor-{number}"), more)
        });
        let (nimbuses, supervisors) = (nimbuses.collect(), supervisors.collect());
        let mut cluster = Self { nimbuses, supervisors, proxies, nimbus_proxies, client, ensemble, folder };
        cluster.nimbuses.iter_mut().chain(&mut cluster.supervisors).for_each(Daemon::start);
        until("the cluster to lead", Duration::from_secs(60), || cluster.try_ringstorm(&["list"]).status.success());
        let count = shape.supervisors;
        until("the supervisors", Duration::from_secs(60), || {
            cluster.json(&["cluster"])["supervisors"].as_array().is_some_and(|all| all.len() == count)
        });
        Some(cluster)
    }

    /// A folder of the test's own.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A client of the tree.
    pub(crate) fn tree(&self) -> Control<ZooKeeperStore> {
        let address = self.ensemble.addresses()[0].to_string();
        Control::new(ZooKeeperStore::open(Settings::of_servers(vec![address]), || {}).unwrap())
    }

    /// Runs a command as a client would.
    pub(crate) fn try_ringstorm(&self, words: &[&str]) -> Output {
        let mut command = Command::new(RINGSTORM);
        command.arg("--config").arg(&self.client).args(words).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// The same, which must succeed; what it printed.
    #[track_caller]
    pub(crate) fn ringstorm(&self, words: &[&str]) -> String {
        let output = self.try_ringstorm(words);
        assert!(output.status.success(), "{words:?}: {output:?}\n{}", self.logs());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A command's answer for programs.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let text = self.ringstorm(&words);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"))
    }

    /// Where the nimbus that leads is asked.
    #[track_caller]
    pub(crate) fn leader(&self) -> SocketAddr {
        let leader = &self.json(&["cluster"])["leader"];
        let port = leader["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        SocketAddr::from(([127, 0, 0, 1], port.unwrap_or_else(|| panic!("{leader}"))))
    }

    /// Submits the topology whose messages come from a source.
    pub(crate) fn submit(&self, name: &str, source: &Outside, executors: usize, settings: &[&str]) {
        self.submit_built(NUMBERS, name, source, executors, settings);
    }

    /// The same, of another build.
    pub(crate) fn submit_built(&self, build: &str, name: &str, source: &Outside, executors: usize, settings: &[&str]) {
        let (path, executors) = (source.path().to_str().unwrap(), executors.to_string());
        let settings = settings.iter().flat_map(|setting| ["-c", *setting]);
        let words = ["submit", build, name].into_iter().chain(settings);
        let words: Vec<&str> = words.chain(["--source", path, "--executors", &executors]).collect();
        self.ringstorm(&words);
    }

    /// Tries to submit the topology that does harm.
    pub(crate) fn try_submit_harm(&self, name: &str, harm: &str, settings: &[&str], words: &[&str]) -> Output {
        let settings = settings.iter().flat_map(|setting| ["-c", *setting]);
        let all = ["submit", MISBEHAVING, name].into_iter().chain(settings).chain(["--harm", harm]);
        self.try_ringstorm(&all.chain(words.iter().copied()).collect::<Vec<&str>>())
    }

    /// The same, which must succeed.
    #[track_caller]
    pub(crate) fn submit_harm(&self, name: &str, harm: &str, settings: &[&str], words: &[&str]) {
        let output = self.try_submit_harm(name, harm, settings, words);
        assert!(output.status.success(), "{name}: {output:?}\n{}", self.logs());
    }

    /// Panics if a daemon has ended by itself.
    #[track_caller]
    pub(crate) fn assert_daemons_run(&mut self) {
        for daemon in self.nimbuses.iter_mut().chain(&mut self.supervisors) {
            let ended = daemon.child.as_mut().and_then(|child| child.try_wait().unwrap());
            assert_eq!(ended, None, "{} {}", daemon.verb, daemon.home.display());
        }
    }

    /// The worker processes of a topology, or of all.
    pub(crate) fn workers(&self) -> Vec<WorkerProcess> {
        let mut workers: Vec<WorkerProcess> = self.supervisors.iter().flat_map(Daemon::workers).collect();
        workers.sort();
        workers
    }

    /// What all daemons and workers logged, for whoever reads why a test failed.
    pub(crate) fn logs(&self) -> String {
        let mut logs = String::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "log") {
                    let text = std::fs::read(&path).unwrap_or_default();
                    let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(4000)..]).into_owned();
                    let _ = writeln!(logs, "--- {}\n{tail}", path.display());
                }
            }
        }
        logs
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
        self.supervisors.iter_mut().chain(&mut self.nimbuses).for_each(Daemon::kill);
        self.supervisors.iter().for_each(Daemon::kill_workers);
    }
}

impl Daemon {
    /// Starts it.
    pub(crate) fn start(&mut self) {
        let output = self.home.join(format!("{}.output.log", self.verb));
        let output = std::fs::File::options().create(true).append(true).open(output).unwrap();
        let mut command = match self.file_bytes_max {
            None => Command::new(&self.program),
            Some(bytes) => {
                // Its writes fail then as on a full disk, and nothing else does.
                let limited = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\" \"$@\"", bytes / 512);
                let mut shell = Command::new("sh");
                shell.args(["-c", &limited]).arg(&self.program);
                shell
            }
        };
        command.arg("--config").arg(&self.conf).arg(self.verb).stdin(Stdio::null());
        command.stdout(output.try_clone().unwrap()).stderr(output);
        self.child = Some(command.spawn().unwrap());
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    /// Its files may become as large as any.
    pub(crate) fn may_write_again(&mut self) {
        let pid = Pid::from_child(self.child.as_ref().expect("it runs"));
        let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
        prlimit(Some(pid), Resource::Fsize, Rlimit { current: maximum, maximum }).unwrap();
        self.file_bytes_max = None;
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home.join(format!("logs/{}.log", self.verb))).unwrap_or_default()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        let mut child = self.child.take().unwrap();
        let ended = ringstorm_tests::waiting::end_of(&mut child, Duration::from_secs(20));
        assert!(ended.is_some_and(|status| status.success()), "{} ended with {ended:?}", self.verb);
    }

    /// What it wrote down of its workers, oldest first.
    pub(crate) fn history(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.home.join("workers/history")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        let child = self.child.as_ref().expect("it runs");
        child.id().try_into().unwrap()
    }

    /// The worker processes that it has started and that live.
    pub(crate) fn workers(&self) -> Vec<WorkerProcess> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let worker = |pid: i32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let words: Vec<&str> = std::str::from_utf8(&words).ok()?.split('\0').collect();
            let command = words.iter().position(|word| *word == "ringstorm-worker")?;
            let launch = PathBuf::from(words.get(command + 1)?);
            launch.starts_with(&self.home).then_some(WorkerProcess { pid, launch })
        };
        pids.filter_map(worker).collect()
    }

    /// The log of a worker that it has started, when there is one.
    pub(crate) fn worker_log(&self, worker: &WorkerProcess) -> Option<PathBuf> {
        let topologies = std::fs::read_dir(self.home.join("logs/workers-artifacts")).ok()?.flatten();
        let log = |topology: PathBuf| topology.join(worker.port().to_string()).join("worker.log");
        topologies.map(|topology| log(topology.path())).find(|path| path.exists())
    }

    /// Kills all of its worker processes.
    pub(crate) fn kill_workers(&self) {
        for worker in self.workers() {
            worker.kill_group();
        }
    }
}

impl WorkerProcess {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid).unwrap(), signal).unwrap();
    }

    /// The port of its slot.
    pub(crate) fn port(&self) -> u16 {
        let folder = self.launch.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        folder.and_then(|name| name.split_once('-')?.0.parse().ok()).expect("its folder is named after its slot")
    }

    fn kill_group(&self) {
        // It may have ended meanwhile.
        let _ = kill_process_group(Pid::from_raw(self.pid).unwrap(), Signal::KILL);
    }
}

fn common_settings(ensemble: &Ensemble, nimbus_ports: &[u16], more: &[String]) -> String {
    let address = ensemble.addresses()[0];
    let mut settings = format!(
        "storm.zookeeper.servers: [{:?}]\nstorm.zookeeper.port: {}\n",
        address.ip().to_string(),
        address.port(),
    );
    let seeds: Vec<String> = nimbus_ports.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
    let _ = writeln!(settings, "nimbus.seeds: [{}]", seeds.join(", "));
    more.iter().for_each(|line| settings.push_str(&format!("{line}\n")));
    settings
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
