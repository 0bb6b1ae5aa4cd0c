//! The same cluster while its nimbus, its supervisor and the ensemble fail for real.
//!
//! What runs goes on, what was pending is done, what was asked for is answered truthfully, and nothing that lives is
//! cleaned up.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ringstorm_ensemble::Ensemble;
use ringstorm_nimbus::interface::{Refusal, Reply, Request};
use ringstorm_records::records::{RebalanceOptions, TopologyStatus};
use ringstorm_records::znode::{Node, NodeName};

use crate::nimbus::NimbusHost;
use crate::supervisor::SupervisorHost;
use crate::world::{DELETION_DELAY, LONG, World, name, nimbus_settings, submission};

/// The time-out of sessions that shall expire.
const SHORT: Duration = Duration::from_secs(3);

/// Long enough for a session with [`SHORT`] to expire, and for whoever waits for that.
const LONGER_THAN_A_SESSION: Duration = Duration::from_secs(6);

/// Long enough for what nobody knows of any more to be removed.
const LONGER_THAN_A_CLEAN_UP: Duration = Duration::from_secs(DELETION_DELAY.as_secs() + 3);

/// A cluster whose topology `words` runs in two slots.
struct Running {
    world: Arc<World>,
    nimbuses: Vec<NimbusHost>,
    host: SupervisorHost,
    topology: NodeName,
    /// The processes of the topology.
    workers: BTreeSet<(u16, u64)>,
}

impl Running {
    /// With nimbuses at these ports, the first of which leads.
    fn begin(ensemble: &Ensemble, ports: &[u16], session: Duration) -> Self {
        let world = World::new(ensemble.addresses());
        let host = SupervisorHost::start(&world, session);
        let mut nimbuses: Vec<NimbusHost> = Vec::new();
        for port in ports {
            let random = u128::from(*port) << 64;
            nimbuses.push(NimbusHost::start(&world, *port, random, nimbus_settings(), session));
            world.eventually("the first nimbus leads", || nimbuses[0].is_leading().then_some(()));
        }
        world.warm_up();
        let Ok(Reply::Submitted { topology }) = nimbuses[0].request(submission("words", 2)) else {
            panic!("{}", world.noted())
        };
        world.eventually("both workers beat", || (world.beats(&topology).len() == 2).then_some(()));
        let workers = host.living();
        assert_eq!(workers.len(), 2, "{}", world.noted());
        host.commands();
        Self { world, nimbuses, host, topology, workers }
    }

    /// Asserts that the first workers are those that live, and that nobody wanted to change that; what was started
    /// besides is fine.
    fn assert_undisturbed(&self) {
        assert!(self.host.living().is_superset(&self.workers), "{}", self.world.noted());
        let stops = self.host.commands().into_iter().filter(|command| command.starts_with("stop"));
        assert_eq!(stops.collect::<Vec<_>>(), Vec::<String>::new(), "{}", self.world.noted());
    }

    /// Waits until every worker has written beats.
    fn wait_for_new_beats(&self) {
        let before = self.world.beats(&self.topology);
        self.world.eventually("the workers beat on", || {
            let now = self.world.beats(&self.topology);
            // One whose first beat was cut off has none before.
            let goes_on = |(port, version): (&u16, &i32)| before.get(port).is_none_or(|before| version > before);
            (now.len() == self.workers.len() && now.iter().all(goes_on)).then_some(())
        });
    }

    /// Asks a nimbus until it knows.
    fn insist(&mut self, at: usize, request: &Request) -> Reply {
        for _ in 0..60 {
            match self.nimbuses[at].request(request.clone()) {
                Ok(reply) => return reply,
                Err(Refusal::TryAgain(_) | Refusal::Unknown(_) | Refusal::NotLeader { .. }) => {
                    std::thread::sleep(Duration::from_millis(500));
                }
                Err(other) => panic!("{other}\n{}", self.world.noted()),
            }
        }
        panic!("nobody knows\n{}", self.world.noted())
    }
}

