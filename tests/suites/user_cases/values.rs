//! Values that are hard to carry, in one process and in two.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Case, End};

/// What the tasks of a component noted, in the order of texts.
fn echoed(end: &End, component: &str) -> Vec<String> {
    let of_component = end.notes.iter().filter(|note| note.writer.starts_with(component));
    let mut lines: Vec<String> = of_component.map(|note| note.line.clone()).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn nulls_arrive_as_they_are_and_a_null_key_has_one_task() {
    let mut tasks_of_null = BTreeSet::new();
    for workers in [1, 2] {
        let end = Case::values(Some(workers), &["--what", "nulls"]).finish().expect_code(0);
        let one = ["one [List([Null])]", "one [Null]"];
        let expected: Vec<&str> =
            one.into_iter().chain(["two [Str(\"a\"), Null]"]).flat_map(|line| [line; 2]).collect();
        assert_eq!(echoed(&end, "all-"), expected);
        let processes: BTreeSet<i32> = end.all("two").iter().map(|note| note.process).collect();
        assert_eq!(processes.len(), workers, "{end:?}");

        let mut tasks: BTreeMap<bool, BTreeSet<&str>> = BTreeMap::new();
        for note in end.all("keyed") {
            tasks.entry(note.line.contains("[Null, ")).or_default().insert(&note.writer);
        }
        assert_eq!(end.all("keyed [Null, ").len(), 30);
        assert_eq!(tasks[&true].len(), 1, "{tasks:?}");
        assert!(tasks[&false].len() > 1, "{tasks:?}");
        tasks_of_null.extend(tasks[&true].iter().map(|task| (*task).to_owned()));
        assert_eq!((end.all("ack ").len(), end.all("fail ").len()), (63, 0));
    }
    assert_eq!(tasks_of_null.len(), 1, "it is the same with one worker and with two");
}

/// B132: a map goes to two streams, is changed, and goes to the first again; with one worker and with two it is the same.
#[test]
fn what_is_changed_after_its_emit_arrives_as_it_was_at_the_emit() {
    let of = |number: u64, list: &str| format!("[Map([(\"number\", Int({number})), (\"list\", {list})])]");
    let before = |number: u64| of(number, &format!("List([Int({number}), Str(\"as it was\")])"));
    let after = |number: u64| of(number, "Str(\"changed\")");
    let mut left: Vec<String> =
        (0..10).flat_map(|number| [before(number), after(number)]).map(|map| format!("left {map}")).collect();
    let mut right: Vec<String> = (0..10).flat_map(|number| [before(number), before(number)]).collect();
    right.iter_mut().for_each(|map| *map = format!("right {map}"));
    left.sort_unstable();
    right.sort_unstable();
    for workers in [1, 2] {
        let end = Case::values(Some(workers), &["--what", "changed"]).finish().expect_code(0);
        assert_eq!((echoed(&end, "left-"), echoed(&end, "right-")), (left.clone(), right.clone()), "{workers} workers");
        assert_eq!((end.all("ack ").len(), end.all("fail ").len()), (10, 0));
    }
}

/// Megabytes pass up to the limit; above it one tuple fails, and the connections carry on.
#[test]
fn a_tuple_above_the_limit_fails_alone() {
    let directory = tempfile::tempdir().unwrap();
    let metrics = directory.path().join("metrics.json");
    let limit = (32_u64 << 20).to_string();
    let setting = format!("topology.tuple.max.bytes={limit}");
    let arguments = ["--what", "blocks", "-c", &setting, "--metrics-json", metrics.to_str().unwrap()];
    let end = Case::values(Some(2), &arguments).finish();
    // Done, but for one error that is told.
    let end = end.expect_code(4);
    let blocks = end.all("block ");
    assert!(blocks.iter().all(|note| note.number("intact") == 1), "{end:?}");
    assert_ne!(blocks[0].process, end.all("ack ")[0].process, "they went from process to process");
    let sizes: Vec<u64> = blocks.iter().map(|note| note.number("bytes")).collect();
    assert_eq!(sizes[..2], [1 << 20, 10 << 20]);
    assert!(sizes.len() == 1002 && sizes[2..].iter().all(|bytes| *bytes == 10), "{sizes:?}");
    assert_eq!(end.all("ack ").len(), 1002);
    let failed = end.only("fail ");
    assert!(failed.line.starts_with("fail 2 "), "{failed:?}");
    let error = end.errors.lines().find(|line| line.starts_with("error: emit, task")).unwrap();
    eprintln!("{error}");
    assert!(error.contains(&limit) && error.contains("5242") && error.contains("topology.tuple.max.bytes"), "{error}");
    let metrics: serde_json::Value = serde_json::from_slice(&std::fs::read(metrics).unwrap()).unwrap();
    let connections = metrics["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 2);
    assert!(connections.iter().all(|one| one["reconnects"] == 0), "{connections:?}");
}
