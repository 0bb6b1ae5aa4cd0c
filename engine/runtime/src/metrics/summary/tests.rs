//! Tests of the sums that a summary shows.

use std::time::Duration;

use ringstorm_types::{ExecutorId, TaskId};

use super::*;
use crate::core::stats::new_histogram;
use crate::metrics::{InputSnapshot, MetricsHistory, OutputSnapshot};

fn executor(task: i32, component: &str, is_spout: bool) -> ExecutorSnapshot {
    ExecutorSnapshot {
        id: ExecutorId { first: TaskId(task), last: TaskId(task) },
        component: component.into(),
        is_spout,
        outputs: Vec::new(),
        inputs: Vec::new(),
        acked: 0,
        failed: 0,
        timed_out: 0,
        pending: 0,
        complete_ns: None,
        busy_ns: 0,
        receive_queue: QueueSnapshot::default(),
        why_idle: String::new(),
    }
}

fn spout(task: i32, emitted: u64, acked: u64) -> ExecutorSnapshot {
    let mut complete = new_histogram();
    complete.record_n(2_000_000, acked.max(1)).unwrap();
    ExecutorSnapshot {
        outputs: vec![OutputSnapshot { stream: "default".into(), emitted, transferred: emitted }],
        acked,
        pending: (emitted - acked) as usize,
        complete_ns: Some(complete),
        why_idle: "its source has nothing".into(),
        ..executor(task, "zeta", true)
    }
}

fn bolt(task: i32, executed: u64, busy: Duration) -> ExecutorSnapshot {
    let mut execute = new_histogram();
    execute.record_n(busy.as_nanos() as u64 / executed.max(1), executed).unwrap();
    ExecutorSnapshot {
        inputs: vec![InputSnapshot {
            component: "zeta".into(),
            stream: "default".into(),
            executed,
            acked: executed,
            failed: 0,
            execute_ns: Some(execute.clone()),
            process_ns: Some(execute),
        }],
        busy_ns: busy.as_nanos() as u64,
        receive_queue: QueueSnapshot { bytes: 50, capacity_bytes: 200, taken: executed, ..QueueSnapshot::default() },
        ..executor(task, "alpha", false)
    }
}

fn core(core: usize, executors: Vec<ExecutorSnapshot>) -> CoreSnapshot {
    CoreSnapshot { core, executors, frame_bytes: 10, ring_bytes: 100, ..CoreSnapshot::default() }
}

fn example(history: &mut MetricsHistory, seconds: u64, scale: u64) {
    let cores = [
        core(0, vec![spout(3, 30 * scale, 20 * scale), bolt(1, 10 * scale, Duration::from_millis(100 * scale))]),
        core(1, vec![bolt(2, 20 * scale, Duration::from_millis(500 * scale)), executor(4, "__acker", false)]),
    ];
    history.record(Duration::from_secs(seconds), cores);
}

#[test]
fn executors_become_components_in_the_order_of_flow() {
    let mut history = MetricsHistory::new();
    example(&mut history, 2, 1);
    let metrics = history.metrics();
    let ids: Vec<&str> = metrics.components.iter().map(|component| &*component.id).collect();
    assert_eq!(ids, ["zeta", "alpha", "__acker"]);
    let bolt = metrics.component("alpha").unwrap();
    let counts = bolt.counts(Window::AllTime);
    assert_eq!((bolt.tasks, bolt.executors.len(), counts.executed(), counts.acked()), (2, 2, 30, 30));
    assert_eq!(bolt.execute.count(), 30);
    assert!((counts.execute_ms_avg() - 20.0).abs() < 0.2, "{}", counts.execute_ms_avg());
    assert_eq!(bolt.receive_queue.capacity_bytes, 400);
    assert_eq!(bolt.receive_queue.pct_full, 25.0);
    assert_eq!(bolt.receive_queue.arrival_rate_secs, 15.0);
    let spout = metrics.component("zeta").unwrap();
    assert_eq!((spout.pending, spout.counts(Window::TenMinutes).acked()), (10, 20));
    assert_eq!((metrics.acked(Window::AllTime), metrics.emitted_by_spouts(Window::AllTime)), (20, 30));
    assert!((metrics.complete().mean().as_secs_f64() - 0.002).abs() < 2e-5);
    assert_eq!((metrics.memory.frame_bytes, metrics.memory.ring_bytes), (20, 200));
}

