//! Storm's flow step by step, with the value of the tree after each, and the cases users met.

use super::*;
use crate::edge::EdgeGenerator;
use crate::message::FailReason;

fn root(sequence: u64) -> RootId {
    RootId::new(Lane(3), sequence)
}

struct Acker {
    ledger: Ledger,
    outcomes: Vec<Outcome>,
}

impl Acker {
    fn new() -> Acker {
        Acker { ledger: Ledger::new(EdgeKey::new(42)), outcomes: Vec::new() }
    }

    fn apply(&mut self, message: AckMessage) -> Vec<Outcome> {
        self.ledger.apply(&message, &mut self.outcomes).unwrap();
        std::mem::take(&mut self.outcomes)
    }

    fn rotate(&mut self) {
        self.ledger.rotate();
        while self.ledger.expire_slice(3) {}
    }
}

/// The spout emits t1 to bolt a, which emits t2, t3 and t4 anchored to t1 to bolt b and acks t1; b acks each.
#[test]
fn storms_flow_has_storms_values() {
    let key = EdgeKey::new(42);
    for derived_init in [true, false] {
        let (mut acker, root) = (Acker::new(), root(9));
        let mut generator = EdgeGenerator::new(key, 2, 1);
        let t1 = key.edge(root, 0);
        let init = if derived_init {
            AckMessage::InitRange { first: root, stride: 1, count: 1, positions: 1 }
        } else {
            AckMessage::Init { root, value: t1 }
        };
        assert_eq!(acker.apply(init), []);
        assert_eq!(acker.ledger.tree_value(root), Some(t1));
        let [t2, t3, t4] = std::array::from_fn(|_| generator.next());
        assert_eq!(acker.apply(AckMessage::Ack { root, value: t1 ^ t2 ^ t3 ^ t4 }), []);
        assert_eq!(acker.ledger.tree_value(root), Some(t2 ^ t3 ^ t4));
        assert_eq!(acker.apply(AckMessage::Ack { root, value: t2 }), []);
        assert_eq!(acker.ledger.tree_value(root), Some(t3 ^ t4));
        assert_eq!(acker.apply(AckMessage::Ack { root, value: t3 }), []);
        assert_eq!(acker.ledger.tree_value(root), Some(t4));
        assert_eq!(acker.apply(AckMessage::Ack { root, value: t4 }), [Outcome::Acked { root }]);
        assert_eq!(acker.ledger.tree_value(root), None);
        assert_eq!(acker.ledger.open_count(), 0);
    }
}

#[test]
fn a_root_without_targets_completes_at_once() {
    let mut acker = Acker::new();
    let message = AckMessage::InitRange { first: root(5), stride: 1, count: 3, positions: 0 };
    assert_eq!(acker.apply(message), [Outcome::AckedRange { first: root(5), stride: 1, count: 3 }]);
    assert_eq!(acker.apply(AckMessage::Init { root: root(8), value: 0 }), [Outcome::Acked { root: root(8) }]);
}

#[test]
fn many_positions_are_more_than_bits() {
    for positions in [47, 48, 49, 300] {
        let mut acker = Acker::new();
        acker.apply(AckMessage::InitRange { first: root(5), stride: 1, count: 3, positions });
        for position in 1..positions {
            assert_eq!(acker.apply(AckMessage::AckRange { first: root(5), stride: 1, count: 3, position }), []);
        }
        let outcomes = acker.apply(AckMessage::AckMask { first: root(5), mask: 0b111, position: 0 });
        assert_eq!(outcomes, [Outcome::AckedRange { first: root(5), stride: 1, count: 3 }]);
    }
}

#[test]
fn a_duplicated_init_never_completes_a_tree() {
    let (mut acker, root) = (Acker::new(), root(7));
    let init = AckMessage::Init { root, value: 99 };
    for _ in 0..4 {
        assert_eq!(acker.apply(init), []);
    }
    assert_eq!(acker.apply(AckMessage::Ack { root, value: 99 }), [Outcome::Acked { root }]);
    for _ in 0..4 {
        assert_eq!(acker.apply(init), []);
        assert_eq!(acker.apply(AckMessage::Ack { root, value: 99 }), []);
    }
    assert_eq!(acker.ledger.open_count(), 0);
}

