//! States before a round that someone thought of: Storm's own example, what users met, and what is at the edge.

use std::collections::BTreeSet;

use ringstorm_scheduler::{Supervisor, Topology};
use ringstorm_types::{ExecutorId, TaskId};

use super::case::{Case, assignment, topology};

/// `ID[@HOST]:PORT,...[!DEAD,...]`; the host is that of the id if none is given.
pub(crate) fn supervisor(text: &str) -> Supervisor {
    let (id, ports) = text.split_once(':').unwrap();
    let (id, host) = id.split_once('@').unwrap_or((id, id));
    let (ports, dead) = ports.split_once('!').unwrap_or((ports, ""));
    let all = |text: &str| text.split(',').filter(|port| !port.is_empty()).map(|port| port.parse().unwrap()).collect();
    Supervisor { id: id.into(), host: host.to_owned(), ports: all(ports), dead_ports: all(dead) }
}

/// A topology of executors with one task each.
pub(crate) fn simple(id: &str, workers: u32, executors: i32, assigned: &str) -> Topology {
    let executors = (1..=executors).map(|task| ExecutorId { first: TaskId(task), last: TaskId(task) });
    topology(id, workers, executors, assignment(assigned))
}

fn case(name: &str, supervisors: &[&str], topologies: &[Topology]) -> Case {
    Case {
        name: name.to_owned(),
        supervisors: supervisors.iter().map(|text| supervisor(text)).collect(),
        blacklisted: BTreeSet::new(),
        topologies: topologies.to_vec(),
    }
}

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = fresh();
    all.extend(changed());
    all.extend(at_the_edge());
    all
}

/// Nothing runs yet.
fn fresh() -> Vec<Case> {
    let example = ["s1:1,2", "s2:1,2,3", "s3:1,4,3,2"];
    let java_order = ["\u{10000}:1,2", "\u{e000}:1,2", "a:1,2", "B:1,2", "é:1,2", "a0:1,2"];
    let executors = [(1, 2), (3, 4), (5, 5), (6, 9), (10, 10)];
    let executors = executors.map(|(first, last)| ExecutorId { first: TaskId(first), last: TaskId(last) });
    vec![
        case("Storm's example of the order of slots", &example, &[simple("t", 9, 9, "")]),
        case("the example with fewer workers", &example, &[simple("t", 4, 11, "")]),
        case("nodes in Java's order", &java_order, &[simple("t", 12, 12, "")]),
        case("executors of several tasks", &["s:1,2"], &[topology("t", 2, executors.into_iter(), assignment(""))]),
        case(
            "three small topologies on three hosts",
            &["s1:1,2,3,4", "s2:1,2,3,4", "s3:1,2,3,4"],
            &[simple("t", 1, 3, ""), simple("u", 1, 3, ""), simple("v", 1, 3, "")],
        ),
        case("more workers than slots", &["s1:1", "s2:1"], &[simple("t", 5, 7, "")]),
        case("more workers than executors", &["s1:1,2,3", "s2:1,2"], &[simple("t", 5, 3, "")]),
        case("two topologies for slots of one", &["s1:1,2"], &[simple("t", 2, 4, ""), simple("u", 2, 4, "")]),
    ]
}

