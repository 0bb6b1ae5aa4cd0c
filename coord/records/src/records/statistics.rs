//! What executors count, and the errors that they report.
//!
//! Statistics are maps of maps: the outer key is a window, `:all-time`, `600`, `10800` or `86400` (seconds); the inner
//! key is a stream that was emitted to, or a [`GlobalStreamId`] that was received from. A statistic that never counted
//! has no windows. Counts are sampled and scaled. Source: `storm.thrift` of Storm 2.8.2.

use std::collections::BTreeMap;

use super::topology::GlobalStreamId;
use crate::thrift::records;

records! {
    in STATISTICS;

    /// What an executor of a spout counted.
    #[derive(Default)]
    struct SpoutStats {
        /// Window to stream to count.
        1: acked: BTreeMap<String, BTreeMap<String, i64>>,
        2: failed: BTreeMap<String, BTreeMap<String, i64>>,
        /// Mean complete latency in milliseconds.
        3: complete_ms_avg: BTreeMap<String, BTreeMap<String, f64>>,
    }

    /// What an executor of a bolt counted. Ackers and the system executor count as bolts.
    #[derive(Default)]
    struct BoltStats {
        /// Window to input stream to count.
        1: acked: BTreeMap<String, BTreeMap<GlobalStreamId, i64>>,
        2: failed: BTreeMap<String, BTreeMap<GlobalStreamId, i64>>,
        /// Mean time from receipt to ack in milliseconds.
        3: process_ms_avg: BTreeMap<String, BTreeMap<GlobalStreamId, f64>>,
        4: executed: BTreeMap<String, BTreeMap<GlobalStreamId, i64>>,
        /// Mean time inside execute in milliseconds.
        5: execute_ms_avg: BTreeMap<String, BTreeMap<GlobalStreamId, f64>>,
    }

    /// What an executor counted, by its kind.
    union ExecutorSpecificStats {
        1: Bolt as "bolt"(BoltStats),
        2: Spout as "spout"(SpoutStats),
    }

    /// What an executor counted.
    struct ExecutorStats {
        /// Window name to stream to count.
        1: emitted: BTreeMap<String, BTreeMap<String, i64>>,
        2: transferred: BTreeMap<String, BTreeMap<String, i64>>,
        3: specific: ExecutorSpecificStats,
        /// Events per sample: 20 where one in 20 is counted.
        4: rate: f64,
    }

    /// An error that a component reported.
    #[derive(Default)]
    struct ErrorInfo {
        /// A whole stack trace.
        1: error: String,
        /// Seconds since 1970.
        2: error_time_secs: i32,
        /// Of the worker.
        3: host: Option<String>,
        /// Of the worker.
        4: port: Option<i32>,
    }

    /// One value of a metric at one time.
    #[derive(Default)]
    struct WorkerMetricPoint {
        1: metric_name as "metricName": String,
        /// Milliseconds since 1970.
        2: timestamp: i64,
        3: metric_value as "metricValue": f64,
        4: component_id as "componentId": String,
        5: executor_id as "executorId": String,
        6: stream_id as "streamId": String,
    }

    /// Values of metrics.
    #[derive(Default)]
    struct WorkerMetricList {
        1: metrics: Option<Vec<WorkerMetricPoint>>,
    }

    /// Metrics of a worker.
    #[derive(Default)]
    struct WorkerMetrics {
        1: topology_id as "topologyId": String,
        2: port: i32,
        3: hostname: String,
        4: metric_list as "metricList": WorkerMetricList,
    }
}
