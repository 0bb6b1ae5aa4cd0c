//! The names of the keys that Ringstorm reads, with their defaults.
//!
//! The first part has Storm's keys and Storm's defaults, the second Ringstorm's own. A key that is added here is added
//! to `known_keys.txt` too; a test compares the two.

/// The number of workers of the topology in a cluster, at least 1.
pub const TOPOLOGY_WORKERS: &str = "topology.workers";
/// The number of acker executors; unset means the default of the place where the topology runs.
pub const TOPOLOGY_ACKER_EXECUTORS: &str = "topology.acker.executors";
/// The number of tasks of a component.
pub const TOPOLOGY_TASKS: &str = "topology.tasks";
/// The most tasks that a component may have.
pub const TOPOLOGY_MAX_TASK_PARALLELISM: &str = "topology.max.task.parallelism";
/// The most un-acked messages of a spout task.
pub const TOPOLOGY_MAX_SPOUT_PENDING: &str = "topology.max.spout.pending";
/// How long a message may take before it is failed, in seconds.
pub const TOPOLOGY_MESSAGE_TIMEOUT_SECS: &str = "topology.message.timeout.secs";
/// Whether messages time out at all.
pub const TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS: &str = "topology.enable.message.timeouts";
/// The time between two tick tuples, in seconds.
pub const TOPOLOGY_TICK_TUPLE_FREQ_SECS: &str = "topology.tick.tuple.freq.secs";
/// The share of tuples that Storm samples for its statistics. Ringstorm counts every tuple.
pub const TOPOLOGY_STATS_SAMPLE_RATE: &str = "topology.stats.sample.rate";
/// Whether shuffles ignore the load of their targets.
pub const TOPOLOGY_DISABLE_LOADAWARE_MESSAGING: &str = "topology.disable.loadaware.messaging";
/// Whether a line is shown for every tuple that is emitted. May be set for a component alone.
pub const TOPOLOGY_DEBUG: &str = "topology.debug";
/// The most errors of an executor that are reported within one throttle interval.
pub const TOPOLOGY_MAX_ERROR_REPORT_PER_INTERVAL: &str = "topology.max.error.report.per.interval";
/// The length of a throttle interval of error reports, in seconds.
pub const TOPOLOGY_ERROR_THROTTLE_INTERVAL_SECS: &str = "topology.error.throttle.interval.secs";

/// The largest tuple, in bytes of its serialised form.
pub const TOPOLOGY_TUPLE_MAX_BYTES: &str = "topology.tuple.max.bytes";
/// The number of cores of a worker.
pub const WORKER_CORES: &str = "ringstorm.worker.cores";
/// For each of several worker processes: the address (`host:port`) on which it listens for the others. Unset: the loopback
/// address and any free port.
pub const WORKER_LISTEN: &str = "ringstorm.worker.listen";
/// For each of several worker processes: the address (`host:port`) at which the others reach it, where that is not the one
/// on which it listens.
pub const WORKER_DIAL: &str = "ringstorm.worker.dial";
/// For each of several worker processes: the words before its own command, such as `["numactl", "--membind=0"]`.
pub const WORKER_LAUNCH: &str = "ringstorm.worker.launch";
/// How long a core of another worker may be away before it holds its senders no more, in seconds: what is for it is dropped
/// then, and its trees fail, until it is back.
pub const WORKER_ABSENCE_SECS: &str = "ringstorm.worker.absence.secs";
/// How connections between worker processes receive and send: `io_uring`, `readiness` (calls that do not wait, and epoll),
/// or `auto`, which is io_uring where the system allows it.
pub const WORKER_SOCKETS: &str = "ringstorm.worker.sockets";
/// Whether cores spin when they are idle instead of parking.
pub const CORES_ALWAYS_SPIN: &str = "ringstorm.cores.always.spin";
/// Whether cores are pinned to CPUs: `pinned` or `unbound`.
pub const CORES_PLACEMENT: &str = "ringstorm.cores.placement";
/// The number of cells of a data ring, a power of two.
pub const RING_CELLS: &str = "ringstorm.ring.cells";
/// The size of a frame, in bytes.
pub const FRAME_BYTES: &str = "ringstorm.frame.bytes";
/// The fill of an inbox at which its feeders are paused, in bytes.
pub const INBOX_MARK_BYTES: &str = "ringstorm.inbox.mark.bytes";
/// The fill of the inboxes of a cycle beyond which it is taken to emit more than it consumes, in bytes.
pub const CYCLE_LIMIT_BYTES: &str = "ringstorm.cycle.limit.bytes";
/// How long a topology that ends may take to work off what is under way, in seconds.
pub const DRAIN_TIMEOUT_SECS: &str = "ringstorm.drain.timeout.secs";
/// How often a task may fail before its worker gives up.
pub const TASK_FAILURE_LIMIT: &str = "ringstorm.task.failure.limit";

