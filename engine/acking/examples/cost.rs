//! Prints what acking costs: nanoseconds per root for ranges and single roots, and bytes per open tree.
//!
//! Run it with `cargo run --release -p ringstorm-acking --example cost`; an argument selects the figures whose name
//! contains it. Each figure is the best of many short rounds, so that a busy machine disturbs it little.

use std::hint::black_box;
use std::time::Instant;

use ringstorm_acking::{AckMessage, EdgeGenerator, EdgeKey, EmitTimes, Folder, Lane, Ledger, Outcome, Pending, RootId};

/// Roots per round.
const ROOTS: u64 = 1 << 13;
/// Roots that are open at a time.
const OPEN: u64 = 4096;

fn main() {
    let key = EdgeKey::new(1);
    ranges(key);
    singles(key);
    pending_and_times();
    folding(key);
    if std::env::args().len() == 1 {
        memory(key);
    }
}

/// Prints the best of several rounds of `round`, which handles `ROOTS` roots from the given one on.
fn measure(name: &str, mut round: impl FnMut(RootId)) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let mut first = RootId::new(Lane(3), 1000);
    let mut best = f64::INFINITY;
    for _ in 0..2000 {
        let start = Instant::now();
        round(first);
        best = best.min(start.elapsed().as_secs_f64());
        first = first.offset(ROOTS);
    }
    println!("{name:<64} {:6.2} ns per root", best * 1e9 / ROOTS as f64);
}

fn apply(ledger: &mut Ledger, outcomes: &mut Vec<Outcome>, message: AckMessage) {
    ledger.apply(&message, outcomes).expect("the range is within the limits");
}

fn ranges(key: EdgeKey) {
    for (length, stride, positions) in [(64, 1, 1), (256, 1, 1), (256, 1, 4), (64, 2, 1), (256, 2, 1), (256, 3, 1)] {
        for straggler in [false, true] {
            let mut ledger = Ledger::new(key);
            let mut outcomes = Vec::new();
            if straggler {
                apply(&mut ledger, &mut outcomes, AckMessage::Init { root: RootId::new(Lane(3), 999), value: 1 });
            }
            let count = length as u32;
            let name = format!(
                "InitRange + {positions} AckRange of {length}, stride {stride}{}",
                if straggler { ", one old open root" } else { "" }
            );
            let block = length * u64::from(stride);
            measure(&name, |first| {
                // Init a block, ack the one that was initialised OPEN roots before.
                for start in (0..ROOTS / block * block + OPEN / block * block).step_by(block as usize) {
                    for part in 0..u64::from(stride) {
                        if start < ROOTS / block * block {
                            let first = first.offset(start + part);
                            apply(
                                &mut ledger,
                                &mut outcomes,
                                AckMessage::InitRange { first, stride, count, positions },
                            );
                        }
                        if let Some(start) = start.checked_sub(OPEN / block * block) {
                            let first = first.offset(start + part);
                            for position in 0..positions {
                                apply(
                                    &mut ledger,
                                    &mut outcomes,
                                    AckMessage::AckRange { first, stride, count, position },
                                );
                            }
                        }
                    }
                    outcomes.clear();
                }
            });
            black_box(ledger.open_count());
        }
    }
}

fn singles(key: EdgeKey) {
    let mut ledger = Ledger::new(key);
    let mut outcomes = Vec::new();
    measure("Init + Ack, in order", |first| {
        for root in (0..ROOTS).map(|index| first.offset(index)) {
            apply(&mut ledger, &mut outcomes, AckMessage::Init { root, value: root.0 | 1 });
            let before = RootId(root.0 - OPEN);
            apply(&mut ledger, &mut outcomes, AckMessage::Ack { root: before, value: before.0 | 1 });
            outcomes.clear();
        }
    });
    let mut ledger = Ledger::new(key);
    measure("InitRange of 64 + 2 Acks per root (one child)", |first| {
        for start in (0..ROOTS).step_by(64) {
            let message = AckMessage::InitRange { first: first.offset(start), stride: 1, count: 64, positions: 1 };
            apply(&mut ledger, &mut outcomes, message);
            for root in (start..start + 64).map(|index| RootId(first.0 + index - OPEN)) {
                apply(&mut ledger, &mut outcomes, AckMessage::Ack { root, value: key.edge(root, 0) ^ root.0 });
            }
            for root in (start..start + 64).map(|index| RootId(first.0 + index - OPEN)) {
                apply(&mut ledger, &mut outcomes, AckMessage::Ack { root, value: root.0 });
            }
            outcomes.clear();
        }
    });
    let mut ledger = Ledger::new(key);
    measure("InitRange of 64 + 2 interleaved AckMasks (random halves)", |first| {
        let mut mask = 0x5A5A_1234_9876_FEDC_u64;
        for start in (0..ROOTS).step_by(64) {
            let message = AckMessage::InitRange { first: first.offset(start), stride: 1, count: 64, positions: 1 };
            apply(&mut ledger, &mut outcomes, message);
            let before = RootId(first.0 + start - OPEN);
            apply(&mut ledger, &mut outcomes, AckMessage::AckMask { first: before, mask, position: 0 });
            apply(&mut ledger, &mut outcomes, AckMessage::AckMask { first: before, mask: !mask, position: 0 });
            mask = mask.rotate_left(7);
            outcomes.clear();
        }
    });
}

