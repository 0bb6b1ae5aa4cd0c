//! From open to close: who is called when, how often, and where.

use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use ringstorm_runtime::{
    Bolt, BoltCollector, Declarer, Input, LocalOptions, Next, Outcome, Result, Spout, SpoutCollector, TopologyBuilder,
    TopologyContext, Unanchored,
};

use crate::harness::*;

/// What was called, in order, with the thread it was called on.
#[derive(Default)]
struct Calls(Mutex<Vec<(String, ThreadId)>>);

impl Calls {
    fn note(&self, call: impl Into<String>) {
        self.0.lock().unwrap().push((call.into(), std::thread::current().id()));
    }
    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }
    fn count(&self, call: &str) -> usize {
        self.names().iter().filter(|name| *name == call).count()
    }
    fn position(&self, call: &str) -> usize {
        self.names().iter().position(|name| name == call).unwrap_or_else(|| panic!("no {call}: {:?}", self.names()))
    }
}

struct NotedSpout {
    seq: Seq,
    calls: Arc<Calls>,
}

impl Spout for NotedSpout {
    fn declare(&self, declarer: &mut Declarer) {
        self.seq.declare(declarer);
    }
    fn open(&mut self, context: &TopologyContext) -> Result {
        self.calls.note("open");
        self.seq.open(context)
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        let next = self.seq.next_tuple(collector);
        self.calls.note("next");
        next
    }
    fn ack(&mut self, id: ringstorm_types::MessageId) {
        self.seq.ack(id);
    }
    fn activate(&mut self) {
        self.calls.note("activate");
    }
    fn deactivate(&mut self) {
        self.calls.note("deactivate");
    }
    fn close(&mut self) {
        self.calls.note("close");
    }
}

/// Passes numbers on and emits its own at the end.
struct Noted {
    name: &'static str,
    last: Option<u64>,
    finished: bool,
    calls: Arc<Calls>,
}

impl Bolt for Noted {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn prepare(&mut self, _: &TopologyContext) -> Result {
        self.calls.note(format!("{} prepare", self.name));
        Ok(())
    }
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        assert!(!self.finished, "{} executes after it has finished", self.name);
        collector.forward(input);
        collector.ack(input);
        Ok(())
    }
    fn finish(&mut self, collector: &mut BoltCollector<'_>) -> Result {
        self.calls.note(format!("{} finish", self.name));
        self.finished = true;
        if let Some(value) = self.last {
            collector.emit(Unanchored, &Number { value });
        }
        Ok(())
    }
    fn cleanup(&mut self) {
        self.calls.note(format!("{} cleanup", self.name));
    }
}

