//! Workers that are killed one after another, and what a new process is spared.

use std::time::{Duration, Instant};

use ringstorm_tests::outside::Outside;
use ringstorm_tests::run::{Run, assert_deaths};
use rustix::process::{Pid, Signal, kill_process};

use crate::{AMPLE, Case, soak_secs, until};

const PER_SECOND: f64 = 2_000.0;
/// From the death of a process until another is there in its place.
const REPLACED_WITHIN: Duration = Duration::from_secs(2);

/// Many workers, of which one after another is killed: the others stay the same processes, the next one is there at once,
/// and every message is acked in the end.
#[test]
fn a_dead_worker_is_replaced_at_once_and_takes_nobody_along() {
    let (workers, kills, pause) = match soak_secs() {
        Some(_) => (20, 15, Duration::from_secs(20)),
        None => (8, 5, Duration::from_millis(700)),
    };
    let directory = tempfile::tempdir().unwrap();
    let seconds = (pause * kills).as_secs_f64() + 2.0;
    let count = (seconds * PER_SECOND) as u64;
    let source = Outside::start(&directory.path().join("source"), count, PER_SECOND);
    let executors = workers.to_string();
    let more = ["--quiet", "--executors", &executors];
    let mut run = Run::start(env!("CARGO_BIN_EXE_numbers"), workers, source.path(), directory.path(), &more);
    until("the first acks", AMPLE, || source.fates().acked > 1000);

    let mut processes = run.workers();
    assert_eq!(processes.len(), workers);
    let (mut slowest, mut dead) = (Duration::ZERO, Vec::new());
    for kill in 0..kills as usize {
        let worker = kill * 3 % workers;
        assert!(run.signal(worker, Signal::KILL));
        dead.push(worker);
        let killed = Instant::now();
        let old = processes[worker].1;
        let replaced = |now: &[(usize, Pid)]| now.iter().any(|(number, pid)| *number == worker && *pid != old);
        until("another process", REPLACED_WITHIN, || replaced(&run.workers()));
        slowest = slowest.max(killed.elapsed());
        let acked = source.fates().acked;
        until("tuples to flow", AMPLE, || source.fates().acked > acked + 500);
        std::thread::sleep(pause.saturating_sub(killed.elapsed()));
        let now = run.workers();
        processes[worker].1 = now[worker].1;
        assert_eq!(now, processes, "{}", run.errors());
    }

    let status = run.wait(AMPLE);
    let (errors, fates) = (run.errors(), source.fates());
    eprintln!("{workers} workers, {kills} kills: the slowest replacement after {slowest:?}; {fates:?}");
    assert_eq!(status.and_then(|status| status.code()), Some(4), "{fates:?}\n{errors}");
    assert_deaths(&errors, &dead);
    assert_eq!((fates.begun, fates.acked), (count, count), "{errors}");
}

#[test]
fn workers_that_die_at_the_same_moment_are_all_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let count = (4.0 * PER_SECOND) as u64;
    let source = Outside::start(&directory.path().join("source"), count, PER_SECOND);
    let mut run = Run::start(env!("CARGO_BIN_EXE_numbers"), 3, source.path(), directory.path(), &["--quiet"]);
    until("the first acks", AMPLE, || source.fates().acked > 1000);
    let before = run.workers();
    for (_, pid) in &before[1..] {
        kill_process(*pid, Signal::KILL).unwrap();
    }
    let killed = Instant::now();
    until("other processes", REPLACED_WITHIN, || {
        let now = run.workers();
        now.len() == 3 && now[0] == before[0] && now[1] != before[1] && now[2] != before[2]
    });
    eprintln!("two replaced after {:?}", killed.elapsed());
    let status = run.wait(AMPLE);
    let (errors, fates) = (run.errors(), source.fates());
    assert_eq!(status.and_then(|status| status.code()), Some(4), "{fates:?}\n{errors}");
    assert_deaths(&errors, &[1, 2]);
    assert_eq!((fates.begun, fates.acked), (count, count), "{errors}");
}

