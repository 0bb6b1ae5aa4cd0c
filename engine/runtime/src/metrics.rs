//! What a worker knows about itself: counters and latencies per component and stream, queues, memory.
//!
//! Cores copy their plain counters when asked ([`CoreSnapshot`]); everything else happens on the asking thread and is
//! pure: a [`MetricsHistory`] is fed with snapshots and the run's age, keeps Storm's windows over them, and shows it all
//! as [`TopologyMetrics`], which are a table for people and JSON for programs. Counts are exact: nothing is sampled.
//!
//! Threading: none of its own. Errors: a core that does not answer keeps the numbers of its last answer.

mod connections;
mod counts;
mod histogram_bytes;
mod history;
mod json;
mod latency;
mod summary;
mod table;
mod units;
mod window;

use hdrhistogram::Histogram;
use ringstorm_types::ExecutorId;
use serde::{Deserialize, Serialize};

pub use connections::ConnectionMetrics;
pub use counts::{Counts, InputCounts, OutputCounts, SpoutCounts};
pub use history::{ExecutorCounts, FiguresHistory, MetricsHistory};
pub use latency::Latency;
pub use ringstorm_net::PeerCounts;
pub use summary::{ComponentMetrics, ExecutorMetrics, MemoryMetrics, QueueMetrics, TopologyMetrics};
pub use table::{Alignment, align};
pub use units::{bytes_text, count_text, duration_text, rate_text};
pub use window::{BUCKETS, CounterWindows, Window};

/// The counters of one core at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CoreSnapshot {
    /// The number of its worker.
    pub worker: u64,
    /// Index of the core; those behind the cores proper are the threads of blocking executors.
    pub core: usize,
    /// One entry for each executor of the core.
    pub executors: Vec<ExecutorSnapshot>,
    /// Bytes of frames that the core holds: pooled, open, waiting.
    pub frame_bytes: usize,
    /// Bytes that the data rings to other cores hold once every cell has carried a frame.
    pub ring_bytes: usize,
    /// Bytes of the ack ledgers and folders.
    pub ledger_bytes: usize,
    /// Bytes of the spouts' pending tables.
    pub pending_bytes: usize,
    /// Roots that the core's ackers track.
    pub open_roots: usize,
    /// Times that a ring to another core was full.
    pub ring_full_count: u64,
    /// Tuples on their way to a worker when it died; those that are anchored were failed.
    pub lost_with_workers: u64,
    /// Un-anchored tuples that were refused by a full cycle, or that could not be delivered at the end.
    pub lost_unanchored: u64,
    /// Its connections to cores of other workers.
    pub peers: Vec<PeerSnapshot>,
}

/// A connection to a core of another worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerSnapshot {
    /// The number of that worker.
    pub worker: u64,
    /// The number of that core in its worker.
    pub core: u32,
    /// Both sides are ready.
    pub is_ready: bool,
    /// It is away for too long: what is for it is dropped.
    pub is_away: bool,
    /// Times that its tasks paused those here.
    pub pauses: u64,
    /// Times that it was too far behind to take more.
    pub full_count: u64,
    /// What went and came.
    pub counts: PeerCounts,
}

/// The counters of one executor at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExecutorSnapshot {
    /// First and last task.
    pub id: ExecutorId,
    /// Its component.
    pub component: String,
    /// Spout, bolt or acker.
    pub is_spout: bool,
    /// What it emitted, by stream.
    pub outputs: Vec<OutputSnapshot>,
    /// What it executed, by source component and stream.
    pub inputs: Vec<InputSnapshot>,
    /// Spouts: messages acked, failed, timed out (also counted as failed), pending.
    pub acked: u64,
    /// See `acked`.
    pub failed: u64,
    /// See `acked`.
    pub timed_out: u64,
    /// See `acked`.
    pub pending: usize,
    /// Spouts: from emit to the ack of the whole tree, in nanoseconds.
    #[serde(with = "histogram_bytes")]
    pub complete_ns: Option<Histogram<u64>>,
    /// Bolts: time spent in `execute`, in nanoseconds.
    pub busy_ns: u64,
    /// The receive queue (Storm's name for the inbox).
    pub receive_queue: QueueSnapshot,
    /// Spouts: why it is not being asked for tuples; empty while it is.
    pub why_idle: String,
}

/// What one executor has counted at one moment: what can be added up of an [`ExecutorSnapshot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorFigures {
    /// First and last task.
    pub id: ExecutorId,
    /// Its component.
    pub component: String,
    /// Whether that is a spout.
    pub is_spout: bool,
    /// Since its start. Latencies are exact here.
    pub counts: Counts,
}

/// One stream that an executor emits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutputSnapshot {
    /// The stream.
    pub stream: String,
    /// Emits, but for those that were refused.
    pub emitted: u64,
    /// Copies sent to subscribers.
    pub transferred: u64,
}

/// One stream that an executor executes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InputSnapshot {
    /// The emitting component.
    pub component: String,
    /// The stream.
    pub stream: String,
    /// Tuples executed.
    pub executed: u64,
    /// Tuples acked.
    pub acked: u64,
    /// Tuples failed.
    pub failed: u64,
    /// Time in `execute`, in nanoseconds.
    #[serde(with = "histogram_bytes")]
    pub execute_ns: Option<Histogram<u64>>,
    /// From receipt to ack, in nanoseconds.
    #[serde(with = "histogram_bytes")]
    pub process_ns: Option<Histogram<u64>>,
}

/// A queue, under Storm's names.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct QueueSnapshot {
    /// Tuples inside.
    pub population: usize,
    /// Bytes at which its feeders are paused.
    pub capacity_bytes: usize,
    /// Bytes inside.
    pub bytes: usize,
    /// The largest population so far.
    pub population_max: usize,
    /// Tuples taken out so far; its growth is the arrival rate.
    pub taken: u64,
    /// Estimated time that a tuple waits, in nanoseconds.
    pub sojourn_time_ns: u64,
    /// Times that its feeders were paused.
    pub pauses: u64,
    /// Tuples that wait beyond the capacity.
    pub overflow: usize,
}
