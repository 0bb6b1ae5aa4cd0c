//! The pending table against a naive model: a map from root to message id and rotation.

use std::collections::HashMap;

use proptest::prelude::*;
use ringstorm_acking::{Lane, Pending, RootId};

use crate::random::Random;

#[derive(Default)]
struct Model {
    /// Message id and the rotation of insertion or reset.
    pending: HashMap<RootId, (u64, u64)>,
    rotation: u64,
    ended: HashMap<u64, u32>,
}

impl Model {
    fn is_due(&self, root: RootId) -> bool {
        self.pending.get(&root).is_some_and(|(_, since)| self.rotation - since >= 2)
    }

    /// Notes that a message id came out under this root.
    fn end(&mut self, root: RootId, message_id: u64) {
        let (known, _) = self.pending.remove(&root).expect("only what is pending comes out");
        assert_eq!(known, message_id);
        *self.ended.entry(message_id).or_default() += 1;
    }

    /// Compares the end of one root by an ack or a fail. What is due may be on its way out already.
    fn end_by_answer(&mut self, root: RootId, answer: Option<u64>) {
        match answer {
            Some(message_id) => self.end(root, message_id),
            None => assert!(!self.pending.contains_key(&root) || self.is_due(root), "{root:?} was not known"),
        }
    }
}

