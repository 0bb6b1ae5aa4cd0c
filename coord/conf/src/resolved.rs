//! Settings as typed values: every key that a getter gives, checked once, with all that is wrong said at once.
//!
//! Times are numbers with fractions where Storm takes whole ones, down to a millisecond. A default is the one of
//! `defaults.yaml`, which lies below everything; keys that Storm has no default for say theirs here.
//!
//! Threading: pure functions, but for the names of the host and the user where nothing says them. Errors: in a list.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringstorm_client::{ClientSettings, Timeouts};
use ringstorm_nimbus::NimbusSettings;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::Root;
use ringstorm_round::BeatSettings;
use ringstorm_types::config::{Config, ConfigError, ConfigErrors, Origin};
use serde_json::Value;

use crate::error::ConfError;

/// Storm's `int` settings end here.
const INT_MAX: u64 = i32::MAX as u64;
const SECONDS: RangeInclusive<f64> = 0.001..=i32::MAX as f64;
const SECONDS_OR_NONE: RangeInclusive<f64> = 0.0..=i32::MAX as f64;

/// What getters give.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) zookeeper: ringstorm_zookeeper::Settings,
    pub(crate) root: Root,
    pub(crate) nimbus_thrift_port: u16,
    pub(crate) local_dir: PathBuf,
    pub(crate) local_hostname: String,
    pub(crate) bind_address: IpAddr,
    pub(crate) log_dir: PathBuf,
    pub(crate) workers_artifacts_dir: PathBuf,
    /// Without its configuration.
    pub(crate) nimbus: NimbusSettings,
    pub(crate) supervisor: ringstorm_supervisor::Settings,
    pub(crate) client: ClientSettings,
}

impl Resolved {
    /// Checks every value, and makes relative paths absolute in the configuration too.
    pub(crate) fn of(config: &mut Config, base: &Path, user: Option<String>) -> Result<Self, ConfError> {
        let mut reader = Reader { config, errors: config.check_values() };
        let local_dir = base.join(reader.text("storm.local.dir").unwrap_or_else(|| "storm-local".into()));
        let log_dir = base.join(reader.text("storm.log.dir").unwrap_or_else(|| "logs".into()));
        let artifacts = reader.text("storm.workers.artifacts.dir").unwrap_or_else(|| "workers-artifacts".into());
        let workers_artifacts_dir = log_dir.join(artifacts);
        let nimbus_thrift_port = reader.port("nimbus.thrift.port", 6627);
        let local_hostname = reader.host("storm.local.hostname").unwrap_or_else(host_name);
        let bind_address = reader.bind_address("ringstorm.bind.address");
        let client = reader.client(nimbus_thrift_port);
        let supervisor = reader.supervisor();
        let user = user.unwrap_or_else(user_name);
        let nimbus = reader.nimbus(client.seeds.len(), local_dir.to_string_lossy().into_owned(), user);
        if !reader.errors.is_empty() {
            return Err(ConfigErrors(reader.errors).into());
        }
        let zookeeper = ringstorm_zookeeper::Settings::of_daemon(config)?;
        let root = ringstorm_zookeeper::root(config)?;
        set_absolute(config, "storm.local.dir", &local_dir);
        set_absolute(config, "storm.log.dir", &log_dir);
        set_absolute(config, "storm.workers.artifacts.dir", &workers_artifacts_dir);
        Ok(Self {
            zookeeper,
            root,
            nimbus_thrift_port,
            local_dir,
            local_hostname,
            bind_address,
            log_dir,
            workers_artifacts_dir,
            nimbus,
            supervisor,
            client,
        })
    }
}

fn set_absolute(config: &mut Config, key: &str, path: &Path) {
    let origin = config.origin(key).cloned().unwrap_or(Origin::DEFAULT);
    config.set(key, path.to_string_lossy().into_owned(), origin);
}

/// The name that the system gives this host.
fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() || name == "(none)" { "localhost".to_owned() } else { name }
}

/// The name of the user that this process runs as, or its number where there is no name.
fn user_name() -> String {
    let number = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    named(&users, &number).map_or(number, str::to_owned)
}

/// The name of a user in the lines of `/etc/passwd`: name, password, number, and so on.
fn named<'a>(users: &'a str, number: &str) -> Option<&'a str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1) == Some(number)).then_some(name)
    })
}

/// Reads values; what cannot be used is put on a list, and stands in for its default meanwhile.
struct Reader<'a> {
    config: &'a Config,
    errors: Vec<ConfigError>,
}

