//! Answers that fill a page each of Storm's user interface: a topology, a component, a supervisor.
//!
//! Memory is in megabytes, CPU in hundredths of a core, latencies in milliseconds, uptime in seconds. Source:
//! `storm.thrift` of Storm 2.8.2.

use std::collections::BTreeMap;

use super::options::DebugOptions;
use super::statistics::ErrorInfo;
use super::summaries::{ExecutorSummary, SupervisorSummary};
use super::topology::GlobalStreamId;
use crate::thrift::{enumerations, records};

enumerations! {
    /// What a component is.
    ComponentType {
        1: Bolt as "BOLT",
        2: Spout as "SPOUT",
    }
}

records! {
    in PAGES;

    /// What the executors of a component counted together, of either kind.
    #[derive(Default)]
    struct CommonAggregateStats {
        1: num_executors: Option<i32>,
        2: num_tasks: Option<i32>,
        3: emitted: Option<i64>,
        4: transferred: Option<i64>,
        5: acked: Option<i64>,
        6: failed: Option<i64>,
        7: resources_map: Option<BTreeMap<String, f64>>,
    }

    /// What the executors of a spout measured together.
    #[derive(Default)]
    struct SpoutAggregateStats {
        1: complete_latency_ms: Option<f64>,
    }

    /// What the executors of a bolt measured together.
    #[derive(Default)]
    struct BoltAggregateStats {
        1: execute_latency_ms: Option<f64>,
        2: process_latency_ms: Option<f64>,
        3: executed: Option<i64>,
        4: capacity: Option<f64>,
    }

    /// What executors measured together, by their kind.
    union SpecificAggregateStats {
        1: Bolt as "bolt"(BoltAggregateStats),
        2: Spout as "spout"(SpoutAggregateStats),
    }

    /// What the executors of a component, or one of them, counted.
    #[derive(Default)]
    struct ComponentAggregateStats {
        1: kind as "type": Option<ComponentType>,
        2: common_stats: Option<CommonAggregateStats>,
        3: specific_stats: Option<SpecificAggregateStats>,
        4: last_error: Option<ErrorInfo>,
    }

    /// What the spouts of a topology counted, by window.
    #[derive(Default)]
    struct TopologyStats {
        1: window_to_emitted: Option<BTreeMap<String, i64>>,
        2: window_to_transferred: Option<BTreeMap<String, i64>>,
        3: window_to_complete_latencies_ms: Option<BTreeMap<String, f64>>,
        4: window_to_acked: Option<BTreeMap<String, i64>>,
        5: window_to_failed: Option<BTreeMap<String, i64>>,
    }

    /// A worker in a list.
    #[derive(Default)]
    struct WorkerSummary {
        1: supervisor_id: Option<String>,
        2: host: Option<String>,
        3: port: Option<i32>,
        4: topology_id: Option<String>,
        5: topology_name: Option<String>,
        6: num_executors: Option<i32>,
        7: component_to_num_tasks: Option<BTreeMap<String, i64>>,
        8: time_secs: Option<i32>,
        9: uptime_secs: Option<i32>,
        521: requested_memonheap: Option<f64>,
        522: requested_memoffheap: Option<f64>,
        523: requested_cpu: Option<f64>,
        524: assigned_memonheap: Option<f64>,
        525: assigned_memoffheap: Option<f64>,
        526: assigned_cpu: Option<f64>,
        527: owner: Option<String>,
    }

    /// Supervisors of a host, and their workers.
    #[derive(Default)]
    struct SupervisorPageInfo {
        1: supervisor_summaries: Option<Vec<SupervisorSummary>>,
        2: worker_summaries: Option<Vec<WorkerSummary>>,
    }

    /// A topology with the figures of its components.
    #[derive(Default)]
    struct TopologyPageInfo {
        1: id: String,
        2: name: Option<String>,
        3: uptime_secs: Option<i32>,
        4: status: Option<String>,
        5: num_tasks: Option<i32>,
        6: num_workers: Option<i32>,
        7: num_executors: Option<i32>,
        /// JSON text.
        8: topology_conf: Option<String>,
        9: id_to_spout_agg_stats: Option<BTreeMap<String, ComponentAggregateStats>>,
        10: id_to_bolt_agg_stats: Option<BTreeMap<String, ComponentAggregateStats>>,
        11: sched_status: Option<String>,
        12: topology_stats: Option<TopologyStats>,
        13: owner: Option<String>,
        14: debug_options: Option<DebugOptions>,
        15: replication_count: Option<i32>,
        16: workers: Option<Vec<WorkerSummary>>,
        17: storm_version: Option<String>,
        18: topology_version: Option<String>,
        521: requested_memonheap: Option<f64>,
        522: requested_memoffheap: Option<f64>,
        523: requested_cpu: Option<f64>,
        524: assigned_memonheap: Option<f64>,
        525: assigned_memoffheap: Option<f64>,
        526: assigned_cpu: Option<f64>,
        527: requested_regular_on_heap_memory: Option<f64>,
        528: requested_shared_on_heap_memory: Option<f64>,
        529: requested_regular_off_heap_memory: Option<f64>,
        530: requested_shared_off_heap_memory: Option<f64>,
        531: assigned_regular_on_heap_memory: Option<f64>,
        532: assigned_shared_on_heap_memory: Option<f64>,
        533: assigned_regular_off_heap_memory: Option<f64>,
        534: assigned_shared_off_heap_memory: Option<f64>,
        535: requested_generic_resources: Option<BTreeMap<String, f64>>,
        536: assigned_generic_resources: Option<BTreeMap<String, f64>>,
    }

    /// An executor and what it counted.
    #[derive(Default)]
    struct ExecutorAggregateStats {
        1: exec_summary: Option<ExecutorSummary>,
        2: stats: Option<ComponentAggregateStats>,
    }

    /// A component with the figures of its executors.
    struct ComponentPageInfo {
        1: component_id: String,
        2: component_type: ComponentType,
        3: topology_id: Option<String>,
        4: topology_name: Option<String>,
        5: num_executors: Option<i32>,
        6: num_tasks: Option<i32>,
        7: window_to_stats: Option<BTreeMap<String, ComponentAggregateStats>>,
        8: gsid_to_input_stats: Option<BTreeMap<GlobalStreamId, ComponentAggregateStats>>,
        9: sid_to_output_stats: Option<BTreeMap<String, ComponentAggregateStats>>,
        10: exec_stats: Option<Vec<ExecutorAggregateStats>>,
        11: errors: Option<Vec<ErrorInfo>>,
        12: eventlog_host: Option<String>,
        13: eventlog_port: Option<i32>,
        14: debug_options: Option<DebugOptions>,
        15: topology_status: Option<String>,
        16: resources_map: Option<BTreeMap<String, f64>>,
    }
}