/// How many executors share the tasks of `__acker` after a rebalance. Nobody can set it: it is refused where a topology is
/// built, and put there afterwards.
pub(crate) const ACKERS_SHARED_BY: &str = "ringstorm.ackers.shared.by";
/// In the configuration of a topology that was submitted: the words of its executable's own options, in their order.
pub const MAIN_ARGS: &str = "ringstorm.main.args";
/// In the configuration of a topology that was submitted: the [`WIRE_FORMAT`](crate::wire_format::WIRE_FORMAT) of its
/// executable.
pub const WIRE_FORMAT: &str = "ringstorm.wire.format";

/// Default of [`TOPOLOGY_WORKERS`].
pub const DEFAULT_WORKERS: u32 = 1;
/// Default of [`TOPOLOGY_MESSAGE_TIMEOUT_SECS`].
pub const DEFAULT_MESSAGE_TIMEOUT_SECS: u32 = 30;
/// Default of [`TOPOLOGY_STATS_SAMPLE_RATE`].
pub const DEFAULT_STATS_SAMPLE_RATE: f64 = 0.05;
/// Default of [`TOPOLOGY_MAX_ERROR_REPORT_PER_INTERVAL`].
pub const DEFAULT_MAX_ERROR_REPORT_PER_INTERVAL: u32 = 5;
/// Default of [`TOPOLOGY_ERROR_THROTTLE_INTERVAL_SECS`].
pub const DEFAULT_ERROR_THROTTLE_INTERVAL_SECS: u32 = 10;
/// Default of [`TOPOLOGY_TUPLE_MAX_BYTES`]: 64 MiB.
pub const DEFAULT_TUPLE_MAX_BYTES: usize = 64 << 20;
/// Default of [`RING_CELLS`]. With [`DEFAULT_FRAME_BYTES`] a ring that is full holds 4 MiB: more than the private cache of
/// a core, and that is what makes it fast. In a smaller ring the producer takes each line out of the consumer's cache
/// and the consumer takes it back; in a larger one the line has gone to the shared cache meanwhile, which answers sooner.
pub const DEFAULT_RING_CELLS: usize = 512;
/// Default of [`FRAME_BYTES`]: 8 KiB.
pub const DEFAULT_FRAME_BYTES: usize = 8 << 10;
/// Default of [`INBOX_MARK_BYTES`]: 256 KiB, 32 frames.
pub const DEFAULT_INBOX_MARK_BYTES: usize = 256 << 10;
/// Default of [`CYCLE_LIMIT_BYTES`]: 256 MiB.
pub const DEFAULT_CYCLE_LIMIT_BYTES: usize = 256 << 20;
/// Default of [`WORKER_ABSENCE_SECS`].
pub const DEFAULT_WORKER_ABSENCE_SECS: f64 = 15.0;
/// Default of [`DRAIN_TIMEOUT_SECS`].
pub const DEFAULT_DRAIN_TIMEOUT_SECS: f64 = 30.0;
/// Default of [`TASK_FAILURE_LIMIT`].
pub const DEFAULT_TASK_FAILURE_LIMIT: u32 = 10;

/// The most tasks, and so executors, of a topology. Tables are made by task id: the bound turns a slip such as a
/// parallelism of a billion into an error in place of a process without memory.
pub const MAX_TASKS: u32 = 1_000_000;
/// The most cores of a worker.
pub const MAX_WORKER_CORES: usize = 1024;
