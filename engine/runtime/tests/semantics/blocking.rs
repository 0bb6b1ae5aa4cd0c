//! Components whose code waits: named when they hold a core, harmless on threads of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_runtime::{Declarer, LocalOptions, Next, Outcome, Result, Spout, SpoutCollector, TopologyBuilder};
use ringstorm_types::MessageId;

use crate::harness::*;

/// A steady stream through `steady` beside a bolt that sleeps; returns the steady stream's worst completion.
fn beside_a_sleeper(blocking: bool) -> (ringstorm_runtime::RunReport, Duration) {
    let (journal, once) = (Arc::<Journal>::default(), Arc::<Journal>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(3, &once);
    topology.spout("once", move || seq.clone());
    let sleeper = topology.bolt("sleeper", || slow(Duration::from_millis(500))).shuffle_grouping("once");
    if blocking {
        sleeper.blocking();
    }
    let seq = Seq::new(400, &journal).paced(Duration::from_millis(2));
    topology.spout("paced", move || seq.clone());
    topology.bolt("steady", relay).shuffle_grouping("paced");
    topology.bolt("last", || slow(Duration::ZERO)).shuffle_grouping("steady");
    let report = run(topology, &config(&[("ringstorm.worker.cores", 1.into())]));
    once.assert_all_acked_once(3);
    journal.assert_all_acked_once(400);
    let worst = journal.fates().values().filter_map(|fate| fate.told_after).max();
    (report, worst.unwrap_or_default())
}

fn a_blocking_bolt_sleeps_on_a_thread_of_its_own() {
    let (report, worst) = beside_a_sleeper(true);
    assert_clean(&report);
    assert!(worst < Duration::from_millis(300), "the steady stream waited {worst:?}");
}

fn the_same_bolt_on_a_core_holds_everybody() {
    let (report, worst) = beside_a_sleeper(false);
    assert_drained(&report);
    assert!(worst > Duration::from_millis(400), "the control has lost its sense: {worst:?}");
}

/// A bolt that stays in one call for long is named while it is still there.
fn a_bolt_that_holds_its_core_is_named() {
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(1);
    topology.spout("once", move || seq.clone());
    topology.bolt("sluggard", || slow(Duration::from_millis(2500))).shuffle_grouping("once");
    let (told, tells) = std::sync::mpsc::channel();
    let options = LocalOptions {
        on_error: Some(Box::new(move |error| drop(told.send(error.clone())))),
        ..LocalOptions::default()
    };
    let running = start_with(topology, &config(&[]), options);
    let error = tells.recv_timeout(Duration::from_millis(2300)).expect("it is named before it returns");
    assert_eq!(error.component, "sluggard");
    assert!(error.text.contains("core") && error.text.contains("blocking"), "{error}");
    let report = finish(running);
    assert_drained(&report);
    assert_eq!(report.error_count, 1, "it is named once");
}

/// A source that makes its spout wait for each line: what it has read goes at once, and not with the next line.
fn what_a_blocking_spout_has_emitted_does_not_wait_for_its_next_call() {
    struct Lines(u64, Arc<Journal>);
    impl Spout for Lines {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            if self.0 == 3 {
                return Ok(Next::Finished);
            }
            std::thread::sleep(Duration::from_millis(800));
            self.1.emitted(self.0);
            collector.emit_with_id(MessageId(self.0), &Number { value: self.0 });
            self.0 += 1;
            Ok(Next::Emitted)
        }
    }
    for tasks in [1, 2] {
        let (journal, arrivals) = (Arc::<Journal>::default(), Arc::<Mutex<Vec<Duration>>>::default());
        let mut topology = TopologyBuilder::new();
        let shared = Arc::clone(&journal);
        topology.spout("lines", move || Lines(0, Arc::clone(&shared))).tasks(tasks).blocking();
        let (fates, shared) = (Arc::clone(&journal), Arc::clone(&arrivals));
        let read = move || {
            let (fates, arrivals) = (Arc::clone(&fates), Arc::clone(&shared));
            ends(move |input, collector| {
                let emitted = fates.fates()[&input.view::<Number>()?.value()].emitted_at.ok_or("not emitted")?;
                arrivals.lock().unwrap().push(emitted.elapsed());
                collector.ack(input);
                Ok(())
            })
        };
        topology.bolt("read", read).shuffle_grouping("lines");
        assert_clean(&run(topology, &config(&[])));
        let arrivals = arrivals.lock().unwrap().clone();
        assert_eq!(arrivals.len(), 3 * tasks as usize);
        assert!(arrivals.iter().all(|arrival| *arrival < Duration::from_millis(600)), "{arrivals:?}");
    }
}

