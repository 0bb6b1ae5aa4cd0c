//! The cluster as a whole: `getClusterInfo`, `getLeader`.
//!
//! Source: `Nimbus.getClusterInfoImpl`, `makeSupervisorSummary` and `getLeader` of Storm 2.8.2. Threading: plain data.
//! Errors: none.

use std::collections::BTreeMap;

use ringstorm_records::records::{
    Assignment, ClusterSummary, NimbusSummary, SupervisorAssignments, SupervisorInfo, SupervisorSummary,
};
use ringstorm_records::znode::NodeName;

use crate::gather::{Nimbuses, Topology};
use crate::topologies::{Definitions, topology_summaries, uptime_secs};

/// The cluster: supervisors, topologies, nimbuses.
pub fn cluster_summary(
    supervisors: &BTreeMap<NodeName, SupervisorInfo>,
    topologies: &[Topology],
    nimbuses: &Nimbuses,
    definitions: &Definitions,
    now_secs: i32,
) -> ClusterSummary {
    ClusterSummary {
        supervisors: supervisors.iter().map(|(id, info)| supervisor_summary(id, info)).collect(),
        topologies: topology_summaries(topologies, definitions, now_secs),
        nimbuses: nimbus_summaries(nimbuses, now_secs),
        // Whoever reads the tree knows.
        unreadable: None,
    }
}

/// A supervisor in a list.
pub fn supervisor_summary(id: &NodeName, info: &SupervisorInfo) -> SupervisorSummary {
    let count =
        |ports: &Option<Vec<i64>>| ports.as_ref().map_or(0, |ports| i32::try_from(ports.len()).unwrap_or(i32::MAX));
    let mut summary = SupervisorSummary {
        host: info.hostname.clone(),
        uptime_secs: i32::try_from(info.uptime_secs.unwrap_or(0)).unwrap_or(i32::MAX),
        num_workers: count(&info.meta),
        num_used_workers: count(&info.used_ports),
        supervisor_id: id.as_str().to_owned(),
        total_resources: info.resources_map.clone(),
        // Nothing else keeps work from a supervisor that lives.
        blacklisted: Some(info.is_out_of_service == Some(true)),
        ..SupervisorSummary::default()
    };
    if let Some(version) = &info.version {
        summary.version.clone_from(version);
    }
    summary
}

/// The nimbuses that live, with how long and which one leads.
pub fn nimbus_summaries(nimbuses: &Nimbuses, now_secs: i32) -> Vec<NimbusSummary> {
    let is_leader = |summary: &NimbusSummary| {
        let of = |leader: &ringstorm_records::payload::NimbusAddress| {
            leader.host() == summary.host && i32::from(leader.port()) == summary.port
        };
        nimbuses.leader.as_ref().is_some_and(of)
    };
    let shown = |summary: &NimbusSummary| NimbusSummary {
        is_leader: is_leader(summary),
        // In the tree it is the second of the start.
        uptime_secs: uptime_secs(Some(summary.uptime_secs), now_secs),
        ..summary.clone()
    };
    nimbuses.living.iter().map(shown).collect()
}

/// The nimbus that leads, if one does and lives.
pub fn leader(nimbuses: &Nimbuses, now_secs: i32) -> Option<NimbusSummary> {
    nimbus_summaries(nimbuses, now_secs).into_iter().find(|summary| summary.is_leader)
}

/// What a supervisor should run. Whether this nimbus leads, without which Storm's gives no answer, is for its caller.
pub fn supervisor_assignments(assignments: &BTreeMap<NodeName, Assignment>, supervisor: &str) -> SupervisorAssignments {
    let of = assignments.iter().filter(|(_, assignment)| assignment.node_host.contains_key(supervisor));
    let storm_assignment = of.map(|(id, assignment)| (id.as_str().to_owned(), assignment.clone())).collect();
    SupervisorAssignments { storm_assignment }
}
