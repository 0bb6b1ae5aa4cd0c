//! Bytes that are cut, changed or made to do harm cost one error and little memory.

use std::collections::BTreeSet;

use ringstorm_records::payload::{self, INFLATED_BYTES_MAX, PayloadError};
use ringstorm_records::records::{self, Assignment, NodeInfo};
use ringstorm_records::thrift::{Record, RecordType, Tree, allowance};

use crate::memory::peak_bytes;
use crate::samples::{bytes_of, full};

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// The memory for so many bytes: what elements may take, twice, since lists double, and as much again for the tree that
/// maps are and for texts.
fn memory_bound(length: usize) -> i64 {
    4 * allowance(length) as i64
}

fn try_both(of: &RecordType, bytes: &[u8]) -> bool {
    let mut is_read = false;
    let peak = peak_bytes(|| {
        is_read = (of.rewrite)(bytes).is_ok();
        let _ = Tree::of_struct(bytes);
    });
    assert!(peak <= memory_bound(bytes.len()), "{}: {peak} bytes for {}", of.schema.name, bytes.len());
    is_read
}

#[test]
fn a_record_that_is_cut_anywhere_is_refused() {
    for of in records::all() {
        let whole = bytes_of(&full(of.schema));
        assert!(try_both(of, &whole), "{}", of.schema.name);
        for length in 0..whole.len() {
            assert!(!try_both(of, &whole[..length]), "{} at {length}", of.schema.name);
        }
        let longer = [&whole[..], &[0]].concat();
        assert!(!try_both(of, &longer), "{}", of.schema.name);
    }
}

#[test]
fn changed_bytes_neither_panic_nor_take_memory() {
    let rounds = if cfg!(miri) { 1 } else { 2_000 };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut read = 0;
    for of in records::all() {
        let whole = bytes_of(&full(of.schema));
        for _ in 0..rounds {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = match random.below(3) {
                    0 => random.next() as u8,
                    1 => bytes[at].wrapping_add(1),
                    _ => [0, 1, 0x7f, 0x80, 0xff, 11, 12, 13, 15][random.below(9)],
                };
            }
            read += usize::from(try_both(of, &bytes));
        }
    }
    assert!(read > 0, "some changes are harmless");
}

#[test]
fn the_most_costly_bytes_take_what_they_may() {
    // A megabyte of structs of one byte each in a list, a set of texts, and a map of empty maps.
    let count = 1_u32 << 20;
    let list = |head: &[u8], element: &[u8], count: u32| {
        let mut bytes = head.to_vec();
        bytes.extend(count.to_be_bytes());
        bytes.extend(element.repeat(count as usize));
        bytes.push(0);
        bytes
    };
    let workers = list(&[15, 0, 2, 12], &[0], count);
    let texts = list(&[15, 0, 1, 11], &[0, 0, 0, 0], count / 4);
    for of in records::all() {
        try_both(of, &workers);
        try_both(of, &texts);
    }
}

#[test]
fn a_bomb_is_inflated_to_its_bound_only() {
    let bomb = payload::gzip(&vec![12; 4 * INFLATED_BYTES_MAX]);
    let peak = peak_bytes(|| {
        assert_eq!(payload::bare(&bomb), Err(PayloadError::TooLarge(INFLATED_BYTES_MAX)));
    });
    assert!(peak <= 4 * INFLATED_BYTES_MAX as i64, "{peak}");
}

#[test]
fn the_assignment_of_a_hundred_thousand_executors_is_within_all_bounds() {
    let slot = |number: i64| NodeInfo {
        node: format!("4be0d7ae-239e-41c3-92a6-{:012}-host-{}.example", number / 4, number / 4),
        port: BTreeSet::from([6700 + number % 4]),
    };
    let executors = || (0..100_000_i64).map(|task| vec![task, task]);
    let assignment = Assignment {
        master_code_dir: "storm-local".into(),
        executor_node_port: executors().map(|executor| (executor.clone(), slot(executor[0] / 20))).collect(),
        executor_start_time_secs: executors().map(|executor| (executor, 1_795_972_824)).collect(),
        version: Some(1),
        ..Assignment::default()
    };
    let bare = assignment.to_bytes();
    assert!((10 << 20..INFLATED_BYTES_MAX / 2).contains(&bare.len()), "{} bytes", bare.len());
    let packed = payload::encode(&assignment);
    assert_eq!(payload::decode(&packed), Ok(assignment));
}
