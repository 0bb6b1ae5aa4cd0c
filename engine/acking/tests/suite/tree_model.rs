//! The ledger against a naive model that keeps the set of open edges of each root.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use ringstorm_acking::{AckMessage, FailReason, Ledger, Outcome, RootId};

use crate::random::Random;
use crate::trees::{Edges, History, KEY, Plan};

/// What the network does to the messages.
#[derive(Clone, Copy, Debug)]
struct Network {
    reorder: u64,
    loss_percent: u64,
    duplicate_percent: u64,
    /// A rotation after so many messages; 0 for none. By the third one a message is not under way any more.
    rotate_every: u64,
}

#[derive(Clone, Copy, Default)]
struct Tree {
    /// Edges that one end is known of.
    edges: u32,
    initialised: bool,
    failed: bool,
    born: u64,
}

#[derive(Default)]
struct Model {
    open: HashMap<RootId, Tree>,
    closed: HashSet<RootId>,
    rotation: u64,
}

/// What one message means for one root.
#[derive(Clone, Copy)]
enum Part {
    Init(u32),
    Ack(u32),
    Fail,
    Reset,
}

/// The message taken apart.
fn parts(message: &AckMessage, edges: &HashMap<RootId, Edges>) -> Vec<(RootId, Part)> {
    match *message {
        AckMessage::InitRange { first, stride, count, positions } => {
            first.range(stride, count).map(|root| (root, Part::Init((1 << positions) - 1))).collect()
        }
        AckMessage::AckRange { first, stride, count, position } => {
            first.range(stride, count).map(|root| (root, Part::Ack(1 << position))).collect()
        }
        AckMessage::AckMask { first, mask, position } => first
            .range(1, 64)
            .enumerate()
            .filter(|(bit, _)| mask & 1 << bit != 0)
            .map(|(_, root)| (root, Part::Ack(1 << position)))
            .collect(),
        AckMessage::Init { root, value } => vec![(root, Part::Init(edges[&root].decode(root, value)))],
        AckMessage::Ack { root, value } => vec![(root, Part::Ack(edges[&root].decode(root, value)))],
        AckMessage::Fail { root, .. } => vec![(root, Part::Fail)],
        AckMessage::ResetTimeout { root } => vec![(root, Part::Reset)],
        AckMessage::Forget { .. } => unreachable!("histories forget nothing"),
    }
}

impl Model {
    fn apply(&mut self, root: RootId, part: Part) -> Option<Outcome> {
        if self.closed.contains(&root) {
            return None;
        }
        let rotation = self.rotation;
        let tree = self.open.entry(root).or_insert_with(|| Tree { born: rotation, ..Tree::default() });
        match part {
            Part::Init(_) if tree.initialised => return None,
            Part::Init(edges) => {
                tree.initialised = true;
                tree.edges ^= edges;
            }
            Part::Ack(edges) => tree.edges ^= edges,
            Part::Fail => {
                tree.failed = true;
                tree.born = rotation;
            }
            Part::Reset => tree.born = rotation,
        }
        if !tree.initialised {
            return None;
        }
        let outcome = if tree.edges == 0 {
            Outcome::Acked { root }
        } else if tree.failed {
            Outcome::Failed { root, reason: FailReason::FailedBy { task: 5 } }
        } else {
            return matches!(part, Part::Reset).then_some(Outcome::ResetTimeout { root });
        };
        self.open.remove(&root);
        self.closed.insert(root);
        Some(outcome)
    }

    fn rotate(&mut self) {
        self.rotation += 1;
        let (rotation, closed) = (self.rotation, &mut self.closed);
        self.open.retain(|&root, tree| {
            let lives = rotation - tree.born < 3;
            if !lives {
                closed.insert(root);
            }
            lives
        });
    }
}

/// Outcomes one root at a time.
fn expand(outcomes: &[Outcome]) -> Vec<Outcome> {
    let mut all = Vec::new();
    for outcome in outcomes {
        match *outcome {
            Outcome::AckedRange { first, stride, count } => {
                assert!(count >= 2);
                all.extend(first.range(stride, count).map(|root| Outcome::Acked { root }));
            }
            single => all.push(single),
        }
    }
    all
}

