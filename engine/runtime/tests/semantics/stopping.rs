//! Stopping while there is work, and what is left when time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ringstorm_runtime::library::{LineSpout, RetryPolicy, channel};
use ringstorm_runtime::{
    Bolt, BoltCollector, Declarer, Input, LocalOptions, Next, Outcome, Result, Spout, SpoutCollector, TopologyBuilder,
};

use crate::harness::*;

/// A steady load through three layers; stopped in the middle.
#[test]
fn a_stop_takes_nothing_new_and_drains_what_there_is() {
    for ackers in [0, 1] {
        let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
        let mut topology = TopologyBuilder::new();
        let seq = if ackers == 0 { Seq::untracked(u64::MAX) } else { Seq::new(u64::MAX, &journal) };
        topology.spout("numbers", move || seq.clone());
        topology.bolt("relay", relay).parallelism(2).shuffle_grouping("numbers");
        topology.bolt("sink", sink(&rows)).parallelism(2).fields_grouping("relay", ["value"]);
        let settings = [("topology.acker.executors", ackers.into()), ("topology.max.spout.pending", 1000.into())];
        let running = start(topology, &config(&settings));
        wait_for("tuples", || {
            running
                .snapshots()
                .iter()
                .flat_map(|core| &core.executors)
                .any(|executor| executor.inputs.iter().any(|input| input.executed > 1000))
        });
        running.request_stop();
        // Whoever asks afterwards to go on is late.
        running.activate();
        let report = finish(running);
        assert_eq!(report.outcome, Outcome::Stopped);
        assert!(report.drained, "{report:#?}");
        assert_eq!((report.pending, report.in_flight), (0, 0));
        assert_eq!(transferred(&report.snapshots), executed(&report.snapshots));
        let values = rows.values();
        assert_eq!(values, (0..values.len() as u64).collect::<Vec<_>>());
        if ackers > 0 {
            journal.assert_all_acked_once(values.len() as u64);
        }
    }
}

/// What was failed is not replayed once a stop was asked for, and what is un-acked is counted.
fn a_stop_counts_what_was_not_acked() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(50, &journal).stays(Duration::from_secs(3600));
    topology.spout("numbers", move || seq.clone());
    topology.bolt("mute", mute).shuffle_grouping("numbers");
    let running = start(topology, &config(&[("ringstorm.drain.timeout.secs", 0.3.into())]));
    wait_for("all to be emitted", || journal.fates().len() == 50);
    let asked = Instant::now();
    running.request_stop();
    let report = finish(running);
    assert_eq!((&report.outcome, report.drained), (&Outcome::Stopped, false));
    assert_eq!((report.pending, report.in_flight, report.cores_left_behind), (50, 0, 0));
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
}

/// A bolt sleeps for a minute: the stop comes back soon after the drain time-out and says who did not.
fn asleep(blocking: bool) {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(5, &journal).stays(Duration::from_secs(3600));
    topology.spout("numbers", move || seq.clone());
    // On the other core.
    let sleeper = topology.bolt("sleeper", || slow(Duration::from_secs(60))).shuffle_grouping("numbers");
    if blocking {
        sleeper.blocking();
    }
    let running = start(topology, &config(&[("ringstorm.drain.timeout.secs", 0.5.into())]));
    wait_for("all to be emitted", || journal.fates().len() == 5);
    std::thread::sleep(Duration::from_millis(50));
    let asked = Instant::now();
    running.request_stop();
    let report = finish(running);
    let took = asked.elapsed();
    assert!(took < Duration::from_millis(2500), "the stop took {took:?}");
    assert_eq!((&report.outcome, report.drained), (&Outcome::Stopped, false));
    assert_eq!((report.pending, report.cores_left_behind), (5, 1));
    assert!(report.in_flight >= 1, "{report:#?}");
    let errors = errors_of(&report, "sleeper");
    assert!(errors.iter().any(|text| text.contains("left behind")), "{:#?}", report.errors);
}

fn a_stop_does_not_wait_for_a_bolt_that_sleeps_on_its_core() {
    asleep(false);
}

fn a_stop_does_not_wait_for_a_blocking_bolt_that_sleeps() {
    asleep(true);
}

