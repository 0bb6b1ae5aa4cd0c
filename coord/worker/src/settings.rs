//! Who a worker is, what it knows of its topology from the start, and what can be set.
//!
//! Threading: plain data. Errors: none.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use ringstorm_control::pause::pause;
use ringstorm_records::znode::{NodeName, Slot};
use ringstorm_types::ComponentId;
use ringstorm_types::assignment::WorkerSecret;
use ringstorm_types::numbering::Numbering;

/// Who a worker is. Given by the supervisor that starts it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The id of the topology.
    pub topology: NodeName,
    /// Its slot.
    pub slot: Slot,
    /// The host that it is on, as its supervisor calls it. Stands in errors that it reports.
    pub host: String,
    /// Greater than that of each earlier process of the slot.
    pub incarnation: u64,
    /// The version of the assignment that it was started for; 0 if it has none. An older one is never taken.
    pub version: i64,
    /// The cores of its slot, for an assignment that says nothing of them. All workers take them from there otherwise.
    pub cores: NonZeroUsize,
}

/// What a worker knows of its topology from the code and the configuration that it was started with.
#[derive(Clone, Debug)]
pub struct TopologyFacts {
    /// By which the workers of the topology know each other (`ringstorm.worker.secret`).
    pub secret: WorkerSecret,
    /// How many executors `__acker` has if neither the topology nor its configuration says so.
    pub acker_executors: u32,
    /// Its tasks and executors, by what the tree says of their numbers at the start.
    pub numbering: Numbering,
    /// Which components are spouts.
    pub spouts: BTreeSet<ComponentId>,
}

/// What can be set. Defaults are Storm's where it has the key.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// Time between beats (`task.heartbeat.frequency.secs`).
    pub beat_period: Duration,
    /// How long a core may go without the end of a turn before the beats stop (`supervisor.worker.timeout.secs`).
    pub core_silence: Duration,
    /// Time between looks at the tree, besides what is watched (`task.refresh.poll.secs`).
    pub look_period: Duration,
    /// How many errors of a task are reported in an interval (`topology.max.error.report.per.interval`).
    pub errors_per_interval: u32,
    /// The interval (`topology.error.throttle.interval.secs`).
    pub error_interval: Duration,
    /// How long a kill or rebalance waits that does not say it (`topology.message.timeout.secs`).
    pub message_timeout: Duration,
    /// Between two looks that find no assignment, before the worker ends. Ringstorm's own.
    pub confirmation_pause: Duration,
    /// The pause after the first trouble with the tree; it doubles with each further one. Ringstorm's own.
    pub retry_pause: Duration,
    /// The longest pause. Ringstorm's own.
    pub retry_pause_max: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            beat_period: Duration::from_secs(3),
            core_silence: Duration::from_secs(30),
            look_period: Duration::from_secs(10),
            errors_per_interval: 5,
            error_interval: Duration::from_secs(10),
            message_timeout: Duration::from_secs(30),
            confirmation_pause: Duration::from_secs(1),
            retry_pause: Duration::from_millis(100),
            retry_pause_max: Duration::from_secs(3),
        }
    }
}

impl WorkerSettings {
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
        let settings = WorkerSettings::default();
        let pauses = [0, 1, 2, 5, 6, 40, u32::MAX].map(|troubles| settings.pause(troubles).as_millis());
        assert_eq!(pauses, [100, 100, 200, 1_600, 3_000, 3_000, 3_000]);
    }
}