impl Reader<'_> {
    fn kept<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    /// A value that a function reads, or `None` when it is unset or wrong.
    fn value<T>(&mut self, key: &str, wanted: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let (value, origin) = self.config.given(key)?;
        let result = read(value).ok_or_else(|| ConfigError::bad_value(key, value, origin, wanted));
        self.kept(result)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.value(key, "a text that is not empty", |value| {
            value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
        })
    }

    fn host(&mut self, key: &str) -> Option<String> {
        self.value(key, "the name or address of a host", |value| {
            let host = value.as_str()?;
            NimbusAddress::new(host, 1, 0).is_ok().then(|| host.to_owned())
        })
    }

    fn port(&mut self, key: &str, default: u16) -> u16 {
        self.value(key, "a port from 1 to 65535", port).unwrap_or(default)
    }

    fn bind_address(&mut self, key: &str) -> IpAddr {
        let address = self
            .value(key, "an address such as \"0.0.0.0\" or \"::\", not a name", |value| value.as_str()?.parse().ok());
        address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    fn count(&mut self, key: &str, default: u32) -> u32 {
        let count = self.config.optional_integer(key, 0..=INT_MAX);
        self.kept(count).flatten().map_or(default, |count| count as u32)
    }

    fn seconds(&mut self, key: &str, range: RangeInclusive<f64>, default: Duration) -> Duration {
        let seconds = self.config.optional_number(key, range);
        self.kept(seconds).flatten().map_or(default, Duration::from_secs_f64)
    }

    fn milliseconds(&mut self, key: &str, default: Duration) -> Duration {
        let milliseconds = self.config.optional_integer(key, 0..=INT_MAX);
        self.kept(milliseconds).flatten().map_or(default, Duration::from_millis)
    }

    fn size(&mut self, key: &str, default: usize) -> usize {
        let bytes = self.config.optional_integer(key, 1024..=INT_MAX);
        self.kept(bytes).flatten().map_or(default, |bytes| bytes as usize)
    }

    fn number(&mut self, key: &str, default: f64) -> f64 {
        let number = self.config.optional_number(key, 0.0..=1e15);
        self.kept(number).flatten().unwrap_or(default)
    }

    fn client(&mut self, port: u16) -> ClientSettings {
        let default = ClientSettings::default();
        let seeds = self.value("nimbus.seeds", "a list of host names, each with a port of its own perhaps", |value| {
            value.as_array()?.iter().map(|seed| nimbus(seed.as_str()?, port)).collect()
        });
        let answer = self.milliseconds("storm.thrift.socket.timeout.ms", default.timeouts.answer);
        ClientSettings {
            seeds: seeds.unwrap_or_default(),
            retry_times: self.count("storm.nimbus.retry.times", default.retry_times),
            retry_interval: self.milliseconds("storm.nimbus.retry.interval.millis", default.retry_interval),
            retry_interval_max: self
                .milliseconds("storm.nimbus.retry.intervalceiling.millis", default.retry_interval_max),
            timeouts: Timeouts { answer, ..default.timeouts },
            call_bytes_max: self.size("nimbus.thrift.max_buffer_size", default.call_bytes_max),
        }
    }

    fn nimbus(&mut self, seeds: usize, local_dir: String, user: String) -> NimbusSettings {
        let default = NimbusSettings::default();
        let beats = BeatSettings::default();
        NimbusSettings {
            monitor_period: self.seconds("nimbus.monitor.freq.secs", SECONDS, default.monitor_period),
            code_sync_period: self.seconds("nimbus.code.sync.freq.secs", SECONDS, default.code_sync_period),
            deletion_delay: self.milliseconds("nimbus.topology.blobstore.deletion.delay.ms", default.deletion_delay),
            beats: BeatSettings {
                period: self.seconds("task.heartbeat.frequency.secs", SECONDS, beats.period),
                task_timeout: self.seconds("nimbus.task.timeout.secs", SECONDS, beats.task_timeout),
                launch_timeout: self.seconds("nimbus.task.launch.secs", SECONDS, beats.launch_timeout),
                worker_timeout_max: self.seconds("worker.max.timeout.secs", SECONDS, beats.worker_timeout_max),
                ..beats
            },
            user,
            local_dir,
            has_peers: seeds > 1,
            ..default
        }
    }

    fn supervisor(&mut self) -> ringstorm_supervisor::Settings {
        let default = ringstorm_supervisor::Settings::default();
        let ports = self.value("supervisor.slots.ports", "a list of ports from 1 to 65535, each once", |value| {
            let ports: BTreeSet<u16> = value.as_array()?.iter().map(port).collect::<Option<_>>()?;
            (ports.len() == value.as_array()?.len()).then_some(ports)
        });
        let resources = self.value("supervisor.resources.map", "a map of names to numbers", |value| {
            value.as_object()?.iter().map(|(name, amount)| Some((name.clone(), amount.as_f64()?))).collect()
        });
        let scheduler_meta = self.value("supervisor.scheduler.meta", "a map of names to texts", |value| {
            let texts = value.as_object()?.iter();
            texts
                .map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
                .collect::<Option<BTreeMap<_, _>>>()
        });
        ringstorm_supervisor::Settings {
            ports: ports.unwrap_or(default.ports),
            cpu_capacity: self.number("supervisor.cpu.capacity", default.cpu_capacity),
            memory_capacity_mb: self.number("supervisor.memory.capacity.mb", default.memory_capacity_mb),
            resources: resources.unwrap_or_default(),
            scheduler_meta,
            thrift_port: Some(self.port("supervisor.thrift.port", 6628)),
            heartbeat_period: self.seconds("supervisor.heartbeat.frequency.secs", SECONDS, default.heartbeat_period),
            worker_start_timeout: self.seconds(
                "supervisor.worker.start.timeout.secs",
                SECONDS,
                default.worker_start_timeout,
            ),
            worker_timeout: self.seconds("supervisor.worker.timeout.secs", SECONDS, default.worker_timeout),
            worker_shutdown_sleep: self.seconds(
                "supervisor.worker.shutdown.sleep.secs",
                SECONDS_OR_NONE,
                default.worker_shutdown_sleep,
            ),
            ..default
        }
    }
}

/// A nimbus by its host, or by host and port; an address of IP version 6 with a port has brackets.
fn nimbus(seed: &str, port: u16) -> Option<NimbusAddress> {
    let is_bare = seed.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = match seed.rsplit_once(':').filter(|_| !is_bare) {
        Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0)?),
        None => (seed, port),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    NimbusAddress::new(host, port, 0).ok()
}

fn port(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_of_its_number() {
        let users =
            "root:x:0:0:root:/root:/bin/bash\n\n:x:7:7\nstorm:x:998:998::/var/lib/ringstorm:/usr/sbin/nologin\n";
        assert_eq!(
            ["0", "998", "7", "99"].map(|number| named(users, number)),
            [Some("root"), Some("storm"), None, None]
        );
    }
}
