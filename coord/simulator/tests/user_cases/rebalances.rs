//! Rebalances: what cannot be done is refused, what is done is done as a whole.

use std::collections::BTreeMap;

use ringstorm_records::records::RebalanceOptions;
use ringstorm_simulator::stage::{Setup, Stage, Wanted};
use ringstorm_simulator::topology::{BOLT, Counts, SPOUT};

use crate::{AMPLE, ROUND, as_it_is, each_seed, is_done, refused, run_all, secs};

fn executors(counts: &[(&str, i32)]) -> RebalanceOptions {
    let counts = counts.iter().map(|(component, count)| ((*component).to_owned(), *count)).collect();
    RebalanceOptions { num_executors: Some(counts), ..RebalanceOptions::default() }
}

fn counts(stage: &Stage, name: &str) -> BTreeMap<String, i32> {
    stage.bases()[stage.id_of(name).unwrap()].component_executors.clone().unwrap()
}

/// Storm's B026: more executors than tasks, names of nobody, and counts that are none.
#[test]
fn a_rebalance_that_cannot_be_done_as_asked_is_refused_and_changes_nothing() {
    each_seed(
        6,
        |_| Setup::default(),
        |stage, random| {
            let tasks = 2 + random.below(6) as i32;
            let bolt = Counts { executors: 1 + random.below(tasks as usize) as i32, tasks };
            let ackers = random.below(3) as i32;
            run_all(stage, &[Wanted { bolt, ackers, ..Wanted::of("ants", 2) }])?;
            let before = (as_it_is(stage), stage.bases().clone());

            let too_many = tasks + 1 + random.below(1_000) as i32;
            let too_many_ackers = ackers + 1;
            let asked = [
                (executors(&[(BOLT, too_many)]), vec![BOLT.to_owned(), tasks.to_string(), too_many.to_string()]),
                (executors(&[(BOLT, i32::MAX)]), vec![tasks.to_string(), i32::MAX.to_string()]),
                (executors(&[("blot", 2)]), vec!["blot".to_owned()]),
                (executors(&[("Split", 2)]), vec!["Split".to_owned()]),
                (executors(&[("", 2)]), vec!["Invalid component".to_owned()]),
                (executors(&[("__ackr", 1)]), vec!["__ackr".to_owned()]),
                (executors(&[("__acker", too_many_ackers)]), vec![ackers.to_string(), too_many_ackers.to_string()]),
                (executors(&[(BOLT, 0)]), vec![BOLT.to_owned(), "0".to_owned()]),
                (executors(&[(BOLT, -1)]), vec![BOLT.to_owned(), "-1".to_owned()]),
                // What could be done is not done beside what cannot.
                (executors(&[(BOLT, 1), (SPOUT, 2)]), vec![SPOUT.to_owned(), "1".to_owned(), "2".to_owned()]),
                (RebalanceOptions { num_workers: Some(1), ..executors(&[("blot", 1)]) }, vec!["blot".to_owned()]),
            ];
            for (options, words) in asked {
                let why = refused(stage.rebalance("ants", options.clone(), AMPLE)?);
                assert!(words.iter().all(|word| why.contains(word)), "{options:?}: {why}");
            }
            stage.run_for(secs(60))?;
            assert_eq!((as_it_is(stage), stage.bases().clone()), before);

            for count in 1..=tasks {
                let verdict = stage.rebalance("ants", executors(&[(BOLT, count)]), AMPLE)?;
                assert!(is_done(&verdict), "{count} of {tasks}: {verdict:?}");
                stage.until("new counts", AMPLE, |stage| counts(stage, "ants")[BOLT] == count)?;
                stage.until_all_run(AMPLE)?;
            }
            Ok(())
        },
    );
}

/// Storm's B027: workers and executors of several components in one rebalance.
#[test]
fn a_rebalance_changes_all_that_it_names_by_the_next_round() {
    each_seed(
        8,
        |_| Setup { hosts: 3, ..Setup::default() },
        |stage, random| {
            let (spout, bolt) = (Counts { executors: 1, tasks: 4 }, Counts { executors: 2, tasks: 8 });
            run_all(stage, &[Wanted { spout, bolt, ackers: 1, ..Wanted::of("ants", 1) }])?;

            for _ in 0..3 {
                let (spouts, bolts) = (1 + random.below(4) as i32, 1 + random.below(8) as i32);
                let workers = 1 + random.below((spouts + bolts) as usize) as i32;
                let wait = random.below(15) as u64;
                let options = RebalanceOptions {
                    num_workers: Some(workers),
                    wait_secs: Some(wait as i32),
                    ..executors(&[(SPOUT, spouts), (BOLT, bolts)])
                };
                assert!(is_done(&stage.rebalance("ants", options, AMPLE)?));
                let expected = (workers, spouts + bolts + 1);
                stage.until("the new numbers", secs(wait) + ROUND, |stage| {
                    let counts = counts(stage, "ants");
                    (counts[SPOUT], counts[BOLT]) == (spouts, bolts) && numbers(stage) == expected
                })?;
                stage.until_all_run(AMPLE)?;
                let listed = stage.list(AMPLE)?;
                assert_eq!((listed[0].num_workers, listed[0].num_executors), expected);
                assert_eq!(stage.workers_of("ants").len(), workers as usize);
            }
            Ok(())
        },
    );
}

/// How many workers and executors are assigned.
fn numbers(stage: &Stage) -> (i32, i32) {
    let assigned = &stage.assignments()[stage.id_of("ants").unwrap()].executor_node_port;
    let slots: std::collections::BTreeSet<_> = assigned.values().collect();
    (slots.len() as i32, assigned.len() as i32)
}
