//! The numbers as people and tools ask for them: per component, per stream, per executor.

use std::time::Duration;

use ringstorm_types::ExecutorId;

use super::{ConnectionMetrics, CoreSnapshot, Counts, ExecutorSnapshot, Latency, QueueSnapshot, Window};

/// Capacity looks back this far at most, as in Storm.
const CAPACITY_SPAN: Duration = Duration::from_secs(600);

/// A topology in numbers. As text it is a table, see also [`TopologyMetrics::to_json`].
#[derive(Debug, Clone)]
pub struct TopologyMetrics {
    /// Since the start of the run.
    pub uptime: Duration,
    /// In the order in which tuples flow, the system's own last.
    pub components: Vec<ComponentMetrics>,
    /// Where memory is.
    pub memory: MemoryMetrics,
    /// Roots that ackers track.
    pub open_roots: usize,
    /// Times that a ring between two cores was full.
    pub ring_full_count: u64,
    /// Un-anchored tuples that were lost in an overfull cycle, or could not be delivered at the end.
    pub lost_unanchored: u64,
    /// Tuples that were on their way to a worker that died or was away for too long; those that are anchored were failed.
    pub lost_with_workers: u64,
    /// Worker processes that died, as far as whoever made this knows: what they had counted is nowhere here.
    pub worker_deaths: u64,
    /// Connections between workers.
    pub connections: Vec<ConnectionMetrics>,
}

/// A component in numbers.
#[derive(Debug, Clone)]
pub struct ComponentMetrics {
    /// Its id.
    pub id: String,
    /// Whether it is a spout.
    pub is_spout: bool,
    /// Tasks.
    pub tasks: usize,
    /// Its executors, by task.
    pub executors: Vec<ExecutorMetrics>,
    /// By window, as in [`Window::ALL`].
    pub windows: [Counts; 4],
    /// Time in `execute`, by tuple.
    pub execute: Latency,
    /// From receipt to ack, by tuple.
    pub process: Latency,
    /// Spouts: from emit to the ack of the whole tree, by message.
    pub complete: Latency,
    /// The busy share of its busiest executor, 0 to 1: tuples executed times their average time in `execute`, over the
    /// last ten minutes or the age of the run.
    pub capacity: f64,
    /// Messages that are neither acked nor failed.
    pub pending: usize,
    /// The receive queues of its executors together.
    pub receive_queue: QueueMetrics,
}

/// An executor in numbers.
#[derive(Debug, Clone)]
pub struct ExecutorMetrics {
    /// First and last task.
    pub id: ExecutorId,
    /// The core that it lives on; those behind the cores proper are threads of blocking executors.
    pub core: usize,
    /// Since the start.
    pub counts: Counts,
    /// As for the component.
    pub capacity: f64,
    /// Messages that are neither acked nor failed.
    pub pending: usize,
    /// Its receive queue.
    pub receive_queue: QueueMetrics,
    /// Spouts: why it is not being asked for tuples; empty while it is.
    pub why_idle: String,
}

/// A queue under Storm's names, but bounded in bytes where Storm counts tuples. Of several queues together, counts and
/// bytes are sums, and `population_max`, `pct_full` and `sojourn_time_ms` those of the worst.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueueMetrics {
    /// Tuples inside.
    pub population: usize,
    /// The largest population so far.
    pub population_max: usize,
    /// Bytes inside.
    pub bytes: usize,
    /// Bytes at which the feeders are paused.
    pub capacity_bytes: usize,
    /// 100 * bytes / capacity; above 100 while there is overflow.
    pub pct_full: f64,
    /// Tuples taken in per second between the last two records of the history.
    pub arrival_rate_secs: f64,
    /// Estimated time that a tuple waits, in milliseconds.
    pub sojourn_time_ms: f64,
    /// Tuples that wait beyond the capacity.
    pub overflow: usize,
    /// Times that the feeders were paused.
    pub pauses: u64,
}

impl QueueMetrics {
    fn new(queue: &QueueSnapshot, arrival_rate_secs: f64) -> Self {
        Self {
            population: queue.population,
            population_max: queue.population_max,
            bytes: queue.bytes,
            capacity_bytes: queue.capacity_bytes,
            pct_full: 100.0 * queue.bytes as f64 / queue.capacity_bytes.max(1) as f64,
            arrival_rate_secs,
            sojourn_time_ms: queue.sojourn_time_ns as f64 / 1e6,
            overflow: queue.overflow,
            pauses: queue.pauses,
        }
    }

    fn add(&mut self, other: &Self) {
        self.population += other.population;
        self.population_max = self.population_max.max(other.population_max);
        self.bytes += other.bytes;
        self.capacity_bytes += other.capacity_bytes;
        self.pct_full = self.pct_full.max(other.pct_full);
        self.arrival_rate_secs += other.arrival_rate_secs;
        self.sojourn_time_ms = self.sojourn_time_ms.max(other.sojourn_time_ms);
        self.overflow += other.overflow;
        self.pauses += other.pauses;
    }
}

/// Where a worker's memory is, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryMetrics {
    /// Data rings between cores, once every cell has carried a frame.
    pub ring_bytes: usize,
    /// Frames that cores hold: pooled, open, waiting in receive queues.
    pub frame_bytes: usize,
    /// Ack ledgers and folders.
    pub ledger_bytes: usize,
    /// Pending tables of spouts.
    pub pending_bytes: usize,
}

/// An executor as the history knows it.
pub(super) struct ExecutorView<'a> {
    pub(super) core: usize,
    pub(super) snapshot: &'a ExecutorSnapshot,
    pub(super) windows: [Counts; 4],
    pub(super) arrival_rate_secs: f64,
}

