//! What can be set of a nimbus.

use std::time::Duration;

use ringstorm_control::pause::pause;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_round::BeatSettings;

use crate::interface::Conf;

/// Who a nimbus is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Where it is reached (`storm.local.hostname` and `nimbus.thrift.port`). No two that live have the same.
    pub address: NimbusAddress,
    /// Its version, which holds `ringstorm`, so that it is not taken for Apache Storm's.
    pub version: String,
    /// A random number of this process, by which its places in the queue for leadership are known as its own.
    pub random: u128,
}

/// What can be set. Defaults are Storm's where it has the key.
#[derive(Clone, Debug)]
pub struct NimbusSettings {
    /// Time between rounds, and between clean-ups (`nimbus.monitor.freq.secs`).
    pub monitor_period: Duration,
    /// Time between looks at the code that all hold, besides what is watched (`nimbus.code.sync.freq.secs`).
    pub code_sync_period: Duration,
    /// Time between looks at who leads, besides what is watched. Storm's leader looks as often, and has no key for it.
    pub standing_period: Duration,
    /// Time between looks at how many hold the code of a submission. Storm's is fixed, too.
    pub replication_period: Duration,
    /// How long nobody may know of a topology before what it left is removed
    /// (`nimbus.topology.blobstore.deletion.delay.ms`). An id holds the second of its submission, and is not given again
    /// while anything of it is left: the delay must be longer than the clocks of nimbuses may differ.
    pub deletion_delay: Duration,
    /// How long whoever is first in the queue waits for code that nobody holds before it leads without, where another
    /// nimbus is known that may come with it. Ringstorm's own; Storm's waits for ever.
    pub lost_code_wait: Duration,
    /// Whether other nimbuses belong to the cluster, there or not (`nimbus.seeds` names several).
    pub has_peers: bool,
    /// How long a request is tried again before it is answered that it does not succeed. Ringstorm's own.
    pub give_up_after: Duration,
    /// How beats are judged.
    pub beats: BeatSettings,
    /// The pause after the first trouble with the tree; it doubles with each further one.
    pub retry_pause: Duration,
    /// The longest pause.
    pub retry_pause_max: Duration,
    /// The configuration of this daemon: what topologies that set nothing else run with.
    pub conf: Conf,
    /// Who owns topologies of callers without a name: the user that the process runs as.
    pub user: String,
    /// The local folder (`storm.local.dir`), which stands in assignments as in Storm.
    pub local_dir: String,
}

impl Default for NimbusSettings {
    fn default() -> Self {
        Self {
            monitor_period: Duration::from_secs(10),
            code_sync_period: Duration::from_secs(120),
            standing_period: Duration::from_secs(5),
            replication_period: Duration::from_secs(1),
            deletion_delay: Duration::from_secs(300),
            lost_code_wait: Duration::from_secs(60),
            has_peers: false,
            give_up_after: Duration::from_secs(60),
            beats: BeatSettings::default(),
            retry_pause: Duration::from_millis(100),
            retry_pause_max: Duration::from_secs(10),
            conf: Conf::new(),
            user: "storm".into(),
            local_dir: "storm-local".into(),
        }
    }
}

impl NimbusSettings {
    /// How long to wait after so many troubles in a row.
    pub(crate) fn pause(&self, troubles: u32) -> Duration {
        pause(self.retry_pause, self.retry_pause_max, troubles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let settings = NimbusSettings::default();
        let pauses = [0, 1, 2, 3, 7, 8, 40, u32::MAX].map(|troubles| settings.pause(troubles).as_millis());
        assert_eq!(pauses, [100, 100, 200, 400, 6_400, 10_000, 10_000, 10_000]);
    }
}
