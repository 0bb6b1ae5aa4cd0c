//! User code that panics or exits while tuples flow.

use std::time::Instant;

use crate::Case;

/// In one process and in several: one replay, every message acked, and an exit code that says that there was an error.
#[test]
fn a_panic_costs_one_replay_however_many_workers_there_are() {
    for workers in [None, Some(1), Some(2), Some(3)] {
        let end = Case::sequence(workers, &["--replay", "--panic-once-on", "5", "--executors", "2"]).finish();
        let end = end.expect_code(4);
        assert_eq!(end.spout_counts(), (21, 20, 1), "{workers:?}: {end:?}");
        assert_eq!(end.all("fail of 5 ").len(), 1, "{end:?}");
        assert!(end.errors.contains("on 5, as was asked for"), "{}", end.errors);
        assert!(end.verdict().contains("1 error"), "{}", end.verdict());
    }
}

/// A tuple that ends whatever process it comes to: the run does not go on like that for ever, and says which worker it was.
#[test]
fn a_worker_that_dies_again_and_again_ends_the_run() {
    let started = Instant::now();
    let end = Case::sequence(Some(2), &["--replay", "--exit-on", "5"]).finish().expect_code(1);
    eprintln!("after {:?}: {}", started.elapsed(), end.verdict());
    let text = "worker 1 has died 21 times within a minute, the last time: exit status: 7";
    assert!(end.verdict().contains(text), "{}", end.errors);
}
