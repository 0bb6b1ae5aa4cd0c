//! Messages that take too long, with a time-out of T = 1 s. A message fails after T to 2T.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ringstorm_runtime::{
    AckHandle, Bolt, BoltCollector, CustomGrouping, Declarer, FailReason, GroupedTuple, Input, Next, Result,
    RunningTopology, Spout, SpoutCollector, TopologyBuilder,
};
use serde_json::Value;

use crate::harness::*;

const TIMEOUT: (&str, u64) = ("topology.message.timeout.secs", 1);
/// What a loaded machine may add.
const SLACK: Duration = Duration::from_millis(1500);

fn with_timeout(more: &[(&'static str, Value)]) -> ringstorm_types::config::Config {
    let mut settings = vec![(TIMEOUT.0, TIMEOUT.1.into())];
    settings.extend_from_slice(more);
    config(&settings)
}

fn spout_into<B: Bolt>(
    seq: Seq,
    (executors, tasks): (u32, u32),
    bolt: impl Fn() -> B + Send + Sync + 'static,
) -> TopologyBuilder {
    let mut topology = TopologyBuilder::new();
    topology.spout("numbers", move || seq.clone()).parallelism(executors).tasks(tasks);
    topology.bolt("bolt", bolt).shuffle_grouping("numbers").tick_every(Duration::from_millis(50));
    topology
}

/// Storm's B002: nothing stays behind of what was never acked, neither at the spout nor, within three time-outs, at the
/// acker.
fn what_is_never_acked_fails_after_one_to_two_timeouts_and_leaves_nothing() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(20_000, &journal).stays(Duration::from_millis(2500));
    let running = start(spout_into(seq, (1, 1), mute), &with_timeout(&[]));
    wait_for("all to fail", || journal.fates().len() == 20_000 && journal.fails() == 20_000);
    wait_for("the acker to forget", || open_roots(&running) == 0);
    let first = journal.fates().values().filter_map(|fate| fate.emitted_at).min().unwrap();
    assert!(first.elapsed() < Duration::from_secs(3) + SLACK, "the acker forgot after {:?}", first.elapsed());
    let report = finish(running);
    assert_clean(&report);
    journal.assert_one_word_per_emit();
    for (id, fate) in journal.fates() {
        assert_eq!(fate.fails, [FailReason::TimedOut], "message {id}");
        let told = fate.told_after.unwrap();
        assert!(told >= Duration::from_millis(990) && told < Duration::from_secs(2) + SLACK, "message {id}: {told:?}");
    }
    let spout = report.snapshots.iter().flat_map(|core| &core.executors).find(|executor| executor.is_spout).unwrap();
    assert_eq!((spout.acked, spout.failed, spout.timed_out, spout.pending), (0, 20_000, 20_000, 0));
}

/// Storm's B002: a tree that no spout knows of leaves the acker by the acker's own clock. Here a grouping panics when a
/// copy for another subscriber has left already: its ack is all that is ever heard of the root.
fn an_acker_forgets_by_its_own_clock_what_no_spout_knows_of() {
    struct Breaks;
    impl CustomGrouping for Breaks {
        fn choose(&mut self, tuple: &GroupedTuple<'_>, targets: &mut Vec<usize>) {
            if !tuple.get(0).as_u64().is_some_and(|value| value.is_multiple_of(2)) {
                // As a panic, but without a backtrace, which would take the time of those who run besides.
                std::panic::resume_unwind(Box::new("an odd number"));
            }
            targets.push(0);
        }
    }
    #[derive(Clone)]
    struct Rebuilt {
        next: Arc<AtomicUsize>,
        ends: Arc<AtomicBool>,
    }
    impl Spout for Rebuilt {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn next_tuple(&mut self, collector: &mut SpoutCollector<'_>) -> Result<Next> {
            if self.next.load(Ordering::Relaxed) < 20 {
                let value = self.next.fetch_add(1, Ordering::Relaxed) as u64;
                collector.emit_with_id(value, &Number { value });
                return Ok(Next::Emitted);
            }
            if self.ends.load(Ordering::Relaxed) {
                return Ok(Next::Finished);
            }
            Ok(Next::Until(Instant::now() + Duration::from_millis(20)))
        }
    }
    let mut topology = TopologyBuilder::new();
    let ends = Arc::<AtomicBool>::default();
    let spout = Rebuilt { next: Arc::default(), ends: Arc::clone(&ends) };
    topology.spout("numbers", move || spout.clone());
    // Copies go to subscribers in the order of their names.
    topology.bolt("acks", || slow(Duration::ZERO)).shuffle_grouping("numbers");
    topology.bolt("breaks", || slow(Duration::ZERO)).custom_grouping("numbers", "breaks", || Breaks);
    let started = Instant::now();
    let running = start(topology, &with_timeout(&[("ringstorm.task.failure.limit", 100.into())]));
    wait_for("the acks of what no spout knows of", || open_roots(&running) == 10);
    wait_for("the acker to forget them", || open_roots(&running) == 0);
    assert!(started.elapsed() < Duration::from_secs(3) + SLACK, "after {:?}", started.elapsed());
    assert!(!running.is_over(), "it forgot them while the topology ran");
    ends.store(true, Ordering::Relaxed);
    let report = finish(running);
    assert_drained(&report);
    assert_eq!(error_count(&report), 10, "{:#?}", report.errors);
}

/// Storm's B002: what a burst took, the acker and the spout give back by their own clocks, although nothing comes any
/// more. Each of them was asked for 200,000 entries: megabytes.
fn the_memory_of_a_burst_is_given_back_by_the_clock_alone() {
    const COUNT: u64 = 200_000;
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(COUNT, &journal).per_call(1000).stays(Duration::from_secs(3600));
    let (released, most) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let shared = Arc::clone(&released);
    let topology = spout_into(seq, (1, 1), move || AckWhen { released: Arc::clone(&shared), held: Vec::new() });
    let running = start(topology, &with_timeout(&[]));
    let held_bytes = || {
        let snapshots = running.snapshots();
        let bytes = snapshots.iter().map(|core| core.ledger_bytes + core.pending_bytes).sum();
        most.fetch_max(bytes, Ordering::Relaxed);
        bytes
    };
    wait_for("all to be open", || open_roots(&running) == COUNT as usize);
    held_bytes();
    released.store(true, Ordering::Relaxed);
    wait_for("all to be closed", || open_roots(&running) == 0);
    wait_for("the memory", || held_bytes() < 64 << 10);
    assert!(most.load(Ordering::Relaxed) > COUNT as usize * 16, "the burst took {most:?} bytes");
    assert!(!running.is_over(), "it was given back while the topology ran");
    running.request_stop();
    assert!(finish(running).drained);
    journal.assert_one_word_per_emit();
}

/// Keeps what comes until it may ack it all, at a tick.
struct AckWhen {
    released: Arc<AtomicBool>,
    held: Vec<AckHandle>,
}

impl Bolt for AckWhen {
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        if !input.is_tick() {
            self.held.push(input.defer());
        } else if self.released.load(Ordering::Relaxed) {
            self.held.drain(..).for_each(|handle| collector.ack_deferred(handle));
        }
        Ok(())
    }
}

