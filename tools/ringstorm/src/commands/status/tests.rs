//! A topology for people: nothing to show, something broken, what became of workers.

use super::*;

fn page() -> TopologyPageInfo {
    TopologyPageInfo {
        id: "words-1-1".into(),
        name: Some("words".into()),
        status: Some("ACTIVE".into()),
        ..Default::default()
    }
}

#[test]
fn what_is_not_known_is_a_dash() {
    let shown = text(&page(), &TopologySummary::default(), &[], &[], 1000);
    let wanted = "words  ACTIVE  up 0s  owner -\nid words-1-1\n0 workers, 0 executors, 0 of - tasks placed; code on - nimbus\n\n\
                  No workers.\n";
    assert_eq!(shown, wanted);
}

#[test]
fn what_became_of_workers_is_shown_newest_last() {
    let entry = |time_ms, what| Entry { time_ms, port: 6700, incarnation: 7, topology: "words-1-1".into(), what };
    let events = [
        entry(940_000, What::Started { pid: 12, assignment_version: 3 }),
        entry(990_000, What::Stopped { signal: "SIGTERM".into(), why: "its assignment changed".into() }),
        entry(999_000, What::Ended { how: "ended with code 0".into(), why: "it was asked to".into(), orphans: 2 }),
    ];
    let shown = text(&page(), &TopologySummary::default(), &[], &events, 1000);
    let last: Vec<&str> = shown.lines().rev().take(4).collect();
    assert_eq!(last[3], "ON THIS HOST  WHEN       WHAT");
    assert_eq!(last[2], "port 6700     1m 0s ago  started as process 12, for assignment 3");
    assert_eq!(last[1], "port 6700     10s ago    SIGTERM: its assignment changed");
    assert_eq!(
        last[0],
        "port 6700     1s ago     ended with code 0: it was asked to; 2 processes that it left were killed"
    );
}

#[test]
fn the_newest_error_of_a_component_is_shown_in_one_line() {
    let error = ErrorInfo {
        error: "broken\nat a place".into(),
        error_time_secs: 990,
        host: Some("h".into()),
        port: Some(6700),
    };
    let shown = text(&page(), &TopologySummary::default(), &[("split".to_owned(), error)], &[], 1000);
    assert_eq!(shown.lines().last(), Some("split      10s ago  h:6700  broken"));
}

#[test]
fn without_a_page_the_summary_is_shown_with_what_is_missing() {
    let summary = TopologySummary {
        id: "words-1-1".into(),
        name: "words".into(),
        status: "ACTIVE".into(),
        sched_status: Some("no nimbus holds its code".into()),
        ..Default::default()
    };
    let shown = text(&page_of(&summary), &summary, &[], &[], 1000);
    assert!(shown.starts_with("words  ACTIVE") && shown.contains("\nplacing: no nimbus holds its code\n"), "{shown}");
}

#[test]
fn figures_that_are_of_before_or_not_there_yet_are_said_to_be() {
    let noted = |page: &TopologyPageInfo| {
        let shown = text(page, &TopologySummary::default(), &[], &[], 1000);
        shown.lines().find_map(|line| line.strip_prefix("note: ").map(str::to_owned))
    };
    let workers = Some(vec![Default::default()]);
    let fresh = TopologyPageInfo { workers, ..page() };
    assert!(noted(&fresh).unwrap().contains("there are no figures yet"));
    let counted = Some(BTreeMap::from([("600".to_owned(), 7)]));
    let stats = Some(TopologyStats { window_to_emitted: counted, ..Default::default() });
    let counted = TopologyPageInfo { topology_stats: stats, ..fresh };
    assert_eq!(noted(&counted), None);
    let rebalancing = TopologyPageInfo { status: Some("REBALANCING".into()), ..counted };
    assert!(noted(&rebalancing).unwrap().contains("those of before"));
}

#[test]
fn two_answers_of_different_placements_are_known_as_such() {
    let page = TopologyPageInfo { num_workers: Some(3), num_executors: Some(4), ..page() };
    let summary = |num_workers, num_executors| TopologySummary { num_workers, num_executors, ..Default::default() };
    assert!(are_of_one_placement(&page, &summary(3, 4)));
    assert!(!are_of_one_placement(&page, &summary(1, 4)) && !are_of_one_placement(&page, &summary(3, 5)));
}
