//! What is asked for by options.

use super::*;

fn rebalance() -> Rebalance {
    Rebalance { name: "words".into(), wait: None, workers: None, executors: Vec::new(), resources: None, conf: None }
}

#[test]
fn what_is_not_given_stays_as_it_is() {
    let options = rebalance_options(&rebalance(), &[]).unwrap();
    assert_eq!(options, RebalanceOptions::default());
    let options = rebalance_options(&rebalance(), &["nimbus.thrift.port=1".into()]).unwrap();
    assert_eq!(options.topology_conf_overrides, None);
}

#[test]
fn wrong_json_is_refused_with_an_example() {
    let conf = Rebalance { conf: Some("3".into()), ..rebalance() };
    assert!(rebalance_options(&conf, &[]).unwrap_err().text.contains("write one such as {\"topology."));
    let resources = Rebalance { resources: Some(r#"{"a": 1}"#.into()), ..rebalance() };
    assert!(rebalance_options(&resources, &[]).unwrap_err().text.contains("write an object such as"));
}

#[test]
fn more_workers_than_there_can_be_are_remarked() {
    assert_eq!(beyond("words", 3, 8, Some(5)), None);
    assert_eq!(beyond("words", 3, 8, None), None);
    let remark = beyond("words", 99_999, 8, Some(5)).unwrap();
    assert!(remark.starts_with(
        "99999 workers for words are more than it can have: the cluster has 8 slots in all, and it has 5"
    ));
    assert!(beyond("words", 6, 8, Some(5)).unwrap().contains("can have: it has 5 executors so far"));
    // Before its first placement nothing is known of executors.
    assert_eq!(beyond("words", 6, 8, Some(0)), None);
}
