//! The host that workers are started on: their launch files, their processes, and the socket that a supervisor has.
//!
//! Threading: one test. Errors: what is left when a test fails is killed.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ringstorm_launch::{Datagram, LAUNCH_FILE, Launch, WORKER_COMMAND, WorkerSays};
use ringstorm_tests::waiting::end_of;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::tree::{LIMIT, SUPERVISOR, TOPOLOGY};

const NUMBERS: &str = env!("CARGO_BIN_EXE_numbers");

pub(crate) struct Host {
    directory: tempfile::TempDir,
    socket: UnixDatagram,
    heard: VecDeque<WorkerSays>,
    servers: Vec<SocketAddr>,
}

/// A worker process.
pub(crate) struct Worker {
    process: Child,
    log: PathBuf,
    pub(crate) port: u16,
    pub(crate) incarnation: u64,
}

impl Host {
    pub(crate) fn new(servers: &[SocketAddr]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("control.sock")).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        Self { directory, socket, heard: VecDeque::new(), servers: servers.to_vec() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a worker at a port, whose spouts fetch from a source.
    pub(crate) fn start(&self, port: u16, incarnation: u64, source: &Path) -> Worker {
        let conf = json!({
            "ringstorm.worker.secret": "0123456789abcdef0123456789abcdef",
            "ringstorm.main.args": ["--source", source.to_str().unwrap()],
            "topology.acker.executors": 3,
            "topology.name": "numbers",
            "storm.zookeeper.servers": ["127.0.0.1"],
            "storm.zookeeper.port": self.servers[0].port(),
            "storm.zookeeper.root": "/storm",
            "storm.zookeeper.session.timeout": 3000,
            "storm.zookeeper.connection.timeout": 2000,
            "storm.zookeeper.retry.interval": 50,
            "storm.zookeeper.retry.intervalceiling.millis": 200,
            "task.heartbeat.frequency.secs": 1,
            "ringstorm.of.tomorrow": true,
        });
        let launch = Launch {
            topology: TOPOLOGY.into(),
            topology_name: "numbers".into(),
            supervisor: SUPERVISOR.into(),
            host: "127.0.0.1".into(),
            port,
            incarnation,
            assignment_version: 1,
            cores: 1,
            cpus: [0].into(),
            control_socket: self.path("control.sock"),
            bind_address: "127.0.0.1".parse().unwrap(),
            conf: conf.as_object().unwrap().clone(),
        };
        let folder = self.path(&format!("{port}-{incarnation}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(LAUNCH_FILE), launch.to_bytes()).unwrap();
        let log = folder.join("worker.log");
        let output = std::fs::File::create(&log).unwrap();
        let mut command = Command::new(NUMBERS);
        command.arg(WORKER_COMMAND).arg(folder.join(LAUNCH_FILE)).current_dir(&folder).stdin(Stdio::null());
        command.stdout(output.try_clone().unwrap()).stderr(output);
        Worker { process: command.spawn().unwrap(), log, port, incarnation }
    }

    /// Waits until a worker says something.
    #[track_caller]
    pub(crate) fn hear(&mut self, what: &str, is_it: impl Fn(&WorkerSays) -> bool) -> WorkerSays {
        let until = Instant::now() + LIMIT;
        loop {
            self.listen();
            if let Some(at) = self.heard.iter().position(&is_it) {
                return self.heard.remove(at).unwrap();
            }
            assert!(Instant::now() < until, "waited in vain for {what}");
        }
    }

    /// How often a process has said that it lives within so long from now on.
    pub(crate) fn beats(&mut self, worker: &Worker, time: Duration) -> usize {
        self.heard.clear();
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.listen();
        }
        let own = (worker.port, worker.incarnation);
        self.heard.iter().filter(|says| matches!(says, WorkerSays::Beat { .. }) && says.process() == own).count()
    }

    fn listen(&mut self) {
        let mut bytes = [0; 8192];
        if let Ok(count) = self.socket.recv(&mut bytes) {
            match Datagram::from_bytes(&bytes[..count]) {
                Ok(Datagram::Worker(says)) => self.heard.push_back(says),
                other => panic!("{other:?}"),
            }
        }
    }
}

impl Worker {
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Waits for the end, and its exit code.
    #[track_caller]
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        let ended: Option<ExitStatus> = end_of(&mut self.process, LIMIT);
        ended.unwrap_or_else(|| panic!("it does not end\n{}", self.log())).code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("-- worker at port {}\n{}", self.port, self.log());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