#[test]
fn capacity_is_the_busy_share_of_the_busiest_executor() {
    let mut history = MetricsHistory::new();
    example(&mut history, 2, 1);
    let capacity = history.metrics().component("alpha").unwrap().capacity;
    assert!((capacity - 0.25).abs() < 1e-9, "{capacity}");
    // Ten minutes on, nothing more was done: Storm's formula looks at the last 600 seconds only.
    for seconds in [30, 300, 900] {
        example(&mut history, seconds, 1);
    }
    assert_eq!(history.metrics().component("alpha").unwrap().capacity, 0.0);
    assert_eq!(history.metrics().component("alpha").unwrap().counts(Window::TenMinutes).executed(), 0);
    assert_eq!(history.metrics().component("alpha").unwrap().counts(Window::ThreeHours).executed(), 30);
}

#[test]
fn a_core_that_does_not_answer_keeps_its_numbers() {
    let mut history = MetricsHistory::new();
    example(&mut history, 10, 1);
    history.record(Duration::from_secs(20), [core(1, vec![bolt(2, 40, Duration::from_millis(600))])]);
    let metrics = history.metrics();
    assert_eq!(metrics.component("alpha").unwrap().counts(Window::AllTime).executed(), 50);
    assert_eq!(metrics.component("zeta").unwrap().counts(Window::AllTime).emitted(), 30);
    assert_eq!(metrics.uptime, Duration::from_secs(20));
}

#[test]
fn counters_never_go_down_even_if_a_core_says_so() {
    let mut history = MetricsHistory::new();
    example(&mut history, 10, 3);
    example(&mut history, 20, 2);
    let metrics = history.metrics();
    assert_eq!(metrics.component("alpha").unwrap().counts(Window::AllTime).executed(), 90);
    assert!(metrics.components.iter().all(|component| component.receive_queue.arrival_rate_secs >= 0.0));
}

#[test]
fn json_has_storms_windows_and_names() {
    let mut history = MetricsHistory::new();
    example(&mut history, 2, 1);
    let json = history.metrics().to_json();
    let bolt = &json["components"][1];
    for window in ["600", "10800", "86400", ":all-time"] {
        assert_eq!(bolt["windows"][window]["executed"], 30);
        assert_eq!(bolt["windows"][window]["inputs"][0]["component"], "zeta");
    }
    assert_eq!(bolt["receive_queue"]["arrival_rate_secs"], 15.0);
    assert_eq!(bolt["executors"][0]["id"], "[1,1]");
    assert_eq!(json["components"][0]["latency"]["complete"]["count"], 20);
    assert_eq!(json["components"][0]["executors"][0]["why_idle"], "its source has nothing");
    // Nothing in it is null: every number was finite.
    assert!(!json.to_string().contains("null"), "{json}");
}

#[test]
fn nothing_at_all_is_still_a_table() {
    let metrics = MetricsHistory::new().metrics();
    assert!(metrics.to_string().starts_with("component  type  tasks"));
    assert!(!metrics.to_json().to_string().contains("null"));
}

#[test]
fn the_table_is_aligned() {
    let mut history = MetricsHistory::new();
    example(&mut history, 2, 1000);
    let text = history.metrics().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "component  type   tasks  emitted  transferred  executed   acked  failed  pending  capacity");
    assert_eq!(lines[1], "zeta       spout      1   30,000       30,000            20,000       0   10,000");
    assert_eq!(lines[2], "alpha      bolt       2        0            0    30,000  30,000       0            250.000");
    assert!(text.contains("zeta       complete  20,000  2.00 ms"), "{text}");
    assert!(text.contains("zeta [3,3] waits: its source has nothing"), "{text}");
    assert!(text.contains("memory: rings 200 B, frames 20 B"), "{text}");
}
