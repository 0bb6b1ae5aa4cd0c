//! The file by which a worker learns who it is.
//!
//! It holds secrets of the topology (its configuration has them), so that only the supervisor's user may read it.
//! Invariants, threading and errors: those of the [crate].

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// No launch file is larger, in bytes: what nimbus takes as a topology's configuration is far smaller.
pub const LAUNCH_BYTES_MAX: usize = 32 << 20;

/// Who a worker is, and what it may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The topology's id, such as `words-1-1795972824`.
    pub topology: String,
    /// The topology's name, such as `words`.
    pub topology_name: String,
    /// The supervisor's id.
    pub supervisor: String,
    /// The host, as its supervisor calls it and as other workers reach it.
    pub host: String,
    /// The port of the slot; the worker listens there.
    pub port: u16,
    /// Greater than that of each earlier process of the slot; from 1 to 2^63 - 1.
    pub incarnation: u64,
    /// The version of the assignment that the worker was started for; zero if that has none.
    pub assignment_version: i64,
    /// How many cores the slot has, as all workers of the topology believe; at least one.
    pub cores: u32,
    /// The numbers of the CPUs that belong to the slot, in order. Fewer than `cores` mean that its cores share them. Never
    /// empty; no other slot of the supervisor has them as long as there are enough.
    pub cpus: BTreeSet<u32>,
    /// The supervisor's control socket, to which the worker sends [`WorkerSays`](crate::WorkerSays).
    pub control_socket: PathBuf,
    /// The address to listen at.
    pub bind_address: IpAddr,
    /// The supervisor's configuration with the topology's laid over it. The daemons' own credential is left out.
    pub conf: Map<String, Value>,
}

/// A launch file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the launch file cannot be used: {0}; workers are started by a supervisor, which writes it")]
pub struct InvalidLaunch(String);

impl Launch {
    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts, numbers and maps with texts as keys can always be written")
    }

    /// Reads the bytes of a file. Whoever reads the file needs no more than [`LAUNCH_BYTES_MAX`] and one.
    ///
    /// # Errors
    /// There are too many, they are no launch file, or a value is out of its range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidLaunch> {
        if bytes.len() > LAUNCH_BYTES_MAX {
            return Err(InvalidLaunch(format!("it is larger than {LAUNCH_BYTES_MAX} bytes")));
        }
        let launch: Self = serde_json::from_slice(bytes).map_err(|error| InvalidLaunch(error.to_string()))?;
        launch.check()?;
        Ok(launch)
    }

    fn check(&self) -> Result<(), InvalidLaunch> {
        let texts = [
            ("topology", &self.topology),
            ("topology_name", &self.topology_name),
            ("supervisor", &self.supervisor),
            ("host", &self.host),
        ];
        let empty = texts.iter().find(|(_, text)| text.is_empty()).map(|(name, _)| format!("its {name} is empty"));
        let what = if let Some(what) = empty {
            what
        } else if self.port == 0 {
            "there is no port 0".to_owned()
        } else if !(1..=i64::MAX as u64).contains(&self.incarnation) {
            format!("{} is no incarnation", self.incarnation)
        } else if self.cores == 0 || self.cpus.is_empty() {
            "a slot has at least one core and one CPU".to_owned()
        } else {
            return Ok(());
        };
        Err(InvalidLaunch(what))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn launch() -> Launch {
        Launch {
            topology: "words-1-1795972824".to_owned(),
            topology_name: "words".to_owned(),
            supervisor: "id-host".to_owned(),
            host: "host".to_owned(),
            port: 6700,
            incarnation: 7,
            assignment_version: 3,
            cores: 2,
            cpus: [0, 1].into(),
            control_socket: "/var/lib/storm/supervisor/control.sock".into(),
            bind_address: IpAddr::from([0, 0, 0, 0]),
            conf: Map::from_iter([("topology.workers".to_owned(), 2.into())]),
        }
    }

    #[test]
    fn what_was_written_is_read_also_with_fields_of_a_later_version() {
        assert_eq!(Launch::from_bytes(&launch().to_bytes()), Ok(launch()));
        let mut later: Map<String, Value> = serde_json::from_slice(&launch().to_bytes()).unwrap();
        later.insert("zone".to_owned(), "a".into());
        assert_eq!(Launch::from_bytes(&serde_json::to_vec(&later).unwrap()), Ok(launch()));
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        for (bad, words) in [
            (Launch { topology: String::new(), ..launch() }, "topology is empty"),
            (Launch { port: 0, ..launch() }, "port 0"),
            (Launch { incarnation: 0, ..launch() }, "0 is no incarnation"),
            (Launch { incarnation: u64::MAX, ..launch() }, "no incarnation"),
            (Launch { cores: 0, ..launch() }, "one core"),
            (Launch { cpus: BTreeSet::new(), ..launch() }, "one CPU"),
        ] {
            let why = Launch::from_bytes(&bad.to_bytes()).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
        assert!(Launch::from_bytes(&vec![b' '; LAUNCH_BYTES_MAX + 1]).unwrap_err().to_string().contains("larger"));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()) {
            prop_assert!(Launch::from_bytes(&bytes).is_err());
            let whole = launch().to_bytes();
            prop_assert!(Launch::from_bytes(&whole[..cut.index(whole.len())]).is_err());
        }
    }
}
