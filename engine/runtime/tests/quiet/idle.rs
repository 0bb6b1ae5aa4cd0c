//! A topology without work costs next to nothing, and still answers at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use ringstorm_runtime::{Declarer, Next, Result, Spout, SpoutCollector, TopologyBuilder, TopologyContext};
use ringstorm_types::MessageId;

use crate::harness::*;
use crate::{alone, cpu_share};

/// Storm's B074: 500 executors and a tuple now and then.
#[test]
fn five_hundred_idle_executors_use_no_cpu_and_answer_at_once() {
    let _turn = alone();
    let (pace, window) = match long_soak_time() {
        Some(time) => (Duration::from_secs(10), time),
        None => (Duration::from_millis(120), Duration::from_millis(700)),
    };
    let count = (window.as_millis() / pace.as_millis()) as u64 + 3;
    for settings in [&[][..], &[("ringstorm.worker.cores", 7.into())]] {
        let journal = Arc::<Journal>::default();
        let mut topology = TopologyBuilder::new();
        let seq = Seq::new(count, &journal).paced(pace);
        topology.spout("seldom", move || seq.clone());
        topology.bolt("many", relay).parallelism(499).shuffle_grouping("seldom");
        topology.bolt("last", || slow(Duration::ZERO)).shuffle_grouping("many");
        let running = start(topology, &config(settings));
        wait_for("the first tuple", || journal.acks() > 0);
        let share = cpu_share(window);
        assert_clean(&finish(running));
        journal.assert_all_acked_once(count);
        let mut times: Vec<Duration> = journal.fates().values().filter_map(|fate| fate.told_after).collect();
        times.sort_unstable();
        eprintln!("500 idle executors use {:.2} % of a CPU; tuples took {times:?}", 100.0 * share);
        assert!(share < 0.1, "{:.1} % of a CPU", 100.0 * share);
        // The machine may be busy with something else once or twice.
        assert!(times[times.len() / 2] < Duration::from_millis(20), "{times:?}");
    }
}

/// A spout whose next instant has come, but which is held by what it emits to, waits like everybody else.
#[test]
fn a_spout_that_is_held_does_not_spin() {
    let _turn = alone();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(u64::MAX).paced(Duration::from_micros(100));
    topology.spout("paced", move || seq.clone());
    topology.bolt("slow", || slow(Duration::from_millis(50))).shuffle_grouping("paced").blocking();
    let settings = [
        ("ringstorm.inbox.mark.bytes", 1024.into()),
        ("ringstorm.frame.bytes", 1024.into()),
        ("ringstorm.drain.timeout.secs", 0.1.into()),
    ];
    let running = start(topology, &config(&settings));
    wait_for("the spout to be held", || {
        let snapshots = running.snapshots();
        let mut executors = snapshots.iter().flat_map(|core| &core.executors);
        executors.any(|executor| executor.why_idle.contains("has enough to do"))
    });
    let share = cpu_share(Duration::from_millis(700));
    eprintln!("a held spout uses {:.2} % of a CPU", 100.0 * share);
    running.request_stop();
    finish(running);
    assert!(share < 0.1, "{:.1} % of a CPU", 100.0 * share);
}

/// Waits for its waker, which is woken again and again although nothing may be emitted.
struct Woken {
    emitted: u64,
    waker: Arc<std::sync::Mutex<Option<Waker>>>,
    calls: Arc<AtomicU64>,
}

impl Spout for Woken {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn open(&mut self, context: &TopologyContext) -> Result {
        *self.waker.lock().unwrap() = Some(context.waker());
        Ok(())
    }
    fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.emitted < 10 {
            collector.emit_with_id(MessageId(self.emitted), &Number { value: self.emitted });
            self.emitted += 1;
        }
        Ok(Next::Waiting)
    }
}

#[test]
fn a_spout_that_is_woken_at_its_limit_does_not_spin() {
    let _turn = alone();
    let (waker, calls, over) = (Arc::default(), Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
    let mut topology = TopologyBuilder::new();
    let (for_spout, its_calls) = (Arc::clone(&waker), Arc::clone(&calls));
    topology.spout("woken", move || Woken { emitted: 0, waker: Arc::clone(&for_spout), calls: Arc::clone(&its_calls) });
    topology.bolt("mute", mute).shuffle_grouping("woken");
    let settings = [("topology.max.spout.pending", 10.into()), ("ringstorm.drain.timeout.secs", 0.1.into())];
    let running = start(topology, &config(&settings));
    let (for_thread, is_over) = (Arc::clone(&waker), Arc::clone(&over));
    let thread = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            if let Some(waker) = &*for_thread.lock().unwrap() {
                waker.wake_by_ref();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    wait_for("the limit", || calls.load(Ordering::Relaxed) == 10);
    let share = cpu_share(Duration::from_millis(700));
    eprintln!("a spout at its limit uses {:.2} % of a CPU", 100.0 * share);
    assert_eq!(calls.load(Ordering::Relaxed), 10);
    over.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    running.request_stop();
    let report = finish(running);
    assert_eq!(report.pending, 10);
    assert!(share < 0.1, "{:.1} % of a CPU", 100.0 * share);
}
