//! Trouble with ZooKeeper: members that restart, outages, sessions that end, executors that fall silent.

use std::time::Duration;

use ringstorm_simulator::stage::{Setup, Stage, Wanted};

use crate::{AMPLE, as_it_is, each_seed, is_done, run_all, secs};

const NAMES: [&str; 4] = ["ants", "bees", "cats", "dogs"];

fn four() -> Vec<Wanted> {
    NAMES.iter().map(|name| Wanted::of(name, 2)).collect()
}

/// The names of the topologies that a user finds.
fn listed(stage: &mut Stage) -> Result<Vec<String>, ringstorm_simulator::checks::Violation> {
    let mut names: Vec<String> = stage.list(AMPLE)?.into_iter().map(|topology| topology.name).collect();
    names.sort();
    Ok(names)
}

/// Storm's B049: each member in turn ten times, two of them at once now and then, a member that answers with what is old,
/// and an outage that all sessions survive or none does. Then so long that a clean-up would have come.
#[test]
fn members_that_restart_and_an_outage_cost_no_topology_and_no_worker() {
    let setup = Setup { nimbuses: 2, ..Setup::default() };
    let clean_up = setup.nimbus.deletion_delay + secs(60);
    each_seed(
        2,
        |_| setup.clone(),
        |stage, random| {
            run_all(stage, &four())?;
            stage.run_for(secs(30))?;
            let before = as_it_is(stage);
            for restart in 0..30 {
                let (member, other) = (restart % 3, (restart + 1) % 3);
                let is_old = random.chance(300);
                if is_old {
                    stage.hold_member(other);
                }
                stage.stop_member(member);
                stage.run_for(random.millis(100, 6_000))?;
                if random.chance(200) {
                    stage.stop_member(other);
                    stage.run_for(random.millis(100, 6_000))?;
                    stage.start_member(other);
                }
                stage.start_member(member);
                stage.run_for(random.millis(0, 6_000))?;
                stage.release_member(other);
            }
            stage.stop_ensemble();
            stage.run_for(secs(60))?;
            stage.start_ensemble();
            if random.chance(500) {
                stage.end_all_sessions()?;
            }
            stage.run_for(clean_up)?;
            assert_eq!(as_it_is(stage), before);
            assert_eq!(listed(stage)?, NAMES);
            for (nimbus, name) in stage.nimbuses().iter().flat_map(|nimbus| NAMES.map(|name| (*nimbus, name))) {
                assert!(stage.has_code(nimbus, name), "{name}");
            }
            stage.until_all_run(AMPLE)?;
            assert!(stage.supervisors().iter().all(|supervisor| stage.starts(*supervisor) == 1));
            Ok(())
        },
    );
}

/// Storm's B051: ten outages of up to 18 s, below every time-out, after some of which the sessions are over all the same.
#[test]
fn a_reconnect_changes_no_assignment() {
    each_seed(
        3,
        |random| Setup { nimbuses: 1 + random.below(2), ..Setup::default() },
        |stage, random| {
            run_all(stage, &four())?;
            stage.run_for(secs(20))?;
            let before = as_it_is(stage);
            for outage in 0..10 {
                stage.stop_ensemble();
                stage.run_for(if outage == 0 { secs(15) } else { random.millis(200, 18_000) })?;
                stage.start_ensemble();
                if random.chance(300) {
                    stage.end_all_sessions()?;
                }
                stage.run_for(random.millis(200, 30_000))?;
                assert_eq!(as_it_is(stage), before, "after outage {outage}");
            }
            stage.run_for(secs(120))?;
            assert_eq!(as_it_is(stage), before);
            stage.until_all_run(AMPLE)?;
            Ok(())
        },
    );
}

/// Storm's B052: a member that is never there, and an ensemble that comes long after everybody else.
#[test]
fn everything_starts_with_any_quorum_and_waits_for_one() {
    each_seed(
        6,
        |random| Setup { nimbuses: 1 + random.below(2), ..Setup::default() },
        |stage, random| {
            let absent = random.below(3);
            stage.stop_member(absent);
            let wait = random.millis(0, 90_000);
            if random.chance(700) {
                stage.stop_ensemble();
                stage.run_for(wait)?;
                (0..3).filter(|member| *member != absent).for_each(|member| stage.start_member(member));
            }
            run_all(stage, &four())?;
            assert_eq!(listed(stage)?, NAMES);
            assert!(is_done(&stage.kill_topology("ants", AMPLE)?));
            stage.until("it is gone", AMPLE, |stage| stage.id_of("ants").is_none())?;
            stage.until_all_run(AMPLE)?;
            let daemons = stage.nimbuses().iter().chain(stage.supervisors());
            assert!(daemons.clone().all(|daemon| stage.starts(*daemon) == 1), "nobody gave up");
            Ok(())
        },
    );
}

/// Storm's B054: one worker of several stops to beat, since a core of it stands still; with trouble before it and without.
/// Its executors run elsewhere by the time-out of tasks, counted from its last beat, and 15 s; nobody else is touched.
#[test]
fn a_worker_that_falls_silent_is_replaced_alone() {
    let setup = Setup { hosts: 3, ..Setup::default() };
    // Storm's `supervisor.worker.timeout.secs`: until then a core may be in one turn.
    let core_silence = secs(30);
    let limit = core_silence + setup.nimbus.beats.task_timeout + secs(15);
    each_seed(
        6,
        |_| setup.clone(),
        |stage, random| {
            run_all(stage, &[Wanted::of("ants", 5), Wanted::of("bees", 3)])?;
            if random.chance(500) {
                stage.stop_ensemble();
                stage.run_for(random.millis(1_000, 15_000))?;
                stage.start_ensemble();
            }
            stage.run_for(secs(20))?;
            let running = stage.running();
            let silent = running[random.below(running.len())].clone();
            stage.stall_core(&silent, 0);
            let is_replaced = |stage: &Stage| {
                let now = stage.running();
                now.len() == running.len() && !now.contains(&silent) && now.iter().all(|it| stage.is_processing(it))
            };
            stage.until("another process in its place", limit, is_replaced)?;
            stage.until_all_run(AMPLE)?;
            stage.run_for(Duration::from_secs(120))?;
            let (now, others) = (stage.running(), running.iter().filter(|worker| **worker != silent));
            assert!(others.clone().all(|worker| now.contains(worker)), "{silent:?} {running:?} {now:?}");
            assert_eq!(now.len(), running.len());
            Ok(())
        },
    );
}
