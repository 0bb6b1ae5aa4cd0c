//! How a supervisor behaves: Storm's keys and defaults, and some that Storm has no key for.
//!
//! Threading: plain data. Errors: none; whoever reads a configuration checks the values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// As every version of Ringstorm: a number that clients of Storm parse, and a sign that it is not Apache Storm's.
const VERSION: &str = concat!("2.8.2-ringstorm.", env!("CARGO_PKG_VERSION"));

/// How a supervisor behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What it says that it is.
    pub version: String,
    /// `supervisor.slots.ports`: the ports of its slots.
    pub ports: BTreeSet<u16>,
    /// `supervisor.cpu.capacity`: in hundredths of a CPU.
    pub cpu_capacity: f64,
    /// `supervisor.memory.capacity.mb`.
    pub memory_capacity_mb: f64,
    /// `supervisor.resources.map`: other resources, by normalised name.
    pub resources: BTreeMap<String, f64>,
    /// `supervisor.scheduler.meta`.
    pub scheduler_meta: Option<BTreeMap<String, String>>,
    /// `supervisor.thrift.port`, as it is published.
    pub thrift_port: Option<u16>,
    /// `supervisor.heartbeat.frequency.secs`: how often the supervisor's node is written.
    pub heartbeat_period: Duration,
    /// How often assignments are read, besides whenever a watch tells of one. Storm has no key for its 10 s.
    pub look_period: Duration,
    /// How long a topology's absence must last from one fresh read to another before its workers are stopped.
    pub gone_for: Duration,
    /// `supervisor.worker.start.timeout.secs`: within it a worker has come up.
    pub worker_start_timeout: Duration,
    /// `supervisor.worker.timeout.secs`: a worker whose local beats are silent for so long is killed.
    pub worker_timeout: Duration,
    /// `supervisor.worker.shutdown.sleep.secs`: between asking a worker to end and killing it, and between two kills.
    pub worker_shutdown_sleep: Duration,
    /// A process that outlives its kill for so long has its slot withdrawn.
    pub unkillable_after: Duration,
    /// A worker that ran for so long ran well: the next restart is at once again.
    pub ran_well_after: Duration,
    /// The second restart of a worker that dies soon waits so long, each later one twice as long as the one before.
    pub restart_pause: Duration,
    /// The longest such pause.
    pub restart_pause_max: Duration,
    /// After so many failed starts in a row a slot is withdrawn.
    pub start_failures_max: u32,
    /// For how long a slot is withdrawn the first time; each time without a worker that came up in between it is twice
    /// as long.
    pub withdrawn_for: Duration,
    /// The longest of these times.
    pub withdrawn_for_max: Duration,
    /// The first pause before code that could not be fetched is fetched again.
    pub fetch_pause: Duration,
    /// The longest such pause; also the pause after a failure that will last.
    pub fetch_pause_max: Duration,
    /// The first pause after a conversation with the tree that failed.
    pub tree_pause: Duration,
    /// The longest such pause.
    pub tree_pause_max: Duration,
    /// When the machine is woken so much later than it asked for, it was frozen itself, and takes no worker's silence
    /// for granted.
    pub frozen_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: VERSION.to_owned(),
            ports: [6700, 6701, 6702, 6703].into(),
            cpu_capacity: 400.0,
            memory_capacity_mb: 4096.0,
            resources: BTreeMap::new(),
            scheduler_meta: None,
            thrift_port: Some(6628),
            heartbeat_period: Duration::from_secs(5),
            look_period: Duration::from_secs(10),
            gone_for: Duration::from_secs(3),
            worker_start_timeout: Duration::from_secs(120),
            worker_timeout: Duration::from_secs(30),
            worker_shutdown_sleep: Duration::from_secs(3),
            unkillable_after: Duration::from_secs(120),
            ran_well_after: Duration::from_secs(60),
            restart_pause: Duration::from_secs(1),
            restart_pause_max: Duration::from_secs(60),
            start_failures_max: 3,
            withdrawn_for: Duration::from_secs(30),
            withdrawn_for_max: Duration::from_secs(600),
            fetch_pause: Duration::from_secs(1),
            fetch_pause_max: Duration::from_secs(60),
            tree_pause: Duration::from_millis(500),
            tree_pause_max: Duration::from_secs(10),
            frozen_after: Duration::from_secs(3),
        }
    }
}

/// The host that a supervisor runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name, by which workers are reached: `storm.local.hostname`, or what was found.
    pub name: String,
    /// What tells this host, while it runs, from every other one, also from a copy of its disk: the kernel's boot id and
    /// the host's or container's name, for instance. It is only compared.
    pub mark: String,
}
