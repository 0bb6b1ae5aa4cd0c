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