#[test]
fn a_leader_that_is_cut_off_answers_truthfully_and_costs_no_worker() {
    let Some(ensemble) = Ensemble::start_or_skip(3) else { return };
    let mut it = Running::begin(&ensemble, &[6627, 6628], SHORT);
    // After how long the link breaks: before anything was asked, or in the midst of what is written.
    for (round, cut_after_ms) in [0, 40, 150, 1_000].into_iter().enumerate() {
        let (old, new) = (round % 2, 1 - round % 2);
        assert!(it.nimbuses[old].is_leading(), "{}", it.world.noted());
        let wanted = format!("late-{round}");
        let asked = it.nimbuses[old].ask(submission(&wanted, 1));
        std::thread::sleep(Duration::from_millis(cut_after_ms));
        it.nimbuses[old].link.cut();
        let answer = it.nimbuses[old].answer(asked);
        it.world.eventually("another one leads", || it.nimbuses[new].is_leading().then_some(()));
        assert!(!it.nimbuses[old].is_leading());
        let there = it.world.topologies_named(&wanted);
        match &answer {
            Ok(Reply::Submitted { topology }) => assert_eq!(there, std::slice::from_ref(topology)),
            Err(Refusal::TryAgain(_) | Refusal::NotLeader { .. }) => assert_eq!(there, [], "{answer:?}"),
            Err(Refusal::Unknown(_)) => assert!(there.len() <= 1),
            other => panic!("{other:?}"),
        }
        // The same, asked again, comes to one topology, whatever became of it the first time.
        let Reply::Submitted { topology } = it.insist(new, &submission(&wanted, 1)) else { panic!() };
        assert_eq!(it.world.topologies_named(&wanted), [topology]);
        it.assert_undisturbed();
        it.nimbuses[old].link.heal();
        // Who comes back follows, and says who leads.
        let kill = Request::Kill { name: "words".into(), options: Default::default() };
        it.world.eventually("who led is told who leads", || match it.nimbuses[old].request(kill.clone()) {
            Err(Refusal::NotLeader { leader }) => {
                leader.filter(|leader| usize::from(leader.port()) == 6627 + new).map(drop)
            }
            other => panic!("{other:?}"),
        });
        it.world.eventually("who led holds the code", || {
            let directories = it.world.directories.lock().unwrap();
            (directories[&6627].len() == directories[&6628].len()).then_some(())
        });
    }
    it.wait_for_new_beats();
    it.assert_undisturbed();
    assert_eq!(it.world.base(&it.topology).unwrap().status, TopologyStatus::Active);
}

#[test]
fn a_rebalance_that_is_pending_is_done_though_the_ensembles_leader_dies() {
    let Some(mut ensemble) = Ensemble::start_or_skip(3) else { return };
    let mut it = Running::begin(&ensemble, &[6627], LONG);
    let before = it.world.assignment(&it.topology).unwrap().version.unwrap();
    let options = RebalanceOptions {
        wait_secs: Some(5),
        num_workers: Some(1),
        num_executors: Some([("count".to_owned(), 2)].into()),
        ..RebalanceOptions::default()
    };
    let request = Request::Rebalance { name: "words".into(), options };
    assert_eq!(it.nimbuses[0].request(request), Ok(Reply::Done));
    let leader = ensemble.leader();
    ensemble.kill(leader);
    let topology = it.topology.clone();
    it.world.eventually("the rebalance", || {
        let base = it.world.base(&topology)?;
        let is_done = base.status == TopologyStatus::Active && base.num_workers == 1;
        is_done.then_some(())
    });
    it.world.eventually("one worker runs", || {
        let is_new = it.host.living().intersection(&it.workers).count() == 0;
        (is_new && it.world.beats(&topology).keys().eq(&[6700])).then_some(())
    });
    ensemble.restart(leader);
    it.workers = it.host.living();
    assert_eq!(it.workers.len(), 1);
    it.wait_for_new_beats();
    let after = it.world.assignment(&topology).unwrap();
    assert!(after.version.unwrap() > before);
    let slots: BTreeSet<_> = after.executor_node_port.values().flat_map(|slot| slot.port.clone()).collect();
    assert_eq!(slots, [6700].into());
}

