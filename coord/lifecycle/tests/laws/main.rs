//! Laws of a topology's life, for whatever comes.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod hostile;
mod lives;
mod samples;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ringstorm_lifecycle::clean_up::{IdleSince, Listings, clean_up};
use ringstorm_lifecycle::conf::{self, Conf, normalize_conf, normalize_topology};
use ringstorm_lifecycle::executors::{Tasks, first_executors};
use ringstorm_lifecycle::submission::{Submission, accept};
use ringstorm_lifecycle::system::system_topology;
use ringstorm_records::payload;
use ringstorm_records::records::{StormTopology, TopologyInitialStatus};
use ringstorm_types::config::{Config, Origin};
use ringstorm_types::numbering::number;
use ringstorm_types::topology::{Component, Topology};
use ringstorm_types::{ComponentId, ExecutorId};
use serde_json::Value;

fn submission<'a>(json_conf: &'a str, topology: &'a StormTopology) -> Submission<'a> {
    Submission {
        name: "words",
        json_conf,
        topology,
        initial_status: TopologyInitialStatus::Inactive,
        principal: None,
        nimbus_user: "root",
        number: 3,
        now_secs: 7,
        worker_secret: "cannot be guessed",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_submitted_is_refused_with_reasons_or_can_be_stored_and_run(
        daemon in samples::conf(), own in samples::conf(), topology in samples::topology(),
    ) {
        let json = conf::to_json(&own);
        let accepted = match accept(&daemon, &submission(&json, &topology)) {
            Ok(accepted) => accepted,
            Err(refusal) => {
                prop_assert!(!refusal.to_string().is_empty());
                return Ok(());
            }
        };
        prop_assert_eq!(conf::decode(&conf::encode(&accepted.conf)), Ok(accepted.conf.clone()));
        prop_assert_eq!(payload::decode(&payload::encode(&accepted.topology)), Ok(accepted.topology.clone()));
        prop_assert_eq!(payload::decode(&payload::encode(&accepted.base)), Ok(accepted.base.clone()));
        let system = system_topology(&accepted.conf, &accepted.topology).unwrap();
        let tasks = Tasks::number(&system).unwrap();
        let counts = accepted.base.component_executors.unwrap();
        prop_assert_eq!(&counts, &first_executors(&system));
        // Every task of a component that has executors runs in one of them, and in no other component's.
        let executors = tasks.executors(&counts);
        let mut running = BTreeSet::new();
        for (executor, component) in &executors {
            for task in executor.tasks() {
                prop_assert_eq!(tasks.component_of(task), Some(component));
                prop_assert!(running.insert(task));
            }
        }
        let due = tasks.components().filter(|(id, _)| counts[id.as_str()] > 0).map(|(_, tasks)| tasks.count());
        prop_assert_eq!(running.len(), due.sum::<usize>());
    }

    #[test]
    fn normalizing_again_changes_nothing(
        daemon in samples::conf(), own in samples::conf(), topology in samples::topology(),
    ) {
        if let Ok(once) = normalize_conf(&daemon, &own, &topology) {
            prop_assert_eq!(normalize_conf(&daemon, &once, &topology), Ok(once.clone()));
        }
        if let Ok(once) = normalize_topology(&own, &topology) {
            prop_assert_eq!(normalize_topology(&own, &once), Ok(once.clone()));
        }
    }

    #[test]
    fn the_secret_is_nimbus_own_and_never_shown(topology in samples::topology(), own in samples::conf()) {
        let mut own = own;
        own.insert(conf::WORKER_SECRET.to_owned(), "guessed".into());
        let json = conf::to_json(&own);
        if let Ok(accepted) = accept(&Conf::new(), &submission(&json, &topology)) {
            prop_assert_eq!(&accepted.conf[conf::WORKER_SECRET], "cannot be guessed");
            let shown = conf::to_json(&conf::redacted(&accepted.conf));
            prop_assert!(!shown.contains("guessed"));
        }
    }

    #[test]
    fn tasks_and_executors_are_those_of_the_engine(
        shape in samples::shape(), ackers in 0_u32..4, limit in proptest::option::of(1_u32..9),
    ) {
        let mut own = Conf::from_iter([
            ("topology.acker.executors".to_owned(), ackers.into()),
            ("topology.eventlogger.executors".to_owned(), 0.into()),
        ]);
        own.extend(limit.map(|limit| ("topology.max.task.parallelism".to_owned(), limit.into())));
        let topology = normalize_topology(&own, &samples::of_shape(&shape)).unwrap();
        let system = system_topology(&own, &topology).unwrap();
        let tasks = Tasks::number(&system).unwrap();
        let ours: Vec<(ExecutorId, ComponentId)> = tasks.executors(&first_executors(&system)).into_iter().collect();

        let components = shape.iter().map(|(id, (hint, tasks))| {
            let component = Component { parallelism_hint: *hint, task_count: *tasks, ..Component::bolt() };
            (ComponentId::new(id).unwrap(), component)
        });
        let config = Config::from_json(Value::Object(own), &Origin::TOPOLOGY).unwrap();
        let numbering = number(&Topology { components: components.collect() }, &config, 1).unwrap();
        let engines: Vec<_> = numbering.executors().iter().map(|of| (of.id, of.component.clone())).collect();
        prop_assert_eq!(ours, engines);
    }

    #[test]
    fn clean_up_never_touches_what_lives_and_never_acts_on_half_the_truth(
        rounds in proptest::collection::vec((samples::listings(), samples::submitting(), 0_u64..200), 1..6),
        delay_ms in 0_u64..200,
    ) {
        let mut idle_since = IdleSince::default();
        let mut now_ms = 0;
        let mut history: Vec<(u64, Listings, BTreeSet<String>)> = Vec::new();
        for (listings, submitting, passed_ms) in rounds {
            now_ms += passed_ms;
            let all = all(&listings);
            let result = clean_up(&listings, &submitting, &idle_since, now_ms, delay_ms);
            prop_assert_eq!(result.is_err(), all.is_none());
            let Ok(round) = result else { continue };
            history.push((now_ms, listings.clone(), submitting.clone()));
            let all = all.unwrap();
            let (bases, assignments) = (listings.bases.unwrap(), listings.assignments.unwrap());
            for id in &round.remove {
                prop_assert!(!bases.contains(id) && !assignments.contains(id) && !submitting.contains(id));
                prop_assert!(all.contains(id));
            }
            for id in &round.stray_assignments {
                prop_assert!(!bases.contains(id) && !submitting.contains(id) && assignments.contains(id));
            }
            // It has been seen without life, without interruption, for the whole delay.
            for id in round.remove.iter().chain(&round.stray_assignments) {
                let is_idle = |(_, listings, submitting): &&(u64, Listings, BTreeSet<String>)| {
                    !listings.bases.as_ref().unwrap().contains(id) && !submitting.contains(id)
                };
                let since = history.iter().rev().take_while(is_idle).last().unwrap().0;
                prop_assert!(now_ms - since >= delay_ms);
            }
            idle_since = round.idle_since;
        }
    }
}

#[test]
fn the_laws_see_topologies_that_are_accepted_and_such_that_are_not() {
    let mut runner = TestRunner::deterministic();
    let sample = (samples::conf(), samples::conf(), samples::topology());
    let is_accepted = (0..500).filter(|_| {
        let (daemon, own, topology) = sample.new_tree(&mut runner).unwrap().current();
        accept(&daemon, &submission(&conf::to_json(&own), &topology)).is_ok()
    });
    let accepted = is_accepted.count();
    assert!((100..400).contains(&accepted), "{accepted} of 500");
}

/// Every id that is listed anywhere but among the bases; `None` when a listing failed.
fn all(listings: &Listings) -> Option<BTreeSet<String>> {
    listings.bases.as_ref().ok()?;
    let mut all = BTreeSet::new();
    for listing in [
        &listings.assignments,
        &listings.heartbeats,
        &listings.errors,
        &listings.blobs,
        &listings.backpressure,
        &listings.worker_keys,
        &listings.credentials,
        &listings.log_configs,
        &listings.profiler_configs,
    ] {
        all.extend(listing.as_ref().ok()?.iter().cloned());
    }
    Some(all)
}
