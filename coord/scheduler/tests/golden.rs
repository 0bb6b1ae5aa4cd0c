//! What Apache Storm's own schedulers decided, as recorded in `tests/golden/`, is decided here too: each executor gets the
//! same slot.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

#[path = "laws/case.rs"]
#[allow(dead_code, reason = "the laws need more of it")]
mod case;

use std::path::Path;

use case::{Answer, Case, Kind};

fn recorded(name: &str) -> Vec<(Case, Kind, Answer)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.jsonl"));
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| Case::from_json(&serde_json::from_str(line).unwrap())).collect()
}

#[test]
fn every_recorded_round_gives_storms_result() {
    let all: Vec<_> = ["by_hand", "random"].into_iter().flat_map(recorded).collect();
    for (case, kind, answer) in &all {
        case.compare(*kind, answer);
    }
    let results = all.iter().filter(|(.., answer)| !answer.is_exception()).count();
    assert!(results >= 300, "only {results} results are recorded");
}

#[test]
fn slots_are_taken_in_the_order_of_storms_own_example() {
    // From a comment in EvenScheduler.sortSlots.
    let (case, ..) = &recorded("by_hand")[0];
    let order: Vec<String> = case.cluster().available_slots().map(|slot| slot.to_string()).collect();
    assert_eq!(order.join(" "), "s3:1 s2:1 s1:1 s3:2 s2:2 s1:2 s3:3 s2:3 s3:4");
    // One executor for each slot, and so the order shows in the assignment.
    let cluster = case.scheduled(Kind::Default);
    let assigned: Vec<String> =
        cluster.topologies().flat_map(|of| cluster.assignment(of).values()).map(ToString::to_string).collect();
    assert_eq!(assigned, order);
}