/// Each tuple of a slow bolt is acked when it is done, and not with those that were queued behind it.
fn a_slow_bolt_acks_one_by_one() {
    for blocking in [false, true] {
        let journal = Arc::<Journal>::default();
        let mut topology = TopologyBuilder::new();
        let seq = Seq::new(6, &journal).per_call(6);
        topology.spout("numbers", move || seq.clone());
        let slow = topology.bolt("slow", || slow(Duration::from_millis(300))).shuffle_grouping("numbers");
        if blocking {
            slow.blocking();
        }
        assert_drained(&run(topology, &config(&[])));
        journal.assert_all_acked_once(6);
        let told: Vec<Duration> = journal.fates().values().filter_map(|fate| fate.told_after).collect();
        assert!(told[0] < Duration::from_millis(1200) && told[5] >= Duration::from_millis(1790), "{told:?}");
    }
}

/// Blocking spouts and bolts, acked, with everything that flows between threads and cores.
fn blocking_components_are_like_others() {
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(2000, &journal).replays();
    topology.spout("numbers", move || seq.clone()).parallelism(2).blocking();
    topology.bolt("relay", relay).parallelism(2).shuffle_grouping("numbers").blocking();
    topology.bolt("on-core", relay).parallelism(2).fields_grouping("relay", ["value"]);
    topology.bolt("sink", sink(&rows)).parallelism(2).fields_grouping("on-core", ["value"]).blocking();
    assert_clean(&run(topology, &config(&[("ringstorm.ring.cells", 4.into())])));
    journal.assert_all_acked_once(4000);
    assert_eq!(rows.values(), (0..4000).collect::<Vec<_>>());
}

/// A blocking bolt that is slow holds its spout, and nothing piles up.
fn a_slow_blocking_bolt_pushes_back() {
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(u64::MAX);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("slow", || slow(Duration::from_millis(1))).shuffle_grouping("numbers").blocking();
    let settings = [("ringstorm.drain.timeout.secs", 0.1.into()), ("ringstorm.ring.cells", 4.into())];
    let running = start(topology, &config(&settings));
    std::thread::sleep(Duration::from_millis(800));
    let waiting = |running: &ringstorm_runtime::RunningTopology| {
        let snapshots = running.snapshots();
        transferred(&snapshots) - executed(&snapshots)
    };
    let first = waiting(&running);
    std::thread::sleep(Duration::from_millis(300));
    let second = waiting(&running);
    // A frame of 8 KiB holds some thousand numbers; four cells, an inbox and an outlet make a few dozen frames.
    assert!(first < 200_000 && second < 200_000, "{first}, then {second} tuples wait");
    running.request_stop();
    assert_eq!(finish(running).outcome, Outcome::Stopped);
}

/// All of these mostly wait.
#[test]
fn while_others_wait() {
    at_once![
        a_blocking_bolt_sleeps_on_a_thread_of_its_own,
        the_same_bolt_on_a_core_holds_everybody,
        a_bolt_that_holds_its_core_is_named,
        what_a_blocking_spout_has_emitted_does_not_wait_for_its_next_call,
        a_slow_bolt_acks_one_by_one,
        blocking_components_are_like_others,
        a_slow_blocking_bolt_pushes_back
    ];
}
