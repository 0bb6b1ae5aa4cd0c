//! The world itself, proven with a small machine on the real procedures of the tree: candidates queue up, and whoever
//! leads writes. What it may not do is seen; what it may do goes on under every fault.

#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

use std::rc::Rc;
use std::time::Duration;

use ringstorm_control::machine::Machine;
use ringstorm_control::session::{Meaning, Session};
use ringstorm_control::talks::{FromStore, Progress, Talks, ToStore};
use ringstorm_control::time::{Moment, Now};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::LogConfig;
use ringstorm_records::znode::{Node, NodeName, Root};
use ringstorm_simulator::actor::{Actor, Effect, Factory, Input, Role};
use ringstorm_simulator::checks::Violation;
use ringstorm_simulator::trace::LINES_KEPT;
use ringstorm_simulator::world::World;
use ringstorm_simulator::world::faults::{Fault, Faults};
use ringstorm_simulator::world::process::HostId;
use ringstorm_store::cluster::{Candidacy, Cluster, ClusterAcls, Leadership, Standing, Trouble};
use ringstorm_store::operation::{Operation, Write};
use ringstorm_store::outcome::Condition;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::SessionId;

const PERIOD: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
enum Tag {
    Stand,
    Look,
    Write,
}

#[derive(Debug)]
enum Said {
    Stood(Candidacy),
    Stands(Standing),
    Written,
}

struct Elector {
    cluster: Cluster,
    id: String,
    /// Writes go without the leader's check, as a careless machine's would.
    is_careless: bool,
    session: Session,
    candidacy: Option<Candidacy>,
    leadership: Option<Leadership>,
    is_busy: bool,
    talks: Talks<Tag, Result<Said, Trouble>>,
    due: Moment,
}

impl Elector {
    fn next(&mut self, now: Now, session: SessionId) -> Vec<Effect> {
        self.is_busy = true;
        self.due = now.moment + PERIOD;
        let (id, address) = (self.id.clone(), NimbusAddress::new("h", 6627, 0).expect("it is one"));
        let cluster = self.cluster.clone();
        let (tag, procedure) = match (&self.candidacy, &self.leadership) {
            (None, _) => (
                Tag::Stand,
                cluster.procedure(|tree| async move {
                    let id = NodeName::new(&format!("{id}-{}", session.0)).expect("it is one");
                    tree.stand(session, &id, &address).await.map(Said::Stood)
                }),
            ),
            (Some(candidacy), None) => {
                let candidacy = candidacy.clone();
                let procedure =
                    cluster.procedure(|tree| async move { tree.standing(&candidacy).await.map(Said::Stands) });
                (Tag::Look, procedure)
            }
            (Some(_), Some(leader)) => {
                let (leader, is_careless) = (leader.clone(), self.is_careless);
                let procedure = cluster.procedure(|tree| async move {
                    let topology = NodeName::new("t").expect("it is one");
                    if is_careless {
                        let path = tree.path(&Node::LogConfig { topology: topology.clone() });
                        let set = Operation::Write(Write::Set { path, data: vec![1], version: None });
                        if tree.asker().ask(set).await.condition() != Some(&Condition::NoNode) {
                            return Ok(Said::Written);
                        }
                    }
                    tree.set_log_config(&leader, &topology, &LogConfig::default()).await.map(|()| Said::Written)
                });
                (Tag::Write, procedure)
            }
        };
        let progress = self.talks.begin(session, tag, procedure);
        self.go_on(now, progress)
    }

    fn go_on(&mut self, now: Now, progress: Progress<Tag, Result<Said, Trouble>>) -> Vec<Effect> {
        let result = match progress {
            Progress::Asks(asked) => return asked.into_iter().map(Effect::Store).collect::<Vec<_>>(),
            Progress::Done(_, result) => result,
        };
        self.is_busy = false;
        match result {
            Ok(Said::Stood(candidacy)) => self.candidacy = Some(candidacy),
            Ok(Said::Stands(Standing::Leads(leadership))) => self.leadership = Some(leadership),
            Ok(Said::Stands(Standing::Gone)) => self.candidacy = None,
            Ok(Said::Stands(Standing::Waits { .. }) | Said::Written) => {}
            Err(Trouble::Deposed) => (self.candidacy, self.leadership) = (None, None),
            Err(_) => self.due = now.moment + PERIOD,
        }
        Vec::<ToStore>::new().into_iter().map(Effect::Store).collect()
    }
}

