//! What the metrics of a run say, against what the components themselves counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringstorm::metrics::{MetricsHistory, TopologyMetrics, Window};
use ringstorm::prelude::*;
use ringstorm::{LocalOptions, Outcome};

#[derive(Tuple)]
struct Number {
    value: u64,
}

struct Numbers {
    next: u64,
    end: u64,
}

impl Spout for Numbers {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if self.next == self.end {
            return Ok(Next::Finished);
        }
        collector.emit_with_id(self.next, &Number { value: self.next });
        self.next += 1;
        Ok(Next::Emitted)
    }
}

/// Passes numbers on, after a wait if there is one; counts them and the time of its calls.
struct Pass {
    wait: Duration,
    calls: Arc<Calls>,
}

#[derive(Default)]
struct Calls {
    count: AtomicU64,
    time_ns: AtomicU64,
}

impl SimpleBolt for Pass {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: &Input<'_>, emitter: &mut Emitter<'_, '_, '_>) -> Result {
        let started = Instant::now();
        if !self.wait.is_zero() {
            std::thread::sleep(self.wait);
        }
        emitter.emit(&Number { value: input.view::<Number>()?.value() });
        self.calls.count.fetch_add(1, Ordering::Relaxed);
        self.calls.time_ns.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(())
    }
}

fn two_stages(count: u64) -> (TopologyBuilder, Arc<Calls>) {
    let calls = Arc::new(Calls::default());
    let mut topology = TopologyBuilder::new();
    topology.set("ringstorm.worker.cores", 2);
    topology.spout("numbers", move || Numbers { next: 0, end: count });
    let shared = Arc::clone(&calls);
    let pass = move || Pass { wait: Duration::ZERO, calls: Arc::clone(&shared) };
    topology.simple_bolt("first", pass).parallelism(2).shuffle_grouping("numbers");
    topology.simple_bolt("second", || Pass { wait: Duration::ZERO, calls: Arc::default() }).global_grouping("first");
    (topology, calls)
}

/// Counters that must not go down from one reading to the next.
fn counters(metrics: &TopologyMetrics) -> Vec<u64> {
    let counts = metrics.components.iter().map(|component| component.counts(Window::AllTime));
    counts.flat_map(|counts| [counts.emitted(), counts.transferred(), counts.executed(), counts.acked()]).collect()
}

/// B126: sender and receiver totals are equal at the end, and no counter ever goes down or below zero.
#[test]
fn what_was_transferred_was_executed() {
    const COUNT: u64 = 1_000_000;
    let (topology, calls) = two_stages(COUNT);
    let running =
        LocalCluster::new().submit("totals", topology.build(&Config::new()).unwrap(), LocalOptions::default()).unwrap();
    let (observer, started) = (running.observer(), Instant::now());
    let readings = std::thread::spawn(move || {
        let mut history = MetricsHistory::new();
        let mut readings: Vec<Vec<u64>> = Vec::new();
        loop {
            let snapshots = observer.snapshots();
            if snapshots.is_empty() {
                return readings;
            }
            // A fresh history as well: its own numbers must not go down either, without being held up by older ones.
            let mut fresh = MetricsHistory::new();
            fresh.record(started.elapsed(), snapshots.iter().cloned());
            history.record(started.elapsed(), snapshots);
            assert_eq!(counters(&fresh.metrics()), counters(&history.metrics()));
            readings.push(counters(&history.metrics()));
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let report = running.wait();
    let readings = readings.join().unwrap();
    assert_eq!((report.outcome.clone(), report.error_count), (Outcome::Completed, 0), "{:?}", report.errors);
    for pair in readings.windows(2) {
        assert!(pair[0].iter().zip(&pair[1]).all(|(before, after)| before <= after), "{pair:?}");
    }

    let metrics = report.metrics();
    let counts = |id: &str| metrics.component(id).unwrap().counts(Window::AllTime).clone();
    let (numbers, first, second) = (counts("numbers"), counts("first"), counts("second"));
    assert_eq!((numbers.emitted(), numbers.transferred(), numbers.acked()), (COUNT, COUNT, COUNT));
    assert_eq!((first.executed(), first.acked(), first.transferred()), (COUNT, COUNT, COUNT));
    assert_eq!((second.executed(), second.acked(), second.failed()), (COUNT, COUNT, 0));
    assert_eq!(first.inputs[0].executed, numbers.outputs[0].transferred);
    assert_eq!(second.inputs[0].executed, first.outputs[0].transferred);
    assert_eq!(calls.count.load(Ordering::Relaxed), COUNT);
    assert_eq!(metrics.component("first").unwrap().execute.count(), COUNT);
    assert_eq!(metrics.component("numbers").unwrap().pending, 0);
    // Nobody subscribes to what the last stage emits: it is emitted and goes nowhere.
    assert_eq!((second.emitted(), second.transferred()), (COUNT, 0));
}

/// B127: the execute latency is that of the calls, on a core and on a thread of its own.
#[test]
fn execute_latency_is_the_time_of_the_calls() {
    const WAIT: Duration = Duration::from_millis(5);
    for blocking in [false, true] {
        let calls = Arc::new(Calls::default());
        let mut topology = TopologyBuilder::new();
        topology.set("topology.stats.sample.rate", 0.05);
        topology.spout("numbers", || Numbers { next: 0, end: 200 });
        let shared = Arc::clone(&calls);
        let slow = move || Pass { wait: WAIT, calls: Arc::clone(&shared) };
        let slow = topology.simple_bolt("slow", slow).parallelism(2).shuffle_grouping("numbers");
        if blocking {
            slow.blocking();
        }
        let report = LocalCluster::new().run("slow", topology.build(&Config::new()).unwrap()).unwrap();
        assert_eq!(report.outcome, Outcome::Completed);
        let metrics = report.metrics();
        let slow = metrics.component("slow").unwrap();
        let measured_ms = calls.time_ns.load(Ordering::Relaxed) as f64 / 200.0 / 1e6;
        let shown_ms = slow.counts(Window::AllTime).execute_ms_avg();
        // A sleep takes longer on a busy machine; the bolt itself says how long.
        assert!(measured_ms >= 5.0 && (shown_ms - measured_ms).abs() < 0.1 * measured_ms, "{shown_ms} {measured_ms}");
        assert_eq!(slow.execute.count(), 200);
        assert!(slow.execute.quantile(0.5) >= Duration::from_micros(4900), "{:?}", slow.execute.quantile(0.5));
        assert!(slow.capacity > 0.5 && slow.capacity <= 1.01, "{}", slow.capacity);
    }
}