#[test]
fn fail_before_init_is_kept_and_told_once() {
    let (mut acker, root) = (Acker::new(), root(7));
    assert_eq!(acker.apply(AckMessage::Fail { root, by: u32::MAX }), []);
    assert_eq!(acker.apply(AckMessage::Fail { root, by: 2 }), []);
    let outcomes = acker.apply(AckMessage::InitRange { first: root, stride: 1, count: 1, positions: 2 });
    assert_eq!(outcomes, [Outcome::Failed { root, reason: FailReason::FailedBy { task: u32::MAX } }]);
    assert_eq!(acker.apply(AckMessage::Fail { root, by: 2 }), []);
}

#[test]
fn complete_wins_over_failed() {
    let (mut acker, root) = (Acker::new(), root(7));
    acker.apply(AckMessage::AckRange { first: root, stride: 1, count: 1, position: 0 });
    acker.apply(AckMessage::Fail { root, by: 2 });
    acker.apply(AckMessage::AckRange { first: root, stride: 1, count: 1, position: 1 });
    let outcomes = acker.apply(AckMessage::InitRange { first: root, stride: 1, count: 1, positions: 2 });
    assert_eq!(outcomes, [Outcome::Acked { root }]);
}

/// An extension may arrive before the init, which once crashed Storm's acker (STORM-3300).
#[test]
fn a_reset_may_come_before_the_init() {
    let (mut acker, root) = (Acker::new(), root(7));
    assert_eq!(acker.apply(AckMessage::ResetTimeout { root }), []);
    assert_eq!(acker.apply(AckMessage::Init { root, value: 5 }), []);
    assert_eq!(acker.apply(AckMessage::ResetTimeout { root }), [Outcome::ResetTimeout { root }]);
    assert_eq!(acker.apply(AckMessage::Ack { root, value: 5 }), [Outcome::Acked { root }]);
    assert_eq!(acker.apply(AckMessage::ResetTimeout { root }), []);
}

/// Failed, lost and never completed trees leave within three time-outs (STORM-2786), with their memory.
#[test]
fn everything_leaves_within_three_rotations() {
    let mut acker = Acker::new();
    let idle_bytes = acker.ledger.memory_bytes();
    // Under Miri as many would take an hour.
    let parts = if cfg!(miri) { 5 } else { 500 };
    for part in 0..parts {
        // One of each 400 is lost before the acker hears of it.
        acker.apply(AckMessage::InitRange { first: root(1 + part * 400), stride: 1, count: 399, positions: 1 });
        acker.apply(AckMessage::Fail { root: RootId::new(Lane(4), part), by: 1 });
    }
    for age in 0..3 {
        assert_eq!(acker.ledger.open_count() as u64, 400 * parts, "after {age} rotations");
        acker.rotate();
    }
    assert_eq!(acker.ledger.open_count(), 0);
    acker.rotate();
    assert!(acker.ledger.memory_bytes() < idle_bytes + 2000, "{} bytes", acker.ledger.memory_bytes());
}

#[test]
fn a_reset_or_a_fail_extends_a_life_and_an_ack_does_not() {
    for straggling in [false, true] {
        let mut acker = Acker::new();
        for sequence in 10..14 {
            acker.apply(AckMessage::Init { root: root(sequence), value: 5 });
        }
        acker.apply(AckMessage::Ack { root: root(20), value: 3 });
        if straggling {
            acker.apply(AckMessage::Init { root: root(1 << 22), value: 5 });
        }
        acker.rotate();
        acker.rotate();
        acker.apply(AckMessage::ResetTimeout { root: root(11) });
        acker.apply(AckMessage::Ack { root: root(12), value: 4 });
        acker.apply(AckMessage::Fail { root: root(20), by: 1 });
        acker.rotate();
        assert_eq!(acker.apply(AckMessage::Ack { root: root(10), value: 5 }), [], "expired");
        assert_eq!(acker.apply(AckMessage::Ack { root: root(12), value: 1 }), [], "expired");
        acker.rotate();
        assert_eq!(acker.apply(AckMessage::Ack { root: root(11), value: 5 }), [Outcome::Acked { root: root(11) }]);
        let failed = Outcome::Failed { root: root(20), reason: FailReason::FailedBy { task: 1 } };
        assert_eq!(acker.apply(AckMessage::Init { root: root(20), value: 1 }), [failed]);
    }
}

