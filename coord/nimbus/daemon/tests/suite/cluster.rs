//! An ensemble, and the nimbuses of a test, each with folders of its own.
//!
//! Threading: a daemon runs on a thread of its own. Errors: what does not come in time fails the test.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringstorm_conf::Conf;
use ringstorm_daemon::{Log, RotatedFile, Rotation};
use ringstorm_ensemble::{Ensemble, free_ports};
use ringstorm_nimbus_daemon::{DaemonSettings, NimbusDaemon, Stopper};
use serde_json::{Value, json};

/// For anything that must happen, on a machine that is busy with something else.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The time-out of the sessions of nimbuses.
pub(crate) const SESSION: Duration = Duration::from_secs(2);

/// Two tests at once would only be slower.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) struct Cluster {
    ensemble: Ensemble,
    pub(crate) folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// Waits until there is something.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Cluster {
    /// `None` where ZooKeeper is not installed, which was said.
    pub(crate) fn start_or_skip() -> Option<Self> {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let ensemble = Ensemble::start_or_skip(1)?;
        Some(Self { ensemble, folder: tempfile::tempdir().unwrap(), _turn: turn })
    }

    /// The configuration of a nimbus.
    pub(crate) fn conf(&self, name: &str, port: u16) -> Value {
        let home = self.folder.path().join(name);
        json!({
            "storm.zookeeper.servers": ["127.0.0.1"],
            "storm.zookeeper.port": self.ensemble.addresses()[0].port(),
            "storm.zookeeper.session.timeout": SESSION.as_millis() as u64,
            "storm.zookeeper.connection.timeout": 1000,
            "storm.local.hostname": "127.0.0.1",
            "storm.local.dir": home,
            "storm.log.dir": home.join("logs"),
            "ringstorm.bind.address": "127.0.0.1",
            "nimbus.thrift.port": port,
            "nimbus.monitor.freq.secs": 1,
        })
    }

    /// Starts a nimbus in this process.
    pub(crate) fn nimbus(&self, name: &str) -> Running {
        let port = free_ports(1)[0];
        Running::start(settings(&self.conf(name, port)), port)
    }
}

pub(crate) fn settings(conf: &Value) -> DaemonSettings {
    let conf = Conf::from_json(conf.as_object().unwrap().clone()).unwrap();
    DaemonSettings::of_conf(&conf, "2.8.2-ringstorm.0.1.0").unwrap()
}

/// A nimbus in this process.
pub(crate) struct Running {
    pub(crate) port: u16,
    log: PathBuf,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Running {
    fn start(settings: DaemonSettings, port: u16) -> Self {
        let file = settings.log_dir.join("nimbus.log");
        let log = Log::open("nimbus", RotatedFile::new(&file, Rotation::default())).unwrap();
        let daemon = NimbusDaemon::prepare(settings, log).unwrap();
        let stopper = daemon.stopper();
        let thread = std::thread::spawn(move || daemon.serve());
        Self { port, log: file, stopper, thread: Some(thread) }
    }

    /// Ends it in good order.
    pub(crate) fn stop(mut self) {
        self.stopper.stop("the test is over with it");
        self.thread.take().unwrap().join().unwrap().unwrap();
    }

    pub(crate) fn log(&self) -> String {
        read(&self.log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stopper.stop("the test is over");
            let ended = thread.join();
            if std::thread::panicking() {
                eprintln!("{}", self.log());
            } else {
                ended.unwrap().unwrap();
            }
        }
    }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
