//! All settings together, each with its origin.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ringstorm_client::ClientSettings;
use ringstorm_file::{is_wrong_path, read_regular};
use ringstorm_nimbus::NimbusSettings;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::znode::Root;
use ringstorm_types::config::{Config, KeyClass, Note, Origin, check_keys, known_key};
use serde_json::{Map, Value};

use crate::defaults::DEFAULTS;
use crate::error::ConfError;
use crate::resolved::Resolved;
use crate::sources::{ConfSources, Place, RINGSTORM_CONF, Role};
use crate::yaml;

/// Settings of a daemon or a client: Storm's defaults with everything that was given laid over them, checked.
#[derive(Clone, Debug)]
pub struct Conf {
    config: Config,
    resolved: Resolved,
    file: Option<PathBuf>,
    looked_at: Vec<PathBuf>,
    notes: Vec<Note>,
}

impl Conf {
    /// Reads the sources.
    ///
    /// # Errors
    /// A file that is named or found cannot be read or is no YAML, a key is misspelled, or a value is not what its key
    /// takes. Everything that is wrong with keys, or else with values, is said at once.
    pub fn find(sources: &ConfSources) -> Result<Self, ConfError> {
        Self::find_below(sources, &Config::new())
    }

    /// As [`find`](Self::find), with settings that go before all others and know already where they came from.
    ///
    /// # Errors
    /// Those of [`find`](Self::find).
    pub fn find_below(sources: &ConfSources, over: &Config) -> Result<Self, ConfError> {
        let mut config = DEFAULTS.clone();
        let Found { file, looked_at } = find_file(&sources.places(), sources.file.is_some())?;
        if let Some((path, text)) = &file {
            config.merge(&read_file(path, text)?);
        }
        if let Some(text) = sources.environment.get(RINGSTORM_CONF).filter(|text| !text.is_empty()) {
            let origin = Origin::other("the environment variable RINGSTORM_CONF");
            config.merge(&Config::from_json_text(&text.to_string_lossy(), &origin)?);
        }
        for setting in &sources.settings {
            config.set_from_text(setting, Origin::COMMAND_LINE)?;
        }
        config.merge(over);
        check_nesting(&config)?;
        let notes = check_keys(&config)?.into_iter().filter(|note| note.class != KeyClass::Cluster).collect();
        let resolved = Resolved::of(&mut config, &sources.base(), sources.user())?;
        Ok(Self { config, resolved, file: file.map(|(path, _)| path), looked_at, notes })
    }

    /// What [`json`](Self::json) gave, perhaps with the settings of a topology laid over it. Keys are not checked again.
    ///
    /// # Errors
    /// A value is not what its key takes.
    pub fn from_json(settings: Map<String, Value>) -> Result<Self, ConfError> {
        let mut config = DEFAULTS.clone();
        let origin = Origin::other("the configuration that was handed over");
        config.merge(&Config::from_json(Value::Object(settings), &origin)?);
        let sources = ConfSources::of_process(Role::Daemon, None, Vec::new());
        let resolved = Resolved::of(&mut config, &sources.base(), sources.user())?;
        Ok(Self { config, resolved, file: None, looked_at: Vec::new(), notes: Vec::new() })
    }

    /// Every key with its value, defaults included. Paths that were relative are absolute here, so that a process with
    /// another current folder reads the same. Holds secrets.
    pub fn json(&self) -> Map<String, Value> {
        self.config.iter().map(|(key, value, _)| (key.to_owned(), value.clone())).collect()
    }

    /// Every key with its value and its origin.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The file that was read, if there was one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Where a file was looked for, in order, up to the one that was read.
    pub fn looked_at(&self) -> &[PathBuf] {
        &self.looked_at
    }

    /// Keys of Storm that were set and have no effect here, by reason.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// How a daemon reaches ZooKeeper.
    pub fn zookeeper_settings(&self) -> ringstorm_zookeeper::Settings {
        self.resolved.zookeeper.clone()
    }

    /// `storm.zookeeper.root`.
    pub fn zookeeper_root(&self) -> Root {
        self.resolved.root.clone()
    }

