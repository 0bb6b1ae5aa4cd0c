//! B144: runs leave nothing behind in the process that embeds them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

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

struct Sink;

impl SimpleBolt for Sink {
    fn execute(&mut self, _: &Input<'_>, _: &mut Emitter<'_, '_, '_>) -> Result {
        Ok(())
    }
}

fn topology(end: u64) -> ringstorm::BuiltTopology {
    let mut topology = TopologyBuilder::new();
    topology.set("ringstorm.worker.cores", 2);
    topology.spout("numbers", move || Numbers { next: 0, end });
    topology.simple_bolt("on-core", || Sink).parallelism(2).shuffle_grouping("numbers");
    topology.simple_bolt("on-thread", || Sink).shuffle_grouping("numbers").blocking();
    topology.build(&Config::new()).unwrap()
}

/// Threads, open files, and memory in KiB.
fn belongings() -> (usize, usize, u64) {
    let count = |path: &str| std::fs::read_dir(path).unwrap().count();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (count("/proc/self/task"), count("/proc/self/fd"), memory.trim().trim_end_matches(" kB").parse().unwrap())
}

/// Thread ends reach `/proc` a moment after they can be joined.
fn settled_belongings(threads: usize) -> (usize, usize, u64) {
    let started = Instant::now();
    while belongings().0 > threads && started.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(1));
    }
    belongings()
}

fn run_once(round: u64) {
    let cluster = LocalCluster::new();
    // Every other run is stopped in the middle instead of running to its end.
    let report = if round.is_multiple_of(2) {
        cluster.run("whole", topology(2_000)).unwrap()
    } else {
        let running = cluster.submit("stopped", topology(u64::MAX), LocalOptions::default()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        running.stop()
    };
    assert!(matches!(report.outcome, Outcome::Completed | Outcome::Stopped), "{report:?}");
    assert!(report.drained && report.pending == 0 && report.cores_left_behind == 0, "{report:?}");
}

#[test]
fn fifty_runs_leave_nothing_behind() {
    let threads = belongings().0;
    (0..10).for_each(run_once);
    let before = settled_belongings(threads);
    assert_eq!(before.0, threads, "threads are left");
    (0..40).for_each(run_once);
    let after = settled_belongings(threads);
    assert_eq!((after.0, after.1), (before.0, before.1), "threads and open files, before and after");
    // What the allocator keeps differs a little from run to run; a leak of one ring each would be 40 MiB and more.
    assert!(after.2 < before.2 + 20 * 1024, "{} KiB after, {} KiB before", after.2, before.2);
}
