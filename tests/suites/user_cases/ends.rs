//! Ends: whatever happens then, what the run says is true, and it does not hang.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{Case, End};

/// A worker is killed when the input has ended, in every stage of the end: the run does not say that all is well, but which
/// worker died.
#[test]
fn a_worker_that_is_killed_at_the_end_is_named() {
    let stages = [("finishing", "--finish-ms"), ("cleaning", "--cleanup-ms")];
    for (stage, slow) in stages {
        for worker in [0, 1] {
            let case = Case::sequence(Some(2), &[slow, "700"]);
            case.wait_for_note(stage);
            let killed = Instant::now();
            // The other one may have ended in order before.
            if !case.run.signal(worker, Signal::KILL) {
                assert_eq!((stage, worker), ("cleaning", 0));
            }
            let end = case.finish();
            assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
            assert_is_truthful(&end, worker);
            eprintln!("{stage}, worker {worker}: {:?} {}", end.code, end.verdict());
        }
    }
}

/// At moments around the end that nobody chose.
#[test]
fn a_worker_that_is_killed_at_any_moment_near_the_end_leaves_a_true_verdict() {
    let mut codes = Vec::new();
    for moment in 0..12 {
        let arguments = ["--count", "50", "--pace-ms", "2", "--replay", "--finish-ms", "20", "--cleanup-ms", "20"];
        let case = Case::sequence(Some(2), &arguments);
        case.wait_for_note("opened");
        let worker = moment % 2;
        std::thread::sleep(Duration::from_millis(40 + moment as u64 * 15));
        case.run.signal(worker, Signal::KILL);
        let end = case.finish();
        assert_is_truthful(&end, worker);
        codes.push(end.code);
    }
    eprintln!("{codes:?}");
}

/// Either all was done before the death, or the worker is named.
#[track_caller]
fn assert_is_truthful(end: &End, killed: usize) {
    match end.code {
        Some(code @ (0 | 4)) => {
            ringstorm_tests::run::assert_deaths(&end.errors, &vec![killed; usize::from(code == 4)]);
            let (_, acked, _) = end.spout_counts();
            assert!(acked == 20 || acked == 50, "{end:?}");
            assert!(!end.all("finished").is_empty() && end.all("taken").len() == 1, "{end:?}");
        }
        Some(1) => {
            let text = format!("worker {killed} ");
            let said = end.verdict();
            assert!(said.starts_with("error: ") && said.contains(&text) && said.contains("signal: 9"), "{end:?}");
        }
        other => panic!("{other:?} {end:?}"),
    }
}

/// A worker dies, and the run is stopped before another has taken its place: it says that it is drained only if it is.
#[test]
fn a_stop_while_a_worker_is_replaced_drains_all_the_same() {
    let case = Case::sequence(Some(2), &["--count", "100000", "--pace-ms", "5", "--prepare-ms", "700"]);
    case.wait_for_note("preparing");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(case.run.signal(1, Signal::KILL));
    case.wait_for_notes("preparing", 2);
    case.run.signal_leader(Signal::TERM);
    let end = case.finish().expect_deaths(&[1]);
    assert!(end.verdict().contains("was stopped by SIGTERM and is drained"), "{}", end.verdict());
    let (emitted, acked, failed) = end.spout_counts();
    assert_eq!(emitted, acked + failed, "{end:?}");
    assert!(acked > 0 && end.all("finished").len() == 1, "{end:?}");
}

/// A worker stands still when the run is stopped: what it has is unknown, and nobody says that it is nothing.
#[test]
fn what_a_worker_that_stands_still_has_left_is_said_to_be_unknown() {
    let arguments = ["--count", "100000", "--pace-ms", "2", "-c", "ringstorm.drain.timeout.secs=1"];
    let case = Case::sequence(Some(2), &arguments);
    case.wait_for_note("opened");
    std::thread::sleep(Duration::from_millis(500));
    assert!(case.run.signal(1, Signal::STOP));
    std::thread::sleep(Duration::from_millis(300));
    case.run.signal_leader(Signal::TERM);
    let end = case.finish().expect_code(3);
    let said = end.verdict();
    eprintln!("{said}");
    let (_, elsewhere) =
        said.split_once("while worker 1 did not answer: what was left there is unknown; elsewhere ").unwrap();
    assert!(!elsewhere.starts_with("0 messages"), "what the spout has pending is known: {said}");
    assert!(!said.contains("is drained") && !end.errors.contains("in a call"), "{}", end.errors);
    assert!(end.errors.contains("error: worker 1: has not ended"), "{}", end.errors);
}
