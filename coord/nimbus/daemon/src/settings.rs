//! What can be set of the daemon.
//!
//! Plain data; [`DaemonSettings::of_conf`] makes it of a configuration. Threading: plain data. Errors: texts for whoever
//! wrote the configuration.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringstorm_conf::Conf as Configuration;
use ringstorm_nimbus::NimbusSettings;
use ringstorm_nimbus::interface::Conf;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_store::cluster::Cluster;
use ringstorm_types::wire_format::WIRE_FORMAT;
use ringstorm_zookeeper::{Settings as ZooKeeperSettings, daemon_acls};

pub use crate::files::{DownloadLimits, UploadLimits};
pub use crate::port::PortLimits;

const BUFFER_BYTES: &str = "nimbus.thrift.max_buffer_size";
const UPLOAD_IDLE: &str = "nimbus.file.copy.expiration.secs";
const UPLOAD_KEPT: &str = "nimbus.inbox.jar.expiration.secs";
const DOWNLOAD_IDLE: &str = "nimbus.blobstore.expiration.secs";

/// What can be set.
#[derive(Clone, Debug)]
pub struct DaemonSettings {
    /// Where this nimbus is reached by others (`storm.local.hostname`, `nimbus.thrift.port`).
    pub address: NimbusAddress,
    /// On which address it listens (`ringstorm.bind.address`).
    pub bind: IpAddr,
    /// Its version, which holds `ringstorm`.
    pub version: String,
    /// The tree.
    pub cluster: Cluster,
    /// How ZooKeeper is reached.
    pub zookeeper: ZooKeeperSettings,
    /// How the machine behaves.
    pub nimbus: NimbusSettings,
    /// Where everything lies (`storm.local.dir`).
    pub local_dir: PathBuf,
    /// Where the log lies (`storm.log.dir`).
    pub log_dir: PathBuf,
    /// Which wire format topologies must have.
    pub wire_format: String,
    /// What peers may cost.
    pub port: PortLimits,
    /// What uploads may cost.
    pub uploads: UploadLimits,
    /// What downloads may cost.
    pub downloads: DownloadLimits,
}

/// What is needed to say what the machine would have against a submission.
#[derive(Clone, Debug)]
pub(crate) struct Accepting {
    pub(crate) conf: Arc<Conf>,
    pub(crate) user: String,
}

impl DaemonSettings {
    /// What a configuration says. `version` is that of the build, which stands behind Storm's in what others read.
    ///
    /// # Errors
    /// A value cannot be used, with its key.
    pub fn of_conf(conf: &Configuration, version: &str) -> Result<Self, String> {
        let json = conf.json();
        let address = NimbusAddress::new(&conf.local_hostname(), conf.nimbus_thrift_port(), 0);
        let acls = daemon_acls(conf.config(), None).map_err(|error| error.to_string())?;
        let port = PortLimits::default();
        let (uploads, downloads) = (UploadLimits::default(), DownloadLimits::default());
        let frame_bytes_max = number(&json, BUFFER_BYTES, 1 << 10, 1 << 30)?;
        Ok(Self {
            address: address.map_err(|error| format!("storm.local.hostname cannot be used: {error}"))?,
            bind: conf.bind_address(),
            version: version.to_owned(),
            cluster: Cluster::new(conf.zookeeper_root(), acls),
            zookeeper: conf.zookeeper_settings(),
            nimbus: conf.nimbus_settings(),
            local_dir: conf.local_dir(),
            log_dir: conf.log_dir(),
            wire_format: WIRE_FORMAT.to_owned(),
            port: PortLimits {
                frame_bytes_max: frame_bytes_max.map_or(port.frame_bytes_max, |bytes| bytes as usize),
                ..port
            },
            uploads: UploadLimits {
                idle: seconds(&json, UPLOAD_IDLE)?.unwrap_or(uploads.idle),
                kept: seconds(&json, UPLOAD_KEPT)?.unwrap_or(uploads.kept),
                ..uploads
            },
            downloads: DownloadLimits { idle: seconds(&json, DOWNLOAD_IDLE)?.unwrap_or(downloads.idle), ..downloads },
        })
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.address.port())
    }
}

fn number(conf: &Conf, key: &str, least: u64, most: u64) -> Result<Option<u64>, String> {
    match conf.get(key) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key} is {value}, and must be a whole number from {least} to {most}")),
        },
    }
}

fn seconds(conf: &Conf, key: &str) -> Result<Option<Duration>, String> {
    Ok(number(conf, key, 1, i32::MAX as u64)?.map(Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(conf: serde_json::Value) -> Result<DaemonSettings, String> {
        let conf = Configuration::from_json(conf.as_object().unwrap().clone()).unwrap();
        DaemonSettings::of_conf(&conf, "2.8.2-ringstorm.0.1.0")
    }

    #[test]
    fn a_configuration_says_where_a_nimbus_listens_and_what_it_takes() {
        let settings = settings(json!({
            "storm.local.hostname": "n1.example",
            "nimbus.thrift.port": 7000,
            "ringstorm.bind.address": "127.0.0.1",
            "nimbus.thrift.max_buffer_size": 4096,
            "nimbus.inbox.jar.expiration.secs": 60,
        }))
        .unwrap();
        assert_eq!(settings.address.to_string(), "n1.example:7000:0");
        assert_eq!(settings.socket().to_string(), "127.0.0.1:7000");
        assert_eq!(settings.port.frame_bytes_max, 4096);
        assert_eq!((settings.uploads.kept, settings.uploads.idle), (Duration::from_secs(60), Duration::from_secs(600)));
        assert_eq!(settings.wire_format, WIRE_FORMAT);
    }

    #[test]
    fn a_value_that_cannot_be_used_is_named_with_its_range() {
        let why = settings(json!({ "nimbus.thrift.max_buffer_size": 2_000_000_000 })).unwrap_err();
        assert!(why.starts_with("nimbus.thrift.max_buffer_size is 2000000000, and must be"), "{why}");
    }
}
