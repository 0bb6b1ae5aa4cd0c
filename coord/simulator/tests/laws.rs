//! The whole control plane under many seeds; the leader killed after each write; rules broken on purpose.

use ringstorm_simulator::enumeration::{Action, kill_leader_after};
use ringstorm_simulator::many::run_many;
use ringstorm_simulator::scenario::{Options, run};
use ringstorm_simulator::trace::LINES_KEPT;

const SEEDS: u64 = 1_000;

#[test]
fn the_laws_hold_under_many_seeds() {
    let all = run_many(0..SEEDS, Options::default(), 1, |_| {});
    if let Some((seed, violation)) = all.failed.first() {
        let again = run(*seed, Options { lines_kept: LINES_KEPT, ..Options::default() });
        let lines: Vec<&str> = again.trace.lines().collect();
        panic!("{}\nseed {seed}: {violation}\neach step: cargo xtask simulate --seed {seed}", lines.join("\n"));
    }
    for what in INTERESTING {
        assert!(all.coverage.count(what) > 0, "{what} was never met:\n{}", all.coverage);
    }
}

/// What must not be missing in what many seeds meet.
const INTERESTING: &[&str] = &[
    "answer lost",
    "call lost",
    "connection to an old generation closed",
    "fault: answer to a write lost with its connection",
    "fault: code directory fails",
    "fault: crash between two effects",
    "fault: ensemble without quorum",
    "fault: folders locked by hand",
    "fault: freeze",
    "fault: garbage in the tree",
    "fault: host lost",
    "fault: late watch",
    "fault: member behind",
    "fault: operation without success on a good connection",
    "fault: partition between two workers",
    "fault: partition from the tree",
    "fault: partition one way",
    "fault: slow network",
    "fault: slow start of a worker",
    "fault: start of a worker failed",
    "fault: supervisor cloned",
    "fault: time of day jumps",
    "fault: tree deleted by hand",
    "fault: write lost with its connection",
    "handshake of an old generation refused",
    "member refused that is behind",
    "request done after its sender gave it up",
    "session found expired",
    "snapshot restored",
    "thawed behind the end of its session",
    "worker superseded",
];

#[test]
fn the_same_seed_has_the_same_trace() {
    for seed in [3, 7, 20] {
        let [one, other] = [(); 2].map(|()| run(seed, Options { lines_kept: LINES_KEPT, ..Options::default() }));
        assert!(one.trace.count() > 1_000);
        assert_eq!((one.trace.count(), one.trace.hash()), (other.trace.count(), other.trace.hash()));
        let untraced = run(seed, Options::default());
        assert_eq!((untraced.trace.count(), untraced.events), (one.trace.count(), one.events));
    }
}

#[test]
fn the_leader_may_die_after_each_write() {
    for action in [Action::Submit, Action::Rebalance, Action::Kill] {
        let mut write = 1;
        loop {
            match kill_leader_after(action, write) {
                Ok(true) => write += 1,
                Ok(false) => break,
                Err(violation) => panic!("{action:?}, the leader killed after write {write}: {violation}"),
            }
        }
        assert!(write > 3, "{action:?} has only {} writes of a leader", write - 1);
    }
}

#[cfg(feature = "planted-bugs")]
#[test]
fn each_planted_bug_is_found() {
    use ringstorm_simulator::plants::PlantedBug;

    for bug in PlantedBug::ALL {
        let options = Options { planted: Some(bug), ..Options::default() };
        let all = run_many(0..SEEDS, options, 1, |_| {});
        assert!(!all.failed.is_empty(), "{bug:?} was not found within {SEEDS} seeds");
    }
}
