//! Nimbuses that come, go, and lose what they had.

use std::time::Duration;

use ringstorm_simulator::stage::{Setup, Stage, Wanted};
use ringstorm_simulator::world::process::ProcessId;

use crate::{AMPLE, as_it_is, each_seed, is_done, run_all, secs};

fn others(stage: &Stage, than: ProcessId) -> Vec<ProcessId> {
    stage.nimbuses().iter().copied().filter(|nimbus| *nimbus != than).collect()
}

fn a_leader(stage: &mut Stage) -> Result<ProcessId, ringstorm_simulator::checks::Violation> {
    stage.until("a leader", AMPLE, |stage| stage.leader().is_some())?;
    Ok(stage.leader().unwrap())
}

/// Storm's B057: nimbuses that were down while topologies came.
#[test]
fn a_nimbus_without_the_code_of_a_topology_fetches_it_and_removes_nothing() {
    let setup = |nimbuses| Setup { nimbuses, ..Setup::default() };
    each_seed(
        4,
        |random| setup(2 + random.below(2)),
        |stage, random| {
            let first = stage.nimbuses()[random.below(stage.nimbuses().len())];
            for other in others(stage, first) {
                stage.kill(other)?;
            }
            run_all(stage, &[Wanted::of("ants", 2), Wanted::of("bees", 1)])?;
            stage.run_for(random.millis(0, 60_000))?;
            let before = as_it_is(stage);
            let newcomers = others(stage, first);
            for newcomer in &newcomers {
                stage.start(*newcomer)?;
            }
            stage.until("its code at each nimbus", secs(60), |stage| {
                newcomers.iter().all(|newcomer| ["ants", "bees"].iter().all(|name| stage.has_code(*newcomer, name)))
            })?;
            stage.run_for(random.millis(0, 30_000))?;
            stage.kill(first)?;
            stage.until("another leader", secs(45), |stage| stage.leader().is_some_and(|leader| leader != first))?;
            assert!(is_done(&stage.kill_topology("bees", AMPLE)?));
            stage.until("it is gone", AMPLE, |stage| stage.id_of("bees").is_none() && stage.running().len() == 2)?;
            stage.run_for(secs(400))?;
            assert_eq!(
                stage.running(),
                before.1.iter().filter(|it| it.topology.contains("ants")).cloned().collect::<Vec<_>>()
            );
            stage.until_all_run(AMPLE)?;
            Ok(())
        },
    );
}

/// Storm's B057: who had the code goes before anybody else has it, and comes back later than a clean-up would.
#[test]
fn a_leader_without_the_code_of_a_topology_leaves_it_alone_until_it_has_it() {
    each_seed(
        3,
        |_| Setup { nimbuses: 2, ..Setup::default() },
        |stage, random| {
            let (first, other) = (stage.nimbuses()[0], stage.nimbuses()[1]);
            stage.kill(other)?;
            run_all(stage, &[Wanted::of("ants", 2)])?;
            stage.run_for(random.millis(0, 30_000))?;
            let before = as_it_is(stage);
            stage.kill(first)?;
            stage.start(other)?;
            stage.until("a leader without the code", AMPLE, |stage| stage.leader() == Some(other))?;
            stage.run_for(secs(600))?;
            assert_eq!(as_it_is(stage), before);
            assert_eq!(stage.list(AMPLE)?.len(), 1);
            stage.start(first)?;
            stage.until("its code", secs(180), |stage| stage.has_code(other, "ants"))?;
            stage.run_for(secs(60))?;
            assert_eq!(as_it_is(stage), before);
            Ok(())
        },
    );
}

/// Storm's B059: clocks that stand still, or are an hour off, and a nimbus that is restarted again and again.
#[test]
fn what_time_a_worker_has_is_no_evidence_of_its_life() {
    each_seed(
        4,
        |random| Setup { nimbuses: 1 + random.below(2), hosts: 3, ..Setup::default() },
        |stage, random| {
            run_all(stage, &[Wanted::of("ants", 3), Wanted::of("bees", 2)])?;
            let hour = secs(3_600);
            for (index, worker) in stage.running().iter().enumerate() {
                match index % 3 {
                    0 => stage.stop_wall(worker.process),
                    1 => stage.set_wall(worker.process, hour, Duration::ZERO),
                    _ => stage.set_wall(worker.process, Duration::ZERO, hour),
                }
            }
            stage.run_for(secs(20))?;
            let before = as_it_is(stage);
            for _ in 0..10 {
                if let Some(leader) = stage.leader().filter(|_| random.chance(600)) {
                    stage.kill(leader)?;
                    stage.run_for(random.millis(0, 5_000))?;
                    stage.start(leader)?;
                }
                stage.run_for(secs(60))?;
                assert_eq!(as_it_is(stage), before);
            }
            Ok(())
        },
    );
}

/// Storm's B061: the only nimbus dies, whatever it is doing, and is there again within a second. That no nimbus takes
/// itself for another one that leads is a law of every world.
#[test]
fn a_nimbus_that_is_restarted_leads_again_when_its_old_session_is_over() {
    let setup = Setup::default();
    let limit = setup.session_timeout + secs(5);
    each_seed(
        6,
        |_| setup.clone(),
        |stage, random| {
            let nimbus = a_leader(stage)?;
            for number in 0..4 {
                stage.run_for(random.millis(0, 20_000))?;
                stage.kill(nimbus)?;
                stage.run_for(random.millis(1, 1_000))?;
                stage.start(nimbus)?;
                let name = format!("ants-{number}");
                let verdict = stage.submit(&Wanted::of(&name, 1), limit)?;
                assert!(is_done(&verdict), "{verdict:?}");
            }
            stage.until_all_run(AMPLE)?;
            Ok(())
        },
    );
}

