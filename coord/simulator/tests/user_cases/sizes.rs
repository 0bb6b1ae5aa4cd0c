//! Clusters and topologies that are as large as they come.

use std::time::Duration;

use ringstorm_records::znode::NodeName;
use ringstorm_simulator::checks::Violation;
use ringstorm_simulator::random::Random;
use ringstorm_simulator::stage::{Offer, Setup, Stage, Wanted};
use ringstorm_simulator::topology::Counts;

use crate::{AMPLE, each_seed, is_done, secs};

/// `list` answers within this, whatever else nimbus has to do.
const PROMPT: Duration = Duration::from_secs(10);

fn only_offers(stage: &mut Stage, offers: &[Offer]) -> Result<(), Violation> {
    stage.until("a leader", AMPLE, |stage| stage.leader().is_some())?;
    stage.offer(offers)
}

fn assigned(stage: &Stage, name: &str) -> usize {
    let assignment = stage.id_of(name).and_then(|id| stage.assignments().get(id));
    assignment.map_or(0, |assignment| assignment.executor_node_port.len())
}

/// Storm's B034: 2,000 workers with 20 executors each, on 5,000 slots.
#[test]
fn a_topology_of_two_thousand_workers_is_placed() {
    each_seed(
        1,
        |_| Setup { hosts: 0, ..Setup::default() },
        |stage, _| {
            let offer = |number| Offer {
                id: NodeName::new(&format!("8f2d7a1e-{number:04}-4c1b-9d3e-0a1b2c3d4e5f")).unwrap(),
                host: format!("node-{number}.example.org"),
                slots: 50,
            };
            only_offers(stage, &(0..100).map(offer).collect::<Vec<_>>())?;
            let bolt = Counts::plain(39_999);
            let wanted = Wanted { bolt, ..Wanted::of("ants", 2_000) };
            assert!(is_done(&stage.submit(&wanted, AMPLE)?));
            stage.until("an assignment", secs(30), |stage| assigned(stage, "ants") == 40_000)?;
            let listed = stage.list(PROMPT)?;
            assert_eq!((listed[0].num_workers, listed[0].num_executors), (2_000, 40_000));
            Ok(())
        },
    );
}

/// Storm's B034: the record of an assignment that is larger than ZooKeeper takes. Long random names see to it, since they
/// do not shrink.
#[test]
fn an_assignment_too_large_for_zookeeper_keeps_nobody_else_from_running() {
    each_seed(
        2,
        |_| Setup { hosts: 0, ..Setup::default() },
        |stage, random| {
            let offers: Vec<Offer> = (0..700)
                .map(|number| Offer {
                    id: NodeName::new(&format!("{number}-{}", random_name(random, 800))).unwrap(),
                    host: format!("h{number}.{}", random_name(random, 200)),
                    slots: 1,
                })
                .collect();
            only_offers(stage, &offers)?;
            assert!(is_done(&stage.submit(&Wanted::of("ants", 690), AMPLE)?));
            stage.run_for(secs(2))?;
            assert!(is_done(&stage.submit(&Wanted::of("bees", 2), AMPLE)?));
            stage.until("an assignment", secs(30), |stage| assigned(stage, "bees") == 2)?;
            assert_eq!(assigned(stage, "ants"), 0);
            let id = stage.id_of("ants").unwrap().to_string();
            let told: Vec<&str> =
                stage.notes().filter(|note| note.contains(&id) && note.contains("ZooKeeper")).collect();
            assert_eq!(told.len(), 1, "it is said once: {told:?}");
            assert_eq!(stage.list(PROMPT)?.len(), 2);
            assert!(is_done(&stage.kill_topology("ants", AMPLE)?));
            stage.until("it is gone", secs(30), |stage| stage.id_of("ants").is_none())?;
            Ok(())
        },
    );
}

fn random_name(random: &mut Random, length: usize) -> String {
    (0..length).map(|_| char::from(b"abcdefghijklmnopqrstuvwxyz0123456789"[random.below(36)])).collect()
}