fn noted(name: &'static str, last: Option<u64>, calls: &Arc<Calls>) -> impl Fn() -> Noted + Send + Sync + 'static {
    let calls = Arc::clone(calls);
    move || Noted { name, last, finished: false, calls: Arc::clone(&calls) }
}

/// z, y, x: against the alphabet, so that the order is that of the flow.
fn line(seq: Seq, calls: &Arc<Calls>, rows: &Arc<Rows>) -> TopologyBuilder {
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(calls);
    topology.spout("spout", move || NotedSpout { seq: seq.clone(), calls: Arc::clone(&shared) });
    topology.bolt("z", noted("z", Some(1001), calls)).shuffle_grouping("spout");
    topology.bolt("y", noted("y", Some(1002), calls)).shuffle_grouping("z").shuffle_grouping("spout");
    topology.bolt("x", noted("x", Some(1003), calls)).shuffle_grouping("y");
    topology.bolt("sink", sink(rows)).shuffle_grouping("x");
    topology
}

#[test]
fn everything_is_called_once_in_order_on_one_thread_each() {
    let (calls, rows, journal) = (Arc::<Calls>::default(), Arc::<Rows>::default(), Arc::<Journal>::default());
    let report = run(line(Seq::new(100, &journal), &calls, &rows), &config(&[]));
    assert_clean(&report);
    journal.assert_all_acked_once(100);
    for call in ["open", "activate", "close", "x prepare", "x finish", "x cleanup", "z finish"] {
        assert_eq!(calls.count(call), 1, "{call} in {:?}", calls.names());
    }
    assert_eq!(calls.count("deactivate"), 0);
    assert!(calls.position("open") < calls.position("activate"));
    assert!(calls.position("activate") < calls.position("next"));
    let finishes = ["z finish", "y finish", "x finish"].map(|call| calls.position(call));
    assert!(finishes.is_sorted(), "{:?}", calls.names());
    assert!(finishes[2] < calls.position("close") && finishes[2] < calls.position("z cleanup"));
    // What z emitted last went through y and x before those finished, and so on.
    assert_eq!(rows.values()[200..], [1001, 1002, 1003]);
    // Every call of one component is made on one thread.
    for component in ["z", "y", "x"] {
        let calls = calls.0.lock().unwrap();
        let mut threads: Vec<ThreadId> =
            calls.iter().filter(|(call, _)| call.starts_with(component)).map(|(_, thread)| *thread).collect();
        threads.dedup();
        assert_eq!(threads.len(), 1);
    }
}

#[test]
fn an_inactive_start_waits_and_deactivation_pauses() {
    let (calls, rows, journal) = (Arc::<Calls>::default(), Arc::<Rows>::default(), Arc::<Journal>::default());
    let seq = Seq::new(300, &journal).paced(Duration::from_millis(1));
    let options = LocalOptions { inactive: true, ..LocalOptions::default() };
    let running = start_with(line(seq, &calls, &rows), &config(&[]), options);
    wait_for("open", || calls.count("open") == 1);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!((calls.count("next"), calls.count("activate")), (0, 0));
    running.activate();
    wait_for("tuples", || journal.acks() > 10);
    running.deactivate();
    wait_for("the deactivation", || calls.count("deactivate") == 1);
    let called = calls.count("next");
    // Bolts go on: what was emitted is acked.
    wait_for("the acks", || journal.acks() == journal.fates().len() as u64);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(calls.count("next"), called);
    // Twice is once.
    running.deactivate();
    running.activate();
    running.activate();
    assert_clean(&finish(running));
    journal.assert_all_acked_once(300);
    assert_eq!((calls.count("activate"), calls.count("deactivate")), (2, 1));
}

#[test]
fn a_run_may_be_stopped_before_it_is_ready() {
    struct SlowToOpen;
    impl Spout for SlowToOpen {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn open(&mut self, _: &TopologyContext) -> Result {
            std::thread::sleep(Duration::from_millis(300));
            Ok(())
        }
        fn next_tuple(&mut self, _: &mut SpoutCollector<'_>) -> Result<Next> {
            unreachable!("it was stopped before it was activated")
        }
    }
    let mut topology = TopologyBuilder::new();
    topology.spout("slow", || SlowToOpen);
    topology.bolt("sink", mute).shuffle_grouping("slow");
    let running = start(topology, &config(&[]));
    running.request_stop();
    let report = finish(running);
    assert_eq!((&report.outcome, report.cores_left_behind), (&Outcome::Stopped, 0));
    assert_eq!((report.pending, report.in_flight, error_count(&report)), (0, 0, 0));
}

/// Toggled on and off without pause, a topology loses nothing and comes to its end.
#[test]
fn nothing_is_lost_by_switching_on_and_off() {
    let (calls, rows, journal) = (Arc::<Calls>::default(), Arc::<Rows>::default(), Arc::<Journal>::default());
    let running = start(line(Seq::new(3000, &journal), &calls, &rows), &config(&[]));
    for _ in 0..100 {
        running.deactivate();
        std::thread::sleep(Duration::from_micros(300));
        running.activate();
    }
    assert_clean(&finish(running));
    journal.assert_all_acked_once(3000);
    // The last of them may come too late.
    let off = calls.count("deactivate");
    assert!((off..=off + 1).contains(&calls.count("activate")), "{} and {off}", calls.count("activate"));
}

/// Storm's B126: counters never go down, and whoever reads them all the time disturbs nobody.
#[test]
fn counters_never_go_down() {
    let (calls, rows, journal) = (Arc::<Calls>::default(), Arc::<Rows>::default(), Arc::<Journal>::default());
    let seq = Seq::new(400, &journal).paced(Duration::from_millis(1));
    let running = start(line(seq, &calls, &rows), &config(&[]));
    let readers = [(); 2].map(|()| {
        let observer = running.observer();
        std::thread::spawn(move || {
            let mut before = std::collections::BTreeMap::new();
            let mut readings = 0;
            loop {
                let snapshots = observer.snapshots();
                if snapshots.is_empty() {
                    return readings;
                }
                readings += 1;
                for executor in snapshots.iter().flat_map(|core| &core.executors) {
                    let key = executor.id.first.0;
                    let now = (
                        executor.outputs.iter().map(|output| output.transferred).sum::<u64>(),
                        executor.inputs.iter().map(|input| input.executed).sum::<u64>(),
                        executor.inputs.iter().map(|input| input.acked).sum::<u64>(),
                        executor.acked,
                        executor.receive_queue.taken,
                    );
                    let last = before.insert(key, now).unwrap_or_default();
                    let down = now.0 < last.0 || now.1 < last.1 || now.2 < last.2 || now.3 < last.3 || now.4 < last.4;
                    assert!(!down, "executor {key}: {last:?}, then {now:?}");
                }
            }
        })
    });
    assert_clean(&finish(running));
    journal.assert_all_acked_once(400);
    for reader in readers {
        assert!(reader.join().unwrap() > 10);
    }
}

/// When the input has ended but a component does not finish in time, the run has not completed, and says so.
#[test]
fn a_finish_that_takes_too_long_is_no_completion() {
    struct Slow;
    impl Bolt for Slow {
        fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
            collector.ack(input);
            Ok(())
        }
        fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
            std::thread::sleep(Duration::from_secs(1));
            Ok(())
        }
    }
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(10);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("sluggard", || Slow).shuffle_grouping("numbers");
    let report = run(topology, &config(&[("ringstorm.drain.timeout.secs", 0.3.into())]));
    let Outcome::Failed(text) = &report.outcome else { panic!("{report:#?}") };
    assert!(text.contains("sluggard") && text.contains("ringstorm.drain.timeout.secs"), "{text}");
    assert!(!report.drained);
}

