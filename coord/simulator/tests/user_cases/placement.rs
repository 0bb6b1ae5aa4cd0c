//! Where topologies go: off hosts that are lost, to hosts that have least to do, and nowhere if nothing is free.

use std::collections::{BTreeMap, BTreeSet};

use ringstorm_simulator::stage::{Setup, Stage, Wanted};
use ringstorm_simulator::world::process::HostId;

use crate::{AMPLE, ROUND, as_it_is, each_seed, run_all, secs};

fn hosts(stage: &Stage) -> Vec<HostId> {
    stage.supervisors().iter().map(|supervisor| stage.host_of(*supervisor)).collect()
}

/// How many workers each host has.
fn used(stage: &Stage) -> BTreeMap<HostId, usize> {
    let mut used: BTreeMap<HostId, usize> = hosts(stage).into_iter().map(|host| (host, 0)).collect();
    for worker in stage.running() {
        *used.entry(worker.host).or_default() += 1;
    }
    used
}

/// Storm's B029: several topologies on the hosts that are lost, one host or more at a time.
#[test]
fn every_topology_of_a_lost_host_moves_and_nothing_else_does() {
    let setup = Setup { hosts: 4, slots: 6, ..Setup::default() };
    let limit = setup.session_timeout + secs(20);
    each_seed(
        8,
        |_| setup.clone(),
        |stage, random| {
            let names = ["ants", "bees", "cats"];
            let topologies = names.map(|name| Wanted::of(name, 2 + random.below(2) as i32));
            run_all(stage, &topologies)?;

            let mut all = hosts(stage);
            all.rotate_left(random.below(4));
            let lost: BTreeSet<HostId> = all.into_iter().take(1 + random.below(2)).collect();
            let (gone, stay): (Vec<_>, Vec<_>) = stage.running().into_iter().partition(|it| lost.contains(&it.host));
            assert!(!gone.is_empty(), "each host has workers: {:?}", used(stage));
            for host in &lost {
                stage.lose_host(*host)?;
            }
            stage.until_none(limit, |stage| on_lost(stage, &lost).or_else(|| stage.not_running()))?;
            let now = stage.running();
            assert!(stay.iter().all(|worker| now.contains(worker)), "{stay:?} {now:?}");

            let before = as_it_is(stage);
            lost.iter().for_each(|host| stage.raise_host(*host));
            stage.run_for(secs(60))?;
            assert_eq!(as_it_is(stage), before, "a host that comes back moves nothing");
            Ok(())
        },
    );
}

fn on_lost(stage: &Stage, lost: &BTreeSet<HostId>) -> Option<String> {
    let there = stage.running().into_iter().find(|worker| lost.contains(&worker.host));
    there.map(|worker| format!("{worker:?} is on a lost host"))
}

/// Storm's B029: a host is found lost just while nimbus sees to another one.
#[test]
fn a_host_that_is_lost_during_a_round_does_not_wait_for_the_next_one_in_turn() {
    each_seed(
        16,
        |_| Setup { hosts: 4, slots: 6, ..Setup::default() },
        |stage, random| {
            run_all(stage, &["ants", "bees", "cats"].map(|name| Wanted::of(name, 3)))?;
            let (one, other) = (stage.supervisors()[0], stage.supervisors()[1]);
            let (first, second) = (stage.host_of(one), stage.host_of(other));
            let there = stage.running().into_iter().filter(|worker| worker.host == second);
            let silent: Vec<(String, u16)> = there.map(|worker| (worker.topology, worker.port)).collect();
            stage.lose_host(first)?;
            stage.lose_host(second)?;
            // Their workers are silent by now, and may live yet as far as anybody knows.
            stage.run_for(secs(14))?;
            stage.end_sessions_of(one)?;
            // A round comes at once, and another one a second later.
            let (from, to) = if random.chance(300) { (0, 60) } else { (1_000, 1_080) };
            stage.run_for(random.millis(from, to))?;
            stage.end_sessions_of(other)?;
            stage.until("nothing is left where the second one was", secs(4), |stage| {
                silent.iter().all(|(topology, port)| !has_slot(stage, topology, "sup1", *port))
            })?;
            stage.until_all_run(AMPLE)?;
            Ok(())
        },
    );
}

