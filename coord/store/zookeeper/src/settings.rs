//! What Storm's keys say about the connection to ZooKeeper.
//!
//! Source: Storm's `Config` and `defaults.yaml`. Threading: plain data. Errors: each names the key and who set it, and
//! never shows a secret.

use std::time::Duration;

use ringstorm_records::znode::Root;
use ringstorm_store::acl::{Acl, Credential};
use ringstorm_store::cluster::ClusterAcls;
use ringstorm_types::config::{Config, Origin};
use serde_json::Value;

const SERVERS: &str = "storm.zookeeper.servers";
const PORT: &str = "storm.zookeeper.port";
const ROOT: &str = "storm.zookeeper.root";
const SESSION_TIMEOUT: &str = "storm.zookeeper.session.timeout";
const CONNECTION_TIMEOUT: &str = "storm.zookeeper.connection.timeout";
const RETRY_INTERVAL: &str = "storm.zookeeper.retry.interval";
const RETRY_CEILING: &str = "storm.zookeeper.retry.intervalceiling.millis";
const AUTH: [&str; 2] = ["storm.zookeeper.auth.scheme", "storm.zookeeper.auth.payload"];
const TOPOLOGY_AUTH: [&str; 2] = ["storm.zookeeper.topology.auth.scheme", "storm.zookeeper.topology.auth.payload"];
const SUPER_ACL: &str = "storm.zookeeper.superACL";
const SSL: &str = "storm.zookeeper.ssl.enable";

/// How ZooKeeper is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The members, as `host:port`; at least one.
    pub servers: Vec<String>,
    /// After how long a silence the ensemble ends the session. The ensemble may agree to less or to more.
    pub session_timeout: Duration,
    /// After how long a silence another member is tried. What is more than three fifths of the session's time-out counts
    /// as two fifths, so that there is time for a second try.
    pub connection_timeout: Duration,
    /// How long to wait after the first failure to open a session; each further time twice as long.
    pub retry_interval: Duration,
    /// The longest such pause.
    pub retry_ceiling: Duration,
    /// Who the session says it is.
    pub credential: Option<Credential>,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}{origin} is not {wanted}; correct it there, or leave it out")]
pub struct SettingsError {
    key: &'static str,
    origin: String,
    is_typed: bool,
    wanted: String,
}

impl SettingsError {
    /// Whether the value was typed on the command line.
    pub fn is_of_command_line(&self) -> bool {
        self.is_typed
    }
}

impl Settings {
    /// Members at these addresses, and Storm's defaults.
    pub fn of_servers(servers: Vec<String>) -> Self {
        Self {
            servers,
            session_timeout: Duration::from_millis(20_000),
            connection_timeout: Duration::from_millis(15_000),
            retry_interval: Duration::from_millis(1000),
            retry_ceiling: Duration::from_millis(30_000),
            credential: None,
        }
    }

    /// What a daemon's configuration says.
    ///
    /// # Errors
    /// A value cannot be used, or asks for what is not supported: a scheme other than `digest`, or TLS.
    pub fn of_daemon(config: &Config) -> Result<Self, SettingsError> {
        Self::read(config, AUTH)
    }

    /// What a worker's configuration says: it has its topology's credential.
    ///
    /// # Errors
    /// As [`Self::of_daemon`].
    pub fn of_worker(config: &Config) -> Result<Self, SettingsError> {
        Self::read(config, TOPOLOGY_AUTH)
    }

