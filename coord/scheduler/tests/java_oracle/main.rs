//! Apache Storm's own scheduler classes give the same results, in states made by hand and at random.
//!
//! Needs Java 17 or later (a development kit) and Maven, which fetches Storm 2.8.2's server library once. Without them
//! the tests are skipped and say so; with `RINGSTORM_REQUIRE_JAVA=1` that is a failure. With
//! `SCHEDULER_GOLDEN=overwrite`, what Storm answers is recorded in `tests/golden/`.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

#[path = "../laws/by_hand.rs"]
#[allow(dead_code, reason = "the laws need more of it")]
mod by_hand;
#[path = "../laws/case.rs"]
#[allow(dead_code, reason = "the laws need more of it")]
mod case;
#[path = "../../../records/tests/java_oracle/oracle.rs"]
#[allow(dead_code, reason = "records need more of it")]
mod oracle;
#[path = "../laws/random.rs"]
#[allow(dead_code, reason = "the laws need more of it")]
mod random;

use std::fs;
use std::path::Path;

use case::{Answer, Case, Kind};
use oracle::oracle;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Where the oracle's program lies, from this package.
const ORACLE: &str = "tests/java";

/// Random states that are recorded, for each scheduler.
const RECORDED: usize = 160;
/// Random states that are compared each time, for each scheduler.
const FRESH: usize = 300;

fn random_cases(runner: &mut TestRunner, count: usize) -> Vec<Case> {
    (0..count).map(|_| random::case().new_tree(runner).unwrap().current()).collect()
}

/// Each case with each scheduler, and what Storm made of it; `None` when it cannot be asked here.
fn answers(cases: Vec<Case>) -> Option<Vec<(Case, Kind, Answer)>> {
    let asked: Vec<(Case, Kind)> =
        cases.into_iter().flat_map(|case| Kind::ALL.map(|kind| (case.clone(), kind))).collect();
    let requests: Vec<String> = asked.iter().map(|(case, kind)| case.request(*kind)).collect();
    let answers = oracle(&requests)?;
    Some(asked.into_iter().zip(answers).map(|((case, kind), answer)| (case, kind, Answer::read(&answer))).collect())
}

#[test]
fn storm_decides_the_same() {
    let cases = by_hand::cases().into_iter().chain(random_cases(&mut TestRunner::default(), FRESH));
    let Some(answers) = answers(cases.collect()) else { return };
    for (case, kind, answer) in &answers {
        case.compare(*kind, answer);
    }
    let exceptions = answers.iter().filter(|(.., answer)| answer.is_exception()).count();
    assert!(exceptions * 4 < answers.len(), "{exceptions} of {} rounds ended with an exception", answers.len());
}

#[test]
fn storm_takes_slots_in_the_same_order() {
    let cases = by_hand::cases().into_iter().chain(random_cases(&mut TestRunner::default(), FRESH));
    let orders: Vec<Vec<String>> = cases
        .map(|case| case.cluster().available_slots().map(|slot| slot.to_string()).collect::<Vec<_>>())
        .filter(|order| !order.is_empty())
        .collect();
    let requests = orders.iter().map(|order| {
        let mut slots = order.clone();
        slots.sort();
        format!("sort\t{}", slots.join("\t"))
    });
    let Some(answers) = oracle(&requests.collect::<Vec<_>>()) else { return };
    for (ours, storms) in orders.iter().zip(answers) {
        assert_eq!(ours.join("\t"), storms);
    }
}

#[test]
fn what_is_recorded_is_what_storm_says() {
    // The same states each time.
    let random = random_cases(&mut TestRunner::deterministic(), RECORDED);
    for (name, cases) in [("by_hand", by_hand::cases()), ("random", random)] {
        let Some(answers) = answers(cases) else { return };
        let lines: String =
            answers.iter().map(|(case, kind, answer)| format!("{}\n", case.to_json(*kind, answer))).collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.jsonl"));
        if std::env::var_os("SCHEDULER_GOLDEN").is_some_and(|how| how == "overwrite") {
            fs::write(&file, &lines).unwrap();
        }
        let recorded = fs::read_to_string(&file).unwrap_or_default();
        let differing = lines.lines().zip(recorded.lines()).find(|(now, then)| now != then);
        assert!(lines == recorded, "{name}.jsonl is not what Storm says; record it again. {differing:?}");
    }
}
