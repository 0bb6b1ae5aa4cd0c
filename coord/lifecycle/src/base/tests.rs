//! What a change takes over and what it leaves.

use ringstorm_records::records::KillOptions;
use ringstorm_records::thrift::UnknownFields;

use super::*;

fn base() -> StormBase {
    StormBase {
        name: "words".to_owned(),
        status: TopologyStatus::Active,
        num_workers: 2,
        component_executors: Some([("a".to_owned(), 1), ("b".to_owned(), 2)].into()),
        launch_time_secs: Some(7),
        owner: Some("root".to_owned()),
        topology_action_options: None,
        prev_status: None,
        component_debug: Some(BTreeMap::new()),
        principal: Some(String::new()),
        topology_version: None,
        unknown: UnknownFields::default(),
    }
}

#[test]
fn what_is_not_said_stays() {
    assert_eq!(changed(&base(), Changes::default()), base());
    let options = Some(TopologyActionOptions::KillOptions(KillOptions::default()));
    let killed = StormBase { topology_action_options: options, ..base() };
    assert_eq!(changed(&killed, Changes::default()), killed);
}

#[test]
fn new_counts_win_and_other_components_keep_theirs() {
    let component_executors = [("b".to_owned(), 5), ("c".to_owned(), 1)].into();
    let after = changed(&base(), Changes { component_executors, num_workers: 3, ..Changes::default() });
    let expected = [("a", 1), ("b", 5), ("c", 1)].map(|(id, count)| (id.to_owned(), count));
    assert_eq!(after.component_executors, Some(expected.into()));
    assert_eq!(after.num_workers, 3);
}

#[test]
fn the_status_to_come_back_to_goes_unless_it_is_said_again() {
    let rebalancing =
        StormBase { status: TopologyStatus::Rebalancing, prev_status: Some(TopologyStatus::Inactive), ..base() };
    assert_eq!(changed(&rebalancing, Changes::default()).prev_status, None);
    assert_eq!(debugged(&rebalancing, "id", "", true, 1.0).prev_status, Some(TopologyStatus::Inactive));
}

#[test]
fn percentages_add_up_as_in_storm() {
    let options = |base: &StormBase, key: &str| {
        let options = &base.component_debug.as_ref().unwrap()[key];
        (options.enable, options.samplingpct)
    };
    let on = debugged(&base(), "id", "a", true, 10.0);
    assert_eq!(options(&on, "a"), (Some(true), Some(10.0)));
    let off = debugged(&on, "id", "a", false, 50.0);
    assert_eq!(options(&off, "a"), (Some(false), Some(10.0)));
    let again = debugged(&off, "id", "a", true, 10.0);
    assert_eq!(options(&again, "a"), (Some(true), Some(20.0)));
    assert_eq!(options(&debugged(&again, "id", "", true, 700.0), "id"), (Some(true), Some(100.0)));
    assert_eq!(options(&debugged(&base(), "id", "", true, f64::NAN), "id"), (Some(true), Some(0.0)));
}