fn open_roots(running: &RunningTopology) -> usize {
    running.snapshots().iter().map(|core| core.open_roots).sum()
}

/// Storm's B001: pending messages age once per executor and period, whatever its task count. They are emitted over two
/// periods, so that some of each task are pending at each of its ends.
fn several_tasks_of_an_executor_age_once() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(55, &journal).paced(Duration::from_millis(40));
    let report = run(spout_into(seq, (1, 4), || Hold::new(Duration::from_millis(300))), &with_timeout(&[]));
    assert_clean(&report);
    journal.assert_all_acked_once(220);
    // The second period ends two seconds after the start at the earliest.
    let emits = journal.fates().into_values().filter_map(|fate| fate.emitted_at);
    let (first, last) = emits.fold((None, None), |(first, last): (Option<Instant>, Option<Instant>), at| {
        (Some(first.map_or(at, |first| first.min(at))), Some(last.map_or(at, |last| last.max(at))))
    });
    assert!(last.unwrap() - first.unwrap() > Duration::from_secs(2));
}

/// Storm's B004: with time-outs off nothing fails, acks count that come after all time-outs of spout and acker, and a
/// spout at its limit goes on. In long with its own numbers, which take five minutes.
fn with_timeouts_off_late_acks_count_and_a_full_spout_goes_on() {
    let (messages, held, hold_for, timeout_secs) = match long_soak_time() {
        Some(_) => (100, 100, Duration::from_secs(30), 5),
        None => (20, 10, Duration::from_millis(3300), 1),
    };
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(messages, &journal);
    let settings = [
        (TIMEOUT.0, timeout_secs.into()),
        ("topology.enable.message.timeouts", false.into()),
        ("topology.max.spout.pending", 10.into()),
    ];
    // Those that fill the spout are held for longer than an acker would remember them; the others come behind them.
    let topology = spout_into(seq, (1, 1), move || HoldFirst { hold: Hold::new(hold_for), count: held });
    let config = config(&settings);
    let built = topology.build(&config).unwrap();
    let warnings: Vec<String> = built.warnings().collect();
    assert!(
        warnings.iter().any(|text| {
            text.contains("topology.enable.message.timeouts") && text.contains("topology.max.spout.pending")
        }),
        "{warnings:?}"
    );
    let running = ringstorm_runtime::LocalCluster::new()
        .submit("test", built, ringstorm_runtime::LocalOptions::default())
        .unwrap();
    assert_clean(&finish(running));
    journal.assert_all_acked_once(messages);
}

