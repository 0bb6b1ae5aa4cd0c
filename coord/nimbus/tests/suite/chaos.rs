//! Faults at random: whatever happens, nothing is promised that is not kept, and when it is over everything is well.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ringstorm_nimbus::NimbusSettings;
use ringstorm_nimbus::interface::{Content, Refusal, Reply, Request, RequestId, SUBMISSION_TOKEN};
use ringstorm_records::records::TopologyStatus;
use ringstorm_records::znode::NodeName;
use ringstorm_store::memory::Loss;

use crate::life::kill;
use crate::topologies::submission;
use crate::world::{World, name, slots};

const NIMBUSES: [&str; 3] = ["n1", "n2", "n3"];
const SUPERVISORS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 3] = ["x", "y", "z"];
const PORTS: [i64; 4] = [6700, 6701, 6702, 6703];

/// A xorshift generator: the same seed, the same faults.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

struct Chaos {
    world: World,
    random: Random,
    /// Submissions that were asked for, by request, with who was asked and in which of its processes.
    asked: BTreeMap<RequestId, (String, usize, u128)>,
    /// Tokens of which nothing may be there.
    refused: BTreeSet<String>,
    /// How many there are.
    tokens: u64,
    submitted: BTreeMap<NodeName, String>,
    /// Names whose kill was asked for.
    killed: BTreeSet<String>,
    gone: BTreeSet<&'static str>,
}

impl Chaos {
    fn new(seed: u64, deletion_delay: Duration, plant: fn(&mut World)) -> Self {
        let settings = NimbusSettings { deletion_delay, ..NimbusSettings::default() };
        let mut world = World::with(&NIMBUSES, settings);
        plant(&mut world);
        for index in 0..NIMBUSES.len() {
            world.start(index);
        }
        world.run_secs(1);
        for supervisor in SUPERVISORS {
            world.add_supervisor(supervisor, &PORTS);
        }
        world.run_secs(12);
        Self {
            world,
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            asked: BTreeMap::new(),
            refused: BTreeSet::new(),
            tokens: 0,
            submitted: BTreeMap::new(),
            killed: BTreeSet::new(),
            gone: BTreeSet::new(),
        }
    }

    fn act(&mut self) {
        let index = usize::try_from(self.random.below(3)).unwrap();
        let topology = self.random.of(&NAMES);
        let is_running = self.world.is_running(index);
        match self.random.below(24) {
            0..=3 => self.submit(index, topology),
            4 => {
                self.killed.insert(topology.to_owned());
                let wait_secs = i32::try_from(self.random.below(10)).unwrap();
                self.world.ask(index, kill(topology, Some(wait_secs)));
            }
            5 | 6 => {
                let mut request = crate::life::rebalance(3, self.random.of(&[1, 2]));
                if let Request::Rebalance { name, .. } = &mut request {
                    *name = topology.to_owned();
                }
                self.world.ask(index, request);
            }
            7 => {
                self.world.ask(index, Request::Deactivate { name: topology.to_owned() });
            }
            8 => {
                self.world.ask(index, Request::Topologies);
            }
            9 if is_running => self.world.crash(index),
            10 => self.world.revive(),
            11 if is_running => self.world.store(index).disconnect(),
            // One that is over stays so until it is opened again.
            12 if is_running && self.world.store(index).reconnect(0).is_err() => {
                self.world.store(index).expire();
                self.world.store(index).reopen(0);
            }
            13 if is_running => {
                self.world.store(index).expire();
                self.world.store(index).reopen(0);
            }
            14 | 15 if is_running => {
                let loss = self.random.of(&[Loss::BeforeItWasDone, Loss::AfterItWasDone]);
                let after = usize::try_from(self.random.below(24)).unwrap();
                let index = self.world.leader().unwrap_or(index);
                self.world.lose_after(index, after, loss);
                self.submit(index, topology);
            }
            16 if is_running => {
                let holds = self.random.below(2) == 0;
                self.world.store(index).hold_watches(holds);
            }
            17 => {
                let after = usize::try_from(self.random.below(12)).unwrap() + 1;
                self.world.crash_after(index, after);
            }
            18 => {
                let supervisor = self.random.of(&SUPERVISORS);
                if self.gone.insert(supervisor) {
                    self.world.end_supervisor(supervisor);
                    if self.random.below(2) == 0 {
                        self.world.silent.insert(supervisor.to_owned());
                    }
                } else {
                    self.come_back(supervisor);
                }
            }
            19 | 20 => {
                self.world.daemons[index].fails_reads = self.random.of(&[None, Some(7), Some(23), Some(61)]);
            }
            21 => self.world.delete_first_place(),
            22 | 23 => {
                if let Some(leader) = self.world.leader() {
                    let after = usize::try_from(self.random.below(20)).unwrap();
                    self.world.daemons[leader].deposed_after = Some(after);
                    self.submit(leader, topology);
                }
            }
            _ => {}
        }
        let pause = Duration::from_millis(self.random.of(&[0, 10, 300, 2_000, 15_000]));
        self.world.run_for(pause);
        self.hear();
    }