fn has_slot(stage: &Stage, topology: &str, node: &str, port: u16) -> bool {
    let found = stage.assignments().iter().find(|(id, _)| id.as_str() == topology);
    let mut slots = found.into_iter().flat_map(|(_, assignment)| assignment.executor_node_port.values());
    slots.any(|slot| slot.node == node && slot.port.contains(&port.into()))
}

/// Storm's B031: small topologies, one after another, on any number of hosts, with some that go in between.
#[test]
fn a_small_topology_goes_to_a_host_with_the_fewest_workers() {
    each_seed(
        8,
        |random| Setup { hosts: 2 + random.below(4), ..Setup::default() },
        |stage, random| {
            let hosts = hosts(stage).len();
            stage.until("a leader", AMPLE, |stage| stage.leader().is_some())?;
            let mut names: Vec<String> = Vec::new();
            for number in 0..hosts * 3 {
                if number > hosts && random.chance(300) {
                    let name = names.swap_remove(random.below(names.len()));
                    stage.kill_topology(&name, AMPLE)?;
                    stage.until_all_run(AMPLE)?;
                }
                let (before, name) = (used(stage), format!("ants-{number}"));
                run_all(stage, &[Wanted::of(&name, 1)])?;
                let host = stage.workers_of(&name)[0].host;
                let fewest = before.values().min().unwrap();
                assert_eq!(before[&host], *fewest, "{name} went to {host:?} of {before:?}");
                names.push(name);
            }
            Ok(())
        },
    );
}

/// Storm's B031: as many at once as there are hosts.
#[test]
fn small_topologies_that_come_together_go_to_different_hosts() {
    each_seed(
        6,
        |random| Setup { hosts: 2 + random.below(4), ..Setup::default() },
        |stage, _| {
            let hosts = hosts(stage).len();
            let topologies: Vec<Wanted> = (0..hosts).map(|number| Wanted::of(&format!("ants-{number}"), 1)).collect();
            run_all(stage, &topologies)?;
            assert!(used(stage).values().all(|used| *used == 1), "{:?}", used(stage));
            Ok(())
        },
    );
}

/// Storm's B032, as far as slots go: a topology that finds none runs nothing, takes nothing from others, is said to lack
/// what it lacks, and runs a round after there is enough.
#[test]
fn a_topology_that_finds_no_slot_waits_for_one_and_says_so() {
    each_seed(
        6,
        |_| Setup { slots: 2, ..Setup::default() },
        |stage, random| {
            let (first, second) = (hosts(stage)[0], hosts(stage)[1]);
            stage.lose_host(second)?;
            run_all(stage, &[Wanted::of("ants", 2)])?;
            let before = as_it_is(stage);
            let wanted = Wanted::of("bees", 1 + random.below(2) as i32);
            assert!(crate::is_done(&stage.submit(&wanted, AMPLE)?));
            stage.run_for(secs(90))?;
            assert_eq!(stage.running(), before.1);
            let id = stage.id_of("bees").unwrap().to_string();
            let why = stage.notes().filter(|note| note.contains(&id) && note.contains("all slots are in use")).count();
            assert_eq!(why, 1, "{:?}", stage.notes().collect::<Vec<_>>());
            let needed = format!("0 of {} workers", wanted.workers);
            assert!(stage.notes().any(|note| note.contains(&id) && note.contains(&needed)));

            stage.raise_host(second);
            stage.until("the supervisor", AMPLE, |stage| stage.is_up(stage.supervisors()[1]))?;
            stage.until("an assignment", ROUND, |stage| !stage.assignments().is_empty() && is_assigned(stage, &id))?;
            stage.until_all_run(AMPLE)?;
            assert!(stage.workers_of("bees").iter().all(|worker| worker.host == second));
            assert!(stage.workers_of("ants").iter().all(|worker| worker.host == first));
            Ok(())
        },
    );
}

fn is_assigned(stage: &Stage, id: &str) -> bool {
    let found = stage.assignments().iter().find(|(topology, _)| topology.as_str() == id);
    found.is_some_and(|(_, assignment)| !assignment.executor_node_port.is_empty())
}
