//! Answers about the cluster, its topologies and owners.
//!
//! Memory is in megabytes, CPU in hundredths of a core, uptime in seconds. Fields from 521 on are resource figures; the
//! default scheduler sets few of them. Source: `storm.thrift` of Storm 2.8.2.

use std::collections::BTreeMap;

use super::cluster::ExecutorInfo;
use super::options::DebugOptions;
use super::statistics::{ErrorInfo, ExecutorStats};
use crate::thrift::records;

records! {
    in SUMMARIES;

    /// A topology in a list.
    #[derive(Default)]
    struct TopologySummary {
        1: id: String,
        2: name: String,
        3: num_tasks: i32,
        4: num_executors: i32,
        5: num_workers: i32,
        6: uptime_secs: i32,
        /// In capitals.
        7: status: String,
        8: storm_version: Option<String>,
        9: topology_version: Option<String>,
        513: sched_status: Option<String>,
        514: owner: Option<String>,
        515: replication_count: Option<i32>,
        521: requested_memonheap: Option<f64>,
        522: requested_memoffheap: Option<f64>,
        523: requested_cpu: Option<f64>,
        524: assigned_memonheap: Option<f64>,
        525: assigned_memoffheap: Option<f64>,
        526: assigned_cpu: Option<f64>,
        527: requested_generic_resources: Option<BTreeMap<String, f64>>,
        528: assigned_generic_resources: Option<BTreeMap<String, f64>>,
    }

    /// A supervisor in a list.
    #[derive(Default)]
    struct SupervisorSummary {
        1: host: String,
        2: uptime_secs: i32,
        3: num_workers: i32,
        4: num_used_workers: i32,
        5: supervisor_id: String,
        6: version: String = "VERSION_NOT_PROVIDED".to_owned(),
        7: total_resources: Option<BTreeMap<String, f64>>,
        8: used_mem: Option<f64>,
        9: used_cpu: Option<f64>,
        10: fragmented_mem: Option<f64>,
        11: fragmented_cpu: Option<f64>,
        12: blacklisted: Option<bool>,
        13: used_generic_resources: Option<BTreeMap<String, f64>>,
    }

    /// A nimbus: in a list, and as the record of its node in ZooKeeper.
    #[derive(Default)]
    struct NimbusSummary {
        1: host: String,
        2: port: i32,
        /// In answers the seconds it is up; in ZooKeeper the second since 1970 at which it started.
        3: uptime_secs: i32,
        /// Always false in ZooKeeper.
        4: is_leader as "isLeader": bool,
        5: version: String,
        /// 0 when there is none.
        6: tls_port as "tlsPort": Option<i32>,
    }

    /// The cluster: supervisors, topologies and nimbuses. Id 2 was something else in old versions and stays unused.
    #[derive(Default)]
    struct ClusterSummary {
        1: supervisors: Vec<SupervisorSummary>,
        3: topologies: Vec<TopologySummary>,
        4: nimbuses: Vec<NimbusSummary>,
        /// Ringstorm's, not Storm's: readers of Storm skip it. The ids of topologies whose base cannot be read, so that
        /// they are in no list, and why.
        1001: unreadable as "unreadable topologies": Option<BTreeMap<String, String>>,
    }

    /// An executor of a topology.
    #[derive(Default)]
    struct ExecutorSummary {
        1: executor_info: ExecutorInfo,
        2: component_id: String,
        3: host: String,
        4: port: i32,
        5: uptime_secs: i32,
        /// Not set before the first heartbeat. Id 6 is not used.
        7: stats: Option<ExecutorStats>,
    }

    /// A topology with all of its executors.
    #[derive(Default)]
    struct TopologyInfo {
        1: id: String,
        2: name: String,
        3: uptime_secs: i32,
        4: executors: Vec<ExecutorSummary>,
        5: status: String,
        /// By component, the newest first.
        6: errors: BTreeMap<String, Vec<ErrorInfo>>,
        7: component_debug: Option<BTreeMap<String, DebugOptions>>,
        8: storm_version: Option<String>,
        513: sched_status: Option<String>,
        514: owner: Option<String>,
        515: replication_count: Option<i32>,
        521: requested_memonheap: Option<f64>,
        522: requested_memoffheap: Option<f64>,
        523: requested_cpu: Option<f64>,
        524: assigned_memonheap: Option<f64>,
        525: assigned_memoffheap: Option<f64>,
        526: assigned_cpu: Option<f64>,
    }

    /// What the topologies of an owner use.
    #[derive(Default)]
    struct OwnerResourceSummary {
        1: owner: String,
        2: total_topologies: Option<i32>,
        3: total_executors: Option<i32>,
        4: total_workers: Option<i32>,
        5: memory_usage: Option<f64>,
        6: cpu_usage: Option<f64>,
        7: memory_guarantee: Option<f64>,
        8: cpu_guarantee: Option<f64>,
        9: memory_guarantee_remaining: Option<f64>,
        10: cpu_guarantee_remaining: Option<f64>,
        11: isolated_node_guarantee: Option<i32>,
        12: total_tasks: Option<i32>,
        13: requested_on_heap_memory: Option<f64>,
        14: requested_off_heap_memory: Option<f64>,
        15: requested_total_memory: Option<f64>,
        16: requested_cpu: Option<f64>,
        17: assigned_on_heap_memory: Option<f64>,
        18: assigned_off_heap_memory: Option<f64>,
    }
}
