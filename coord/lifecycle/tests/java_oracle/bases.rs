//! Bases: how Storm changes them, and what an action makes of them.

use std::collections::BTreeMap;

use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use ringstorm_lifecycle::base::{Changes, changed};
use ringstorm_lifecycle::transition::{Action, DelayedAction, Effect, transition};
use ringstorm_records::records::{
    DebugOptions, KillOptions, RebalanceOptions, StormBase, TopologyActionOptions, TopologyStatus,
};
use ringstorm_records::thrift::{Record, UnknownFields};

use crate::oracle::{hex, oracle};
use crate::{CASES, random, record};

fn status() -> impl Strategy<Value = TopologyStatus> {
    use TopologyStatus::{Active, Inactive, Killed, Rebalancing};
    select(vec![Active, Inactive, Rebalancing, Killed])
}

fn executor_counts() -> impl Strategy<Value = BTreeMap<String, i32>> {
    btree_map(select(vec!["a", "b", "__acker"]).prop_map(str::to_owned), 0..5, 0..3)
}

fn rebalance_options() -> impl Strategy<Value = RebalanceOptions> {
    (option::of(-1..90), option::of(0..4), option::of(executor_counts())).prop_map(
        |(wait_secs, num_workers, num_executors)| RebalanceOptions {
            wait_secs,
            num_workers,
            num_executors,
            ..RebalanceOptions::default()
        },
    )
}

fn action_options() -> impl Strategy<Value = TopologyActionOptions> {
    let kill = (-1..90).prop_map(|secs| KillOptions { wait_secs: Some(secs), ..KillOptions::default() });
    prop_oneof![
        kill.prop_map(TopologyActionOptions::KillOptions),
        rebalance_options().prop_map(TopologyActionOptions::RebalanceOptions),
    ]
}

fn debug_options() -> impl Strategy<Value = BTreeMap<String, DebugOptions>> {
    let options = (option::of(any::<bool>()), option::of(select(vec![0.0, 10.0, 100.0])))
        .prop_map(|(enable, samplingpct)| DebugOptions { enable, samplingpct, ..DebugOptions::default() });
    btree_map(select(vec!["a", "words-1-1"]).prop_map(str::to_owned), options, 0..2)
}

pub(crate) fn base() -> impl Strategy<Value = StormBase> {
    let text = || option::of(select(vec!["root", "me"]).prop_map(str::to_owned));
    let first = (status(), 0..4, option::of(executor_counts()), option::of(0..9), text());
    let second = (option::of(action_options()), option::of(status()), debug_options(), text(), text());
    (first, second).prop_map(|(first, second)| StormBase {
        name: "words".to_owned(),
        status: first.0,
        num_workers: first.1,
        component_executors: first.2,
        launch_time_secs: first.3,
        owner: first.4,
        topology_action_options: second.0,
        prev_status: second.1,
        component_debug: Some(second.2),
        principal: second.3,
        topology_version: second.4,
        unknown: UnknownFields::default(),
    })
}

#[test]
fn bases_change_alike() {
    let changes = (option::of(status()), option::of(status()), 0..4, executor_counts(), option::of(action_options()));
    let changes = (changes, debug_options()).prop_map(|(first, component_debug)| Changes {
        // Storm's record must have one.
        status: Some(first.0.unwrap_or(TopologyStatus::Active)),
        prev_status: first.1,
        num_workers: first.2,
        component_executors: first.3,
        topology_action_options: first.4,
        component_debug,
    });
    let all = random(CASES, (base(), changes));
    let request = |(base, changes): &(StormBase, Changes)| {
        let changes = StormBase {
            name: String::new(),
            status: changes.status.unwrap(),
            num_workers: changes.num_workers,
            component_executors: Some(changes.component_executors.clone()),
            launch_time_secs: None,
            owner: None,
            topology_action_options: changes.topology_action_options.clone(),
            prev_status: changes.prev_status,
            component_debug: Some(changes.component_debug.clone()),
            principal: None,
            topology_version: None,
            unknown: UnknownFields::default(),
        };
        format!("update\t{}\t{}", hex(&base.to_bytes()), hex(&changes.to_bytes()))
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    for ((base, changes), answer) in all.into_iter().zip(answers) {
        assert_eq!(changed(&base, changes.clone()), record(&answer), "{base:?} {changes:?}");
    }
}

#[test]
fn transitions_are_alike() {
    // The ends of waits do more in Storm than decide; what they write is in the recorded life of a topology.
    let action = prop_oneof![
        Just(Action::Activate),
        Just(Action::Deactivate),
        Just(Action::GainLeadership),
        (-1..90).prop_map(|secs| Action::Kill { wait_secs: Some(secs) }),
        rebalance_options().prop_map(|mut options| {
            options.wait_secs.get_or_insert(30);
            Action::Rebalance(options)
        }),
    ];
    let waiting = (base(), action_options()).prop_map(|(mut base, options)| {
        // Storm fails at others, which it never writes.
        base.topology_action_options = Some(match (base.status, options) {
            (TopologyStatus::Killed, TopologyActionOptions::RebalanceOptions(_)) => {
                TopologyActionOptions::KillOptions(KillOptions { wait_secs: Some(7), ..KillOptions::default() })
            }
            (TopologyStatus::Rebalancing, _) => TopologyActionOptions::RebalanceOptions(RebalanceOptions {
                wait_secs: Some(7),
                ..RebalanceOptions::default()
            }),
            (_, options) => options,
        });
        base
    });
    let all = random(CASES, (waiting, action));
    let request = |(base, action): &(StormBase, Action)| {
        let argument = match action {
            Action::Kill { wait_secs } => wait_secs.unwrap().to_string(),
            Action::Rebalance(options) => hex(&options.to_bytes()),
            _ => String::new(),
        };
        format!("transition\t{}\t{}\t{argument}", hex(&base.to_bytes()), action.name())
    };
    let Some(answers) = oracle(&all.iter().map(request).collect::<Vec<_>>()) else { return };
    for ((base, action), answer) in all.iter().zip(answers) {
        let ours = transition("words-1-1", base, action, 30);
        let (changes, delay) =
            answer.split_once('\t').map_or((&*answer, None), |(changes, delay)| (changes, Some(delay)));
        if changes == "none" {
            assert!(ours.is_err() || *action == Action::GainLeadership, "{base:?} {action:?}");
            continue;
        }
        let ours = ours.unwrap();
        let storms = (changes != "same").then(|| record::<StormBase>(changes));
        assert_eq!(ours.base, storms, "{base:?} {action:?}");
        let delay = delay.map(|secs| secs.parse::<i64>().unwrap().max(0));
        let of_effect = match ours.effect {
            Effect::Wait { secs, action: of } => {
                let status = storms.as_ref().map_or(base.status, |after| after.status);
                assert_eq!(of == DelayedAction::Remove, status == TopologyStatus::Killed);
                Some(i64::from(secs))
            }
            _ => None,
        };
        assert_eq!(of_effect, delay, "{base:?} {action:?}");
    }
}
