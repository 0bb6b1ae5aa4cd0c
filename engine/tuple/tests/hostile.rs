//! Bytes and values that mean harm: refused with an error, without a panic, without an overflow of the stack.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ringstorm_tuple::fuzz::{self, FixedSample, Level, Sample};
use ringstorm_tuple::{
    EncodeError, Field, MAX_DEPTH, Schema, Tuple, TupleField, ValidateError, Value, Values, hash, values,
};

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

/// A value in `depth` lists.
fn nested(depth: usize) -> Value {
    (0..depth).fold(Value::Null, |inner, _| Value::List(vec![inner]))
}

/// The derived drop would recurse.
fn dismantle(mut value: Value) {
    while let Value::List(mut items) = value {
        value = items.pop().unwrap_or_default();
    }
}

/// The payload of one value in `depth` lists, written by hand: no encoder writes a deep one.
fn nested_payload(depth: usize) -> Vec<u8> {
    const VALUE_BYTES: usize = 9;
    const LIST: u8 = 7;
    let mut payload = vec![0; VALUE_BYTES];
    for _ in 0..depth {
        // The tag, the offset from behind the tag to the one item in front of it, and how many items there are.
        payload.push(LIST);
        payload.extend_from_slice(&(-(VALUE_BYTES as i32) - 1).to_le_bytes());
        payload.extend_from_slice(&1u32.to_le_bytes());
    }
    payload.extend_from_slice(&(-(VALUE_BYTES as i32)).to_le_bytes());
    payload.extend_from_slice(&1u32.to_le_bytes());
    payload
}

#[test]
fn values_may_nest_to_the_limit_and_no_deeper() {
    let schema = Schema::dynamic(["deep"]);
    let mut payload = Vec::new();
    values![nested(MAX_DEPTH)].serialize(&mut payload).unwrap();
    assert_eq!(payload, nested_payload(MAX_DEPTH));
    schema.validate(&payload).unwrap();

    let mut out = vec![1, 2, 3];
    assert_eq!(values![nested(MAX_DEPTH + 1)].serialize(&mut out), Err(EncodeError::TooDeep));
    assert_eq!(out, [1, 2, 3], "a tuple that is refused leaves the output alone");
    // A string counts as a level when bytes are checked, so a list of none may lie one level deeper.
    assert_eq!(schema.validate(&nested_payload(MAX_DEPTH + 2)), Err(ValidateError::Values));

    let map = (0..=MAX_DEPTH).fold(Value::Null, |inner, _| Value::Map(vec![("key".to_owned(), inner)]));
    assert_eq!(values![map].serialize(&mut out), Err(EncodeError::TooDeep));
}

#[test]
fn a_deep_string_at_the_limit_is_valid() {
    let text = "a text that is longer than eight bytes";
    let deep = (0..MAX_DEPTH).fold(Value::from(text), |inner, _| Value::List(vec![inner]));
    let mut payload = Vec::new();
    values![deep].serialize(&mut payload).unwrap();
    Schema::dynamic(["deep"]).validate(&payload).unwrap();
}

#[test]
fn a_hundred_thousand_levels_cost_one_error() {
    // Miri is some thousand times slower.
    let levels = if cfg!(miri) { 300 } else { 100_000 };
    let deep = values![nested(levels)];
    assert_eq!(deep.serialize(&mut Vec::new()), Err(EncodeError::TooDeep));
    // A tuple is grouped, and may be shown, before it is written.
    let _ = hash::fields_hash([deep.field(0)]);
    let _ = deep.field(0).to_string();
    let _ = deep.size_hint();
    deep.0.into_iter().for_each(dismantle);

    let payload = nested_payload(levels);
    assert_eq!(Schema::dynamic(["deep"]).validate(&payload), Err(ValidateError::Values));
}

#[test]
fn a_wrong_count_of_values_is_refused() {
    let mut payload = Vec::new();
    values![1, 2].serialize(&mut payload).unwrap();
    let error = Schema::dynamic(["one"]).validate(&payload).unwrap_err();
    assert_eq!(error, ValidateError::Count { wanted: 1, found: 2 });
}

#[test]
fn the_field_that_is_wrong_is_named() {
    let payload = {
        let mut out = Vec::new();
        FixedSample { yes: true, number: Some(1), level: Level::High }.serialize(&mut out).unwrap();
        out
    };
    let schema = FixedSample::schema();
    schema.validate(&payload).unwrap();
    for (offset, name) in [(0, "yes"), (1, "number"), (6, "level")] {
        let mut wrong = payload.clone();
        wrong[offset] = 3;
        let error = schema.validate(&wrong).unwrap_err();
        assert!(matches!(error, ValidateError::Field { name: found, .. } if found == name), "{error}");
    }
    assert_eq!(<Level as Field>::KIND.to_string(), "one of Low, Middle, High");
}

#[derive(TupleField, Clone, Copy, Debug)]
#[tuple(crate = ringstorm_tuple)]
enum Only {
    One,
}

