//! Ticks leave nothing behind, whatever a bolt does with them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ringstorm_runtime::metrics::CoreSnapshot;
use ringstorm_runtime::{RunningTopology, TopologyBuilder};

use crate::harness::*;
use crate::live_bytes::live_bytes;
use crate::{alone, soak_time};

/// The ticks that the bolts have executed, and what stands of acks and fails on the other streams.
fn ticks_and_words(snapshots: &[CoreSnapshot]) -> (u64, u64) {
    let inputs = || snapshots.iter().flat_map(|core| &core.executors).flat_map(|executor| &executor.inputs);
    let ticks = inputs().filter(|input| input.component == "__system").map(|input| input.executed).sum();
    let others = inputs().filter(|input| !input.component.starts_with("__"));
    (ticks, others.map(|input| input.acked + input.failed).sum())
}

/// Waits for so many ticks more, and returns what is in use of the heap then, but for what comes and goes.
fn live_bytes_after(running: &RunningTopology, more: u64) -> i64 {
    let before = ticks_and_words(&running.snapshots()).0;
    // Twice the time of a machine that has time for one in two.
    let until = Instant::now() + Duration::from_secs(60) + 2 * soak_time();
    while ticks_and_words(&running.snapshots()).0 < before + more {
        assert!(Instant::now() < until, "waited in vain for {more} ticks");
        std::thread::sleep(Duration::from_millis(1));
    }
    let readings = (0..10).map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        live_bytes()
    });
    readings.min().unwrap()
}

/// Storm's B014: a tick that is acked, failed or ignored leaves no byte, and no trace in the counts of other streams.
#[test]
fn ticks_that_are_acked_failed_or_ignored_leave_no_memory() {
    let _turn = alone();
    let time = soak_time();
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(0, &journal).stays(Duration::from_secs(36_000));
    topology.spout("numbers", move || seq.clone());
    for (name, treat) in [("ack", 0), ("fail", 1), ("ignore", 2)] {
        let bolt = move || {
            ends(move |input, collector| {
                match treat {
                    0 => collector.ack(input),
                    1 => collector.fail(input),
                    _ => {}
                }
                Ok(())
            })
        };
        topology.bolt(name, bolt).parallelism(2).all_grouping("numbers").tick_every(Duration::from_millis(1));
    }
    let running = start(topology, &config(&[]));
    // Six tasks, a tick each millisecond, if the machine has time for them.
    let count = (time.as_millis() as u64 * 6 / 2).max(1500);
    let ledgers = |running: &RunningTopology| running.snapshots().iter().map(|core| core.ledger_bytes).sum::<usize>();
    // What is made at first use is made by now.
    live_bytes_after(&running, count / 3);
    let (ledgers_before, before) = (ledgers(&running), live_bytes_after(&running, 1));
    let after = live_bytes_after(&running, count);
    let (ledgers_after, (ticks, words)) = (ledgers(&running), ticks_and_words(&running.snapshots()));
    eprintln!("{ticks} ticks; {before} bytes in use, then {after}");
    assert_eq!((ledgers_before, words), (ledgers_after, 0));
    // A few bytes for each tick at most; histograms grow a little when a call takes longer than any before.
    assert!(after - before < 8 << 10, "{count} ticks left {} bytes", after - before);
    running.request_stop();
    let report = finish(running);
    assert!(report.drained);
    assert_eq!(error_count(&report), 0, "{:#?}", report.errors);
}
