//! The folder against the same calls unfolded: per root, the same values between the same fails and resets.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringstorm_acking::{AckMessage, EdgeKey, Folder, Lane, RootId};

use crate::random::Random;

const KEY: EdgeKey = EdgeKey::new(11);

/// What a root's messages come to: between fails, resets and so on, whether it was initialised, and the value.
type Story = Vec<(bool, u64, Option<AckMessage>)>;

#[derive(Default)]
struct Stories(BTreeMap<RootId, Story>);

impl Stories {
    fn add(&mut self, root: RootId, init: bool, value: u64) {
        let story = self.0.entry(root).or_default();
        match story.last_mut() {
            Some((initialised, folded, None)) => {
                *initialised |= init;
                *folded ^= value;
            }
            _ => story.push((init, value, None)),
        }
    }

    fn apply(&mut self, message: AckMessage) {
        message.validate().expect("folders keep ranges within the limits");
        match message {
            AckMessage::InitRange { first, stride, count, positions } => {
                first.range(stride, count).for_each(|root| self.add(root, true, KEY.initial_value(root, positions)));
            }
            AckMessage::AckRange { first, stride, count, position } => {
                first.range(stride, count).for_each(|root| self.add(root, false, KEY.edge(root, position)));
            }
            AckMessage::AckMask { first, mask, position } => {
                for root in (0..64).filter(|bit| mask & 1 << bit != 0).map(|bit| first.offset(bit)) {
                    self.add(root, false, KEY.edge(root, position));
                }
            }
            AckMessage::Init { root, value } => self.add(root, true, value),
            AckMessage::Ack { root, value } => self.add(root, false, value),
            ordered => self.0.entry(ordered.root()).or_default().push((false, 0, Some(ordered))),
        }
    }

    /// Without what says nothing: empty acks, and a fail right after the same fail.
    fn told(self) -> BTreeMap<RootId, Story> {
        let mut told = self.0;
        for story in told.values_mut() {
            story.retain(|part| *part != (false, 0, None));
            story.dedup_by(|later, earlier| later.2.is_some() && later == earlier);
        }
        told.retain(|_, story| !story.is_empty());
        told
    }
}

fn check(seed: u64, steps: u64, pattern: u64, ordered_percent: u64) {
    let mut random = Random::new(seed);
    let mut folder = Folder::new(KEY);
    let (mut folded, mut unfolded) = (Stories::default(), Stories::default());
    let mut cursor = [RootId::new(Lane(1), (1 << 48) - 100), RootId::new(Lane(2), 5000)];
    for _ in 0..steps {
        let lane = random.below(2) as usize;
        // In order, with stride 2, with random gaps, or at random.
        let gap = match pattern {
            0 => 1,
            1 => 2,
            2 => 1 + random.below(3),
            _ => random.below(1 << 48),
        };
        cursor[lane] = cursor[lane].offset(gap);
        let mut root = cursor[lane];
        if random.percent(20) {
            root = root.offset((1 << 48) - random.below(30));
        }
        let position = random.below(3) as u16;
        let mut unfold = |message| unfolded.apply(message);
        if random.percent(ordered_percent) {
            let (by, kind) = (random.below(2) as u32, random.below(3));
            match kind {
                0 => folder.fail(root, by),
                1 => folder.reset_timeout(root),
                _ => folder.forget(root),
            }
            unfold(
                [AckMessage::Fail { root, by }, AckMessage::ResetTimeout { root }, AckMessage::Forget { root }]
                    [kind as usize],
            );
            continue;
        }
        let (count, value) = (random.below(100) as u32, random.word());
        match random.below(20) {
            0..8 => {
                folder.ack_derived(root, position);
                unfold(AckMessage::AckRange { first: root, stride: 1, count: 1, position });
            }
            8..12 => {
                folder.init_derived(root, position);
                unfold(AckMessage::InitRange { first: root, stride: 1, count: 1, positions: position });
            }
            12 if count > 0 => {
                folder.ack_derived_run(root, count, position);
                unfold(AckMessage::AckRange { first: root, stride: 1, count, position });
                cursor[lane] = root.offset(u64::from(count) - 1);
            }
            13 if count > 0 => {
                folder.init_derived_run(root, count, position);
                unfold(AckMessage::InitRange { first: root, stride: 1, count, positions: position });
            }
            14..19 => {
                folder.ack(root, value);
                unfold(AckMessage::Ack { root, value });
            }
            _ => {
                folder.init(root, value);
                unfold(AckMessage::Init { root, value });
            }
        }
        if random.percent(2) {
            let mut room = random.below(60);
            let all = folder.flush(|message| {
                let taken = room > 0;
                if taken {
                    room -= 1;
                    folded.apply(message);
                }
                taken
            });
            assert_eq!(all, folder.is_empty());
        }
    }
    assert!(folder.flush(|message| {
        folded.apply(message);
        true
    }));
    assert!(folder.is_empty());
    assert_eq!(folded.told(), unfolded.told());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn folding_changes_nothing(seed: u64, steps in 0_u64..2000, pattern in 0_u64..4, ordered in 0_u64..20) {
        check(seed, steps, pattern, ordered);
    }
}