fn pending_and_times() {
    let mut pending = Pending::new();
    measure("Pending: insert + complete_range of 64", |first| {
        for start in (0..ROOTS).step_by(64) {
            for root in (start..start + 64).map(|index| first.offset(index)) {
                pending.insert(root, root.0);
            }
            let mut sum = 0_u64;
            pending.complete_range(RootId(first.0 + start - OPEN), 1, 64, |_, id| sum = sum.wrapping_add(id));
            black_box(sum);
        }
    });
    let mut pending = Pending::new();
    measure("Pending: insert + complete", |first| {
        for root in (0..ROOTS).map(|index| first.offset(index)) {
            pending.insert(root, root.0);
            black_box(pending.complete(RootId(root.0 - OPEN)));
        }
    });
    let mut times = EmitTimes::new(1 << 15);
    measure("EmitTimes: record per 32 + one look-up per root", |first| {
        for start in (0..ROOTS).step_by(32) {
            times.record(first.offset(start), 32, start);
            for root in (start..start + 32).map(|index| RootId(first.0 + index - OPEN)) {
                black_box(times.emit_time_ns(root));
            }
            times.forget_before(RootId(first.0 + start - OPEN));
        }
    });
}

fn folding(key: EdgeKey) {
    let mut folder = Folder::new(key);
    let mut taken = 0_u64;
    measure("Folder: ack_derived, turns of 256", |first| {
        for start in (0..ROOTS).step_by(256) {
            (start..start + 256).for_each(|index| folder.ack_derived(first.offset(index), 0));
            folder.flush(|_| {
                taken += 1;
                true
            });
        }
    });
    measure("Folder: ack_derived_run of 64, turns of 256", |first| {
        for start in (0..ROOTS).step_by(256) {
            (start..start + 256).step_by(64).for_each(|index| folder.ack_derived_run(first.offset(index), 64, 0));
            folder.flush(|_| {
                taken += 1;
                true
            });
        }
    });
    measure("Folder: ack_derived of every root but a random quarter", |first| {
        for start in (0..ROOTS).step_by(256) {
            for index in (start..start + 256).filter(|index| index.wrapping_mul(0x9E37_79B9) >> 7 & 3 != 0) {
                folder.ack_derived(first.offset(index), 0);
            }
            folder.flush(|_| {
                taken += 1;
                true
            });
        }
    });
    measure("Folder: ack of 4 values per root, turns of 256 roots", |first| {
        let mut generator = EdgeGenerator::new(key, 1, 1);
        for start in (0..ROOTS).step_by(256) {
            for _ in 0..4 {
                (start..start + 256).for_each(|index| folder.ack(first.offset(index), generator.next()));
            }
            folder.flush(|_| {
                taken += 1;
                true
            });
        }
    });
    black_box(taken);
    let mut sum = 0;
    measure("EdgeKey: one edge", |first| {
        sum = (0..ROOTS).fold(sum, |sum, index| sum ^ key.edge(first.offset(index), 0));
    });
    black_box(sum);
}

fn memory(key: EdgeKey) {
    let mut outcomes = Vec::new();
    for open in [1 << 10, 100_000, 1 << 20] {
        let (mut ledger, mut pending) = (Ledger::new(key), Pending::new());
        for root in (0..open).map(|index| RootId::new(Lane(0), 77 + index)) {
            apply(&mut ledger, &mut outcomes, AckMessage::Init { root, value: 1 });
            pending.insert(root, root.0);
        }
        let per_tree = |bytes: usize| bytes as f64 / open as f64;
        println!(
            "{open:>8} open trees: {:5.1} bytes each in the ledger, {:5.1} in the pending table",
            per_tree(ledger.memory_bytes()),
            per_tree(pending.memory_bytes())
        );
    }
}
