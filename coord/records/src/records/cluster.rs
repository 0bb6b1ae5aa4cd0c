//! What the daemons keep in ZooKeeper and report to each other: bases, assignments, supervisors, heartbeats, keys.
//!
//! Source: `storm.thrift` of Storm 2.8.2 and the records of a cluster of that version; the meaning of fields from its
//! Java code. Three fields are not Storm's: [`Assignment::version`], [`Assignment::slot_cores`] and
//! [`ClusterWorkerHeartbeat::version`].

use std::collections::{BTreeMap, BTreeSet};

use super::options::{DebugOptions, TopologyActionOptions, TopologyStatus};
use super::statistics::ExecutorStats;
use crate::thrift::{Binary, enumerations, records};

enumerations! {
    /// Who a worker's token is for.
    WorkerTokenServiceType {
        0: Nimbus as "NIMBUS",
        1: Drpc as "DRPC",
        2: Supervisor as "SUPERVISOR",
    }
}

records! {
    in CLUSTER;

    /// A node and ports of it. In an [`Assignment`] the node is a supervisor id and there is one port: a slot.
    #[derive(Default, Eq, PartialOrd, Ord, Hash)]
    struct NodeInfo {
        /// A supervisor id in assignments, a host name in profile requests.
        1: node: String,
        2: port: BTreeSet<i64>,
    }

    /// What a worker may use. In megabytes and hundredths of a core.
    #[derive(Default)]
    struct WorkerResources {
        1: mem_on_heap: Option<f64>,
        2: mem_off_heap: Option<f64>,
        3: cpu: Option<f64>,
        4: shared_mem_on_heap: Option<f64>,
        5: shared_mem_off_heap: Option<f64>,
        6: resources: Option<BTreeMap<String, f64>>,
        7: shared_resources: Option<BTreeMap<String, f64>>,
    }

    /// Which executor of a topology runs in which slot. Not read and changed but computed anew, so unknown fields are
    /// dropped.
    #[derive(Default)]
    struct Assignment {
        /// The local folder of the nimbus; nobody needs it any more.
        1: master_code_dir: String,
        /// Supervisor ids and the hosts they are on.
        2: node_host: BTreeMap<String, String> = BTreeMap::new(),
        /// Executors as `[first task, last task]`, and their slots.
        3: executor_node_port: BTreeMap<Vec<i64>, NodeInfo> = BTreeMap::new(),
        /// Executors and when they were put where they are, in seconds since 1970.
        4: executor_start_time_secs: BTreeMap<Vec<i64>, i64> = BTreeMap::new(),
        /// Slots and what their workers may use.
        5: worker_resources: BTreeMap<NodeInfo, WorkerResources> = BTreeMap::new(),
        /// Supervisor ids and megabytes. Storm 2.8 leaves it empty.
        6: total_shared_off_heap: BTreeMap<String, f64> = BTreeMap::new(),
        7: owner: Option<String>,
        /// Ringstorm's, not Storm's: readers of Storm skip it. Each assignment of a topology has a higher version than
        /// the ones before, so that workers can tell the newer of two.
        1001: version as "assignment version": Option<i64>,
        /// Ringstorm's too. Supervisor ids and how many cores each slot of theirs has, as long as this topology is there.
        /// So each worker knows the cores of the others; one that is not listed has one.
        1002: slot_cores as "slot cores": Option<BTreeMap<String, i64>>,
    }

    /// What nimbus knows of a topology besides its code, configuration and assignment.
    struct StormBase {
        1: name: String,
        2: status: TopologyStatus,
        3: num_workers: i32,
        /// Components, system ones among them, and their numbers of executors.
        4: component_executors: Option<BTreeMap<String, i32>>,
        /// Seconds since 1970.
        5: launch_time_secs: Option<i32>,
        6: owner: Option<String>,
        /// Not set before the first kill or rebalance; stays until the next one.
        7: topology_action_options: Option<TopologyActionOptions>,
        /// What comes after the rebalance; set while it waits.
        8: prev_status: Option<TopologyStatus>,
        /// By component, or by topology id for all of them.
        9: component_debug: Option<BTreeMap<String, DebugOptions>>,
        /// The authenticated name; empty for an anonymous caller.
        10: principal: Option<String>,
        11: topology_version: Option<String>,
        ..unknown
    }

    /// A supervisor's heartbeat. The supervisor counts as alive while the node exists.
    #[derive(Default)]
    struct SupervisorInfo {
        /// Seconds since 1970.
        1: time_secs: i64,
        2: hostname: String,
        /// The supervisor id.
        3: assignment_id: Option<String>,
        /// Ports of slots that run something.
        4: used_ports: Option<Vec<i64>>,
        /// Ports of all slots.
        5: meta: Option<Vec<i64>>,
        6: scheduler_meta: Option<BTreeMap<String, String>>,
        7: uptime_secs: Option<i64>,
        8: version: Option<String>,
        9: resources_map: Option<BTreeMap<String, f64>>,
        /// Of the supervisor's own Thrift server.
        10: server_port: Option<i32>,
        /// Not Storm's. Of topologies whose assignments it passes over, since it has seen newer ones: the version that it
        /// has seen. An older tree was restored, or a clock was set back; nimbus goes above it.
        1001: versions_seen as "versions seen": Option<BTreeMap<String, i64>>,
        /// Not Storm's. Set when an operator has taken its host out of service, so that it offers no slot.
        1002: is_out_of_service as "out of service": Option<bool>,
    }

    /// An executor: its first and last task.
    #[derive(Default, Eq, PartialOrd, Ord, Hash)]
    struct ExecutorInfo {
        1: task_start: i32,
        2: task_end: i32,
    }

    /// A worker's heartbeat in ZooKeeper. The first one of a worker has no executors.
    #[derive(Default)]
    struct ClusterWorkerHeartbeat {
        1: storm_id: String,
        2: executor_stats: BTreeMap<ExecutorInfo, ExecutorStats>,
        /// Seconds since 1970. Storm 3.0 writes an i64 here, which Storm 2.8 cannot read either.
        3: time_secs: i32,
        4: uptime_secs: i32,
        /// Ringstorm's, not Storm's: readers of Storm skip it. The version of the assignment that the worker runs, so
        /// that a leader can go above it also where the assignment itself is an older one or gone.
        1001: version as "assignment version": Option<i64>,
    }

    /// A worker's heartbeat on the nimbus port.
    #[derive(Default)]
    struct SupervisorWorkerHeartbeat {
        1: storm_id: String,
        2: executors: Vec<ExecutorInfo>,
        /// Seconds since 1970.
        3: time_secs: i32,
    }

    /// The heartbeats of all workers of a supervisor.
    #[derive(Default)]
    struct SupervisorWorkerHeartbeats {
        1: supervisor_id: String,
        2: worker_heartbeats: Vec<SupervisorWorkerHeartbeat>,
    }

    /// The assignments of every topology that a supervisor has a part of.
    #[derive(Default)]
    struct SupervisorAssignments {
        1: storm_assignment: BTreeMap<String, Assignment> = BTreeMap::new(),
    }

    /// The key that signs the tokens of a topology's workers.
    #[derive(Default)]
    struct PrivateWorkerKey {
        /// 256 bits, for HMAC.
        1: key: Binary,
        2: user_name as "userName": String,
        3: expiration_time_millis as "expirationTimeMillis": i64,
    }
}
