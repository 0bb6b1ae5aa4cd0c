//! Bolts that await.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ringstorm_runtime::side_runtime::sleep;
use ringstorm_runtime::{AsyncBolt, AsyncEmitter, Declarer, FailReason, Outcome, Result, TopologyBuilder, TupleCopy};

use crate::harness::*;

/// Sleeps per tuple, passes it on, and notes how many of its jobs there were at most.
struct Sleepy {
    time: fn(u64) -> Duration,
    jobs: Rc<std::cell::Cell<u64>>,
    most: Arc<AtomicU64>,
    fate: fn(u64) -> Fate,
}

#[derive(Clone, Copy)]
enum Fate {
    Ok,
    Err,
    Panic,
    PanicAtOnce,
    BadEmit,
    PanicInDrop,
    BadError,
}

/// An error that cannot be shown.
#[derive(Debug)]
struct BadError;

impl std::fmt::Display for BadError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("not to be shown");
    }
}

impl std::error::Error for BadError {}

struct PanicsInDrop(bool);

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        assert!(!self.0 || std::thread::panicking(), "dropped");
    }
}

impl AsyncBolt for Sleepy {
    fn declare(&self, declarer: &mut Declarer) {
        declarer.emits::<Number>();
    }
    fn execute(&mut self, input: TupleCopy, emitter: AsyncEmitter) -> impl Future<Output = Result> + 'static {
        let value = input.tuple().view::<Number>().unwrap().value();
        let (time, fate, jobs) = ((self.time)(value), (self.fate)(value), Rc::clone(&self.jobs));
        assert!(!matches!(fate, Fate::PanicAtOnce), "at once");
        jobs.set(jobs.get() + 1);
        self.most.fetch_max(jobs.get(), Ordering::Relaxed);
        async move {
            let _bomb = PanicsInDrop(matches!(fate, Fate::PanicInDrop));
            emitter.emit(&Number { value: input.tuple().view::<Number>()?.value() });
            sleep(time).await;
            jobs.set(jobs.get() - 1);
            match fate {
                Fate::Ok | Fate::PanicAtOnce | Fate::PanicInDrop => Ok(()),
                Fate::Err => Err("no answer".into()),
                Fate::BadError => Err(BadError.into()),
                Fate::Panic => panic!("a bad answer"),
                Fate::BadEmit => {
                    emitter.emit_to("ghost", &Number { value });
                    Ok(())
                }
            }
        }
    }
}

fn sleepy(
    time: fn(u64) -> Duration,
    fate: fn(u64) -> Fate,
    most: &Arc<AtomicU64>,
) -> impl Fn() -> Sleepy + Send + Sync + 'static {
    let most = Arc::clone(most);
    move || Sleepy { time, jobs: Rc::default(), most: Arc::clone(&most), fate }
}

struct Ran {
    report: ringstorm_runtime::RunReport,
    journal: Arc<Journal>,
    rows: Arc<Rows>,
    most: u64,
}

