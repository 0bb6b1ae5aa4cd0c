//! What a supervisor's daemon needs to know, out of its configuration.
//!
//! Threading: plain data. Errors: those of the values that only a supervisor reads; the others were checked when the
//! configuration was read.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ringstorm_caller::ClientSettings;
use ringstorm_conf::Conf;
use ringstorm_daemon::Rotation;
use ringstorm_records::znode::Root;
use ringstorm_supervisor::{Host, Settings};
use ringstorm_types::config::{Config, ConfigError, Origin};
use ringstorm_zookeeper::SettingsError;
use serde_json::{Map, Value};

use crate::folder_limit::KEY as DISK_MB;
use crate::host::this_host;
pub use crate::memory::MemoryRule;

/// The limit of a working folder unless it is set, in MiB.
const DISK_MB_DEFAULT: u64 = 10_240;
/// More MiB than any disk has, so that bytes fit into their number.
const DISK_MB_MAX: u64 = 1 << 40;

const OPEN_FILES: &str = "ringstorm.worker.open.files";
const LOG_BYTES: &str = "ringstorm.worker.log.bytes";
const LOG_FILES: &str = "ringstorm.worker.log.files";
const LOG_KEPT: &str = "logviewer.cleanup.age.mins";
const TIMEOUT_MAX: &str = "worker.max.timeout.secs";

/// What a supervisor's daemon needs to know.
#[derive(Clone, Debug)]
pub struct DaemonSettings {
    /// Its whole configuration, which workers are given with that of their topology laid over it.
    pub conf: Map<String, Value>,
    /// How the machine behaves.
    pub supervisor: Settings,
    /// The host: its name, and what tells it from others.
    pub host: Host,
    /// How ZooKeeper is reached.
    pub zookeeper: ringstorm_zookeeper::Settings,
    /// The root of the tree.
    pub root: Root,
    /// How nimbuses are reached.
    pub client: ClientSettings,
    /// `storm.local.dir`, absolute.
    pub local_dir: PathBuf,
    /// `storm.log.dir`, absolute: where `supervisor.log` lies.
    pub log_dir: PathBuf,
    /// `storm.workers.artifacts.dir`, absolute: where workers' logs lie.
    pub artifacts_dir: PathBuf,
    /// `ringstorm.bind.address`: where workers listen.
    pub bind_address: IpAddr,
    /// How much memory workers may have.
    pub memory: MemoryRule,
    /// `ringstorm.worker.disk.mb`: how much a worker's working folder may take, in bytes.
    pub worker_folder_bytes_max: u64,
    /// `ringstorm.worker.open.files`: how many files a worker may have open; as many as the supervisor, if not set.
    pub worker_open_files: Option<u64>,
    /// `ringstorm.worker.log.bytes` and `ringstorm.worker.log.files`: how large a worker's log becomes.
    pub worker_log: Rotation,
    /// `logviewer.cleanup.age.mins`: for how long the logs of a topology that is gone are kept.
    pub old_logs_kept: Duration,
    /// `worker.max.timeout.secs`: the longest time-out that a topology may want for its workers.
    pub worker_timeout_max: Duration,
    /// The program that writes workers' logs and its first words, to which the words of
    /// [`log_writer::parse`](crate::log_writer::parse) are added. `/proc/self/exe` is the program that runs here, also
    /// after its file was replaced.
    pub log_writer: Vec<PathBuf>,
}

/// A value that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSettings {
    /// One of the configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// One about ZooKeeper.
    #[error(transparent)]
    ZooKeeper(#[from] SettingsError),
}

