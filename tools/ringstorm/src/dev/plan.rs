//! Where everything of the cluster is: ports, folders, files.
//!
//! Ports are Storm's where they are free, else the next ones. Threading: plain data. Errors: files that cannot be written
//! are [`Failure`]s.

use std::fs;
use std::path::{Path, PathBuf};

use ringstorm_records::payload::NimbusAddress;
use ringstorm_types::config::Config;
use serde_json::Value;

use crate::failure::Failure;

/// Where everything listens.
const HOST: &str = "127.0.0.1";
/// Storm's ports.
const ZOOKEEPER_PORT: u16 = 2181;
const NIMBUS_PORT: u16 = 6627;
const SUPERVISOR_PORT: u16 = 6628;
const SLOT_PORT: u16 = 6700;
/// Slots of each supervisor.
const SLOTS: usize = 4;
/// The port after the last that is tried.
const PORT_END: u16 = 30_000;

/// A supervisor of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SupervisorPlan {
    /// `storm.local.dir`.
    pub(super) folder: PathBuf,
    /// Its configuration.
    pub(super) conf: PathBuf,
    pub(super) ports: Vec<u16>,
    thrift_port: u16,
}

impl SupervisorPlan {
    /// Its id, by which `cluster` tells it from the others; it has one once it runs.
    pub(super) fn id(&self) -> Option<String> {
        ringstorm_supervisor_daemon::supervisor_id(&self.folder)
    }
}

/// The cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    folder: PathBuf,
    /// Host and port, and whether it is given.
    zookeeper: (String, u16),
    is_given: bool,
    nimbus: NimbusAddress,
    supervisors: Vec<SupervisorPlan>,
}

/// A server that is given as `HOST:PORT`, or as `HOST` with ZooKeeper's own port.
pub(super) fn server(text: &str) -> Result<(String, u16), Failure> {
    let wrong =
        || Failure::usage(format!("{text:?} is no server of ZooKeeper; give HOST:PORT, such as localhost:2181"));
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong)?),
        None => (text, ZOOKEEPER_PORT),
    };
    if host.is_empty() || host.contains([',', '/', ' ', ':']) {
        return Err(wrong());
    }
    Ok((host.to_owned(), port))
}