    /// `nimbus.seeds`, each with `nimbus.thrift.port` unless it has a port of its own.
    pub fn nimbus_seeds(&self) -> Vec<NimbusAddress> {
        self.resolved.client.seeds.clone()
    }

    /// `nimbus.thrift.port`.
    pub fn nimbus_thrift_port(&self) -> u16 {
        self.resolved.nimbus_thrift_port
    }

    /// `storm.local.dir`, absolute: a relative one starts at `$STORM_HOME`, or at the current folder.
    pub fn local_dir(&self) -> PathBuf {
        self.resolved.local_dir.clone()
    }

    /// `storm.local.hostname`, or the name that the system gives this host: by which others reach it.
    pub fn local_hostname(&self) -> String {
        self.resolved.local_hostname.clone()
    }

    /// `ringstorm.bind.address`: on which address daemons and workers listen; all by default.
    pub fn bind_address(&self) -> IpAddr {
        self.resolved.bind_address
    }

    /// `storm.log.dir`, absolute; by default `logs` in `$STORM_HOME`, or in the current folder.
    pub fn log_dir(&self) -> PathBuf {
        self.resolved.log_dir.clone()
    }

    /// `storm.workers.artifacts.dir`, absolute; a relative one starts at the folder of the logs, as in Storm.
    pub fn workers_artifacts_dir(&self) -> PathBuf {
        self.resolved.workers_artifacts_dir.clone()
    }

    /// `supervisor.slots.ports`.
    pub fn slot_ports(&self) -> BTreeSet<u16> {
        self.resolved.supervisor.ports.clone()
    }

    /// How a nimbus behaves; its configuration is this one.
    pub fn nimbus_settings(&self) -> NimbusSettings {
        NimbusSettings { conf: self.json(), ..self.resolved.nimbus.clone() }
    }

    /// How a supervisor behaves.
    pub fn supervisor_settings(&self) -> ringstorm_supervisor::Settings {
        self.resolved.supervisor.clone()
    }

    /// Whom a client asks, and how often.
    pub fn client_settings(&self) -> ClientSettings {
        self.resolved.client.clone()
    }
}

/// What came of the look for a file.
struct Found {
    /// The first that is there, with its text.
    file: Option<(PathBuf, String)>,
    /// Every path that was looked at.
    looked_at: Vec<PathBuf>,
}

/// `is_typed`: the command line names the file.
fn find_file(places: &[Place], is_typed: bool) -> Result<Found, ConfError> {
    let mut looked_at = Vec::new();
    for place in places {
        looked_at.push(place.path.clone());
        let unreadable = |error: &io::Error, hint: &str| ConfError::Unreadable {
            path: place.path.clone(),
            reason: error.to_string(),
            hint: hint.to_owned(),
            is_typed: is_typed && is_wrong_path(error),
        };
        match read_regular(&place.path, yaml::TEXT_BYTES_MAX) {
            Ok(text) => return Ok(Found { file: Some((place.path.clone(), text)), looked_at }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                if let Some(by) = place.required_by {
                    let hint = format!("{by} says that it is there; put it there, or correct {by}");
                    return Err(unreadable(&error, &hint));
                }
            }
            Err(error) => return Err(unreadable(&error, "make it a file that this user may read")),
        }
    }
    Ok(Found { file: None, looked_at })
}

/// The settings of a file, each with its line.
fn read_file(path: &Path, text: &str) -> Result<Config, ConfError> {
    let entries = yaml::mapping(text).map_err(|error| ConfError::Yaml { path: path.to_owned(), error })?;
    let mut config = Config::new();
    for entry in entries {
        config.set(entry.key, entry.value, Origin::other(format!("file {path:?}, line {}", entry.line)));
    }
    Ok(config)
}

/// Storm's keys have dots and are not nested: `nimbus: {seeds: ...}` would set nothing at all.
fn check_nesting(config: &Config) -> Result<(), ConfError> {
    for (key, value, origin) in config.iter() {
        let Value::Object(members) = value else { continue };
        if known_key(key).is_some() {
            continue;
        }
        if let Some(inner) = members.keys().find(|inner| known_key(&format!("{key}.{inner}")).is_some()) {
            return Err(ConfError::Nested { key: key.to_owned(), origin: origin.to_string(), inner: inner.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
