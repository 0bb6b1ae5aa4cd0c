//! Workers that a control thread commands: what they report, and what they do of what they are ordered.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::VecDeque;
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringstorm_runtime::{
    Bolt, BoltCollector, BuiltTopology, Declarer, FailReason, Input, Next, Result, Spout, SpoutCollector, StartError,
    TopologyBuilder, WorkerEnd, WorkerOrder, WorkerReport, WorkerStart, run_commanded_worker,
};
use ringstorm_tuple::Tuple;
use ringstorm_types::assignment::{AssignedWorker, Assignment, WorkerSecret};
use ringstorm_types::config::Config;
use ringstorm_types::numbering::number;
use ringstorm_types::{ComponentId, MessageId};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Number {
    value: u64,
}

/// What tests and components share.
#[derive(Default)]
struct Shared {
    emitted: AtomicU64,
    new: AtomicU64,
    /// The bolt fails everything.
    fails: AtomicBool,
    /// The spout emits to a stream that there is not.
    is_refused: AtomicBool,
    /// The bolt does not return from its next call until this is over.
    holds: Mutex<Option<Duration>>,
}

/// Emits without an end, failed messages first.
struct Numbers(Arc<Shared>, VecDeque<u64>);

impl Spout for Numbers {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }

    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        if collector.pending_count() >= 100 {
            return Ok(Next::Idle);
        }
        let value = self.1.pop_front().unwrap_or_else(|| self.0.new.fetch_add(1, Ordering::SeqCst));
        self.0.emitted.fetch_add(1, Ordering::SeqCst);
        let stream = if self.0.is_refused.load(Ordering::SeqCst) { "ghost" } else { "default" };
        collector.emit_to(stream, Some(MessageId(value)), &Number { value });
        Ok(Next::Until(Instant::now() + Duration::from_millis(1)))
    }

    fn fail(&mut self, id: MessageId, _: FailReason) {
        self.1.push_back(id.0);
    }
}

struct Take(Arc<Shared>);

impl Bolt for Take {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.reads::<Number>();
    }

    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        if let Some(time) = self.0.holds.lock().unwrap().take() {
            std::thread::sleep(time);
        }
        if self.0.fails.load(Ordering::SeqCst) {
            collector.fail(input);
        } else {
            collector.ack(input);
        }
        Ok(())
    }
}

fn topology(shared: &Arc<Shared>) -> BuiltTopology {
    let mut topology = TopologyBuilder::new();
    let (spout, bolt) = (Arc::clone(shared), Arc::clone(shared));
    topology.spout("numbers", move || Numbers(Arc::clone(&spout), VecDeque::new()));
    topology.bolt("take", move || Take(Arc::clone(&bolt))).shuffle_grouping("numbers");
    topology.build(&Config::new()).unwrap()
}

/// A worker that runs.
struct Running {
    shared: Arc<Shared>,
    orders: Sender<WorkerOrder>,
    reports: Receiver<WorkerReport>,
    assignment: Assignment,
    thread: Option<JoinHandle<Result<WorkerEnd, StartError>>>,
}

impl Running {
    /// One worker with everything, on so many cores.
    fn start(cores: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let topology = topology(&shared);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let numbering = number(topology.topology(), topology.config(), 1).unwrap();
        let assignment = Assignment {
            topology_id: "numbers-1-1795972824".into(),
            version: 1,
            secret: WorkerSecret("0123456789abcdef0123456789abcdef".into()),
            acker_executors: 1,
            active: false,
            workers: vec![AssignedWorker {
                number: 7,
                incarnation: 42,
                address: listener.local_addr().unwrap().to_string(),
                cores: NonZeroUsize::new(cores).unwrap(),
                executors: numbering.executors().iter().map(|executor| executor.id).collect(),
            }],
        };
        let start = WorkerStart {
            name: "numbers".into(),
            topology,
            number: 7,
            assignment: assignment.clone(),
            listener,
            cpus: Vec::new(),
            figures_period: Duration::from_millis(300),
        };
        let (orders, ordered) = channel();
        let (report, reports) = channel();
        let thread =
            std::thread::spawn(move || run_commanded_worker(start, ordered, move |said| drop(report.send(said))));
        let running = Self { shared, orders, reports, assignment, thread: Some(thread) };
        running.hear("started", |said| matches!(said, WorkerReport::Started));
        running.hear("ready", |said| matches!(said, WorkerReport::Ready));
        running
    }