/// The spout's process is killed and its successor begins at 0 again, with the same message ids. What the bolt has of the
/// one before it acks and fails only then: nobody may take that for an answer to what is new.
#[test]
fn a_new_process_hears_nothing_of_what_its_predecessor_emitted() {
    for workers in [1, 2] {
        let mut arguments = vec!["--count", "600", "--pace-ms", "2"];
        if workers == 2 {
            arguments.push("--settle-late");
        }
        let case = Case::sequence(Some(workers), &arguments);
        case.wait_for_note("opened");
        until("tuples to flow", AMPLE, || case.process_of(0).is_some());
        std::thread::sleep(Duration::from_millis(500));
        assert!(case.run.signal(0, Signal::KILL));
        let opened = case.wait_for_notes("opened", 2);
        if workers == 2 {
            let settled = case.wait_for_note("settled");
            eprintln!("{} of the old process were settled late", settled.number("settled"));
            assert!(settled.number("settled") > 10);
        }
        let end = case.finish().expect_deaths(&[0]);
        assert_ne!(opened[0].process, opened[1].process);
        assert_eq!(end.spout_counts(), (600, 600, 0), "{end:?}");
        assert!(end.all("fail").is_empty() && end.all("unasked").is_empty(), "{end:?}");
    }
}

/// A build puts another file in the place of the executable while a run goes on: workers are replaced by what the run was
/// started with.
#[test]
fn an_executable_that_is_built_anew_does_not_join_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let executable = directory.path().join("sequence");
    std::fs::copy(env!("CARGO_BIN_EXE_sequence"), &executable).unwrap();
    let arguments = ["--count", "300", "--pace-ms", "5", "--replay"];
    let case = Case::start(executable.to_str().unwrap(), Some(2), &arguments);
    case.wait_for_note("opened");
    std::fs::remove_file(&executable).unwrap();
    for worker in [1, 0] {
        let opened = case.notes.starting("opened").len();
        std::thread::sleep(Duration::from_millis(300));
        assert!(case.run.signal(worker, Signal::KILL));
        std::fs::write(&executable, "not what it was").unwrap();
        case.wait_for_notes("opened", opened + 1 - worker);
    }
    let end = case.finish().expect_deaths(&[0, 1]);
    assert_eq!(end.spout_counts(), (300, 300, 0), "{end:?}");
}

/// Who takes a dead worker's place may die too, before it has said hello and after: the next one takes it then.
#[test]
fn a_replacement_that_is_killed_before_it_is_ready_is_replaced_too() {
    let case = Case::sequence(Some(2), &["--count", "400", "--pace-ms", "5", "--replay", "--prepare-ms", "300"]);
    let prepared = case.wait_for_note("preparing").process;
    until("tuples to flow", AMPLE, || case.notes.starting("opened").len() == 1);
    std::thread::sleep(Duration::from_millis(600));
    let mut killed = vec![prepared];
    for _ in 0..3 {
        assert!(case.run.signal(1, Signal::KILL));
        // Killed as soon as it is there, and then in the middle of its preparations.
        until("another process", AMPLE, || {
            case.process_of(1).is_some_and(|pid| !killed.contains(&pid.as_raw_nonzero().get()))
        });
        killed.push(case.process_of(1).unwrap().as_raw_nonzero().get());
        if killed.len() == 3 {
            let newest = killed[2];
            until("it to prepare", AMPLE, || {
                case.notes.starting("preparing").iter().any(|note| note.process == newest)
            });
        }
    }
    let end = case.finish().expect_deaths(&[1, 1, 1]);
    let (emitted, acked, failed) = end.spout_counts();
    assert_eq!((emitted - failed, acked), (400, 400), "{end:?}");
    // A run whose count of workers that are ready is wrong ends without this.
    assert_eq!(end.all("finished").len(), 1, "{end:?}");
}
