//! The metrics as JSON. Field names follow Storm's REST interface where it has one, with units in the names.

use serde_json::{Map, Value, json};

use super::{ComponentMetrics, ConnectionMetrics, Counts, ExecutorMetrics, QueueMetrics, TopologyMetrics, Window};

impl TopologyMetrics {
    /// The metrics as a JSON object.
    ///
    /// `components` holds one object for each component, in the order in which tuples flow, with its counts by window
    /// (`"600"`, `"10800"`, `"86400"`, `":all-time"`), its latencies in milliseconds, its `receive_queue` and its
    /// `executors`. What workers had counted that died (`worker_deaths`) is in none of them.
    pub fn to_json(&self) -> Value {
        json!({
            "uptime_secs": self.uptime.as_secs_f64(),
            "components": self.components.iter().map(component).collect::<Vec<_>>(),
            "memory": {
                "ring_bytes": self.memory.ring_bytes,
                "frame_bytes": self.memory.frame_bytes,
                "ledger_bytes": self.memory.ledger_bytes,
                "pending_bytes": self.memory.pending_bytes,
            },
            "open_roots": self.open_roots,
            "ring_full_count": self.ring_full_count,
            "lost_unanchored": self.lost_unanchored,
            "lost_with_workers": self.lost_with_workers,
            "worker_deaths": self.worker_deaths,
            "connections": self.connections.iter().map(ConnectionMetrics::to_json).collect::<Vec<_>>(),
        })
    }
}

fn component(component: &ComponentMetrics) -> Value {
    let windows: Map<String, Value> = Window::ALL
        .iter()
        .map(|window| (window.name().to_owned(), counts(component.counts(*window), component.is_spout)))
        .collect();
    let latency = if component.is_spout {
        json!({ "complete": component.complete.to_json() })
    } else {
        json!({ "execute": component.execute.to_json(), "process": component.process.to_json() })
    };
    let mut object = json!({
        "id": component.id,
        "type": if component.is_spout { "spout" } else { "bolt" },
        "tasks": component.tasks,
        "windows": windows,
        "latency": latency,
        "executors": component.executors.iter().map(|one| executor(one, component.is_spout)).collect::<Vec<_>>(),
    });
    if component.is_spout {
        object["pending"] = json!(component.pending);
    } else {
        object["capacity"] = json!(component.capacity);
        object["receive_queue"] = queue(&component.receive_queue);
    }
    object
}

fn executor(executor: &ExecutorMetrics, is_spout: bool) -> Value {
    let mut object = json!({
        "id": executor.id.to_string(),
        "core": executor.core,
        "counts": totals(&executor.counts, is_spout),
    });
    if is_spout {
        object["pending"] = json!(executor.pending);
        object["why_idle"] = json!(executor.why_idle);
    } else {
        object["capacity"] = json!(executor.capacity);
        object["receive_queue"] = queue(&executor.receive_queue);
    }
    object
}

/// The sums over all streams.
fn totals(counts: &Counts, is_spout: bool) -> Value {
    if is_spout {
        json!({
            "emitted": counts.emitted(),
            "transferred": counts.transferred(),
            "acked": counts.acked(),
            "failed": counts.failed(),
            "timed_out": counts.spout.timed_out,
            "complete_ms_avg": counts.complete_ms_avg(),
        })
    } else {
        json!({
            "emitted": counts.emitted(),
            "transferred": counts.transferred(),
            "executed": counts.executed(),
            "acked": counts.acked(),
            "failed": counts.failed(),
            "execute_ms_avg": counts.execute_ms_avg(),
            "process_ms_avg": counts.process_ms_avg(),
        })
    }
}

/// The sums, and each stream.
fn counts(counts: &Counts, is_spout: bool) -> Value {
    let outputs = counts
        .outputs
        .iter()
        .map(|output| json!({ "stream": output.stream, "emitted": output.emitted, "transferred": output.transferred }));
    let inputs = counts.inputs.iter().map(|input| {
        json!({
            "component": input.component,
            "stream": input.stream,
            "executed": input.executed,
            "acked": input.acked,
            "failed": input.failed,
            "execute_ms_avg": input.execute_ms_avg(),
            "process_ms_avg": input.process_ms_avg(),
        })
    });
    let mut object = totals(counts, is_spout);
    object["outputs"] = outputs.collect();
    if !is_spout {
        object["inputs"] = inputs.collect();
    }
    object
}

fn queue(queue: &QueueMetrics) -> Value {
    json!({
        "population": queue.population,
        "population_max": queue.population_max,
        "bytes": queue.bytes,
        "capacity_bytes": queue.capacity_bytes,
        "pct_full": queue.pct_full,
        "arrival_rate_secs": queue.arrival_rate_secs,
        "sojourn_time_ms": queue.sojourn_time_ms,
        "overflow": queue.overflow,
        "pauses": queue.pauses,
    })
}