/// Storm's B062: no nimbus for ten minutes, in which workers die, and supervisors too.
#[test]
fn supervisors_and_workers_do_without_nimbus() {
    each_seed(
        3,
        |random| Setup { nimbuses: 1 + random.below(2), hosts: 3, ..Setup::default() },
        |stage, random| {
            run_all(stage, &[Wanted::of("ants", 3), Wanted::of("bees", 2)])?;
            let versions = stage.versions();
            for nimbus in stage.nimbuses().to_vec() {
                stage.kill(nimbus)?;
            }
            let begun = stage.now();
            let mut restarted = None;
            if random.chance(500) {
                let supervisor = stage.supervisors()[random.below(3)];
                stage.kill(supervisor)?;
                stage.run_for(random.millis(100, 20_000))?;
                stage.start(supervisor)?;
                stage.run_for(secs(5))?;
                restarted = Some(supervisor);
            }
            for _ in 0..5 {
                stage.run_for(random.millis(70_000, 100_000))?;
                let before = stage.running();
                let victim = before[random.below(before.len())].clone();
                stage.kill_worker(&victim)?;
                stage.until("another process in its slot", secs(5), |stage| {
                    let mut now = stage.running().into_iter();
                    now.any(|it| (it.host, it.port) == (victim.host, victim.port) && stage.is_processing(&it))
                })?;
                let now = stage.running();
                assert!(
                    before.iter().filter(|it| **it != victim).all(|it| now.contains(it) && stage.is_processing(it))
                );
            }
            stage.run_for(secs(600).saturating_sub(stage.now() - begun))?;
            assert_eq!(stage.versions(), versions);
            for supervisor in stage.supervisors() {
                let starts = if restarted == Some(*supervisor) { 2 } else { 1 };
                assert_eq!(stage.starts(*supervisor), starts);
            }
            let before = as_it_is(stage);
            for nimbus in stage.nimbuses().to_vec() {
                stage.start(nimbus)?;
            }
            stage.run_for(secs(180))?;
            assert_eq!(as_it_is(stage), before, "nimbuses that come back change nothing");
            stage.until_all_run(AMPLE)?;
            Ok(())
        },
    );
}

/// Storm's B064: the code is lost everywhere, all of it or one part of one topology.
#[test]
fn a_topology_whose_code_is_lost_goes_on_and_can_be_listed_killed_and_submitted_again() {
    each_seed(
        4,
        |random| Setup { nimbuses: 1 + random.below(2), ..Setup::default() },
        |stage, random| {
            run_all(stage, &[Wanted::of("ants", 2), Wanted::of("bees", 2)])?;
            let before = as_it_is(stage);
            let part = ["", "-stormjar.jar", "-stormcode.ser", "-stormconf.ser"][random.below(4)];
            for nimbus in stage.nimbuses().to_vec() {
                stage.kill(nimbus)?;
                stage.lose_code(nimbus, |key| {
                    if part.is_empty() { true } else { key.contains("ants") && key.ends_with(part) }
                });
            }
            stage.run_for(random.millis(100, 30_000))?;
            for nimbus in stage.nimbuses().to_vec() {
                stage.start(nimbus)?;
            }
            assert_eq!(stage.list(secs(30))?.len(), 2);
            assert!(!stage.has_code(stage.nimbuses()[0], "ants"));
            stage.run_for(secs(400))?;
            assert_eq!(as_it_is(stage), before, "what runs goes on");
            assert!(is_done(&stage.kill_topology("ants", AMPLE)?));
            stage.until("it is gone", AMPLE, |stage| stage.id_of("ants").is_none())?;
            assert_eq!(stage.list(secs(30))?.len(), 1);
            assert!(is_done(&stage.submit(&Wanted::of("ants", 2), AMPLE)?));
            stage.until("it runs", AMPLE, |stage| {
                let workers = stage.workers_of("ants");
                workers.len() == 2 && workers.iter().all(|worker| stage.is_processing(worker))
            })?;
            assert!(stage.nimbuses().iter().all(|nimbus| stage.starts(*nimbus) == 2), "no nimbus gave up");
            Ok(())
        },
    );
}

/// Storm's B064: a nimbus that lost its code gets it back from the others.
#[test]
fn code_that_one_nimbus_loses_comes_back_from_another() {
    each_seed(
        6,
        |random| Setup { nimbuses: 2 + random.below(2), ..Setup::default() },
        |stage, random| {
            run_all(stage, &[Wanted::of("ants", 2), Wanted::of("bees", 2)])?;
            let all = |stage: &Stage| {
                let has_all = |nimbus: &ProcessId| ["ants", "bees"].iter().all(|name| stage.has_code(*nimbus, name));
                stage.nimbuses().iter().all(has_all)
            };
            stage.until("the code at each", AMPLE, all)?;
            let before = as_it_is(stage);
            let loser = if random.chance(500) { stage.leader().unwrap() } else { stage.nimbuses()[0] };
            stage.kill(loser)?;
            stage.lose_code(loser, |_| true);
            stage.run_for(random.millis(100, 60_000))?;
            stage.start(loser)?;
            stage.until("the code at each again", secs(60), all)?;
            stage.run_for(secs(120))?;
            assert_eq!(as_it_is(stage), before);
            assert_eq!(stage.list(secs(30))?.len(), 2);
            Ok(())
        },
    );
}
