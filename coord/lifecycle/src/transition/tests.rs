//! Each transition, and a rebalance that is interrupted.

use std::collections::BTreeMap;

use ringstorm_records::thrift::UnknownFields;

use super::*;

const TIMEOUT: i32 = 30;
const ALL: [TopologyStatus; 4] =
    [TopologyStatus::Active, TopologyStatus::Inactive, TopologyStatus::Rebalancing, TopologyStatus::Killed];

fn base(status: TopologyStatus) -> StormBase {
    StormBase {
        name: "words".to_owned(),
        status,
        num_workers: 2,
        component_executors: Some([("a".to_owned(), 1), ("b".to_owned(), 2)].into()),
        launch_time_secs: Some(7),
        owner: None,
        topology_action_options: None,
        prev_status: None,
        component_debug: Some(BTreeMap::new()),
        principal: None,
        topology_version: None,
        unknown: UnknownFields::default(),
    }
}

fn go(base: &StormBase, action: Action) -> Transition {
    transition("words-1-1", base, &action, TIMEOUT).unwrap()
}

fn rebalance_to(workers: i32) -> Action {
    let num_executors = Some([("a".to_owned(), 4)].into());
    Action::Rebalance(RebalanceOptions { num_workers: Some(workers), num_executors, ..RebalanceOptions::default() })
}

fn wait(action: DelayedAction, secs: u32) -> Effect {
    Effect::Wait { action, secs }
}

#[test]
fn what_does_not_go_is_told_in_storms_words() {
    for action in [Action::Activate, Action::Deactivate, rebalance_to(1)] {
        for status in [TopologyStatus::Rebalancing, TopologyStatus::Killed] {
            let refusal = transition("words-1-1", &base(status), &action, TIMEOUT).unwrap_err();
            let event = action.name();
            let words = format!("No transition for event: {event}, status: {status} storm-id: words-1-1");
            assert_eq!(refusal.to_string(), words);
            assert_eq!(refusal.exception(), None);
        }
    }
}

#[test]
fn what_comes_late_does_nothing() {
    for status in ALL {
        for action in [Action::Remove, Action::DoRebalance, Action::FinishRebalance, Action::GainLeadership] {
            let is_due = match action {
                Action::Remove => status == TopologyStatus::Killed,
                Action::GainLeadership => status == TopologyStatus::Killed || status == TopologyStatus::Rebalancing,
                _ => status == TopologyStatus::Rebalancing,
            };
            assert_eq!(go(&base(status), action) == Transition::NOTHING, !is_due);
        }
    }
    assert_eq!(go(&base(TopologyStatus::Active), Action::Activate), Transition::NOTHING);
    assert_eq!(go(&base(TopologyStatus::Inactive), Action::Deactivate), Transition::NOTHING);
}

#[test]
fn a_kill_waits_as_long_as_it_says_or_for_the_time_out_of_messages() {
    for (wait_secs, secs) in [(None, 30), (Some(0), 0), (Some(90), 90), (Some(-5), 0)] {
        for status in ALL {
            let killed = go(&base(status), Action::Kill { wait_secs });
            assert_eq!(killed.effect, wait(DelayedAction::Remove, secs));
            let killed = killed.base.unwrap();
            assert_eq!((killed.status, killed.prev_status), (TopologyStatus::Killed, None));
            // A new leader waits for all of it again.
            assert_eq!(go(&killed, Action::GainLeadership).effect, wait(DelayedAction::Remove, secs));
        }
    }
}

#[test]
fn a_rebalance_comes_back_to_what_was_before_with_its_counts_and_keeps_its_options() {
    for status in [TopologyStatus::Active, TopologyStatus::Inactive] {
        let asked = go(&base(status), rebalance_to(3));
        assert_eq!(asked.effect, wait(DelayedAction::DoRebalance, 30));
        let waiting = asked.base.unwrap();
        assert_eq!((waiting.status, waiting.prev_status), (TopologyStatus::Rebalancing, Some(status)));
        assert_eq!((waiting.num_workers, &waiting.component_executors), (2, &base(status).component_executors));
        assert_eq!(go(&waiting, Action::GainLeadership).effect, wait(DelayedAction::DoRebalance, 30));
        let counted = go(&waiting, Action::DoRebalance).base.unwrap();
        assert_eq!((counted.status, counted.num_workers), (TopologyStatus::Rebalancing, 3));
        assert_eq!(counted.component_executors.as_ref().unwrap()["a"], 4);
        let done = go(&counted, Action::FinishRebalance).base.unwrap();
        assert_eq!((done.status, done.prev_status), (status, None));
        assert_eq!(done.topology_action_options, waiting.topology_action_options);
    }
}

#[test]
fn a_rebalance_that_was_interrupted_is_done_again_with_the_same_result() {
    let waiting = go(&base(TopologyStatus::Inactive), rebalance_to(3)).base.unwrap();
    let once = go(&waiting, Action::DoRebalance);
    // The leader dies here; the next one finds what was written.
    let counted = once.base.clone().unwrap();
    assert_eq!(go(&counted, Action::GainLeadership).effect, wait(DelayedAction::DoRebalance, 30));
    let twice = go(&counted, Action::DoRebalance);
    assert_eq!(twice, once);
    assert_eq!(go(&twice.base.unwrap(), Action::FinishRebalance).base.unwrap().status, TopologyStatus::Inactive);
}

#[test]
fn a_kill_ends_a_rebalance() {
    let waiting = go(&base(TopologyStatus::Active), rebalance_to(3)).base.unwrap();
    let killed = go(&waiting, Action::Kill { wait_secs: Some(5) }).base.unwrap();
    assert_eq!(go(&killed, Action::DoRebalance), Transition::NOTHING);
    assert_eq!(go(&killed, Action::FinishRebalance), Transition::NOTHING);
}

#[test]
fn bases_that_storm_left_half_done_come_to_an_end() {
    // Without a status to come back to, as when Storm's nimbus dies between its two writes.
    let half = base(TopologyStatus::Rebalancing);
    assert_eq!(go(&half, Action::GainLeadership).effect, wait(DelayedAction::DoRebalance, 30));
    assert_eq!(go(&half, Action::DoRebalance).effect, Effect::Rebalance(Box::default()));
    assert_eq!(go(&half, Action::FinishRebalance).base.unwrap().status, TopologyStatus::Active);
    assert_eq!(go(&base(TopologyStatus::Killed), Action::GainLeadership).effect, wait(DelayedAction::Remove, 30));
}

#[test]
fn a_status_of_a_later_version_is_left_alone() {
    let later = base(TopologyStatus::from_number(9));
    assert_eq!(go(&later, Action::GainLeadership), Transition::NOTHING);
    assert!(transition("words-1-1", &later, &Action::Kill { wait_secs: None }, TIMEOUT).is_err());
}
