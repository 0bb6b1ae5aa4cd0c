//! The life of workers as the tree wants it.

use std::time::Duration;

use ringstorm_ensemble::{Ensemble, free_ports};
use ringstorm_launch::WorkerSays;
use ringstorm_records::records::{
    ExecutorInfo, ExecutorSpecificStats, KillOptions, RebalanceOptions, TopologyActionOptions, TopologyStatus,
};
use ringstorm_tests::outside::Outside;
use ringstorm_tests::waiting::until;
use rustix::process::Signal;

use crate::host::{Host, Worker};
use crate::tree::{ByHand, LIMIT};

/// Messages in a second.
const PER_SECOND: f64 = 2_000.0;

/// Two workers under load.
pub(crate) struct Running {
    pub(crate) tree: ByHand,
    pub(crate) host: Host,
    pub(crate) source: Outside,
    pub(crate) ports: [u16; 3],
    pub(crate) workers: Vec<Worker>,
}

impl Running {
    /// Messages for so many seconds.
    pub(crate) fn begin(ensemble: &Ensemble, seconds: u64) -> Self {
        let mut tree = ByHand::new(ensemble.addresses());
        let host = Host::new(ensemble.addresses());
        let source = Outside::start(&host.path("source"), (seconds as f64 * PER_SECOND) as u64, PER_SECOND);
        let ports: [u16; 3] = free_ports(3).try_into().unwrap();
        tree.status(TopologyStatus::Active, None);
        tree.assign(1, &ports[..2]);
        let workers = ports[..2].iter().map(|port| host.start(*port, 10, source.path())).collect();
        let mut running = Self { tree, host, source, ports, workers };
        for worker in 0..2 {
            let of = (running.ports[worker], 10);
            running
                .host
                .hear("a worker to come up", |says| matches!(says, WorkerSays::Ready { .. }) && says.process() == of);
        }
        running.wait_for_acks();
        running
    }

    /// Waits until so much more was acked that everybody takes part.
    #[track_caller]
    pub(crate) fn wait_for_acks(&mut self) {
        let acked = self.source.fates().acked;
        until("acks", LIMIT, || {
            let fates = self.source.fates();
            let is_so = fates.acked > acked + 1_000;
            assert!(is_so || self.workers.iter_mut().all(Worker::is_running), "{fates:?}\n{}", self.logs());
            is_so
        });
    }

    pub(crate) fn logs(&self) -> String {
        self.workers.iter().map(Worker::log).collect::<Vec<_>>().join("--\n")
    }

    /// Waits until nothing is acked any more.
    #[track_caller]
    fn wait_for_rest(&self) {
        let mut before = u64::MAX;
        until("spouts to rest", LIMIT, || {
            std::thread::sleep(Duration::from_millis(500));
            let acked = self.source.fates().acked;
            std::mem::replace(&mut before, acked) == acked
        });
    }
}

#[test]
fn workers_start_beat_rest_go_on_move_drain_and_end_as_the_tree_says() {
    let Some(ensemble) = Ensemble::start_or_skip(1) else { return };
    let mut running = Running::begin(&ensemble, 600);
    let [first, second, third] = running.ports;

    // Both say that they live, here and in the tree, with what they count.
    let beats = running.host.beats(&running.workers[0], Duration::from_secs(4));
    assert!((2..=6).contains(&beats), "{beats} beats in 4 s\n{}", running.logs());
    until("figures in the tree", LIMIT, || {
        let beat = running.tree.beat(first).unwrap();
        let spout = beat.executor_stats.get(&ExecutorInfo { task_start: 4, task_end: 4 });
        let acked = spout.and_then(|spout| match &spout.specific {
            ExecutorSpecificStats::Spout(messages) => Some(*messages.acked.get("600")?.get("default")?),
            _ => None,
        });
        beat.version == Some(1) && acked.is_some_and(|acked| acked > 100)
    });

    // Inactive and active again.
    running.tree.status(TopologyStatus::Inactive, None);
    running.wait_for_rest();
    running.tree.status(TopologyStatus::Active, None);
    running.wait_for_acks();

    // What the second one ran is given to a third slot: it ends by itself, and the first one finds the new one.
    let rebalance = RebalanceOptions { wait_secs: Some(30), ..RebalanceOptions::default() };
    running.tree.status(TopologyStatus::Rebalancing, Some(TopologyActionOptions::RebalanceOptions(rebalance)));
    running.wait_for_rest();
    running.tree.assign(2, &[first, third]);
    running.tree.status(TopologyStatus::Active, None);
    let mut moved = running.workers.pop().unwrap();
    assert_eq!(moved.exit_code(), Some(0), "{}", moved.log());
    assert!(moved.log().contains("nothing for this slot"), "{}", moved.log());
    assert_eq!(running.tree.beat(second), None, "it has taken its beat along");
    running.workers.push(running.host.start(third, 11, running.source.path()));
    running.wait_for_acks();
    until("the new version in beats", LIMIT, || {
        [first, third].iter().all(|port| running.tree.beat(*port).is_some_and(|beat| beat.version == Some(2)))
    });
    assert!(running.workers.iter_mut().all(Worker::is_running), "{}", running.logs());

    // Killed: what is under way is finished, and nothing new is taken. Without an assignment all end.
    let kill = KillOptions { wait_secs: Some(30), ..KillOptions::default() };
    running.tree.status(TopologyStatus::Killed, Some(TopologyActionOptions::KillOptions(kill)));
    running.wait_for_rest();
    running.tree.withdraw();
    for worker in &mut running.workers {
        assert_eq!(worker.exit_code(), Some(0), "{}", worker.log());
        assert!(worker.log().contains("no assignment any more"), "{}", worker.log());
    }
    eprintln!("{:?}", running.source.fates());
}

#[test]
fn a_signal_drains_a_worker_and_ends_it_in_order() {
    let Some(ensemble) = Ensemble::start_or_skip(1) else { return };
    let mut running = Running::begin(&ensemble, 600);
    running.tree.status(TopologyStatus::Inactive, None);
    running.wait_for_rest();
    for worker in &mut running.workers {
        worker.signal(Signal::TERM);
    }
    for worker in &mut running.workers {
        assert_eq!(worker.exit_code(), Some(0), "{}", worker.log());
        assert!(worker.log().contains("this worker ends: it was asked to"), "{}", worker.log());
    }
    assert_eq!(running.tree.beat(running.ports[0]), None, "nobody beats there any more");
}