/// A spout that waits for its source for a minute holds nobody up: everything else finishes.
fn a_stop_does_not_wait_for_a_spout_that_sleeps() {
    struct Sleeps(Arc<AtomicU64>);
    impl Spout for Sleeps {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
                collector.emit(&Number { value: 7 });
                return Ok(Next::Emitted);
            }
            std::thread::sleep(Duration::from_secs(60));
            Ok(Next::Idle)
        }
    }
    struct Finishes(Arc<AtomicU64>);
    impl Bolt for Finishes {
        fn execute(&mut self, _: &Input<'_>, _: &mut BoltCollector<'_>) -> Result {
            Ok(())
        }
        fn finish(&mut self, _: &mut BoltCollector<'_>) -> Result {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }
    let (calls, finishes) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let shared = Arc::clone(&calls);
    topology.spout("sleeps", move || Sleeps(Arc::clone(&shared))).blocking();
    let shared = Arc::clone(&finishes);
    topology.bolt("finishes", move || Finishes(Arc::clone(&shared))).parallelism(3).shuffle_grouping("sleeps");
    let running = start(topology, &config(&[]));
    wait_for("the spout to sleep", || calls.load(Ordering::Relaxed) == 2);
    let asked = Instant::now();
    running.request_stop();
    let report = finish(running);
    assert!(asked.elapsed() < Duration::from_secs(3), "the stop took {:?}", asked.elapsed());
    assert_eq!((&report.outcome, report.drained, report.cores_left_behind), (&Outcome::Stopped, true, 1));
    assert_eq!((finishes.load(Ordering::Relaxed), executed(&report.snapshots)), (3, 1));
    let errors = errors_of(&report, "sleeps");
    assert!(errors.len() == 1 && errors[0].contains("left behind"), "{:#?}", report.errors);
}

#[test]
fn a_stop_handle_works_from_anywhere_and_more_than_once() {
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(u64::MAX);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("sink", || slow(Duration::ZERO)).shuffle_grouping("numbers");
    let running = start(topology, &config(&[]));
    let handle = running.stop_handle();
    let stopper = std::thread::spawn({
        let handle = handle.clone();
        move || {
            std::thread::sleep(Duration::from_millis(30));
            handle.stop();
            handle.stop();
        }
    });
    let report = finish(running);
    stopper.join().unwrap();
    assert_eq!((&report.outcome, report.drained), (&Outcome::Stopped, true));
    // The run is over: nobody minds.
    handle.stop();
}

/// Reports an error for each tuple.
fn loud() -> impl Bolt {
    ends(|input, collector| {
        collector.report_error("something");
        collector.ack(input);
        Ok(())
    })
}

/// Whoever listens to errors may be slow, or panic: the run does not care.
#[test]
fn a_bad_listener_holds_no_data_and_ends_nothing() {
    let journal = Arc::<Journal>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(5000, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("loud", loud).parallelism(2).shuffle_grouping("numbers");
    let mut calls = 0;
    let options = LocalOptions {
        on_error: Some(Box::new(move |_| {
            calls += 1;
            std::thread::sleep(Duration::from_millis(50));
            assert!(calls < 3, "I cannot listen any more");
        })),
        ..LocalOptions::default()
    };
    let report = finish(start_with(topology, &config(&[]), options));
    assert_drained(&report);
    journal.assert_all_acked_once(5000);
    assert_eq!(error_count(&report), 5000);
}

/// Errors that come faster than the listener takes them keep nobody from stopping the run or asking for its numbers.
fn a_slow_listener_holds_up_no_stop() {
    let mut topology = TopologyBuilder::new();
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(0, &journal).stays(Duration::from_secs(600));
    topology.spout("numbers", move || seq.clone());
    topology.bolt("loud", loud).shuffle_grouping("numbers").tick_every(Duration::from_millis(2));
    let options = LocalOptions {
        on_error: Some(Box::new(|_| std::thread::sleep(Duration::from_millis(200)))),
        ..LocalOptions::default()
    };
    let settings = config(&[("topology.max.error.report.per.interval", 100_000.into())]);
    let running = start_with(topology, &settings, options);
    std::thread::sleep(Duration::from_millis(500));
    let asked = Instant::now();
    assert!(!running.snapshots().is_empty());
    running.request_stop();
    let report = finish(running);
    assert_eq!((report.drained, &report.outcome), (true, &Outcome::Stopped));
    // The listener has five seconds for what was queued.
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert!(error_count(&report) > 20);
}

/// These mostly wait.
#[test]
fn while_others_sleep() {
    at_once![
        a_slow_listener_holds_up_no_stop,
        a_stop_counts_what_was_not_acked,
        a_stop_does_not_wait_for_a_bolt_that_sleeps_on_its_core,
        a_stop_does_not_wait_for_a_blocking_bolt_that_sleeps,
        a_stop_does_not_wait_for_a_spout_that_sleeps
    ];
}

/// Those who read the counters as fast as they can, and those who turn the spouts on and off, hold up no end.
#[test]
fn eager_owners_hold_up_no_end() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(20_000, &journal);
    let running = start(topology_of(seq), &config(&[]));
    let over = Arc::<AtomicBool>::default();
    let askers: Vec<_> = (0..4)
        .map(|_| {
            let (observer, over) = (running.observer(), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    observer.snapshots();
                }
            })
        })
        .collect();
    for _ in 0..100_000 {
        running.deactivate();
        running.activate();
    }
    let report = finish(running);
    over.store(true, Ordering::Relaxed);
    askers.into_iter().for_each(|asker| asker.join().unwrap());
    assert_clean(&report);
    journal.assert_all_acked_once(20_000);
}