fn check(seed: u64, steps: u64, gaps: bool, mostly_ranges: bool) {
    let mut random = Random::new(seed);
    let (mut pending, mut model) = (Pending::new(), Model::default());
    let mut next = [RootId::new(Lane(2), (1 << 48) - 500), RootId::new(Lane(3), random.below(1 << 47))];
    let mut message_id = 0;
    let mut peak = 0;
    for _ in 0..steps {
        let lane = random.below(2) as usize;
        let recent = |random: &mut Random| {
            let reach = if random.percent(90) { 300 } else { 9000 };
            RootId::new(next[lane].lane(), next[lane].sequence().wrapping_sub(random.below(reach)))
        };
        match random.below(100) {
            0..10 => {
                let count = random.below(if mostly_ranges { 200 } else { 4 });
                let ids: Vec<u64> = (0..count).map(|index| message_id + index).collect();
                pending.insert_run(next[lane], &ids);
                for (root, id) in next[lane].range(1, count as u32).zip(ids) {
                    model.pending.insert(root, (id, model.rotation));
                }
                message_id += count;
                next[lane] = next[lane].offset(count);
            }
            10..30 => {
                for _ in 0..random.below(if mostly_ranges { 200 } else { 3 }) {
                    assert_eq!(pending.insert(next[lane], message_id), None);
                    model.pending.insert(next[lane], (message_id, model.rotation));
                    message_id += 1;
                    let gap = match random.below(300) {
                        0 => 1 << 21,
                        1 => 5000,
                        2..5 => random.below(70),
                        _ => 0,
                    };
                    next[lane] = next[lane].offset(1 + if gaps { gap } else { 0 });
                }
            }
            30..60 => {
                let root = recent(&mut random);
                let answer = if random.percent(50) { pending.complete(root) } else { pending.fail(root) };
                model.end_by_answer(root, answer);
            }
            60..75 => {
                let (first, stride) = (recent(&mut random), 1 + random.below(4).saturating_sub(2) as u32);
                let count = random.below(if mostly_ranges { 300 } else { 5 }) as u32;
                let mut completed = HashMap::new();
                pending.complete_range(first, stride, count, |root, message_id| {
                    assert_eq!(completed.insert(root, message_id), None);
                });
                for root in first.range(stride, count) {
                    model.end_by_answer(root, completed.remove(&root));
                }
                assert!(completed.is_empty());
            }
            75..85 => {
                let root = recent(&mut random);
                let (reset, rotation, due) = (pending.reset_timeout(root), model.rotation, model.is_due(root));
                match model.pending.get_mut(&root) {
                    Some((_, since)) if reset => *since = rotation,
                    known => assert!(!reset && (known.is_none() || due)),
                }
            }
            85..88 => {
                // A rotation may begin while the last one's due tuples are still coming out.
                pending.rotate();
                model.rotation += 1;
            }
            88..99 => {
                let slice = if random.percent(30) { usize::MAX } else { random.below(20) as usize };
                let more = pending.expire_slice(slice, |root, message_id| {
                    assert!(model.is_due(root), "{root:?} expired early");
                    model.end(root, message_id);
                });
                if !more {
                    let late = model.pending.keys().filter(|&&root| model.is_due(root)).count();
                    assert_eq!(late, 0, "the slices are done, but not all that was due came out");
                }
            }
            _ => {
                let modulus = 2 + random.below(5);
                let wanted = |root: RootId| root.0.is_multiple_of(modulus);
                pending.drain_where(wanted, |root, message_id| {
                    assert!(wanted(root));
                    model.end(root, message_id);
                });
                assert_eq!(model.pending.keys().filter(|&&root| wanted(root)).count(), 0);
            }
        }
        assert_eq!(pending.len(), model.pending.len());
        peak = peak.max(pending.len());
    }
    assert!(pending.memory_bytes() < 100_000 + 200 * peak, "{} bytes", pending.memory_bytes());
    for _ in 0..2 {
        pending.rotate();
        model.rotation += 1;
    }
    while pending.expire_slice(100, |root, message_id| model.end(root, message_id)) {}
    assert!(pending.is_empty() && model.pending.is_empty());
    assert_eq!(model.ended.len() as u64, message_id);
    assert!(model.ended.values().all(|&times| times == 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn each_message_id_comes_out_once(seed: u64, steps in 0_u64..1500, gaps: bool, mostly_ranges: bool) {
        check(seed, steps, gaps, mostly_ranges);
    }
}

/// An executor's tasks age once per tick each, however many they are: between one and two time-outs (STORM-3693).
#[test]
fn tuples_expire_at_the_second_rotation() {
    let mut pending = Pending::new();
    let root = RootId::new(Lane(0), 9);
    let expired = |pending: &mut Pending| {
        let mut all = Vec::new();
        while pending.expire_slice(1, |root, message_id| all.push((root, message_id))) {}
        all
    };
    pending.insert(root, 1);
    pending.rotate();
    pending.insert(root.offset(1), 2);
    assert_eq!(expired(&mut pending), []);
    assert!(pending.reset_timeout(root));
    assert!(!pending.reset_timeout(root.offset(7)));
    pending.rotate();
    assert_eq!(expired(&mut pending), []);
    pending.rotate();
    let mut both = expired(&mut pending);
    both.sort_unstable();
    assert_eq!(both, [(root, 1), (root.offset(1), 2)]);
    assert_eq!((pending.complete(root), pending.fail(root.offset(1))), (None, None));
}

#[test]
fn one_stuck_tuple_holds_no_window() {
    let mut pending = Pending::new();
    let first = RootId::new(Lane(0), 9);
    for message_id in 0..2_000_000 {
        pending.insert(first.offset(message_id), message_id);
        if message_id > 0 {
            assert_eq!(pending.complete(first.offset(message_id)), Some(message_id));
        }
    }
    assert!(pending.memory_bytes() < 50_000, "{} bytes", pending.memory_bytes());
    assert_eq!(pending.len(), 1);
    assert_eq!(pending.complete(first), Some(0));
}

#[test]
fn a_root_used_twice_returns_the_replaced_id() {
    let mut pending = Pending::new();
    let root = RootId::new(Lane(0), 9);
    assert_eq!(pending.insert(root, 1), None);
    assert_eq!(pending.insert(root, 2), Some(1));
    assert_eq!(pending.insert(root.offset((1 << 48) - 3), 5), None);
    assert_eq!(pending.insert(root.offset((1 << 48) - 3), 6), Some(5));
    assert_eq!((pending.len(), pending.complete(root)), (2, Some(2)));
}
