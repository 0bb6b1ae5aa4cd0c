//! Bytes that mean harm.

use crate::records::{KillOptions, StormBase, SupervisorPageInfo, SupervisorSummary};
use crate::thrift::{DEPTH_MAX, Problem, Record, Tree};

fn problem<R: Record + std::fmt::Debug>(bytes: &[u8]) -> Problem {
    R::from_bytes(bytes).unwrap_err().problem
}

#[test]
fn a_hundred_thousand_levels_cost_one_error() {
    // Field 99 is a list of lists of lists.
    let mut lists = vec![15, 0, 99];
    lists.extend([15, 0, 0, 0, 1].repeat(100_000));
    assert_eq!(problem::<KillOptions>(&lists), Problem::TooDeep(DEPTH_MAX));
    assert_eq!(Tree::of_struct(&lists).unwrap_err().problem, Problem::TooDeep(DEPTH_MAX));
    // And a struct in a struct.
    let structs = [12, 0, 99].repeat(100_000);
    assert_eq!(problem::<KillOptions>(&structs), Problem::TooDeep(DEPTH_MAX));
    assert_eq!(Tree::of_struct(&structs).unwrap_err().problem, Problem::TooDeep(DEPTH_MAX));
}

#[test]
fn what_a_length_claims_is_refused_before_anything_is_allocated() {
    let claims: &[(&[u8], Problem)] = &[
        (&[11, 0, 1, 0x7f, 0xff, 0xff, 0xff, b'x'], Problem::Truncated { needed: 0x7fff_ffff, left: 1 }),
        (&[11, 0, 1, 0xff, 0xff, 0xff, 0xff], Problem::NegativeLength(-1)),
        (&[13, 0, 4, 11, 8, 0x7f, 0xff, 0xff, 0xff, 0], Problem::Count { count: 0x7fff_ffff, left: 1 }),
        (
            &[13, 0, 4, 11, 10, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0],
            Problem::Elements { found: 10, expected: crate::thrift::Kind::I32 },
        ),
        (&[7, 0, 1], Problem::KindCode(7)),
        (&[11, 0, 1, 0, 0, 0, 1, 0xff], Problem::NotUtf8),
    ];
    for (bytes, expected) in claims {
        assert_eq!(problem::<StormBase>(bytes), *expected, "{bytes:?}");
    }
}

#[test]
fn many_tiny_structs_are_refused() {
    // Summaries of workers may be one byte each, which are hundreds in memory.
    let count = 1_u32 << 20;
    let mut bytes = vec![15, 0, 2, 12];
    bytes.extend(count.to_be_bytes());
    bytes.extend(vec![0; count as usize + 1]);
    assert_eq!(problem::<SupervisorPageInfo>(&bytes), Problem::TooLarge { length: bytes.len() });
    assert!(matches!(Tree::of_struct(&bytes).unwrap_err().problem, Problem::TooLarge { .. }));
}

#[test]
fn an_error_says_where_and_what() {
    let error = SupervisorSummary::from_bytes(&[11, 0, 1, 0, 0, 0, 9, b'h']).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 7, in SupervisorSummary.host: the bytes end where 9 more are needed and 1 are left; they were cut, or are \
         no such record"
    );
    let error =
        StormBase::from_bytes(&[10, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 11, 0, 1, 0, 0, 0, 0, 8, 0, 2, 0, 0, 0, 1, 0]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "byte 26: StormBase has no field 3, `num_workers`, which it must have; one of wire type i64 came instead"
    );
}