/// A run that is over answers at once.
#[test]
fn who_asks_a_run_that_is_over_gets_nothing() {
    let journal = Arc::<Journal>::default();
    let running = start(topology_of(Seq::new(10, &journal)), &config(&[]));
    let (observer, stop) = (running.observer(), running.stop_handle());
    finish(running);
    let asked = Instant::now();
    stop.stop();
    assert!(observer.snapshots().is_empty());
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

fn topology_of(seq: Seq) -> TopologyBuilder {
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", move || seq.clone());
    let ack = || {
        ends(|input, collector| {
            collector.ack(input);
            Ok(())
        })
    };
    topology.bolt("sink", ack).shuffle_grouping("numbers");
    topology
}

/// What fails during the drain, when no spout is asked for tuples any more, is reported all the same.
#[test]
fn messages_that_fail_during_the_drain_of_a_stop_are_reported() {
    let fails_when_stopped = |add: &dyn Fn(&mut TopologyBuilder)| {
        let (entered, leave) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let mut topology = TopologyBuilder::new();
        add(&mut topology);
        let (its_entered, its_leave) = (Arc::clone(&entered), Arc::clone(&leave));
        let bolt = move || {
            let (entered, leave) = (Arc::clone(&its_entered), Arc::clone(&its_leave));
            ends(move |input, collector| {
                entered.store(true, Ordering::Relaxed);
                while !leave.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                collector.fail(input);
                Ok(())
            })
        };
        topology.bolt("fails", bolt).blocking().shuffle_grouping("source");
        let running = start(topology, &config(&[]));
        wait_for("the tuple", || entered.load(Ordering::Relaxed));
        running.request_stop();
        // The spout's core is told of the stop before the bolt is let go.
        std::thread::sleep(Duration::from_millis(200));
        leave.store(true, Ordering::Relaxed);
        let report = finish(running);
        assert_eq!((report.outcome.clone(), report.drained), (Outcome::Stopped, true), "{report:#?}");
        errors_of(&report, "source").join("; ")
    };
    let (sender, numbers) = channel(8);
    sender.send(Number { value: 7 }).unwrap();
    let of_channel = fails_when_stopped(&|topology| drop(topology.spout("source", numbers.clone())));
    assert!(of_channel.contains("a message was given up after 1 failures"), "{of_channel}");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, b"one line\n").unwrap();
    let path = file.path().to_owned();
    let of_lines = fails_when_stopped(&|topology| {
        let path = path.clone();
        topology.spout("source", move || LineSpout::new(&path).retries(RetryPolicy::none()));
    });
    assert!(of_lines.contains("the line at byte 0 of") && of_lines.contains("was given up"), "{of_lines}");
}
