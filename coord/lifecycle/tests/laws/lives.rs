//! Lives of topologies: actions of operators, waits that end, and leaders that die, in any order.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use ringstorm_lifecycle::base::debugged;
use ringstorm_lifecycle::transition::{Action, DelayedAction, Effect, transition};
use ringstorm_records::payload;
use ringstorm_records::records::{RebalanceOptions, StormBase, TopologyStatus};
use ringstorm_records::thrift::UnknownFields;

use TopologyStatus::{Active, Inactive, Killed, Rebalancing};

const ID: &str = "words-1-1";

/// What happens to a topology.
#[derive(Clone, Debug)]
enum Event {
    Action(Action),
    Debug(bool),
    /// The first of the waits that are under way ends.
    WaitEnds,
    /// The leader dies with all that it waits for, and the next one looks at the base.
    LeaderDies,
}

fn event() -> impl Strategy<Value = Event> {
    let executors = || option::of(btree_map(select(vec!["a", "b"]).prop_map(str::to_owned), 1..5, 0..2));
    let options = (option::of(-1..90), option::of(0..5), executors());
    let options = options.prop_map(|(wait_secs, num_workers, num_executors)| RebalanceOptions {
        wait_secs,
        num_workers,
        num_executors,
        ..RebalanceOptions::default()
    });
    prop_oneof![
        2 => Just(Event::Action(Action::Activate)),
        2 => Just(Event::Action(Action::Deactivate)),
        3 => options.prop_map(|options| Event::Action(Action::Rebalance(options))),
        1 => option::of(-1..90).prop_map(|wait_secs| Event::Action(Action::Kill { wait_secs })),
        1 => Just(Event::Action(Action::Remove)),
        2 => Just(Event::Action(Action::DoRebalance)),
        2 => Just(Event::Action(Action::FinishRebalance)),
        1 => Just(Event::Action(Action::GainLeadership)),
        1 => any::<bool>().prop_map(Event::Debug),
        4 => Just(Event::WaitEnds),
        2 => Just(Event::LeaderDies),
    ]
}

fn submitted(status: TopologyStatus) -> StormBase {
    StormBase {
        name: "words".to_owned(),
        status,
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

/// Whether Storm knows the way from one status to another.
fn is_legal(from: TopologyStatus, to: TopologyStatus) -> bool {
    matches!(
        (from, to),
        (Active, Inactive) | (Inactive, Active) | (Active | Inactive, Rebalancing) | (Rebalancing, Active | Inactive)
    ) || to == Killed
        || from == to
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_life_leaves_the_legal_states_and_every_wait_comes_to_an_end(
        is_active in any::<bool>(), events in vec(event(), 0..25),
    ) {
        let mut base = submitted(if is_active { Active } else { Inactive });
        // What operators last asked for, which a rebalance must not change.
        let mut wanted = base.status;
        let mut waits: Vec<DelayedAction> = Vec::new();
        let mut is_removed = false;
        for event in events {
            let actions: Vec<Action> = match event {
                Event::Action(action) => vec![action],
                Event::WaitEnds if waits.is_empty() => continue,
                Event::WaitEnds => vec![waits.remove(0).into()],
                Event::Debug(enable) => {
                    base = debugged(&base, ID, "a", enable, 10.0);
                    continue;
                }
                Event::LeaderDies => {
                    waits.clear();
                    vec![Action::GainLeadership]
                }
            };
            for action in actions {
                let Ok(made) = transition(ID, &base, &action, 30) else {
                    prop_assert!(action.is_an_operators() && matches!(base.status, Rebalancing | Killed));
                    continue;
                };
                if let Some(after) = made.base {
                    prop_assert!(is_legal(base.status, after.status), "{} to {}", base.status, after.status);
                    base = after;
                }
                match (&action, base.status) {
                    (Action::Activate | Action::Deactivate, status) => wanted = status,
                    (Action::FinishRebalance, Active | Inactive) => prop_assert_eq!(base.status, wanted),
                    _ => {}
                }
                match made.effect {
                    Effect::Wait { action, .. } => waits.push(action),
                    Effect::Remove => is_removed = true,
                    Effect::Nothing | Effect::Rebalance(_) => {}
                }
            }
            prop_assert_eq!(base.prev_status.is_some(), base.status == Rebalancing);
            prop_assert!(base.prev_status.is_none_or(|status| status == wanted));
            prop_assert!(base.num_workers > 0);
            prop_assert!(base.component_executors.as_ref().unwrap().values().all(|count| *count > 0));
            prop_assert_eq!(payload::decode(&payload::encode(&base)), Ok(base.clone()));
            if is_removed {
                prop_assert_eq!(base.status, Killed);
                return Ok(());
            }
        }
        // A new leader brings whatever waits to its end.
        if let Effect::Wait { action, .. } = transition(ID, &base, &Action::GainLeadership, 30).unwrap().effect {
            let made = transition(ID, &base, &action.into(), 30).unwrap();
            match made.effect {
                Effect::Remove => prop_assert_eq!(base.status, Killed),
                Effect::Rebalance(_) => {
                    let counted = made.base.unwrap();
                    let done = transition(ID, &counted, &Action::FinishRebalance, 30).unwrap().base.unwrap();
                    prop_assert_eq!(done.status, wanted);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        } else {
            prop_assert_eq!(base.status, wanted);
        }
    }
}