/// A restarted spout task begins at another random number; what still arrives from its former life is harmless, and
/// acks may overtake the first init of the new one.
#[test]
fn a_new_life_starts_anywhere() {
    for start in [1, 1 << 20, 1 << 30, (1 << 47) - 1, (1 << 48) - 700] {
        let mut acker = Acker::new();
        acker.apply(AckMessage::InitRange { first: root(1 << 40), stride: 1, count: 100, positions: 1 });
        let first = root(start);
        acker.apply(AckMessage::AckRange { first: first.offset(1000), stride: 1, count: 50, position: 0 });
        acker.apply(AckMessage::AckRange { first, stride: 1, count: 50, position: 0 });
        acker.apply(AckMessage::AckRange { first: root(1 << 40), stride: 1, count: 10, position: 0 });
        let mut acked = 0;
        for part in 0..20 {
            let message =
                AckMessage::InitRange { first: first.offset(part * 100), stride: 1, count: 100, positions: 1 };
            for outcome in acker.apply(message) {
                acked += match outcome {
                    Outcome::AckedRange { count, .. } => count,
                    _ => 1,
                };
            }
            acker.apply(AckMessage::AckRange { first: root((1 << 40) + 20), stride: 1, count: 10, position: 0 });
        }
        assert_eq!(acked, 100, "start {start}");
        for _ in 0..3 {
            acker.rotate();
        }
        assert_eq!(acker.ledger.open_count(), 0);
    }
}

#[test]
fn forgetting_leaves_nothing() {
    let mut acker = Acker::new();
    acker.apply(AckMessage::InitRange { first: root(100), stride: 1, count: 100, positions: 1 });
    assert_eq!(acker.apply(AckMessage::Forget { root: root(150) }), []);
    assert_eq!(acker.apply(AckMessage::AckRange { first: root(150), stride: 1, count: 1, position: 0 }), []);
    assert_eq!(acker.ledger.open_count(), 99);
    assert_eq!(acker.ledger.forget_lane(Lane(3)), 99);
    assert_eq!(acker.ledger.forget_lane(Lane(77)), 0);
    assert_eq!(acker.ledger.open_count(), 0);
}

/// One tree that stays open does not hold a window of all that came after it, and still completes.
#[test]
fn one_old_tree_costs_little() {
    let mut acker = Acker::new();
    acker.apply(AckMessage::Init { root: root(1), value: 5 });
    for part in 0..if cfg!(miri) { 20 } else { 2000 } {
        let first = root(2 + part * 1000);
        acker.apply(AckMessage::InitRange { first, stride: 1, count: 1000, positions: 1 });
        acker.apply(AckMessage::AckRange { first, stride: 1, count: 1000, position: 0 });
    }
    assert!(acker.ledger.memory_bytes() < 200_000, "{} bytes", acker.ledger.memory_bytes());
    assert_eq!(acker.ledger.open_count(), 1);
    assert_eq!(acker.apply(AckMessage::Ack { root: root(1), value: 5 }), [Outcome::Acked { root: root(1) }]);
}

#[test]
fn untracked_and_malformed_messages_change_nothing() {
    let mut acker = Acker::new();
    acker.apply(AckMessage::Ack { root: RootId::UNTRACKED, value: 1 });
    let bad = AckMessage::AckRange { first: root(1), stride: 0, count: u32::MAX, position: 0 };
    assert!(acker.ledger.apply(&bad, &mut acker.outcomes).is_err());
    assert_eq!((acker.ledger.open_count(), acker.outcomes.len()), (0, 0));
}