    fn order(&self, order: WorkerOrder) {
        self.orders.send(order).unwrap();
    }

    /// Waits for a report.
    #[track_caller]
    fn hear(&self, what: &str, mut is_it: impl FnMut(&WorkerReport) -> bool) -> WorkerReport {
        let until = Instant::now() + LIMIT;
        loop {
            let said = self.reports.recv_timeout(until.saturating_duration_since(Instant::now()));
            let said = said.unwrap_or_else(|_| panic!("waited in vain for {what}"));
            if is_it(&said) {
                return said;
            }
        }
    }

    fn emitted(&self) -> u64 {
        self.shared.emitted.load(Ordering::SeqCst)
    }

    #[track_caller]
    fn wait_for_emits(&self) {
        let (before, until) = (self.emitted(), Instant::now() + LIMIT);
        while self.emitted() < before + 50 {
            assert!(Instant::now() < until, "nothing is emitted");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn end(mut self) -> Result<WorkerEnd, StartError> {
        self.thread.take().unwrap().join().unwrap()
    }
}

#[test]
fn spouts_are_asked_when_it_is_ordered_and_not_before() {
    let running = Running::start(1);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(running.emitted(), 0);
    running.order(WorkerOrder::SetActive(true));
    running.wait_for_emits();
    // The assignment has no say in it.
    let assignment = Assignment { version: 2, active: false, ..running.assignment.clone() };
    running.order(WorkerOrder::Assign(Box::new(assignment)));
    running.hear("the new one", |said| matches!(said, WorkerReport::Note(text) if text.contains("assignment 2")));
    running.wait_for_emits();
    running.order(WorkerOrder::SetActive(false));
    std::thread::sleep(Duration::from_millis(100));
    let rests_at = running.emitted();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(running.emitted(), rests_at);
    running.order(WorkerOrder::End { drain: Some(LIMIT) });
    assert_eq!(running.end().unwrap(), WorkerEnd::Stopped { pending: 0, in_flight: 0 });
}

/// A topology that ends while each of its messages fails, and how many were new until then.
fn ending_while_all_fails() -> (Running, u64) {
    let running = Running::start(1);
    running.shared.fails.store(true, Ordering::SeqCst);
    running.order(WorkerOrder::SetActive(true));
    running.wait_for_emits();
    running.order(WorkerOrder::Drain { limit: LIMIT });
    std::thread::sleep(Duration::from_millis(200));
    let new = running.shared.new.load(Ordering::SeqCst);
    (running, new)
}

#[test]
fn while_a_topology_ends_spouts_are_asked_for_what_fails_and_nothing_else() {
    let (running, new) = ending_while_all_fails();
    running.wait_for_emits();
    assert_eq!(running.shared.new.load(Ordering::SeqCst), new, "what fails is emitted again, and nothing is new");
    running.shared.fails.store(false, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(300));
    let done_at = running.emitted();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(running.emitted(), done_at, "everything is acked");
    // It was all for nothing: the topology goes on.
    running.order(WorkerOrder::SetActive(true));
    running.wait_for_emits();
    // The time is over before everything is done.
    running.shared.fails.store(true, Ordering::SeqCst);
    running.wait_for_emits();
    running.order(WorkerOrder::Drain { limit: Duration::from_millis(300) });
    std::thread::sleep(Duration::from_secs(2));
    let rests_at = running.emitted();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(running.emitted(), rests_at);
    running.order(WorkerOrder::End { drain: None });
    assert_eq!(running.end().unwrap(), WorkerEnd::Unassigned);
}

/// What is refused then fails once more, and is asked for once more: not twice, which would let in what is new.
#[test]
fn while_a_topology_ends_a_refused_emit_lets_nothing_new_in() {
    let (running, new) = ending_while_all_fails();
    running.shared.is_refused.store(true, Ordering::SeqCst);
    running.wait_for_emits();
    running.shared.is_refused.store(false, Ordering::SeqCst);
    running.shared.fails.store(false, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(300));
    let done_at = running.emitted();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((running.emitted(), running.shared.new.load(Ordering::SeqCst)), (done_at, new));
    running.order(WorkerOrder::End { drain: Some(LIMIT) });
    assert_eq!(running.end().unwrap(), WorkerEnd::Stopped { pending: 0, in_flight: 0 });
}

#[test]
fn cores_that_rest_are_rung_and_one_that_is_held_is_seen_to_stand_still() {
    let running = Running::start(2);
    let progress = |running: &Running| match running.hear("progress", |said| matches!(said, WorkerReport::Progress(_)))
    {
        WorkerReport::Progress(turns) => turns,
        _ => unreachable!(),
    };
    for _ in 0..4 {
        progress(&running);
    }
    let turns = progress(&running);
    assert!((1..=2).contains(&turns.len()), "{}", turns.len());
    assert!(turns.iter().all(|turn| turn.elapsed() < Duration::from_millis(2500)), "idle cores end turns: {turns:?}");
    running.order(WorkerOrder::SetActive(true));
    running.wait_for_emits();
    *running.shared.holds.lock().unwrap() = Some(Duration::from_secs(5));
    let until = Instant::now() + LIMIT;
    while !progress(&running).iter().any(|turn| turn.elapsed() > Duration::from_secs(3)) {
        assert!(Instant::now() < until, "nobody stands still");
    }
    while progress(&running).iter().any(|turn| turn.elapsed() > Duration::from_secs(2)) {
        assert!(Instant::now() < until, "nobody goes on");
    }
    running.order(WorkerOrder::End { drain: None });
    running.end().unwrap();
}

#[test]
fn figures_come_with_every_executor() {
    let running = Running::start(1);
    running.order(WorkerOrder::SetActive(true));
    let mut emitted = 0;
    running.hear("figures", |said| {
        let WorkerReport::Figures(figures) = said else { return false };
        emitted = figures.iter().map(|executor| executor.counts.emitted()).max().unwrap_or(0);
        let complete_count = figures.iter().map(|executor| executor.counts.spout.complete_count).sum::<u64>();
        figures.len() == 3 && emitted > 10 && complete_count > 10
    });
    assert!(emitted <= running.emitted());
    // Nobody commands it any more.
    let Running { orders, thread, .. } = running;
    drop(orders);
    assert_eq!(thread.unwrap().join().unwrap().unwrap(), WorkerEnd::Unassigned);
}

#[test]
fn what_takes_its_work_away_ends_it_and_what_is_older_is_left() {
    let running = Running::start(1);
    let older = Assignment { version: 0, workers: Vec::new(), ..running.assignment.clone() };
    running.order(WorkerOrder::Assign(Box::new(older)));
    running.hear(
        "that it is left",
        |said| matches!(said, WorkerReport::Note(text) if text.contains("assignment 0 is left")),
    );
    let mut other = Assignment { version: 3, ..running.assignment.clone() };
    other.workers[0].number = 8;
    running.order(WorkerOrder::Assign(Box::new(other)));
    assert_eq!(running.end().unwrap(), WorkerEnd::Unassigned);
}

#[test]
fn other_numbers_of_executors_share_the_same_tasks() {
    let shared = Arc::new(Shared::default());
    let mut builder = TopologyBuilder::new();
    builder.spout("numbers", move || Numbers(Arc::clone(&shared), VecDeque::new())).parallelism(4);
    let id = |name: &str| ComponentId::new(name).unwrap();
    let built = builder.build(&Config::new()).unwrap();
    let built = built.with_executors(&[(id("numbers"), 2), (id("__acker"), 3), (id("gone"), 9)].into()).unwrap();
    let numbering = number(built.topology(), built.config(), 1).unwrap();
    assert_eq!((numbering.tasks_of("numbers").len(), numbering.executors_of("numbers").len()), (4, 2));
    assert_eq!(numbering.ackers().len(), 1, "their tasks stay as they are, too");
}