#[derive(Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Small<'a> {
    only: Only,
    text: &'a str,
}

#[test]
fn short_and_empty_payloads_are_refused() {
    for length in 0..9 {
        let error = Small::schema().validate(&vec![0; length]).unwrap_err();
        assert_eq!(error, ValidateError::Size { wanted: 9, found: length });
    }
    for length in 0..8 {
        assert!(Schema::dynamic(["a"]).validate(&vec![0; length]).is_err());
    }
    let mut out = Vec::new();
    Small { only: Only::One, text: "" }.serialize(&mut out).unwrap();
    Small::schema().validate(&out).unwrap();
}

// Miri would fill the gigabytes that the kernel does not.
#[cfg(not(miri))]
#[test]
fn a_tuple_that_is_too_large_is_refused_before_it_is_written() {
    // Zeroed memory that is never touched costs nothing.
    let bytes = vec![0; ringstorm_tuple::MAX_PAYLOAD_BYTES + 1];
    let mut out = vec![1];
    let error = values![bytes].serialize(&mut out);
    assert!(matches!(error, Err(EncodeError::TooLarge { .. })), "{error:?}");
    assert_eq!(out, [1]);

    let bytes = vec![0; ringstorm_tuple::MAX_PAYLOAD_BYTES];
    let sample = Sample {
        yes: true,
        number: 7,
        fixed: [0; 5],
        text: "",
        bytes: &bytes,
        maybe: None,
        numbers: vec![],
        texts: vec![],
        nested: vec![],
        level: Level::Low,
        any: Value::Null,
    };
    let error = sample.serialize(&mut out).unwrap_err();
    assert!(error.to_string().ends_with("more than the 1073741823 that one may have: split it"), "{error}");
    assert_eq!(out, [1]);
}

fn seeds() -> Vec<Vec<u8>> {
    let any = Value::List(vec![
        Value::from("a text that is longer than eight bytes"),
        Value::Map(vec![("key".to_owned(), Value::Float(1.5)), ("a longer key".to_owned(), nested(3))]),
        Value::Bytes(vec![1, 2, 3]),
        Value::UInt(u64::MAX),
    ]);
    let sample = Sample {
        yes: true,
        number: 7,
        fixed: [1, 2, 3, 4, 5],
        text: "a text that is longer than eight bytes, with ünïcödé",
        bytes: b"bytes",
        maybe: Some("short"),
        numbers: vec![1, -1, i32::MAX],
        texts: vec![None, Some("another long text".to_owned()), Some(String::new())],
        nested: vec![vec![Level::Low], vec![], vec![Level::High, Level::Middle]],
        level: Level::Middle,
        any: any.clone(),
    };
    let values: Values = (0..Sample::FIELDS.len()).map(|index| sample.field(index)).collect();
    let fixed = FixedSample { yes: false, number: None, level: Level::Low };
    let flat = values!["storm", 3, 0.5, any];
    let with_count = |count: usize, write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = vec![count as u8];
        write(&mut out);
        out
    };
    vec![
        with_count(0, &|out| sample.serialize(out).unwrap()),
        with_count(11, &|out| values.serialize(out).unwrap()),
        with_count(0, &|out| fixed.serialize(out).unwrap()),
        with_count(4, &|out| flat.serialize(out).unwrap()),
    ]
}

#[test]
fn mutated_payloads_are_refused_or_can_be_read() {
    let seeds = seeds();
    let mut random = Random(0x5eed_0001);
    // Miri is some thousand times slower.
    let rounds = if cfg!(miri) { 16 } else { 100_000 };
    for round in 0..rounds {
        let mut bytes = seeds[round % seeds.len()].clone();
        match random.below(8) {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => {
                let at = 1 + random.below(bytes.len() - 1);
                bytes.insert(at, random.next() as u8);
            }
            2 => {
                let (from, to) = (random.below(bytes.len()), random.below(bytes.len()));
                let length = random.below(16).min(bytes.len() - from.max(to));
                bytes.copy_within(from..from + length, to);
            }
            _ => {
                for _ in 0..=random.below(4) {
                    let at = random.below(bytes.len());
                    bytes[at] =
                        if random.below(2) == 0 { random.next() as u8 } else { bytes[at] ^ 1 << random.below(8) };
                }
            }
        }
        fuzz::payload(&bytes);
    }
}

// The mutations above attack the same code; Miri would need minutes for these.
#[cfg(not(miri))]
#[test]
fn the_corpus_of_the_fuzzers_still_passes() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");
    let mut count = 0;
    for (target, body) in [("payload", fuzz::payload as fn(&[u8])), ("json", fuzz::json)] {
        for file in std::fs::read_dir(format!("{corpus}/{target}")).unwrap() {
            body(&std::fs::read(file.unwrap().path()).unwrap());
            count += 1;
        }
    }
    assert!(count >= 10, "the corpus is gone: {count} files");
}