#[test]
fn a_supervisor_that_was_killed_adopts_its_workers_and_starts_nothing() {
    let Some(ensemble) = Ensemble::start_or_skip(3) else { return };
    let mut it = Running::begin(&ensemble, &[6627], LONG);
    let supervisor = Node::Supervisor { supervisor: name(crate::supervisor::ID) };
    let owner = |world: &World| world.owner(&supervisor);
    let (before, assigned) = (owner(&it.world), it.world.assignment(&it.topology));
    it.host.kill_supervisor();
    it.host.start_supervisor();
    // The node of the session before, which has not expired, is replaced.
    it.world.eventually("the supervisor is back", || owner(&it.world).filter(|owner| Some(*owner) != before));
    it.wait_for_new_beats();
    it.wait_for_new_beats();
    assert_eq!(it.host.commands(), Vec::<String>::new(), "{}", it.world.noted());
    assert_eq!(it.host.living(), it.workers);
    assert_eq!(it.world.assignment(&it.topology), assigned);
    // It is theirs: one that dies is started again in its slot, and the other one stays.
    let (port, incarnation) = *it.workers.first().unwrap();
    it.host.kill_worker(port, incarnation);
    let started = it.world.eventually("another one is started", || {
        it.host.living().into_iter().find(|(of, newer)| *of == port && *newer > incarnation)
    });
    it.workers.remove(&(port, incarnation));
    it.workers.insert(started);
    it.wait_for_new_beats();
    assert_eq!(it.host.commands(), [format!("start {port} {}", it.topology)]);
    assert_eq!(it.host.living(), it.workers);
}

#[test]
fn an_ensemble_that_is_away_for_longer_than_a_session_costs_nothing() {
    let Some(mut ensemble) = Ensemble::start_or_skip(3) else { return };
    let mut it = Running::begin(&ensemble, &[6627, 6628], SHORT);
    let lasting = |world: &World| {
        let tree = world.eventually("the tree is read", || world.dump());
        let lasts =
            |node: &Node| matches!(node, Node::Storm { .. } | Node::Assignment { .. } | Node::BlobSequence { .. });
        tree.into_iter().filter(|(node, _)| lasts(node)).collect::<Vec<_>>()
    };
    let before = lasting(&it.world);
    (0..3).for_each(|index| ensemble.kill(index));
    std::thread::sleep(LONGER_THAN_A_SESSION);
    it.assert_undisturbed();
    let refused = it.nimbuses[0].request(Request::Deactivate { name: "words".into() });
    assert!(matches!(refused, Err(Refusal::NotLeader { .. } | Refusal::TryAgain(_))), "{refused:?}");
    ensemble.restart_all(&[0, 1, 2]);
    it.world.eventually("somebody leads", || it.nimbuses.iter().any(NimbusHost::is_leading).then_some(()));
    it.wait_for_new_beats();
    // Whoever would clean up has had the time for it.
    it.world.within(LONGER_THAN_A_CLEAN_UP, || None::<()>);
    it.assert_undisturbed();
    assert_eq!(lasting(&it.world), before, "{}", it.world.noted());
    let holders = it.world.eventually("the tree is read", || it.world.dump());
    assert_eq!(holders.keys().filter(|node| matches!(node, Node::BlobHolder { .. })).count(), 6);
    let leader = it.nimbuses.iter().position(NimbusHost::is_leading).unwrap();
    assert_eq!(it.insist(leader, &Request::Deactivate { name: "words".into() }), Reply::Done);
}