impl TopologyMetrics {
    pub(super) fn new<'a>(
        uptime: Duration,
        cores: impl Iterator<Item = &'a CoreSnapshot> + Clone,
        executors: impl Iterator<Item = ExecutorView<'a>>,
    ) -> Self {
        let mut components: Vec<ComponentMetrics> = Vec::new();
        for view in executors {
            let id = &view.snapshot.component;
            let index = components.iter().position(|component| component.id == *id).unwrap_or_else(|| {
                components.push(ComponentMetrics::empty(id, view.snapshot.is_spout));
                components.len() - 1
            });
            components[index].add(view, uptime);
        }
        let mut metrics = Self {
            uptime,
            components: in_order_of_flow(components),
            memory: MemoryMetrics::default(),
            open_roots: 0,
            ring_full_count: 0,
            lost_unanchored: 0,
            lost_with_workers: 0,
            worker_deaths: 0,
            connections: ConnectionMetrics::of(cores.clone()),
        };
        for core in cores {
            metrics.memory.ring_bytes += core.ring_bytes;
            metrics.memory.frame_bytes += core.frame_bytes;
            metrics.memory.ledger_bytes += core.ledger_bytes;
            metrics.memory.pending_bytes += core.pending_bytes;
            metrics.open_roots += core.open_roots;
            metrics.ring_full_count += core.ring_full_count;
            metrics.lost_unanchored += core.lost_unanchored;
            metrics.lost_with_workers += core.lost_with_workers;
        }
        metrics
    }

    /// A component by its id.
    pub fn component(&self, id: &str) -> Option<&ComponentMetrics> {
        self.components.iter().find(|component| component.id == id)
    }

    /// The spouts, then.
    pub fn spouts(&self) -> impl Iterator<Item = &ComponentMetrics> {
        self.components.iter().filter(|component| component.is_spout)
    }

    /// Messages that spouts had acked within the window.
    pub fn acked(&self, window: Window) -> u64 {
        self.spouts().map(|spout| spout.counts(window).acked()).sum()
    }

    /// Messages of spouts that failed within the window.
    pub fn failed(&self, window: Window) -> u64 {
        self.spouts().map(|spout| spout.counts(window).failed()).sum()
    }

    /// Tuples that spouts emitted within the window.
    pub fn emitted_by_spouts(&self, window: Window) -> u64 {
        self.spouts().map(|spout| spout.counts(window).emitted()).sum()
    }

    /// Complete latency over all spouts.
    pub fn complete(&self) -> Latency {
        let mut complete = Latency::default();
        self.spouts().for_each(|spout| complete.add(spout.complete.histogram()));
        complete
    }
}

impl ComponentMetrics {
    fn empty(id: &str, is_spout: bool) -> Self {
        Self {
            id: id.to_owned(),
            is_spout,
            tasks: 0,
            executors: Vec::new(),
            windows: Default::default(),
            execute: Latency::default(),
            process: Latency::default(),
            complete: Latency::default(),
            capacity: 0.0,
            pending: 0,
            receive_queue: QueueMetrics::default(),
        }
    }

    fn add(&mut self, view: ExecutorView<'_>, uptime: Duration) {
        let ExecutorView { core, snapshot, windows, arrival_rate_secs } = view;
        for (sum, counts) in self.windows.iter_mut().zip(&windows) {
            sum.add(counts);
        }
        for input in &snapshot.inputs {
            input.execute_ns.iter().for_each(|histogram| self.execute.add(histogram));
            input.process_ns.iter().for_each(|histogram| self.process.add(histogram));
        }
        snapshot.complete_ns.iter().for_each(|histogram| self.complete.add(histogram));
        let [recent, .., all_time] = windows;
        let capacity = busy_share(recent.busy_ns, uptime);
        let receive_queue = QueueMetrics::new(&snapshot.receive_queue, arrival_rate_secs);
        self.tasks += snapshot.id.task_count();
        self.capacity = self.capacity.max(capacity);
        self.pending += snapshot.pending;
        self.receive_queue.add(&receive_queue);
        self.executors.push(ExecutorMetrics {
            id: snapshot.id,
            core,
            counts: all_time,
            capacity,
            pending: snapshot.pending,
            receive_queue,
            why_idle: snapshot.why_idle.clone(),
        });
        self.executors.sort_by_key(|executor| executor.id);
    }

    /// What was counted within a window.
    pub fn counts(&self, window: Window) -> &Counts {
        &self.windows[window as usize]
    }

    /// Whether it belongs to the system and not to the user.
    pub fn is_system(&self) -> bool {
        self.id.starts_with("__")
    }
}

/// Storm's capacity: executed times average execute latency is the time spent executing.
fn busy_share(busy_ns: u64, uptime: Duration) -> f64 {
    let span = uptime.min(CAPACITY_SPAN).as_nanos();
    if span == 0 { 0.0 } else { busy_ns as f64 / span as f64 }
}

/// Components after those that feed them; where a cycle leaves no such order, by id. The system's own come last.
fn in_order_of_flow(mut left: Vec<ComponentMetrics>) -> Vec<ComponentMetrics> {
    left.sort_by(|a, b| (a.is_system(), !a.is_spout, &a.id).cmp(&(b.is_system(), !b.is_spout, &b.id)));
    let mut ordered: Vec<ComponentMetrics> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits_for_none = |component: &ComponentMetrics| {
            let mut inputs = component.counts(Window::AllTime).inputs.iter();
            inputs.all(|input| input.component == component.id || !left.iter().any(|other| other.id == input.component))
        };
        let next = left.iter().position(waits_for_none).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

#[cfg(test)]
mod tests;