    fn read(config: &Config, auth: [&'static str; 2]) -> Result<Self, SettingsError> {
        if config.get(SSL).is_some_and(|value| value == true) {
            return Err(error(config, SSL, "false: connections to ZooKeeper with TLS are not supported"));
        }
        let port = milliseconds(config, PORT, 2181)?;
        let port = u16::try_from(port).map_err(|_| error(config, PORT, "a port below 65536"))?;
        let hosts = match config.get(SERVERS) {
            None | Some(Value::Null) => vec!["localhost".to_owned()],
            Some(value) => texts(value)
                .filter(|hosts| !hosts.is_empty())
                .ok_or_else(|| error(config, SERVERS, "a list of host names"))?,
        };
        let servers = hosts.into_iter().map(|host| {
            let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
            let is_host = !host.is_empty() && !host.contains([':', ',', '/', ' ']);
            match (is_address, is_host) {
                (true, _) => Ok(format!("[{host}]:{port}")),
                (false, true) => Ok(format!("{host}:{port}")),
                (false, false) => Err(error(config, SERVERS, "a list of host names, without ports")),
            }
        });
        let servers = servers.collect::<Result<_, _>>()?;
        let mut settings = Self::of_servers(servers);
        settings.session_timeout = duration(config, SESSION_TIMEOUT, settings.session_timeout)?;
        settings.connection_timeout = duration(config, CONNECTION_TIMEOUT, settings.connection_timeout)?;
        settings.retry_interval = duration(config, RETRY_INTERVAL, settings.retry_interval)?;
        settings.retry_ceiling = duration(config, RETRY_CEILING, settings.retry_ceiling)?;
        settings.credential = credential(config, auth)?;
        Ok(settings)
    }
}

/// The root of the tree.
///
/// # Errors
/// The value is no path of a root.
pub fn root(config: &Config) -> Result<Root, SettingsError> {
    let path = text(config, ROOT)?.unwrap_or_else(|| "/storm".to_owned());
    Root::new(&path).map_err(|_| error(config, ROOT, "a path such as \"/storm\", without an empty part and a final /"))
}

/// Who may do what with the nodes that a daemon makes: anyone without a credential; with one, whoever made them, and for
/// what belongs to a topology its workers, by the topology's configuration.
///
/// # Errors
/// A credential cannot be used.
pub fn daemon_acls(config: &Config, topology: Option<&Config>) -> Result<ClusterAcls, SettingsError> {
    if credential(config, AUTH)?.is_none() {
        return Ok(ClusterAcls::open());
    }
    let worker = topology.map(|topology| credential(topology, TOPOLOGY_AUTH)).transpose()?.flatten();
    Ok(ClusterAcls::of_creator(worker.as_ref()))
}

/// Who may do what with the nodes that a worker makes: itself, and whoever `storm.zookeeper.superACL` names.
///
/// # Errors
/// A credential cannot be used, or there is one and no super user, who would then be locked out.
pub fn worker_acls(config: &Config) -> Result<ClusterAcls, SettingsError> {
    if credential(config, TOPOLOGY_AUTH)?.is_none() {
        return Ok(ClusterAcls::open());
    }
    let wanted = "a scheme and an id, such as \"sasl:storm\", so that the daemons keep their rights";
    let super_user = text(config, SUPER_ACL)?.and_then(|text| Acl::super_user(&text).ok());
    let super_user = super_user.ok_or_else(|| error(config, SUPER_ACL, wanted))?;
    Ok(ClusterAcls::all([Acl::creator(), super_user].into()))
}

fn credential(config: &Config, [scheme, payload]: [&'static str; 2]) -> Result<Option<Credential>, SettingsError> {
    let given = (text(config, scheme)?, text(config, payload)?);
    match (given.0.as_deref(), given.1) {
        (None, None) => Ok(None),
        // A topology's payload may come without its scheme: Storm makes one up, and means a digest.
        (Some("digest"), Some(text)) | (None, Some(text)) => match Credential::new(&text) {
            Ok(credential) => Ok(Some(credential)),
            Err(_) => Err(error(config, payload, "user:password")),
        },
        (Some("digest"), None) => Err(error(config, payload, "user:password, which the scheme digest needs")),
        (Some(_), _) => Err(error(config, scheme, "\"digest\", the one scheme that is supported")),
    }
}

fn text(config: &Config, key: &'static str) -> Result<Option<String>, SettingsError> {
    match config.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(error(config, key, "a text")),
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn duration(config: &Config, key: &'static str, default: Duration) -> Result<Duration, SettingsError> {
    let default_ms = u64::try_from(default.as_millis()).unwrap_or(u64::MAX);
    milliseconds(config, key, default_ms).map(Duration::from_millis)
}

/// A number as Storm's `int` settings are.
fn milliseconds(config: &Config, key: &'static str, default: u64) -> Result<u64, SettingsError> {
    match config.get(key) {
        None | Some(Value::Null) => Ok(default),
        Some(value) => {
            let number = value.as_u64().filter(|number| (1..=i32::MAX as u64).contains(number));
            number.ok_or_else(|| error(config, key, "a whole number from 1 to 2147483647"))
        }
    }
}

fn error(config: &Config, key: &'static str, wanted: &str) -> SettingsError {
    let origin = config.origin(key).map(Origin::as_str).map(|by| format!(" (set by {by})")).unwrap_or_default();
    let is_typed = config.origin(key) == Some(&Origin::COMMAND_LINE);
    SettingsError { key, origin, is_typed, wanted: wanted.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(values: &Value) -> Config {
        Config::from_json(values.clone(), &Origin::file("storm.yaml")).unwrap()
    }

    #[test]
    fn without_settings_they_are_storms_defaults() {
        let settings = Settings::of_daemon(&config(&json!({}))).unwrap();
        assert_eq!(settings, Settings::of_servers(vec!["localhost:2181".into()]));
        assert_eq!(root(&config(&json!({}))).unwrap().as_str(), "/storm");
        assert_eq!(daemon_acls(&config(&json!({})), None), Ok(ClusterAcls::open()));
        assert_eq!(worker_acls(&config(&json!({}))), Ok(ClusterAcls::open()));
    }

    #[test]
    fn storms_keys_are_read() {
        let given = config(&json!({
            SERVERS: ["zk1", "192.168.0.7", "::1"],
            PORT: 2182,
            ROOT: "/a/b",
            SESSION_TIMEOUT: 6000,
            CONNECTION_TIMEOUT: 2000,
            RETRY_INTERVAL: 10,
            RETRY_CEILING: 100,
            "storm.zookeeper.auth.scheme": "digest",
            "storm.zookeeper.auth.payload": "storm:swordfish",
            "storm.zookeeper.topology.auth.payload": "words:herring",
            SUPER_ACL: "digest:storm:x",
        }));
        let settings = Settings::of_daemon(&given).unwrap();
        let expected = Settings {
            servers: ["zk1:2182", "192.168.0.7:2182", "[::1]:2182"].map(str::to_owned).to_vec(),
            session_timeout: Duration::from_secs(6),
            connection_timeout: Duration::from_secs(2),
            retry_interval: Duration::from_millis(10),
            retry_ceiling: Duration::from_millis(100),
            credential: Some(Credential::new("storm:swordfish").unwrap()),
        };
        assert_eq!(settings, expected);
        let worker = Credential::new("words:herring").unwrap();
        assert_eq!(Settings::of_worker(&given).unwrap().credential.as_ref(), Some(&worker));
        assert_eq!(root(&given).unwrap().as_str(), "/a/b");
        assert_eq!(daemon_acls(&given, Some(&given)), Ok(ClusterAcls::of_creator(Some(&worker))));
        let both: [Acl; 2] = [Acl::creator(), Acl::super_user("digest:storm:x").unwrap()];
        assert_eq!(worker_acls(&given), Ok(ClusterAcls::all(both.into())));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_key_and_place_and_without_secrets() {
        for (key, value) in [
            (SERVERS, json!([])),
            (SERVERS, json!("zk1")),
            (SERVERS, json!(["zk1:2181"])),
            (PORT, json!(65536)),
            (SESSION_TIMEOUT, json!(0)),
            (RETRY_INTERVAL, json!("soon")),
            (SSL, json!(true)),
            ("storm.zookeeper.auth.scheme", json!("sasl")),
            ("storm.zookeeper.auth.payload", json!("swordfish")),
            ("storm.zookeeper.auth.payload", json!(7)),
        ] {
            let error = Settings::of_daemon(&config(&json!({ key: value }))).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{key} (set by file \"storm.yaml\") is not ")), "{error}");
            assert!(!error.contains("swordfish"), "{error}");
        }
        assert!(root(&config(&json!({ ROOT: "/" }))).is_err());
        let locked_out = config(&json!({ "storm.zookeeper.topology.auth.payload": "words:herring" }));
        assert!(worker_acls(&locked_out).unwrap_err().to_string().contains(SUPER_ACL));
    }
}