fn check(plan: Plan, network: Network) {
    let history = History::new(plan);
    let mut random = Random::new(plan.seed ^ 0xABCD);
    let mut deliveries: Vec<(usize, AckMessage)> = Vec::new();
    for (number, &message) in history.messages.iter().enumerate() {
        if !random.percent(network.loss_percent) {
            deliveries.push((number, message));
            if random.percent(network.duplicate_percent) {
                deliveries.push((number, message));
            }
        }
    }
    random.shuffle(&mut deliveries, network.reorder);

    // Which messages a root still needs before it may complete.
    let mut missing: HashMap<RootId, HashSet<usize>> = HashMap::new();
    for (number, message) in history.messages.iter().enumerate() {
        for (root, part) in parts(message, &history.edges) {
            if matches!(part, Part::Init(_) | Part::Ack(1..)) {
                missing.entry(root).or_default().insert(number);
            }
        }
    }

    let mut ledger = Ledger::new(KEY);
    let mut model = Model::default();
    let mut outcomes = Vec::new();
    let mut peak_open = 0;
    for (delivered, (number, message)) in (1..).zip(deliveries) {
        outcomes.clear();
        ledger.apply(&message, &mut outcomes).expect("folders keep ranges within the limits");
        let mut expected = Vec::new();
        for (root, part) in parts(&message, &history.edges) {
            missing.entry(root).or_default().remove(&number);
            expected.extend(model.apply(root, part));
        }
        assert_eq!(expand(&outcomes), expected, "after {message:?}");
        for outcome in &expected {
            if let Outcome::Acked { root } = outcome {
                assert!(missing[root].is_empty(), "{root:?} completed early");
            }
        }
        assert_eq!(ledger.open_count(), model.open.len(), "after {message:?}");
        peak_open = peak_open.max(model.open.len());
        if network.rotate_every > 0 && delivered % network.rotate_every == 0 {
            ledger.rotate();
            while ledger.expire_slice(1 + random.below(500) as usize) {}
            model.rotate();
            assert_eq!(ledger.open_count(), model.open.len(), "after rotation {}", model.rotation);
        }
    }
    if network.loss_percent + network.duplicate_percent + network.rotate_every + plan.fail_percent == 0 {
        assert_eq!(ledger.open_count(), 0, "everything was acked");
        assert_eq!(model.closed.len() as u64, plan.roots);
    }
    let bound = 200_000 + 300 * peak_open;
    assert!(ledger.memory_bytes() < bound, "{} bytes for at most {peak_open} open", ledger.memory_bytes());
    for _ in 0..3 {
        ledger.rotate();
    }
    while ledger.expire_slice(1000) {}
    assert_eq!(ledger.open_count(), 0);
}

fn plans() -> impl Strategy<Value = Plan> {
    let percent = |most: u64| prop_oneof![Just(0), 0..most];
    (any::<u64>(), 1_u64..800, any::<bool>(), percent(101), percent(30), percent(30)).prop_map(
        |(seed, roots, folding, irregular_percent, fail_percent, reset_percent)| Plan {
            seed,
            roots,
            folding,
            irregular_percent,
            fail_percent,
            reset_percent,
        },
    )
}

fn networks() -> impl Strategy<Value = Network> {
    let percent = || prop_oneof![Just(0), 0_u64..30];
    (0_u64..200, percent(), percent(), prop_oneof![Just(0), 600_u64..1500]).prop_map(
        |(reorder, loss_percent, duplicate_percent, rotate_every)| Network {
            reorder,
            loss_percent,
            duplicate_percent,
            rotate_every,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_ledger_does_what_the_model_does(plan in plans(), network in networks()) {
        check(plan, network);
    }

    #[test]
    fn without_faults_every_tree_completes(plan in plans(), reorder in 0_u64..100) {
        let plan = Plan { fail_percent: 0, ..plan };
        check(plan, Network { reorder, loss_percent: 0, duplicate_percent: 0, rotate_every: 0 });
    }
}