fn run_sleepy(count: u64, concurrency: u32, time: fn(u64) -> Duration, fate: fn(u64) -> Fate) -> Ran {
    let (journal, rows, most) = (Arc::<Journal>::default(), Arc::<Rows>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(count, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.async_bolt("sleepy", concurrency, sleepy(time, fate, &most)).shuffle_grouping("numbers");
    topology.bolt("sink", sink(&rows)).shuffle_grouping("sleepy");
    let report = run(topology, &config(&[]));
    Ran { report, journal, rows, most: most.load(Ordering::Relaxed) }
}

#[test]
fn at_most_so_many_jobs_run_at_once_and_all_of_them_do() {
    let ran = run_sleepy(200, 16, |_| Duration::from_millis(10), |_| Fate::Ok);
    assert_clean(&ran.report);
    ran.journal.assert_all_acked_once(200);
    assert_eq!(ran.rows.values(), (0..200).collect::<Vec<_>>());
    assert_eq!(ran.most, 16);
    // 200 sleeps of 10 ms, 16 at a time, take 125 ms and a little; one after the other they would take 2 s.
    assert!(ran.report.elapsed < Duration::from_millis(1900), "{:?}", ran.report.elapsed);
}

/// The full concurrency all the time, with ends that come from another thread at every moment: no wake-up is lost.
#[test]
fn no_wakeup_is_lost_at_full_concurrency() {
    let ran = run_sleepy(6000, 2, |value| Duration::from_micros(value % 97), |_| Fate::Ok);
    assert_clean(&ran.report);
    ran.journal.assert_all_acked_once(6000);
    assert_eq!(ran.rows.len(), 6000);
}

#[test]
fn a_job_that_fails_fails_its_tuple_alone() {
    let fate = |value| match value % 20 {
        3 => Fate::Err,
        7 => Fate::Panic,
        11 => Fate::BadEmit,
        _ => Fate::Ok,
    };
    let ran = run_sleepy(200, 8, |_| Duration::from_millis(1), fate);
    assert_drained(&ran.report);
    ran.journal.assert_one_word_per_emit();
    for (id, word) in ran.journal.fates() {
        let fails = [3, 7, 11].contains(&(id % 20));
        assert_eq!(word.fails.len(), usize::from(fails), "message {id}: {word:?}");
        assert!(word.fails != [FailReason::TimedOut], "message {id}");
    }
    assert_eq!(error_count(&ran.report), 30);
    let errors = errors_of(&ran.report, "sleepy").join("\n");
    assert!(errors.contains("no answer") && errors.contains("a bad answer") && errors.contains("ghost"), "{errors}");
}

/// A panic outside of any job rebuilds the task; the jobs that it had are gone, and their tuples fail at once.
#[test]
fn a_panic_of_the_bolt_itself_fails_what_its_jobs_held() {
    let fate = |value| if value == 15 { Fate::PanicAtOnce } else { Fate::Ok };
    let ran = run_sleepy(16, 16, |_| Duration::from_secs(5), fate);
    assert_drained(&ran.report);
    ran.journal.assert_one_word_per_emit();
    assert_eq!(ran.journal.fails(), 16);
    assert!(ran.report.elapsed < Duration::from_secs(4), "nothing waits for a time-out: {:?}", ran.report.elapsed);
    assert_eq!(error_count(&ran.report), 1, "{:?}", ran.report.errors);
}

/// Its error is user code too.
#[test]
fn a_job_whose_error_cannot_be_shown_fails_its_tuple_at_once() {
    let fate = |value| if value == 5 { Fate::BadError } else { Fate::Ok };
    let ran = run_sleepy(10, 4, |_| Duration::from_millis(1), fate);
    assert_drained(&ran.report);
    ran.journal.assert_one_word_per_emit();
    assert!(
        matches!(ran.journal.fates()[&5].fails[..], [FailReason::FailedBy { .. }]),
        "{:?}",
        ran.journal.fates()[&5]
    );
    assert_eq!(ran.journal.fails(), 1, "the task was rebuilt");
    let errors = errors_of(&ran.report, "sleepy");
    assert!(errors.len() == 1 && errors[0].contains("not to be shown"), "{errors:?}");
}

/// All jobs are dropped, whatever the drops of some of them do, even if another panic is on its way.
#[test]
fn jobs_that_are_left_at_the_end_may_all_panic_in_their_drops() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a bad end");
        }
    }
    struct Waits(Arc<AtomicU64>);
    impl AsyncBolt for Waits {
        fn execute(&mut self, _: TupleCopy, _: AsyncEmitter) -> impl Future<Output = Result> + 'static {
            self.0.fetch_add(1, Ordering::Relaxed);
            let bomb = Bomb;
            async move {
                std::future::pending::<()>().await;
                drop(bomb);
                Ok(())
            }
        }
    }
    let jobs = Arc::<AtomicU64>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(3);
    topology.spout("numbers", move || seq.clone());
    let shared = Arc::clone(&jobs);
    topology.async_bolt("waits", 8, move || Waits(Arc::clone(&shared))).shuffle_grouping("numbers");
    let running = start(topology, &config(&[("ringstorm.drain.timeout.secs", 0.2.into())]));
    wait_for("the jobs", || jobs.load(Ordering::Relaxed) == 3);
    running.request_stop();
    let report = finish(running);
    assert_eq!((report.in_flight, report.cores_left_behind, error_count(&report)), (3, 0, 1), "{:?}", report.errors);
    assert!(errors_of(&report, "waits")[0].contains("its drop panicked"), "{:?}", report.errors);
}

