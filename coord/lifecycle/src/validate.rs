//! Whether a topology may be submitted. Every reason against it is found, in Storm's words where Storm has the same one.
//! Source: `ConfigValidation.validateTopoConf`, `StormCommon.validateBasic` and `validateStructure`, and
//! `Nimbus.validateTopologySize` of Storm 2.8.2.
//!
//! Unlike Storm, refused are also what would fail in every worker: a fields grouping by a field of another stream, a
//! direct grouping of a stream that is not direct or another one of a stream that is, a field that is declared twice,
//! groupings and components that this version does not know, state spouts, a negative number of executors, ids that are
//! blank, very long or hold control characters, more than [`MAX_TASKS`](ringstorm_types::config::keys::MAX_TASKS) tasks.
//!
//! Reasons are texts for the client, one line each.

mod structure;
mod values;

use ringstorm_records::records::StormTopology;
use ringstorm_types::config::keys::{DEFAULT_WORKERS, TOPOLOGY_WORKERS};

use crate::Refusal;
use crate::conf::{self, Conf};
use crate::system::components;

pub use structure::structure;
pub(crate) use values::faults;
pub use values::{typed, values};

/// The most workers that a topology may ask for; no limit when it is not set.
pub const SLOTS_PER_TOPOLOGY: &str = "nimbus.slots.perTopology";
/// The most executors that the components of a topology, without those of the system, may ask for; no limit when it is
/// not set.
pub const EXECUTORS_PER_TOPOLOGY: &str = "nimbus.executors.perTopology";

/// Whether the topology is larger than the cluster allows: a reason for each limit. `topology_conf` is the topology's own,
/// without the daemon's underneath.
pub fn size(daemon: &Conf, topology_conf: &Conf, topology: &StormTopology) -> Vec<String> {
    let executors: i64 = components(topology).map(|(_, common)| i64::from(common.parallelism_hint.unwrap_or(1))).sum();
    let workers = conf::int(topology_conf, TOPOLOGY_WORKERS).map(|workers| workers.unwrap_or(DEFAULT_WORKERS as i32));
    let over = |asked: Result<i64, Refusal>, key, what| {
        let (asked, limit) = (asked?, conf::int(daemon, key)?);
        let limit = limit.filter(|limit| asked > i64::from(*limit));
        let text = |limit| format!("Failed to submit topology. Topology requests more than {limit} {what}.");
        Ok(limit.map(text))
    };
    [
        over(workers.map(i64::from), SLOTS_PER_TOPOLOGY, "workers"),
        over(Ok(executors), EXECUTORS_PER_TOPOLOGY, "executors"),
    ]
    .into_iter()
    .filter_map(|found: Result<Option<String>, Refusal>| found.unwrap_or_else(|refusal| Some(refusal.to_string())))
    .collect()
}

#[cfg(test)]
mod tests;
