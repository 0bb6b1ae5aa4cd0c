//! Whoever looks at a run does not slow it down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringstorm_runtime::{LocalOptions, Observer, Outcome, TopologyBuilder};

use crate::alone;
use crate::harness::*;
use crate::memory::{Counts, Flood};

/// Reads the counters again and again while `reads` says so, until the run is over, and returns how often.
fn reader(observer: Observer, pause: Duration, reads: &Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    let reads = Arc::clone(reads);
    std::thread::spawn(move || {
        let mut readings = 0;
        loop {
            std::thread::sleep(pause);
            if !reads.load(Ordering::Relaxed) {
                continue;
            }
            if observer.snapshots().is_empty() {
                return readings;
            }
            readings += 1;
        }
    })
}

/// Storm's B124: two who read the counters, one of them eagerly, and one who is slow to take the errors cost the data
/// little. The run is measured alone and with them by turns, so that both meet the same machine. In long with that case's
/// own numbers: an error takes ten seconds, and most are not heard.
#[test]
fn readers_of_counters_and_a_slow_taker_of_errors_cost_the_data_little() {
    let _turn = alone();
    let (rounds, window, slowness, share) = match long_soak_time() {
        Some(time) => (time.as_secs() as usize / 4, Duration::from_secs(2), Duration::from_secs(10), 0.95),
        None => (12, Duration::from_millis(50), Duration::from_millis(15), 0.75),
    };
    let (executed, reads, complaints) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default(), Arc::default());
    let mut topology = TopologyBuilder::new();
    let counts = Arc::<Counts>::default();
    topology.spout("flood", move || Flood::new(false, &counts));
    topology.bolt("relay", relay).shuffle_grouping("flood");
    let shared = Arc::clone(&executed);
    let count = move || {
        let executed = Arc::clone(&shared);
        ends(move |_, _| {
            executed.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    };
    topology.bolt("count", count).shuffle_grouping("relay");
    let complains = Arc::clone(&reads);
    let complainer = move || {
        let complains = Arc::clone(&complains);
        ends(move |_, collector| {
            if complains.load(Ordering::Relaxed) {
                collector.report_error("nothing came but a tick");
            }
            Ok(())
        })
    };
    let seq = Seq::untracked(0).stays(Duration::from_secs(36_000));
    topology.spout("silent", move || seq.clone());
    topology.bolt("complainer", complainer).shuffle_grouping("silent").tick_every(Duration::from_millis(50));
    let taken: Arc<AtomicU64> = Arc::clone(&complaints);
    let options = LocalOptions {
        on_error: Some(Box::new(move |_| {
            taken.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(slowness);
        })),
        ..LocalOptions::default()
    };
    let settings = [("topology.acker.executors", 0.into()), ("topology.max.error.report.per.interval", 1_000.into())];
    let running = start_with(topology, &config(&settings), options);
    let readers =
        [Duration::from_millis(2), Duration::from_millis(50)].map(|pause| reader(running.observer(), pause, &reads));
    wait_for("the first tuples", || executed.load(Ordering::Relaxed) > 10_000);
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..2 * rounds {
        let with_readers = round % 2;
        reads.store(with_readers == 1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(10));
        let (before, since) = (executed.load(Ordering::Relaxed), Instant::now());
        std::thread::sleep(window);
        let done = executed.load(Ordering::Relaxed) - before;
        rates[with_readers].push(done as f64 / since.elapsed().as_secs_f64());
    }
    running.request_stop();
    let report = finish(running);
    let readings = readers.map(|reader| reader.join().unwrap());
    let [alone, with_readers] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rounds / 2]
    });
    let complaints = complaints.load(Ordering::Relaxed);
    let unheard = report.error_count - complaints;
    eprintln!(
        "{alone:.0} a second alone; {with_readers:.0} beside {readings:?} readings, {complaints} errors and {unheard} unheard"
    );
    assert_eq!(report.outcome, Outcome::Stopped);
    assert!(report.drained, "{report:#?}");
    assert!(readings.iter().all(|count| *count > 0) && complaints > 0, "{readings:?} readings, {complaints} errors");
    assert!(with_readers > share * alone, "{alone:.0} a second alone, {with_readers:.0} with readers");
}