impl DaemonSettings {
    /// Those of a configuration, with the program and the first words of the log writer.
    ///
    /// # Errors
    /// A value is not what its key takes.
    pub fn of(conf: &Conf, log_writer: Vec<PathBuf>) -> Result<Self, InvalidSettings> {
        let (config, rule, log) = (conf.config(), MemoryRule::default(), Rotation::default());
        // What cannot be used is told before anything is started.
        ringstorm_zookeeper::daemon_acls(config, None)?;
        let mb = |key: &str, default: f64| number(config, key, default, 0.0);
        Ok(Self {
            conf: conf.json(),
            supervisor: conf.supervisor_settings(),
            host: this_host(&conf.local_hostname()),
            zookeeper: conf.zookeeper_settings(),
            root: conf.zookeeper_root(),
            client: conf.client_settings(),
            local_dir: conf.local_dir(),
            log_dir: conf.log_dir(),
            artifacts_dir: conf.workers_artifacts_dir(),
            bind_address: conf.bind_address(),
            memory: MemoryRule {
                margin_mb: mb("storm.supervisor.memory.limit.tolerance.margin.mb", rule.margin_mb)?,
                hard_multiplier: number(
                    config,
                    "storm.supervisor.hard.memory.limit.multiplier",
                    rule.hard_multiplier,
                    1.0,
                )?,
                hard_overage_mb: mb("storm.supervisor.hard.memory.limit.overage.mb", rule.hard_overage_mb)?,
                low_mb: mb("storm.supervisor.low.memory.threshold.mb", rule.low_mb)?,
                medium_mb: mb("storm.supervisor.medium.memory.threshold.mb", rule.medium_mb)?,
                medium_grace: Duration::from_millis(
                    whole(config, "storm.supervisor.medium.memory.grace.period.ms", 0)?
                        .unwrap_or_else(|| u64::try_from(rule.medium_grace.as_millis()).unwrap_or(u64::MAX)),
                ),
            },
            worker_folder_bytes_max: whole(config, DISK_MB, 1)?.unwrap_or(DISK_MB_DEFAULT).min(DISK_MB_MAX) << 20,
            worker_open_files: whole(config, OPEN_FILES, 64)?,
            worker_log: Rotation {
                file_bytes_max: whole(config, LOG_BYTES, 1024)?.unwrap_or(log.file_bytes_max),
                old_files_max: whole(config, LOG_FILES, 0)?
                    .map_or(log.old_files_max, |count| u32::try_from(count).unwrap_or(u32::MAX)),
            },
            old_logs_kept: Duration::from_secs_f64(number(config, LOG_KEPT, 7.0 * 24.0 * 60.0, 1.0)? * 60.0),
            worker_timeout_max: Duration::from_secs_f64(number(config, TIMEOUT_MAX, 600.0, 0.0)?),
            log_writer,
        })
    }
}

fn given<'a>(config: &'a Config, key: &str) -> Option<(&'a Value, &'a Origin)> {
    config.get(key).filter(|value| !value.is_null()).zip(config.origin(key))
}

fn number(config: &Config, key: &str, default: f64, least: f64) -> Result<f64, ConfigError> {
    let Some((value, origin)) = given(config, key) else { return Ok(default) };
    let number = value.as_f64().filter(|number| (least..=1e12).contains(number));
    number.ok_or_else(|| ConfigError::bad_value(key, value, origin, format!("a number from {least}")))
}

fn whole(config: &Config, key: &str, least: u64) -> Result<Option<u64>, ConfigError> {
    let Some((value, origin)) = given(config, key) else { return Ok(None) };
    let number = value.as_u64().filter(|number| *number >= least);
    let error = || ConfigError::bad_value(key, value, origin, format!("a whole number from {least}"));
    number.map(Some).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(own: &Value) -> Result<DaemonSettings, InvalidSettings> {
        let conf = Conf::from_json(own.as_object().unwrap().clone()).unwrap();
        DaemonSettings::of(&conf, vec!["/proc/self/exe".into()])
    }

    #[test]
    fn without_settings_they_are_storms_defaults() {
        let settings = settings(&json!({})).unwrap();
        assert_eq!(settings.memory, MemoryRule::default());
        assert_eq!((settings.worker_open_files, settings.worker_log), (None, Rotation::default()));
        assert_eq!(settings.worker_folder_bytes_max, 10 << 30);
        assert_eq!(settings.worker_timeout_max, Duration::from_secs(600));
        assert_eq!(settings.old_logs_kept, Duration::from_secs(7 * 24 * 3600));
        assert!(settings.local_dir.is_absolute() && settings.artifacts_dir.is_absolute());
    }

    #[test]
    fn what_a_supervisor_reads_is_checked_and_named() {
        let own = json!({
            "storm.supervisor.hard.memory.limit.overage.mb": 0,
            "storm.supervisor.medium.memory.grace.period.ms": 5,
            DISK_MB: 7,
            OPEN_FILES: 100,
            LOG_BYTES: 4096,
            LOG_FILES: 0,
        });
        let it = settings(&own).unwrap();
        assert_eq!((it.memory.hard_overage_mb, it.memory.medium_grace), (0.0, Duration::from_millis(5)));
        assert_eq!((it.worker_folder_bytes_max, it.worker_open_files), (7 << 20, Some(100)));
        assert_eq!(it.worker_log, Rotation { file_bytes_max: 4096, old_files_max: 0 });
        for (key, value) in [
            ("storm.supervisor.low.memory.threshold.mb", json!(-1)),
            ("storm.supervisor.hard.memory.limit.multiplier", json!(0.5)),
            (DISK_MB, json!(0)),
            (OPEN_FILES, json!(3)),
            (LOG_KEPT, json!(0)),
            (LOG_BYTES, json!("10 MB")),
        ] {
            let why = settings(&json!({ key: value })).unwrap_err().to_string();
            assert!(why.contains(key), "{why}");
        }
    }
}