    fn submit(&mut self, index: usize, topology: &str) {
        self.tokens += 1;
        let token = format!("token-{}", self.tokens);
        let request = Request::Submit(Box::new(submission(topology, &token, 2)));
        let id = self.world.ask(index, request);
        let starts = self.world.daemons[index].starts;
        self.asked.insert(id, (token, index, starts));
    }

    fn come_back(&mut self, supervisor: &'static str) {
        self.gone.remove(supervisor);
        self.world.silent.remove(supervisor);
        self.world.add_supervisor(supervisor, &PORTS);
    }

    /// Looks whether what was answered is true.
    fn hear(&mut self) {
        for (id, reply) in std::mem::take(&mut self.world.replies) {
            let Some((token, ..)) = self.asked.remove(&id) else { continue };
            match reply {
                Ok(Reply::Submitted { topology }) => {
                    let is_there = self.world.bases().iter().any(|(found, _)| *found == topology);
                    let name = topology.as_str().split('-').next().unwrap().to_owned();
                    assert!(is_there || self.killed.contains(&name), "{topology} is not there");
                    assert_eq!(self.token_of(&topology), Some(token.clone()));
                    self.submitted.insert(topology, name);
                }
                Err(Refusal::Unknown(_)) => {}
                Err(_) => {
                    self.refused.insert(token);
                }
                Ok(other) => panic!("{other:?} is no answer to a submission"),
            }
        }
        let there: Vec<_> =
            self.world.bases().into_iter().filter_map(|(topology, _)| self.token_of(&topology)).collect();
        for token in there {
            assert!(!self.refused.contains(&token), "{token} was refused and is there; {:#?}", self.world.notes);
        }
        let names: Vec<String> = self.world.bases().into_iter().map(|(_, base)| base.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a name is there twice: {names:?}");
    }

    fn token_of(&self, topology: &NodeName) -> Option<String> {
        let key = name(&format!("{topology}-stormconf.ser"));
        let blob = self.world.daemons.iter().find_map(|daemon| daemon.directory.get(&key))?;
        let Content::Conf(conf) = &blob.content else { return None };
        Some(conf.get(SUBMISSION_TOKEN)?.as_str()?.to_owned())
    }

    /// The faults are over.
    fn end(mut self) {
        for daemon in &mut self.world.daemons {
            daemon.calm_down();
        }
        self.world.revive();
        for index in 0..NIMBUSES.len() {
            self.world.store(index).hold_watches(false);
            self.world.store(index).expire();
            self.world.store(index).reopen(0);
        }
        self.world.forget_sessions();
        for supervisor in std::mem::take(&mut self.gone) {
            self.come_back(supervisor);
        }
        self.world.run_secs(400);
        self.hear();
        let notes = || format!("{:#?}", self.world.notes.iter().rev().take(60).rev().collect::<Vec<_>>());
        assert!(self.world.leader().is_some(), "nobody leads; {}", notes());
        // Whoever asked a process that ended hears of it by its connection.
        self.asked.retain(|_, (_, index, starts)| self.world.daemons[*index].starts == *starts);
        assert!(self.asked.is_empty(), "{:?} were never answered", self.asked);
        let assignments: BTreeMap<_, _> = self.world.assignments().into_iter().collect();
        for (topology, base) in self.world.bases() {
            let is_at_rest = matches!(base.status, TopologyStatus::Active | TopologyStatus::Inactive);
            assert!(is_at_rest, "{topology} is {:?}; {}", base.status, notes());
            let assignment = assignments.get(&topology);
            let executors: i32 = base.component_executors.iter().flat_map(BTreeMap::values).sum();
            let is_whole = assignment.is_some_and(|assignment| {
                assignment.executor_node_port.len() == usize::try_from(executors).unwrap()
                    && slots(assignment).len() == usize::try_from(base.num_workers).unwrap()
            });
            assert!(is_whole, "{topology}: {base:?} has {assignment:?}; {}", notes());
        }
        for (topology, name) in &self.submitted {
            let is_there = self.world.bases().iter().any(|(found, _)| found == topology);
            assert!(is_there || self.killed.contains(name), "{topology} is gone; {}", notes());
        }
        assert_eq!(assignments.len(), self.world.bases().len(), "{}", notes());
        // Everybody holds the code of what lives, and after a while of nothing else.
        self.world.run_secs(1000);
        let bases = self.world.bases().len();
        for daemon in &self.world.daemons {
            assert_eq!(
                daemon.directory.len(),
                3 * bases,
                "{} {:?} {:#?} {:#?}",
                daemon.host,
                daemon.directory.keys(),
                self.world.paths(),
                self.world.notes.iter().rev().take(40).rev().collect::<Vec<_>>()
            );
        }
    }
}

/// Lets faults happen by a seed, in a cluster with whatever is planted. It panics when something is not as it should be.
fn run(seed: u64, deletion_delay: Duration, plant: fn(&mut World)) {
    let mut chaos = Chaos::new(seed, deletion_delay, plant);
    for _ in 0..80 {
        chaos.act();
    }
    chaos.end();
}

#[test]
fn whatever_happens_promises_are_kept_and_in_the_end_all_is_well() {
    let count = std::env::var("RINGSTORM_CHAOS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let first = std::env::var("RINGSTORM_CHAOS_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let result =
            std::panic::catch_unwind(|| run(seed, Duration::from_secs(if seed % 4 == 3 { 5 } else { 300 }), |_| ()));
        assert!(result.is_ok(), "seed {seed}");
    }
}

/// Each fault that can be planted is found within so many seeds.
#[cfg(feature = "planted-bugs")]
mod planted {
    use super::*;