/// Something runs, and something has happened.
fn changed() -> Vec<Case> {
    let mut shared_host = case(
        "a host of two supervisors is blacklisted",
        &["s1@h:1,2", "s2@h:1,2", "s3:1"],
        &[simple("t", 2, 4, "1-1@s1:1,2-2@s2:1"), simple("u", 2, 2, "1-1@s1:2,2-2@s3:1")],
    );
    shared_host.blacklisted.insert("h".to_owned());
    let mut all_black =
        case("every host is blacklisted", &["s1:1"], &[simple("t", 1, 2, "1-1@s1:1"), simple("u", 1, 1, "")]);
    all_black.blacklisted.insert("s1".to_owned());
    vec![
        case(
            "nothing has happened",
            &["s1:1,2", "s2:1,2"],
            &[simple("t", 2, 4, "1-1@s1:1,2-2@s2:1,3-3@s1:1,4-4@s2:1")],
        ),
        case(
            "a supervisor of two topologies is lost",
            &["s2:1,2,3", "s3:1,2,3"],
            &[simple("t", 2, 4, "1-1@s2:1,3-3@s2:1"), simple("u", 2, 4, "2-2@s3:1,4-4@s3:1")],
        ),
        case("a supervisor is lost whose workers live", &["s2:1,2"], &[simple("t", 2, 3, "1-1@s1:1,2-2@s2:1")]),
        case(
            "a dead executor makes its port dead",
            &["s1:1,2!1", "s2:1"],
            &[simple("t", 2, 4, "1-1@s1:1,2-2@s2:1,4-4@s2:1")],
        ),
        case(
            "a supervisor comes when there were too few",
            &["s1:1", "s2:1", "s3:1,2"],
            &[simple("t", 3, 6, "1-1@s1:1,3-3@s1:1,5-5@s1:1,2-2@s2:1,4-4@s2:1,6-6@s2:1")],
        ),
        case(
            "a supervisor comes that nobody needs",
            &["s1:1", "s2:1", "s3:1,2"],
            &[simple("t", 2, 4, "1-1@s1:1,3-3@s1:1,2-2@s2:1,4-4@s2:1")],
        ),
        case("more executors than before", &["s1:1,2,3"], &[simple("t", 2, 5, "1-1@s1:1,2-2@s1:2")]),
        case(
            "slots of the wanted size stay",
            &["s1:1,2,3,4,5"],
            &[simple("t", 4, 8, "1-1@s1:1,2-2@s1:1,3-3@s1:2,4-4@s1:2,5-5@s1:2,6-6@s1:3")],
        ),
        case(
            "too many slots of one size",
            &["s1:1,2,3,4"],
            &[
                simple("t", 2, 5, "1-1@s1:1,2-2@s1:1,3-3@s1:2,4-4@s1:2"),
                simple("u", 3, 7, "1-1@s1:3,2-2@s1:3,3-3@s1:4,4-4@s1:4"),
            ],
        ),
        shared_host,
        all_black,
    ]
}

/// Seldom, or never if all is well.
fn at_the_edge() -> Vec<Case> {
    vec![
        case("no supervisor", &[], &[simple("t", 2, 3, ""), simple("u", 1, 2, "1-1@s1:1")]),
        case("no slot", &["s1:", "s2:1!1"], &[simple("t", 2, 3, "")]),
        case("no executor", &["s1:1"], &[simple("t", 2, 0, "")]),
        case("no worker is wanted", &["s1:1,2"], &[simple("t", 0, 2, "")]),
        case("no worker is wanted and one runs", &["s1:1,2"], &[simple("t", 0, 2, "1-1@s1:1")]),
        case("fewer workers are wanted than run, and all run", &["s1:1,2"], &[simple("t", 1, 2, "1-1@s1:1,2-2@s1:2")]),
        case(
            "fewer workers are wanted than run, and one is missing",
            &["s1:1,2,3"],
            &[simple("t", 1, 3, "1-1@s1:1,2-2@s1:2")],
        ),
        case(
            "one that wants fewer waits for another's turn",
            &["s1:1,2,3,4"],
            &[simple("t", 1, 2, ""), simple("u", 1, 3, "1-1@s1:1,2-2@s1:2")],
        ),
        case(
            "what another's turn deals out is uneven",
            &["s1:1,2,3,4,5,6"],
            &[simple("t", 1, 1, ""), simple("u", 3, 6, "1-1@s1:1,2-2@s1:1,3-3@s1:1,4-4@s1:1")],
        ),
        case(
            "one without slots takes what another frees",
            &["s1:1"],
            &[simple("t", 1, 2, ""), simple("u", 1, 2, "1-1@s1:1")],
        ),
        case("executors of nobody", &["s1:1,2"], &[simple("t", 2, 2, "1-1@s1:1,7-9@s1:1,8-8@s1:2")]),
        case(
            "two topologies claim one slot",
            &["s1:1,2,3"],
            &[simple("t", 1, 2, "1-1@s1:1,2-2@s1:1"), simple("u", 2, 2, "1-1@s1:1,2-2@s1:2")],
        ),
        case(
            "two topologies claim a slot that is gone",
            &["s1:1,2,3"],
            &[simple("t", 1, 2, "1-1@s0:1,2-2@s0:1"), simple("u", 1, 2, "1-1@s0:1,2-2@s0:1")],
        ),
    ]
}