/// The drop of a running topology stops it and waits for it.
#[test]
fn dropping_a_run_stops_it() {
    let (calls, rows, journal) = (Arc::<Calls>::default(), Arc::<Rows>::default(), Arc::<Journal>::default());
    let running =
        start(line(Seq::new(u64::MAX, &journal), &calls, &rows), &config(&[("topology.max.spout.pending", 10.into())]));
    wait_for("tuples", || rows.len() > 10);
    drop(running);
    assert_eq!((calls.count("close"), calls.count("x cleanup"), calls.count("x finish")), (1, 1, 1));
    journal.assert_one_word_per_emit();
}

/// Contexts tell the truth, on every core.
#[test]
fn contexts_say_who_one_is() {
    /// Task, index, count, first and last task of the executor.
    type Answer = (i32, usize, usize, i32, i32);
    struct Asks(Arc<Mutex<Vec<Answer>>>);
    impl Bolt for Asks {
        fn prepare(&mut self, context: &TopologyContext) -> Result {
            assert_eq!(context.topology_name(), "test");
            assert!(context.topology_id().starts_with("test-"));
            assert_eq!(context.component().as_str(), "asks");
            assert_eq!(context.tasks_of("asks")[context.task_index()], context.task());
            assert_eq!(context.tasks_of("nobody").len(), 0);
            assert!(context.executor().contains(context.task()));
            assert_eq!(context.config().get("my.own").and_then(serde_json::Value::as_str), Some("setting"));
            let executor = context.executor();
            self.0.lock().unwrap().push((
                context.task().0,
                context.task_index(),
                context.task_count(),
                executor.first.0,
                executor.last.0,
            ));
            Ok(())
        }
        fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
            collector.ack(input);
            Ok(())
        }
    }
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(10);
    topology.spout("numbers", move || seq.clone());
    let shared = Arc::clone(&seen);
    topology
        .bolt("asks", move || Asks(Arc::clone(&shared)))
        .parallelism(2)
        .tasks(5)
        .set("my.own", "setting")
        .all_grouping("numbers");
    assert_clean(&run(topology, &config(&[])));
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    assert_eq!(seen.iter().map(|row| (row.1, row.2)).collect::<Vec<_>>(), [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5)]);
    // As in Storm, the larger executors come first.
    let first = seen[0].0;
    assert_eq!(
        seen.iter().map(|row| (row.3 - first, row.4 - first)).collect::<Vec<_>>(),
        [(0, 2), (0, 2), (0, 2), (3, 4), (3, 4)]
    );
}
