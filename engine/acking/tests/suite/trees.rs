//! Random trees and the messages about them, as cores would send them.

use std::collections::HashMap;

use ringstorm_acking::{AckMessage, EdgeKey, Folder, Lane, RootId};

use crate::random::Random;

pub(crate) const KEY: EdgeKey = EdgeKey::new(3);

/// How a history is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) roots: u64,
    /// Whether cores fold more than one event into a message.
    pub(crate) folding: bool,
    /// How irregular trees are: at 0, all are one plain tuple.
    pub(crate) irregular_percent: u64,
    pub(crate) fail_percent: u64,
    pub(crate) reset_percent: u64,
}

/// One event at a core.
#[derive(Clone, Copy, Debug)]
enum Event {
    InitDerived { positions: u16 },
    Init { value: u64 },
    AckDerived { position: u16 },
    Ack { value: u64 },
    Fail,
    Reset,
}

/// The edges of one root, known to the model.
///
/// Child edges are single bits below 16, so that a value tells which edges it is made of; the spout's edges are what
/// the key makes of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges {
    pub(crate) positions: u16,
}

impl Edges {
    /// The set of edges whose exclusive or this value is: bit `p` for position `p`, bit `16 + c` for child `c`.
    pub(crate) fn decode(self, root: RootId, value: u64) -> u32 {
        for positions in 0..1_u32 << self.positions {
            let derived = (0..self.positions)
                .filter(|position| positions & 1 << position != 0)
                .fold(0, |sum, position| sum ^ KEY.edge(root, position));
            if (value ^ derived) >> 16 == 0 {
                return positions | ((value ^ derived) as u32) << 16;
            }
        }
        panic!("{value:#x} is not made of edges of {root:?}");
    }
}

/// A history: all messages in the order of their sending, and what is known of each root.
pub(crate) struct History {
    pub(crate) messages: Vec<AckMessage>,
    pub(crate) edges: HashMap<RootId, Edges>,
}

impl History {
    pub(crate) fn new(plan: Plan) -> History {
        let mut random = Random::new(plan.seed);
        let mut next: [RootId; 2] =
            [RootId::new(Lane(5), (1 << 48) - random.below(300)), RootId::new(Lane(700), random.below(1 << 47))];
        let mut history = History { messages: Vec::new(), edges: HashMap::new() };
        let mut folders: Vec<Folder> = (0..3).map(|_| Folder::new(KEY)).collect();
        let mut turns: Vec<Vec<(RootId, Event)>> = vec![Vec::new(); 3];
        let (spout_core, bolt_core) = (0, 1 + random.below(2) as usize);
        for _ in 0..plan.roots {
            let lane = random.below(2) as usize;
            let root = next[lane];
            // Now and then numbers are left out: what was sent under them is lost. That makes stragglers.
            let gap = match random.below(200) {
                0 => 1 << 19,
                1..5 => 3000,
                5..15 => 1 + random.below(4),
                _ => 0,
            };
            next[lane] = root.offset(1 + gap);
            if random.percent(plan.irregular_percent) {
                history.irregular_tree(root, plan, &mut random, &mut turns);
            } else {
                history.edges.insert(root, Edges { positions: 1 });
                turns[spout_core].push((root, Event::InitDerived { positions: 1 }));
                turns[bolt_core].push((root, Event::AckDerived { position: 0 }));
            }
            for core in 0..3 {
                if random.percent(if plan.folding { 6 } else { 100 }) {
                    history.flush(&mut turns[core], &mut folders[core], plan, &mut random);
                }
            }
        }
        for core in 0..3 {
            history.flush(&mut turns[core], &mut folders[core], plan, &mut random);
        }
        history
    }

    fn irregular_tree(&mut self, root: RootId, plan: Plan, random: &mut Random, turns: &mut [Vec<(RootId, Event)>]) {
        let positions = random.below(4) as u16;
        self.edges.insert(root, Edges { positions });
        let mut push = |random: &mut Random, event| turns[random.below(3) as usize].push((root, event));
        let init = if random.percent(50) {
            Event::InitDerived { positions }
        } else {
            Event::Init { value: KEY.initial_value(root, positions) }
        };
        push(random, init);
        let mut tuples: Vec<(u64, Option<u16>)> =
            (0..positions).map(|position| (KEY.edge(root, position), Some(position))).collect();
        let mut child_count = 0;
        while let Some((edge, position)) = tuples.pop() {
            if random.percent(plan.reset_percent) {
                push(random, Event::Reset);
            }
            if random.percent(plan.fail_percent) {
                push(random, Event::Fail);
                continue;
            }
            let mut value = edge;
            for _ in 0..random.below(4).min(16 - child_count) {
                value ^= 1 << child_count;
                tuples.push((1 << child_count, None));
                child_count += 1;
            }
            match position {
                Some(position) if value == edge => push(random, Event::AckDerived { position }),
                _ => push(random, Event::Ack { value }),
            }
        }
    }

    /// Ends a core's turn; what happened in it may have happened in another order.
    fn flush(&mut self, turn: &mut Vec<(RootId, Event)>, folder: &mut Folder, plan: Plan, random: &mut Random) {
        random.shuffle(turn, 3);
        for (root, event) in turn.drain(..) {
            match event {
                Event::InitDerived { positions } => folder.init_derived(root, positions),
                Event::Init { value } => folder.init(root, value),
                Event::AckDerived { position } => folder.ack_derived(root, position),
                Event::Ack { value } => folder.ack(root, value),
                Event::Fail => folder.fail(root, 5),
                Event::Reset => folder.reset_timeout(root),
            }
            if !plan.folding {
                folder.flush(|message| {
                    self.messages.push(message);
                    true
                });
            }
        }
        while !folder.is_empty() {
            let mut room = 1 + random.below(20);
            folder.flush(|message| {
                let taken = room > 0;
                if taken {
                    self.messages.push(message);
                    room -= 1;
                }
                taken
            });
        }
    }
}
