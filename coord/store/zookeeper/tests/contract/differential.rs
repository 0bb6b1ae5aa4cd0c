//! The ensemble in memory, compared with a real one: the same operations of the same sessions have the same outcomes and
//! tell the same watches, whatever they are.

use std::collections::BTreeMap;
use std::time::Duration;

use ringstorm_store::acl::{Acl, Acls, Rights};
use ringstorm_store::operation::{Answer, Check, CreateMode, Operation, Stat, Write};
use ringstorm_store::outcome::Outcome;
use ringstorm_store::path::ZnodePath;
use ringstorm_store::store::{Event, SessionId, WatchEvent};

use crate::worlds::{Client, Memory, RealEnsemble, World, open_to_all};

/// How many runs there are, unless the environment says another number in [`SEEDS_VARIABLE`].
const SEEDS: u64 = 8;
const SEEDS_VARIABLE: &str = "RINGSTORM_DIFFERENTIAL_SEEDS";
const OPERATIONS: usize = 120;
const SESSIONS: usize = 3;

/// Numbers that look random and are the same each time (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn node(&mut self) -> &'static str {
        self.one_of(&["/a", "/b", "/a/c", "/a/d", "/a/c/e", "/e0000000001", "/a/e0000000002"])
    }

    fn version(&mut self) -> Option<i32> {
        self.one_of(&[None, None, Some(0), Some(1), Some(2)])
    }

    fn acl(&mut self) -> Acls {
        let rights =
            self.one_of(&[Rights::ALL, Rights::ALL, Rights::ALL, Rights(15), Rights(23), Rights(29), Rights(30)]);
        [Acl { rights, ..Acl::anyone() }].into()
    }

    fn write<W: World>(&mut self, client: &Client<W>) -> Write {
        let below = self.node();
        match self.below(5) {
            0..3 => {
                let (mode, acl) = (self.one_of(&MODES), self.acl());
                let path =
                    client.path(if mode.is_sequential() { below.trim_end_matches(char::is_numeric) } else { below });
                Write::Create { path, data: vec![1], mode, acl }
            }
            3 => Write::Set { path: client.path(below), data: vec![2, 3], version: self.version() },
            _ => Write::Delete { path: client.path(below), version: self.version() },
        }
    }

    fn operation<W: World>(&mut self, client: &Client<W>) -> Operation {
        let (path, watch) = (client.path(self.node()), self.below(2) == 0);
        match self.below(10) {
            0..4 => Operation::Write(self.write(client)),
            4 => {
                let checks =
                    (0..self.below(3)).map(|_| Check { path: client.path(self.node()), version: self.version() });
                let checks = checks.collect();
                let writes = (0..self.below(4)).map(|_| self.write(client)).collect();
                Operation::Multi { checks, writes }
            }
            5 => Operation::Get { path, watch },
            6 => Operation::Children { path, watch },
            7 => Operation::Exists { path, watch },
            8 => Operation::Acl { path },
            _ => Operation::SetAcl { path, acl: open_to_all(), version: self.version() },
        }
    }
}

const MODES: [CreateMode; 5] = [
    CreateMode::Persistent,
    CreateMode::Persistent,
    CreateMode::PersistentSequential,
    CreateMode::Ephemeral,
    CreateMode::EphemeralSequential,
];

/// A client's part of a run: what came of its operations, and what its watches saw after each.
struct Player<'a, W: World> {
    world: &'a W,
    clients: Vec<Client<W>>,
}

impl<'a, W: World> Player<'a, W> {
    fn new(world: &'a W) -> Self {
        Self { world, clients: (0..SESSIONS).map(|_| world.client(None)).collect() }
    }

    /// What is the same in every world: paths below the root, sessions by their place, no numbers of transactions.
    fn outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Done(answer) => Outcome::Done(self.answer(answer)),
            other => other,
        }
    }

    fn answer(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Created { path } => Answer::Created { path: self.relative(&path) },
            Answer::Set { stat } => Answer::Set { stat: self.stat(stat) },
            Answer::Multi(answers) => Answer::Multi(answers.into_iter().map(|answer| self.answer(answer)).collect()),
            Answer::Data { data, stat } => Answer::Data { data, stat: self.stat(stat) },
            Answer::Children { names, stat } => Answer::Children { names, stat: self.stat(stat) },
            Answer::Exists(stat) => Answer::Exists(stat.map(|stat| self.stat(stat))),
            Answer::Acl { acl, stat } => Answer::Acl { acl, stat: self.stat(stat) },
            Answer::AclSet { stat } => Answer::AclSet { stat: self.stat(stat) },
            other @ (Answer::Deleted | Answer::Synced) => other,
        }
    }

    fn stat(&self, stat: Stat) -> Stat {
        let place = |owner| self.clients.iter().position(|client| client.session == owner).unwrap();
        let owner = stat.owner.map(|owner| SessionId(place(owner).try_into().unwrap()));
        Stat { created: 0, changed: 0, children_changed: 0, created_ms: 0, changed_ms: 0, owner, ..stat }
    }

    fn relative(&self, path: &ZnodePath) -> ZnodePath {
        ZnodePath::new(path.as_str().strip_prefix(self.world.root().as_str()).unwrap()).unwrap()
    }

    /// One operation of one session, and what everybody's watches saw of it.
    fn play(&mut self, seed: u64, step: usize) -> (Outcome, BTreeMap<usize, Vec<String>>) {
        let mut numbers = Numbers(seed << 32 | step as u64);
        let actor = numbers.below(SESSIONS);
        let operation = numbers.operation(&self.clients[actor]);
        let outcome = self.clients[actor].ask(operation);
        let mut told = BTreeMap::new();
        for index in 0..SESSIONS {
            // Whatever happened before a synchronisation is told before it is answered.
            let client = &mut self.clients[index];
            let path = client.path("");
            client.done(Operation::Sync { path });
            let mut events = Vec::new();
            while let Some(Event::Watch(WatchEvent { path, kind, change })) = client.control.next_event(Duration::ZERO)
            {
                events.push((path, kind, change));
            }
            let mut events: Vec<_> = events
                .into_iter()
                .map(|(path, kind, change)| format!("{} {kind:?} {change:?}", self.relative(&path)))
                .collect();
            events.sort();
            told.insert(index, events);
        }
        (self.outcome(outcome), told)
    }
}

#[test]
fn the_ensemble_in_memory_does_what_a_real_one_does() {
    let seeds = std::env::var(SEEDS_VARIABLE).map_or(SEEDS, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        let Some(real) = RealEnsemble::new(&format!("differential-{seed}")) else { return };
        let memory = Memory::new();
        let (mut real, mut memory) = (Player::new(&real), Player::new(&memory));
        for step in 0..OPERATIONS {
            let (expected, found) = (real.play(seed, step), memory.play(seed, step));
            assert_eq!(found, expected, "seed {seed}, step {step}: in memory (left) and really (right)");
        }
    }
}
