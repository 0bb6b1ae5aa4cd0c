//! What is left of a run when it is over: nothing.

use std::sync::Arc;
use std::time::Duration;

use ringstorm_runtime::side_runtime::sleep;
use ringstorm_runtime::{AsyncBolt, AsyncEmitter, Result, TopologyBuilder, TupleCopy};

use crate::harness::*;
use crate::{alone, resident_bytes};

struct Naps;

impl AsyncBolt for Naps {
    #[expect(clippy::manual_async_fn, reason = "the trait asks for a static future")]
    fn execute(&mut self, _: TupleCopy, _: AsyncEmitter) -> impl Future<Output = Result> + 'static {
        async {
            sleep(Duration::from_micros(100)).await;
            Ok(())
        }
    }
}

/// Every kind of component, run to the end of its input or stopped.
fn once(stop: bool) {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = if stop { Seq::new(10, &journal).stays(Duration::from_secs(3600)) } else { Seq::new(10, &journal) };
    topology.spout("numbers", move || seq.clone());
    topology.bolt("relay", relay).parallelism(3).shuffle_grouping("numbers");
    topology.bolt("blocking", relay).parallelism(2).shuffle_grouping("relay").blocking();
    topology.async_bolt("naps", 4, || Naps).shuffle_grouping("blocking");
    let running = start(topology, &config(&[]));
    wait_for("the acks", || journal.acks() == 10);
    if stop {
        running.request_stop();
    }
    let report = finish(running);
    assert!(report.drained && report.cores_left_behind == 0);
}

/// Storm's B144: threads, files and memory are those of before, however often it is done.
#[test]
fn a_run_leaves_no_threads_files_or_memory() {
    let _turn = alone();
    let count = |path: &str| std::fs::read_dir(path).unwrap().count();
    let measure = || (count("/proc/self/task"), count("/proc/self/fd"), resident_bytes() >> 20);
    // The first runs make what the process keeps: the thread of the timers, and memory that the allocator holds.
    (0..10).for_each(|round| once(round % 2 == 0));
    let before = measure();
    (0..50).for_each(|round| once(round % 2 == 0));
    // A thread that was joined may take a moment to leave the table.
    wait_for("the threads to be gone", || measure().0 <= before.0);
    let after = measure();
    eprintln!("threads, files, MiB: {before:?} before 50 runs, {after:?} after them");
    assert_eq!(after.1, before.1, "open files");
    assert!(after.2 <= before.2 + 8, "{} MiB, then {} MiB", before.2, after.2);
}
