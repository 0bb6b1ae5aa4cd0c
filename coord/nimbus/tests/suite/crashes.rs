//! The leader dies after each single write, and the client tries again.

use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::records::TopologyStatus;

use crate::life::{kill, rebalance, submit, world};
use crate::world::{World, slots};

/// What a client is told that asks until somebody knows, while the leader dies after so many writes; `None` when it has no
/// so many.
fn with_a_death(world: &mut World, writes: usize, request: &Request, secs: u64) -> Option<Result<Reply, Refusal>> {
    let leader = world.leader().unwrap();
    world.crash_after(leader, writes);
    let answer = world.insist(request);
    world.run_secs(secs);
    let has_died = !world.is_running(leader) || world.daemons[leader].starts > 1;
    world.revive();
    world.run_secs(secs);
    has_died.then_some(answer)
}

#[test]
fn a_submission_comes_to_one_topology_whenever_the_leader_dies() {
    for hosts in [&["n1"][..], &["n1", "n2"]] {
        let mut deaths = 0;
        for writes in 1..60 {
            let mut world = world(hosts);
            let Some(answer) = with_a_death(&mut world, writes, &submit("words", "t"), 20) else { break };
            deaths += 1;
            assert!(matches!(answer, Ok(Reply::Submitted { .. })), "{writes}: {answer:?} {:#?}", world.notes);
            let bases = world.bases();
            assert_eq!(bases.len(), 1, "{writes}");
            let Ok(Reply::Submitted { topology }) = answer else { unreachable!("it was looked at") };
            assert_eq!(bases[0].0, topology);
            let assignments = world.assignments();
            assert_eq!(assignments.len(), 1, "{writes} {:#?}", world.notes);
            assert_eq!(slots(&assignments[0].1).len(), 2);
        }
        assert!(deaths > 10, "{deaths}");
    }
}

#[test]
fn a_kill_ends_the_topology_whenever_the_leader_dies() {
    for hosts in [&["n1"][..], &["n1", "n2"]] {
        let mut deaths = 0;
        for writes in 1..30 {
            let mut world = world(hosts);
            world.insist(&submit("words", "t")).unwrap();
            world.run_secs(10);
            let Some(answer) = with_a_death(&mut world, writes, &kill("words", Some(3)), 15) else { break };
            deaths += 1;
            // Whoever asked, was not told, and asks again after the end hears that it is gone.
            assert!(matches!(answer, Ok(Reply::Done) | Err(Refusal::NotAlive(_))), "{writes}: {answer:?}");
            assert!(world.bases().is_empty() && world.assignments().is_empty(), "{writes} {:#?}", world.notes);
        }
        assert!(deaths >= 6, "{deaths}");
    }
}

#[test]
fn a_rebalance_is_done_whenever_the_leader_dies() {
    for hosts in [&["n1"][..], &["n1", "n2"]] {
        let mut deaths = 0;
        for writes in 1..30 {
            let mut world = world(hosts);
            world.insist(&submit("words", "t")).unwrap();
            world.run_secs(10);
            let Some(answer) = with_a_death(&mut world, writes, &rebalance(3, 1), 20) else { break };
            deaths += 1;
            assert_eq!(answer, Ok(Reply::Done), "{writes}");
            let (_, base) = world.bases().remove(0);
            let state = (base.status, base.num_workers);
            assert_eq!(state, (TopologyStatus::Active, 1), "{writes} {:#?}", world.notes);
            assert_eq!(slots(&world.assignments()[0].1).len(), 1, "{writes}");
            assert_eq!(world.assignments()[0].1.executor_node_port.len(), 6, "{writes}");
        }
        assert!(deaths >= 5, "{deaths}");
    }
}