impl Plan {
    /// A plan below a folder, with ports for which `is_free` says so; `None` if there are not enough.
    pub(super) fn new(
        folder: &Path,
        given: Option<(String, u16)>,
        supervisors: u16,
        is_free: impl Fn(u16) -> bool,
    ) -> Option<Self> {
        let mut taken = Vec::new();
        let mut next = |first: u16| {
            let port = (first..PORT_END).find(|port| !taken.contains(port) && is_free(*port))?;
            taken.push(port);
            Some(port)
        };
        let is_given = given.is_some();
        let zookeeper = match given {
            Some(server) => server,
            None => (HOST.to_owned(), next(ZOOKEEPER_PORT)?),
        };
        let nimbus = NimbusAddress::new(HOST, next(NIMBUS_PORT)?, 0).ok()?;
        let mut plans = Vec::new();
        for number in 1..=supervisors {
            let name = format!("supervisor-{number}");
            plans.push(SupervisorPlan {
                folder: folder.join(&name),
                conf: folder.join(format!("{name}.yaml")),
                ports: (0..SLOTS).map(|_| next(SLOT_PORT)).collect::<Option<_>>()?,
                thrift_port: next(SUPERVISOR_PORT)?,
            });
        }
        Some(Self { folder: folder.to_owned(), zookeeper, is_given, nimbus, supervisors: plans })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn supervisors(&self) -> &[SupervisorPlan] {
        &self.supervisors
    }

    pub(super) fn nimbus_address(&self) -> NimbusAddress {
        self.nimbus.clone()
    }

    pub(super) fn has_own_zookeeper(&self) -> bool {
        !self.is_given
    }

    pub(super) fn zookeeper_port(&self) -> u16 {
        self.zookeeper.1
    }

    pub(super) fn zookeeper_address(&self) -> String {
        format!("{}:{}", self.zookeeper.0, self.zookeeper.1)
    }

    /// Where all logs are.
    pub(super) fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// What a child writes to its standard output and error.
    pub(super) fn output(&self, name: &str) -> PathBuf {
        self.logs().join(format!("{name}.out"))
    }

    /// The configuration of a daemon; of clients for any other name.
    pub(super) fn conf_file(&self, name: &str) -> PathBuf {
        let file = match name {
            "client" => "storm.yaml".to_owned(),
            name => format!("{name}.yaml"),
        };
        self.folder.join(file)
    }

    /// Writes the folders and the files. `settings` are `key=value`, for all.
    pub(super) fn write(&self, settings: &[String]) -> Result<(), Failure> {
        let mut common = self.common();
        for setting in settings {
            common.push(Config::parse_setting(setting).map_err(|error| Failure::usage(error.to_string()))?);
        }
        let local = |path: &Path| ("storm.local.dir".to_owned(), Value::from(path.to_string_lossy().into_owned()));
        make_folder(&self.logs())?;
        self.write_conf("client", &common, &[local(&self.folder)])?;
        self.write_conf("nimbus", &common, &[local(&self.folder.join("nimbus"))])?;
        for (number, supervisor) in (1..).zip(&self.supervisors) {
            let own = [
                local(&supervisor.folder),
                (
                    "storm.log.dir".to_owned(),
                    Value::from(self.logs().join(format!("supervisor-{number}")).to_string_lossy()),
                ),
                ("supervisor.slots.ports".to_owned(), Value::from(supervisor.ports.clone())),
                ("supervisor.thrift.port".to_owned(), Value::from(supervisor.thrift_port)),
            ];
            self.write_conf(&format!("supervisor-{number}"), &common, &own)?;
        }
        Ok(())
    }

    /// What all have: where things are, and one folder for the logs of all workers.
    fn common(&self) -> Vec<(String, Value)> {
        let logs = self.logs();
        [
            ("storm.zookeeper.servers", Value::from(vec![self.zookeeper.0.clone()])),
            ("storm.zookeeper.port", Value::from(self.zookeeper.1)),
            ("nimbus.seeds", Value::from(vec![HOST])),
            ("nimbus.thrift.port", Value::from(self.nimbus.port())),
            ("storm.local.hostname", Value::from(HOST)),
            ("ringstorm.bind.address", Value::from(HOST)),
            ("storm.log.dir", Value::from(logs.to_string_lossy())),
            ("storm.workers.artifacts.dir", Value::from(logs.join("workers-artifacts").to_string_lossy())),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .to_vec()
    }

    /// JSON is YAML: each line is a key and its value. A later setting goes before an earlier one.
    fn write_conf(&self, name: &str, common: &[(String, Value)], own: &[(String, Value)]) -> Result<(), Failure> {
        let mut settings: Vec<&(String, Value)> = Vec::new();
        for setting in common.iter().chain(own) {
            settings.retain(|(key, _)| *key != setting.0);
            settings.push(setting);
        }
        let mut text = "# Written by `ringstorm dev` at each start.\n".to_owned();
        for (key, value) in settings {
            text.push_str(&format!("{}: {value}\n", Value::from(key.as_str())));
        }
        let path = self.conf_file(name);
        // Beside it first: it is whole for whoever reads meanwhile, and a pipe in its place holds nobody up.
        let new = path.with_extension("yaml.new");
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| Failure::new(format!("{} cannot be written: {error}", path.display())))
    }
}

/// Makes a folder, and those above it.
pub(super) fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| {
        Failure::new(format!("the folder {} cannot be made: {error}; give another one with --dir", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use ringstorm_conf::{Conf, ConfSources, Role};

    use super::*;

    #[test]
    fn ports_are_storms_where_they_are_free_and_the_next_ones_otherwise() {
        let plan = Plan::new(Path::new("/x"), None, 2, |_| true).unwrap();
        assert_eq!((plan.zookeeper_address().as_str(), plan.nimbus.port()), ("127.0.0.1:2181", 6627));
        let ports: Vec<_> = plan.supervisors.iter().map(|it| (it.ports.clone(), it.thrift_port)).collect();
        assert_eq!(ports, [(vec![6700, 6701, 6702, 6703], 6628), (vec![6704, 6705, 6706, 6707], 6629)]);
        let taken = [2181, 6627, 6701];
        let plan = Plan::new(Path::new("/x"), None, 1, |port| !taken.contains(&port)).unwrap();
        assert_eq!((plan.zookeeper.1, plan.nimbus.port()), (2182, 6628));
        let supervisor = &plan.supervisors[0];
        assert_eq!((supervisor.ports.as_slice(), supervisor.thrift_port), ([6700, 6702, 6703, 6704].as_slice(), 6629));
        assert_eq!(Plan::new(Path::new("/x"), None, 1, |port| port < 6700), None);
    }

    #[test]
    fn a_zookeeper_may_be_given() {
        assert_eq!(server("zk1:2182").unwrap(), ("zk1".into(), 2182));
        assert_eq!(server("zk1").unwrap(), ("zk1".into(), 2181));
        for wrong in ["", ":2181", "zk1:0", "zk1:port", "a:1,b:2", "a/b"] {
            assert!(server(wrong).unwrap_err().text.contains("give HOST:PORT"), "{wrong}");
        }
        let plan = Plan::new(Path::new("/x"), Some(("zk1".into(), 2182)), 1, |_| true).unwrap();
        assert!(!plan.has_own_zookeeper());
        assert_eq!(plan.zookeeper_address(), "zk1:2182");
    }

    #[test]
    fn what_is_written_is_read_by_the_daemons_as_it_was_planned() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan::new(folder.path(), None, 2, |_| true).unwrap();
        plan.write(&["nimbus.monitor.freq.secs=1".into(), "my.key=a: b".into()]).unwrap();
        let conf = |name: &str| {
            let sources = ConfSources { file: Some(plan.conf_file(name)), ..ConfSources::none(Role::Daemon) };
            Conf::find(&sources).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let second = conf("supervisor-2");
        assert_eq!(second.slot_ports(), [6704, 6705, 6706, 6707].into());
        assert_eq!(second.local_dir(), folder.path().join("supervisor-2"));
        assert_eq!(second.log_dir(), folder.path().join("logs/supervisor-2"));
        assert_eq!(second.workers_artifacts_dir(), folder.path().join("logs/workers-artifacts"));
        assert_eq!(conf("client").workers_artifacts_dir(), second.workers_artifacts_dir());
        assert_eq!(conf("nimbus").nimbus_settings().monitor_period.as_secs(), 1);
        assert_eq!(conf("nimbus").config().get("my.key"), Some(&Value::from("a: b")));
        assert!(conf("client").bind_address().is_loopback());
    }
}
