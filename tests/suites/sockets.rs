//! Workers whose sockets go another way than on io_uring: because it was asked for, or because there is none.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use ringstorm_tests::outside::Outside;
use ringstorm_tests::run::Run;

const NUMBERS: &str = env!("CARGO_BIN_EXE_numbers");
const WITHOUT_IO_URING: &str = env!("CARGO_BIN_EXE_without_io_uring");
const MESSAGES: u64 = 40_000;

/// Two workers with these settings take all messages; returns what the run said.
fn run(settings: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let source = Outside::start(&directory.path().join("source"), MESSAGES, 20_000.0);
    let settings = settings.iter().flat_map(|setting| ["-c", *setting]);
    let more: Vec<&str> = ["--quiet"].into_iter().chain(settings).collect();
    let mut run = Run::start(NUMBERS, 2, source.path(), directory.path(), &more);
    let status = run.wait(Duration::from_secs(90));
    let (errors, fates) = (run.errors(), source.fates());
    assert!(status.is_some_and(|status| status.success()), "{status:?} {fates:?}\n{errors}");
    assert_eq!((fates.acked, fates.failed, fates.orphaned, fates.acked_again), (MESSAGES, 0, 0, 0), "{errors}");
    errors
}

fn launch_without_io_uring() -> String {
    let each = format!("[\"{WITHOUT_IO_URING}\"]");
    format!("ringstorm.worker.launch=[{each},{each}]")
}

#[test]
fn nothing_is_told_of_the_usual_way() {
    let told = run(&[]);
    assert!(!told.contains("epoll") && !told.contains("io_uring"), "{told}");
}

#[test]
fn readiness_that_is_asked_for_is_used_and_told() {
    let told = run(&["ringstorm.worker.sockets=readiness"]);
    assert!(told.contains("sockets go by epoll, as is asked for"), "{told}");
}

/// glommio does not start there either: cores run without it, and wait with `ppoll`.
#[test]
fn workers_that_may_have_no_io_uring_work_without() {
    let told = run(&[&launch_without_io_uring()]);
    assert!(told.contains("io_uring cannot be used: it is forbidden"), "{told}");
}

#[test]
fn io_uring_that_is_asked_for_and_forbidden_is_one_error_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let source = Outside::start(&directory.path().join("source"), MESSAGES, 20_000.0);
    let more = ["--quiet", "-c", "ringstorm.worker.sockets=io_uring", "-c", &launch_without_io_uring()];
    let mut run = Run::start(NUMBERS, 2, source.path(), directory.path(), &more);
    let status = run.wait(Duration::from_secs(30));
    let errors = run.errors();
    assert!(status.is_some_and(|status| !status.success()), "{status:?}\n{errors}");
    let text = "ringstorm.worker.sockets is \"io_uring\", but io_uring cannot be used: it is forbidden";
    assert!(errors.contains(text), "{errors}");
    assert_eq!(source.fates().begun, 0);
    eprintln!("{errors}");
}
