//! What profiles were asked for: `getComponentPendingProfileActions`.
//!
//! Source: `Nimbus.getComponentPendingProfileActions` of Storm 2.8.2. Threading: plain data. Errors: none.

use std::collections::BTreeSet;

use ringstorm_records::records::{ProfileAction, ProfileRequest};

use crate::definition::{Definition, is_system};
use crate::executors::placed;
use crate::gather::Topology;

/// For each worker of a component the newest request of an action that is not done yet. The system's components have
/// none.
pub fn pending_profile_actions(
    topology: &Topology,
    definition: &Definition,
    component: &str,
    action: ProfileAction,
    requests: &[ProfileRequest],
) -> Vec<ProfileRequest> {
    let of = |executor: &crate::executors::Placed<'_>| {
        definition.component_of(executor.first).is_some_and(|of| of == component && !is_system(of))
    };
    let workers: BTreeSet<(&str, u16)> =
        placed(topology.assignment.as_ref()).filter(of).map(|executor| (executor.host, executor.port)).collect();
    let newest = |(host, port): (&str, u16)| {
        let is_of = |request: &&ProfileRequest| {
            let at = &request.node_info;
            request.action == action && at.node == host && at.port.first() == Some(&i64::from(port))
        };
        requests.iter().filter(is_of).max_by_key(|request| request.time_stamp.unwrap_or(0)).cloned()
    };
    workers.into_iter().filter_map(newest).collect()
}