/// Holds only the first few.
struct HoldFirst {
    hold: Hold,
    count: u64,
}

impl Bolt for HoldFirst {
    fn execute(&mut self, input: &Input<'_>, collector: &mut BoltCollector<'_>) -> Result {
        if input.is_tick() || input.view::<Number>()?.value() < self.count {
            return self.hold.execute(input, collector);
        }
        collector.ack(input);
        Ok(())
    }
}

/// Storm's B007: a bolt may ask for more time, again and again, beyond what the spout waits (two time-outs) and what the
/// acker remembers (three).
fn asking_for_more_time_keeps_a_message_alive() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(200, &journal);
    let report = run(spout_into(seq, (1, 1), || Hold::resetting(Duration::from_millis(3300))), &with_timeout(&[]));
    assert_clean(&report);
    journal.assert_all_acked_once(200);
}

/// Held without asking, the same messages fail; the acks that come later are ignored.
fn an_ack_that_comes_too_late_is_ignored() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(200, &journal).stays(Duration::from_millis(2900));
    let report = run(spout_into(seq, (1, 1), || Hold::new(Duration::from_millis(2200))), &with_timeout(&[]));
    assert_clean(&report);
    journal.assert_one_word_per_emit();
    assert_eq!((journal.acks(), journal.fails()), (0, 200));
}

/// What times out is replayed, though the spout had said that its input has ended.
fn a_finished_spout_replays_what_times_out() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(30, &journal).replays();
    let forgetful = || {
        let mut seen = std::collections::HashSet::new();
        ends(move |input, collector| {
            if !input.is_tick() && !seen.insert(input.view::<Number>()?.value()) {
                collector.ack(input);
            }
            Ok(())
        })
    };
    assert_clean(&run(spout_into(seq, (1, 1), forgetful), &with_timeout(&[])));
    journal.assert_all_acked_in_the_end(30);
    assert_eq!(journal.fails(), 30);
}

/// A waiting spout is called again when something of it has timed out, before the instant that it waits for.
fn a_spout_that_waits_for_long_hears_of_timeouts_and_replays() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(5, &journal).replays().stays(Duration::from_secs(3600));
    let forgetful = || {
        let mut seen = std::collections::HashSet::new();
        ends(move |input, collector| {
            if !input.is_tick() && !seen.insert(input.view::<Number>()?.value()) {
                collector.ack(input);
            }
            Ok(())
        })
    };
    let running = start(spout_into(seq, (1, 1), forgetful), &with_timeout(&[]));
    wait_for("the replays", || journal.acks() == 5);
    running.request_stop();
    finish(running);
    journal.assert_one_word_per_emit();
}

/// Messages time out and are told while the topology is inactive.
fn deactivation_does_not_stop_the_clock() {
    let journal = Arc::<Journal>::default();
    let seq = Seq::new(100, &journal).replays();
    let running = start(spout_into(seq, (1, 1), mute), &with_timeout(&[]));
    wait_for("the first message", || !journal.fates().is_empty());
    running.deactivate();
    wait_for("the fails", || journal.fails() > 0 && journal.fails() == journal.fates().len() as u64);
    let emits: u32 = journal.fates().values().map(|fate| fate.emits).sum();
    std::thread::sleep(Duration::from_millis(100));
    let later: u32 = journal.fates().values().map(|fate| fate.emits).sum();
    assert_eq!(emits, later, "nothing is replayed while the topology is inactive");
    running.request_stop();
    finish(running);
}

/// All of these mostly wait.
#[test]
fn time_passes() {
    at_once![
        what_is_never_acked_fails_after_one_to_two_timeouts_and_leaves_nothing,
        an_acker_forgets_by_its_own_clock_what_no_spout_knows_of,
        the_memory_of_a_burst_is_given_back_by_the_clock_alone,
        several_tasks_of_an_executor_age_once,
        with_timeouts_off_late_acks_count_and_a_full_spout_goes_on,
        asking_for_more_time_keeps_a_message_alive,
        an_ack_that_comes_too_late_is_ignored,
        a_finished_spout_replays_what_times_out,
        a_spout_that_waits_for_long_hears_of_timeouts_and_replays,
        deactivation_does_not_stop_the_clock
    ];
}