impl Machine for Elector {
    type Input = FromStore;
    type Effect = Effect;

    fn handle(&mut self, now: Now, input: FromStore) -> Vec<Effect> {
        match input {
            FromStore::Session(event) => {
                match self.session.take(&event) {
                    Meaning::Began { .. } => (self.candidacy, self.leadership, self.is_busy) = (None, None, false),
                    // An older snapshot may have brought back candidates with lower numbers: look again.
                    Meaning::GoesOn(_) => self.leadership = None,
                    Meaning::Stops => {}
                }
                Vec::new()
            }
            FromStore::Watch(_) => Vec::new(),
            FromStore::Outcome { question, outcome } => {
                let progress = self.talks.answer(question, outcome);
                self.go_on(now, progress)
            }
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        match self.session.usable() {
            Some(session) if !self.is_busy && self.due <= now.moment => self.next(now, session),
            _ => Vec::new(),
        }
    }

    fn wake_at(&self) -> Option<Moment> {
        (self.session.usable().is_some() && !self.is_busy).then_some(self.due)
    }
}

impl Actor for Elector {
    fn handle(&mut self, now: Now, input: Input) -> Vec<Effect> {
        match input {
            Input::Store(said) => Machine::handle(self, now, said),
            _ => Vec::new(),
        }
    }

    fn wake(&mut self, now: Now) -> Vec<Effect> {
        Machine::wake(self, now)
    }

    fn wake_at(&self) -> Option<Moment> {
        Machine::wake_at(self)
    }
}

fn elector(id: &str, is_careless: bool) -> Factory {
    let id = id.to_owned();
    Rc::new(move |birth| {
        Some(Box::new(Elector {
            cluster: Cluster::new(Root::new("/storm").expect("it is one"), ClusterAcls::open()),
            id: format!("{id}-{}", birth.life),
            is_careless,
            session: Session::default(),
            candidacy: None,
            leadership: None,
            is_busy: false,
            talks: Talks::default(),
            due: birth.now.moment,
        }))
    })
}

fn world(seed: u64, lines_kept: usize, is_careless: bool) -> World {
    let mut world = World::new(seed, lines_kept);
    for index in 0..3 {
        let name = format!("elector-{index}");
        world.add(&name, Role::Nimbus, HostId(index), Duration::ZERO, elector(&name, is_careless));
    }
    let kinds = Fault::ALL.iter().copied().filter(|_| world.random.chance(400)).collect();
    let gap = world.random.millis(500, 5_000);
    world.plan_faults(Faults { kinds, gap, until: Duration::from_secs(60) });
    world
}

/// Runs to the end, and looks whether the last leader writes.
fn run(world: &mut World) -> Result<(), Violation> {
    world.run_until(Duration::from_secs(120))?;
    let path = ZnodePath::new("/storm/logconfigs/t").expect("it is one");
    let version = |world: &World| world.tree().look(&path).map(|(_, stat)| (stat.created, stat.version));
    let before = version(world);
    world.run_until(Duration::from_secs(130))?;
    let after = version(world);
    if before.is_none() || before == after {
        return Err(Violation::new("somebody leads", format!("{before:?}, ten seconds later {after:?}")));
    }
    Ok(())
}

fn lines(world: &World) -> String {
    world.trace.lines().collect::<Vec<_>>().join("\n")
}

#[test]
fn an_election_goes_on_under_every_fault() {
    for seed in 0..300 {
        let mut first = world(seed, 0, false);
        if let Err(violation) = run(&mut first) {
            let mut again = world(seed, LINES_KEPT, false);
            let same = run(&mut again);
            panic!("{}\nseed {seed}: {violation}, again {same:?}", lines(&again));
        }
    }
}

#[test]
fn the_same_seed_has_the_same_trace() {
    for seed in [1, 2, 3] {
        let [one, other, different] = [seed, seed, seed + 100].map(|seed| {
            let mut world = world(seed, LINES_KEPT, false);
            run(&mut world).expect("it is one");
            (world.trace.count(), world.trace.hash())
        });
        assert_eq!(one, other);
        assert_ne!(one, different);
    }
}

#[test]
fn a_leader_that_does_not_check_is_seen() {
    let mut found = (0..300).filter_map(|seed| run(&mut world(seed, 0, true)).err());
    assert!(found.any(|violation| violation.law == "only the leader's writes are done"));
}