fn flushed(folder: &mut Folder) -> Vec<AckMessage> {
    let mut messages = Vec::new();
    assert!(folder.flush(|message| {
        messages.push(message);
        true
    }));
    messages
}

#[test]
fn regular_acks_are_one_message() {
    let mut folder = Folder::new(KEY);
    let root = RootId::new(Lane(4), 100);
    for stride in [1, 2, 7] {
        root.range(stride, 256).for_each(|root| folder.ack_derived(root, 1));
        assert_eq!(flushed(&mut folder), [AckMessage::AckRange { first: root, stride, count: 256, position: 1 }]);
    }
    root.range(1, 300).for_each(|root| folder.init_derived(root, 2));
    assert_eq!(flushed(&mut folder), [AckMessage::InitRange { first: root, stride: 1, count: 300, positions: 2 }]);
}

#[test]
fn irregular_acks_are_one_message_per_64_roots() {
    let mut folder = Folder::new(KEY);
    let root = RootId::new(Lane(4), 100);
    for offset in [0, 1, 2, 5, 9, 63] {
        folder.ack_derived(root.offset(offset), 0);
    }
    let mask = 0b10_0010_0111 | 1 << 63;
    assert_eq!(flushed(&mut folder), [AckMessage::AckMask { first: root, mask, position: 0 }]);
}

#[test]
fn an_ack_joins_the_init_of_its_core_and_turn() {
    let mut folder = Folder::new(KEY);
    let root = RootId::new(Lane(4), 100);
    folder.init(root, 3);
    folder.ack(root, 3);
    folder.ack(root.offset(1), 6);
    folder.init(root.offset(1), 5);
    let joined = [AckMessage::Init { root, value: 0 }, AckMessage::Init { root: root.offset(1), value: 3 }];
    assert_eq!(flushed(&mut folder), joined);
}

/// What nobody takes for a while is bounded by the pending roots, not by the acks; and then the memory goes again.
#[test]
fn a_stalled_folder_is_bounded_by_its_roots() {
    let mut folder = Folder::new(KEY);
    let mut random = Random::new(1);
    for round in 0..50 {
        for sequence in 0..10_000 {
            folder.ack(RootId::new(Lane(round % 3), 1 + sequence), random.word());
        }
        assert!(!folder.flush(|_| false));
    }
    assert!(folder.memory_bytes() < 30_000 * 80, "{} bytes", folder.memory_bytes());
    assert_eq!(flushed(&mut folder).len(), 30_000);
    for _ in 0..20_000 {
        folder.ack(RootId::new(Lane(0), 1), 1);
        flushed(&mut folder);
    }
    assert!(folder.memory_bytes() < 20_000, "{} bytes", folder.memory_bytes());
}

/// Acking what belongs to no tree must cost nothing, however often (STORM-953).
#[test]
fn untracked_roots_are_ignored() {
    let mut folder = Folder::new(KEY);
    for _ in 0..10 {
        folder.ack(RootId::UNTRACKED, 7);
        folder.ack_derived(RootId::UNTRACKED, 0);
        folder.init(RootId::UNTRACKED, 7);
        folder.init_derived(RootId::UNTRACKED, 1);
        folder.fail(RootId::UNTRACKED, 1);
        folder.reset_timeout(RootId::UNTRACKED);
        assert!(folder.is_empty());
    }
}