#[test]
fn a_job_whose_drop_panics_has_a_fate_all_the_same() {
    let fate = |value| if value == 5 { Fate::PanicInDrop } else { Fate::Ok };
    let ran = run_sleepy(10, 4, |_| Duration::from_millis(1), fate);
    assert_drained(&ran.report);
    ran.journal.assert_one_word_per_emit();
}

/// A job that never ends keeps the run from being drained, and its tuple is what is left.
#[test]
fn a_job_in_progress_is_not_drained() {
    let (journal, most) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(3);
    topology.spout("numbers", move || seq.clone());
    topology
        .async_bolt("sleepy", 8, sleepy(|_| Duration::from_millis(400), |_| Fate::Ok, &most))
        .shuffle_grouping("numbers");
    let rows = Arc::<Rows>::default();
    topology.bolt("sink", sink(&rows)).shuffle_grouping("sleepy");
    assert_clean(&run(topology, &config(&[])));
    assert_eq!((rows.len(), journal.acks()), (3, 0));

    let jobs = Arc::<AtomicU64>::default();
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(3);
    topology.spout("numbers", move || seq.clone());
    topology
        .async_bolt("sleepy", 8, sleepy(|_| Duration::from_secs(3600), |_| Fate::Ok, &jobs))
        .shuffle_grouping("numbers");
    let running = start(topology, &config(&[("ringstorm.drain.timeout.secs", 0.2.into())]));
    wait_for("the jobs", || jobs.load(Ordering::Relaxed) == 3);
    running.request_stop();
    let report = finish(running);
    assert!(!report.drained, "{report:#?}");
    assert_eq!((report.in_flight, report.cores_left_behind), (3, 0));
    assert_eq!(report.outcome, Outcome::Stopped);
}

/// Jobs sleep while the core does other work.
#[test]
fn a_sleeping_job_does_not_hold_its_core() {
    let (journal, most) = (Arc::<Journal>::default(), Arc::<AtomicU64>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::untracked(1);
    topology.spout("once", move || seq.clone());
    topology
        .async_bolt("sleepy", 8, sleepy(|_| Duration::from_millis(600), |_| Fate::Ok, &most))
        .shuffle_grouping("once");
    let seq = Seq::new(2000, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.bolt("relay", relay).shuffle_grouping("numbers");
    topology.bolt("last", || slow(Duration::ZERO)).shuffle_grouping("relay");
    assert_clean(&run(topology, &config(&[("ringstorm.worker.cores", 1.into())])));
    let slowest = journal.fates().values().filter_map(|fate| fate.told_after).max();
    assert!(slowest < Some(Duration::from_millis(400)), "{slowest:?}");
}

/// A clone of an emitter is of no use to another job: what is emitted with it is not lost silently.
#[test]
fn emits_with_the_emitter_of_an_earlier_job_are_refused_and_counted() {
    #[derive(Default)]
    struct Keeps(Option<AsyncEmitter>);
    impl AsyncBolt for Keeps {
        fn declare(&self, declarer: &mut Declarer) {
            declarer.emits::<Number>();
        }
        fn execute(&mut self, input: TupleCopy, emitter: AsyncEmitter) -> impl Future<Output = Result> + 'static {
            let first = self.0.get_or_insert_with(|| emitter.clone()).clone();
            async move {
                let value = input.tuple().view::<Number>()?.value();
                first.emit(&Number { value });
                first.emit(&Number { value });
                Ok(())
            }
        }
    }
    let (journal, rows) = (Arc::<Journal>::default(), Arc::<Rows>::default());
    let mut topology = TopologyBuilder::new();
    let seq = Seq::new(3, &journal);
    topology.spout("numbers", move || seq.clone());
    topology.async_bolt("keeps", 1, Keeps::default).shuffle_grouping("numbers");
    topology.bolt("sink", sink(&rows)).shuffle_grouping("keeps");
    let report = run(topology, &config(&[]));
    assert_drained(&report);
    journal.assert_all_acked_once(3);
    assert_eq!(rows.values(), [0, 0]);
    let errors = errors_of(&report, "keeps");
    assert!(errors.len() == 2 && errors.iter().all(|text| text.contains("2 emits were refused")), "{errors:?}");
}