    const SEEDS_MAX: u64 = 300;

    fn is_found(plant: fn(&mut World)) {
        is_found_with(Duration::from_secs(300), plant);
    }

    fn is_found_with(deletion_delay: Duration, plant: fn(&mut World)) {
        let is_wrong = |seed: &u64| std::panic::catch_unwind(|| run(*seed, deletion_delay, plant)).is_err();
        let seed = (0..SEEDS_MAX).find(is_wrong);
        assert!(seed.is_some(), "nobody found it in {SEEDS_MAX} seeds");
        println!("found by seed {seed:?}");
    }

    #[test]
    fn a_write_without_a_check_of_the_leader() {
        is_found(|world| world.plants.unfenced_assignment = true);
    }

    #[test]
    fn an_unknown_outcome_that_is_taken_for_failed() {
        is_found(|world| world.plants.unknown_is_failed = true);
    }

    #[test]
    fn a_clean_up_after_a_failed_read() {
        // Otherwise the next listing, which succeeds, makes good for it.
        is_found_with(Duration::ZERO, |world| world.plants.clean_up_after_failed_read = true);
    }

    #[test]
    fn a_pending_rebalance_that_is_lost() {
        is_found(|world| world.plants.pending_rebalance_lost = true);
    }

    #[test]
    fn a_slot_that_is_given_twice() {
        is_found(|world| world.plants.slot_given_twice = true);
    }
}
