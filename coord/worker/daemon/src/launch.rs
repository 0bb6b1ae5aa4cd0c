//! What a launch file says, in the words of the machine and of the runtime.
//!
//! The configuration in it is the supervisor's with the topology's laid over it: settings of the control thread come from
//! there, and so does the secret of the topology's workers.
//!
//! Threading: pure. Errors: [`LaunchError`], for whoever configures the cluster.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use ringstorm_launch::Launch;
use ringstorm_records::records::StormBase;
use ringstorm_records::znode::{NodeName, Slot};
use ringstorm_runtime::BuiltTopology;
use ringstorm_store::cluster::Cluster;
use ringstorm_types::ComponentId;
use ringstorm_types::assignment::{SECRET_BYTES_MIN, WorkerSecret};
use ringstorm_types::config::{Config, ConfigError, Origin};
use ringstorm_types::id::ACKER_COMPONENT;
use ringstorm_types::numbering::number;
use ringstorm_types::topology::ComponentKind;
use ringstorm_worker::{Identity, TopologyFacts, WorkerSettings};
use ringstorm_zookeeper::{Settings, SettingsError, root, worker_acls};
use serde_json::Value;

/// The secret by which the workers of a topology know each other.
const WORKER_SECRET: &str = "ringstorm.worker.secret";
const BEAT_SECS: &str = "task.heartbeat.frequency.secs";
const LOOK_SECS: &str = "task.refresh.poll.secs";
const SILENCE_SECS: &str = "supervisor.worker.timeout.secs";
const SHUTDOWN_SECS: &str = "supervisor.worker.shutdown.sleep.secs";
/// What of the supervisor's patience is left for closing components.
const FOR_CLOSING: Duration = Duration::from_secs(1);

/// Why a worker cannot make sense of what it was launched with.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A name that no node can have.
    #[error("{what} is {name:?}, which no node of the tree can be called; the supervisor that wrote it is at fault")]
    Name {
        /// Of what.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A setting that the connection to ZooKeeper needs.
    #[error(transparent)]
    ZooKeeper(#[from] SettingsError),
    /// Another setting.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A time that cannot be used.
    #[error("{key} is {value}; it is to be a whole number of seconds from 1")]
    Seconds {
        /// The key.
        key: &'static str,
        /// What it is.
        value: Value,
    },
    /// The topology was not submitted to a nimbus that gives its workers a secret.
    #[error("the configuration has no {WORKER_SECRET} of at least {SECRET_BYTES_MIN} bytes; submit the topology again")]
    NoSecret,
    /// The topology has no tasks by what the tree says.
    #[error("the topology cannot be built with the numbers of executors that the cluster has for it: {0}")]
    Numbers(String),
}

/// Everything that is known before the tree is looked at.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) identity: Identity,
    pub(crate) config: Config,
    pub(crate) secret: WorkerSecret,
    pub(crate) settings: WorkerSettings,
    pub(crate) zookeeper: Settings,
    pub(crate) cluster: Cluster,
    /// How long what is under way is finished when the process is asked to end.
    pub(crate) drain_limit: Duration,
}

impl Known {
    /// Reads a launch file.
    pub(crate) fn of(launch: &Launch) -> Result<Self, LaunchError> {
        let name =
            |what, name: &str| NodeName::new(name).map_err(|_| LaunchError::Name { what, name: name.to_owned() });
        let identity = Identity {
            topology: name("the topology's id", &launch.topology)?,
            slot: Slot { supervisor: name("the supervisor's id", &launch.supervisor)?, port: launch.port },
            host: launch.host.clone(),
            incarnation: launch.incarnation,
            version: launch.assignment_version,
            cores: NonZeroUsize::new(launch.cores as usize).unwrap_or(NonZeroUsize::MIN),
        };
        let config = Config::from_json(Value::Object(launch.conf.clone()), &Origin::other("the cluster"))?;
        let secret = config.get(WORKER_SECRET).and_then(Value::as_str);
        let secret = secret.filter(|secret| secret.len() >= SECRET_BYTES_MIN).ok_or(LaunchError::NoSecret)?;
        let defaults = WorkerSettings::default();
        let settings = WorkerSettings {
            beat_period: seconds(&config, BEAT_SECS, defaults.beat_period)?,
            core_silence: seconds(&config, SILENCE_SECS, defaults.core_silence)?,
            look_period: seconds(&config, LOOK_SECS, defaults.look_period)?,
            errors_per_interval: config.max_error_report_per_interval()?,
            error_interval: Duration::from_secs(config.error_throttle_interval_secs()?.into()),
            message_timeout: Duration::from_secs(config.message_timeout_secs()?.into()),
            ..defaults
        };
        let shutdown = seconds(&config, SHUTDOWN_SECS, Duration::from_secs(3))?;
        Ok(Self {
            identity,
            secret: WorkerSecret(secret.to_owned()),
            settings,
            zookeeper: Settings::of_worker(&config)?,
            cluster: Cluster::new(root(&config)?, worker_acls(&config)?),
            drain_limit: shutdown.saturating_sub(FOR_CLOSING).max(shutdown / 2),
            config,
        })
    }

    /// The topology with the numbers of executors that the tree has for it, and what the machine has to know of it.
    pub(crate) fn with_base(
        &self,
        topology: BuiltTopology,
        base: &StormBase,
    ) -> Result<(BuiltTopology, TopologyFacts), LaunchError> {
        let numbers = |error: &dyn std::fmt::Display| LaunchError::Numbers(error.to_string());
        let counts: BTreeMap<ComponentId, u32> = base
            .component_executors
            .iter()
            .flatten()
            .filter_map(|(id, count)| Some((ComponentId::new(id).ok()?, u32::try_from(*count).ok()?)))
            .collect();
        let topology = topology.with_executors(&counts).map_err(|error| numbers(&error))?;
        // Without a number in the tree there is one for each worker, as in Storm.
        let workers = u32::try_from(base.num_workers).unwrap_or(1);
        let acker_executors = counts.get(ACKER_COMPONENT).copied().unwrap_or(workers);
        let numbering =
            number(topology.topology(), topology.config(), acker_executors).map_err(|error| numbers(&error))?;
        let spouts = topology.topology().components.iter().filter(|(_, it)| it.kind == ComponentKind::Spout);
        let spouts = spouts.map(|(id, _)| id.clone()).collect();
        let facts = TopologyFacts { secret: self.secret.clone(), acker_executors, numbering, spouts };
        Ok((topology, facts))
    }
}

/// A time in whole seconds, at least one.
fn seconds(config: &Config, key: &'static str, default: Duration) -> Result<Duration, LaunchError> {
    let Some(value) = config.get(key).filter(|value| !value.is_null()) else { return Ok(default) };
    let number = value.as_u64().filter(|number| (1..=i32::MAX as u64).contains(number));
    number.map(Duration::from_secs).ok_or_else(|| LaunchError::Seconds { key, value: value.clone() })
}

#[cfg(test)]
pub(crate) mod tests;
